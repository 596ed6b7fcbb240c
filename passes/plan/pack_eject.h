/* Placement by ejection: what does not fit takes the place of what is placed
 * and counts less. A part of plan/pack.h's search. */
#ifndef EDL_PASSES_PLAN_PACK_EJECT_H
#define EDL_PASSES_PLAN_PACK_EJECT_H

#include "passes/plan/pack_problem.h"

typedef struct Eject Eject;

/* Begins with the offsets of a greedy order; what lies above the capacity
 * is not placed. */
Eject *eject_new(const PackProblem *p, int64_t capacity, const int64_t *offset);
/* Goes on, and takes the work from *effort; true when all is placed. */
bool eject_some(Eject *e, int64_t work, int64_t *effort);
const int64_t *eject_offsets(const Eject *e);

#endif
