/* The search of plan/pack.h. */
#ifndef EDL_PASSES_PLAN_PACK_SEARCH_H
#define EDL_PASSES_PLAN_PACK_SEARCH_H

#include "passes/plan/pack_problem.h"

/* Offsets in units of the alignment, all tops at most capacity; or false
 * after *effort steps. Takes what it used from *effort. */
bool pack_search(const PackProblem *p, int64_t capacity, int64_t *effort,
                 int64_t *offset);

#endif
