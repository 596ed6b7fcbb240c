/* Values of a graph that fit where a region has free bytes: in the stash where
 * nothing is stashed yet, or nothing any more; in the gradients where nothing
 * is stashed and none is written yet. */
#ifndef EDL_PASSES_PLAN_REUSE_H
#define EDL_PASSES_PLAN_REUSE_H

#include "passes/plan/life.h"

typedef struct Reused {
    Region region; /* REGION_none: it does not go anywhere */
    int64_t offset;
} Reused;

/* By life; a slot of the stash has `slot` bytes. The tensors are placed. */
Reused *reuse_find(Arena *a, const Graph *g, const Lives *l, int64_t slot);

#endif
