/* The search of plan/pack.h. */
#ifndef EDL_PASSES_PLAN_PACK_SEARCH_H
#define EDL_PASSES_PLAN_PACK_SEARCH_H

#include "passes/plan/pack_problem.h"

/* Offsets in units of the alignment, all that they need within capacity bytes.
 * Takes the steps that it used from *effort. offset: first those of a greedy
 * placement, then the answer. */
PackAnswer pack_search(PackProblem *p, int64_t capacity, int64_t *effort,
                       int64_t *offset);

#endif
