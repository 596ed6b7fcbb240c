/* A short try to place all items, one above the other, with changes of mind.
 * docs/planning.md says how. */
#ifndef EDL_PASSES_PLAN_PACK_TREE_H
#define EDL_PASSES_PLAN_PACK_TREE_H

#include "passes/plan/pack_state.h"

/* What is placed next. */
typedef enum TreeOrder {
    TREE_LOWEST,   /* what lies lowest */
    TREE_TIGHTEST, /* what lies lowest in the section with the least room */
    TREE_FEWEST,   /* the same, where that leaves the least choice */
    TREE_LEVEL,    /* what lies lowest, and from then on nothing below it */
    TREE_ORDERS
} TreeOrder;

typedef struct Tree {
    State *state; /* holds the offsets when a try has succeeded */
    TreeOrder order;
    int64_t *priority; /* of items, where the order leaves a choice */
    int64_t steps;     /* left in this try */
    int most;          /* items placed at once in it */
} Tree;

/* True when all is placed. Takes the steps it made from *effort. */
bool tree_try(Tree *t, int64_t steps, int64_t *effort);

#endif
