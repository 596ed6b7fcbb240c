/* What a choice of dropped values adds to the kernels of main: exactly what
 * plan/cost.h says of them once drop_apply has made the choice, without making
 * it. Kernels of the forward pass lose what only the backward pass wanted;
 * copies read again what they are made from. */
#ifndef EDL_PASSES_PLAN_DROP_COST_H
#define EDL_PASSES_PLAN_DROP_COST_H

#include "passes/plan/drop.h"

typedef struct DropCost DropCost;

/* While d has nothing dropped. */
DropCost *drop_cost_new(Arena *a, const Drop *d);
/* ns of a microbatch; negative where the forward pass loses more. */
int64_t drop_cost(DropCost *c);

#endif
