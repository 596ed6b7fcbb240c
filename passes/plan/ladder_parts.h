/* What making and judging of rungs share. */
#ifndef EDL_PASSES_PLAN_LADDER_PARTS_H
#define EDL_PASSES_PLAN_LADDER_PARTS_H

#include "passes/plan/ladder.h"

/* What the later passes up to `place` make of a copy of l's module under a rung
 * (NULL: all is kept); NULL when they fail. */
Module *ladder_scheduled(Arena *a, Ladder *l, const Rung *r);
/* Finds r->least. */
void ladder_bound(Rung *r);
bool ladder_is_head(const Node *n);
/* Halves the chunks of the heads, which changes no bit. */
void ladder_halve(Module *m, int times);
/* d's choice becomes the rung's. */
void ladder_choose(Drop *d, const Rung *r);

#endif
