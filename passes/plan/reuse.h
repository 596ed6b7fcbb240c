/* Values of a graph that fit into the stash where nothing is stashed yet, or
 * nothing any more. */
#ifndef EDL_PASSES_PLAN_REUSE_H
#define EDL_PASSES_PLAN_REUSE_H

#include "passes/plan/life.h"

/* The offset in a slot of `slot` bytes by life; -1: it does not go there. The
 * tensors of the stash are placed. */
int64_t *reuse_find(Arena *a, const Graph *g, const Lives *l, int64_t slot);

#endif
