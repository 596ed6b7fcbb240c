/* Where the rungs come from: which values may be dropped together, in blocks
 * that are equal and outside of them. */
#ifndef EDL_PASSES_PLAN_LADDER_STEPS_H
#define EDL_PASSES_PLAN_LADDER_STEPS_H

#include "passes/plan/drop.h"

/* Values of one block, or of none, that may be dropped, in program order.
 * large: those that are chosen one by one; the others follow. A border is
 * read by other blocks' forward passes. */
typedef struct Block {
    const char *name; /* NULL: what is in no block */
    VEC(int) large, borders;
    int kind; /* number of its class */
} Block;

/* A choice for a block: positions in Block.large. */
typedef struct Choice {
    const int *at;
    int n;
    int64_t saved, ns;
} Choice;

/* Equal blocks have equal choices. Choices from none to all: each saves more
 * than the one before and takes longer. hull: it lies on the convex front. */
typedef struct BlockKind {
    VEC(int) members; /* blocks */
    VEC(Choice) choices;
    VEC(int) hull;    /* choices; the first is 0 */
} BlockKind;

typedef struct Blocks {
    VEC(Block) at; /* in order of first appearance */
    VEC(BlockKind) kinds;
} Blocks;

Blocks *blocks_find(Arena *a, Drop *d);
/* Fills the choices of a kind. */
void choices_find(Arena *a, Drop *d, const Block *b, BlockKind *k);

#endif
