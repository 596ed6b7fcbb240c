/* What a placed module keeps for its backward pass, what it moves and what it
 * makes again, for people: block by block, equal blocks in one. */
#ifndef EDL_PASSES_PLAN_SUMMARY_H
#define EDL_PASSES_PLAN_SUMMARY_H

#include "ir/graph.h"

typedef enum { FATE_kept, FATE_moved, FATE_again, FATE_COUNT } Fate;

extern const char *const fate_name[FATE_COUNT];

typedef struct FateLine {
    VEC(const char *) values; /* of one block, without its name */
    int64_t bytes;            /* of all the blocks */
    int64_t ns;               /* again: of the kernels, for one microbatch */
} FateLine;

typedef struct BlockLine {
    VEC(const char *) blocks; /* in program order; none: outside of blocks */
    FateLine fate[FATE_COUNT];
} BlockLine;

typedef struct Summary {
    VEC(BlockLine) at;
    int64_t again; /* bytes that are made again */
    int early;           /* parameters that change in the backward pass */
    int64_t early_bytes; /* of their gradients, which are not kept */
} Summary;

Summary summary_make(Arena *a, const Module *m);

#endif
