/* What may leave the device, as a choice beside making again: values of the
 * stash, optimizer states, weights. */
#ifndef EDL_PASSES_PLAN_LADDER_MOVES_H
#define EDL_PASSES_PLAN_LADDER_MOVES_H

#include "passes/plan/ladder.h"

/* Adds rungs that move, made of those that there are, where option `offload`
 * allows it. kept: the module that keeps all, placed. */
void moves_add(Ladder *l, const Module *kept);
/* Marks in m, a copy of the ladder's module with the rung's values dropped,
 * what the rung moves. */
void moves_apply(const Ladder *l, const Rung *r, Module *m);
/* Where option `offload` lets things go; device: nowhere. */
Space moves_space(const Module *m);

#endif
