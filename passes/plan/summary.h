/* What a placed module makes again, for people: equal blocks in one line. */
#ifndef EDL_PASSES_PLAN_AGAIN_H
#define EDL_PASSES_PLAN_AGAIN_H

#include "ir/graph.h"

typedef struct Again {
    VEC(const char *) blocks; /* in program order; none: outside of blocks */
    VEC(const char *) values; /* of a block, without its name */
    int64_t bytes;            /* of the values of all blocks */
    int64_t ns;               /* of their kernels, for one microbatch */
} Again;

typedef struct Agains {
    VEC(Again) at;
} Agains;

Agains again_find(Arena *a, const Module *m);

#endif
