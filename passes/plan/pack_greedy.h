/* Greedy placement, for any number of items. */
#ifndef EDL_PASSES_PLAN_PACK_GREEDY_H
#define EDL_PASSES_PLAN_PACK_GREEDY_H

#include "passes/plan/pack_problem.h"

/* The lowest of some fixed orders, each item at the lowest gap that holds it.
 * Offsets in units of the alignment, the height in bytes. Stops at the first
 * that is not above `enough` bytes. */
int64_t pack_greedy(const PackProblem *p, int64_t enough, int64_t *offset);

#endif
