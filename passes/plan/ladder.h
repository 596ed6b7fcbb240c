/* The plans that are tried under a limit: a list fixed by the graph alone, so
 * that more memory never makes a plan slower. Each is judged by what the
 * later passes make of it, to the byte. */
#ifndef EDL_PASSES_PLAN_LADDER_H
#define EDL_PASSES_PLAN_LADDER_H

#include "passes/plan/drop.h"

typedef struct Rung {
    const int *values; /* dropped, by number */
    int n;
    int halved;    /* how often the chunks of the heads are */
    int64_t ns;    /* of what is made again, once a microbatch */
    int64_t load;  /* bytes of copies and stash in use at once, about */
    int64_t least; /* bytes: it takes no fewer, about */
    int64_t total; /* bytes of all regions; -1: not judged yet */
} Rung;

typedef struct Ladder {
    Arena *a;
    Module *m;
    Drop *drop;
    VEC(Rung) at;     /* by time, then by least bytes; the first keeps all */
    int last;         /* the rung that makes everything in blocks again */
    int64_t step_ns;  /* of a step that makes nothing again */
    int64_t batches;  /* microbatches in a step */
} Ladder;

/* m: after `fuse`, with a graph main that has a backward pass. NULL when the
 * later passes fail on it. The marks of main must stay. */
Ladder *ladder_make(Arena *a, Module *m);

/* Bytes of all regions of the device under a rung. */
int64_t ladder_total(Ladder *l, int rung);
/* The predicted time of a step under it. */
int64_t ladder_ns(const Ladder *l, int rung);
/* The fastest that takes at most so many bytes; -1: none does. */
int ladder_fastest(Ladder *l, int64_t limit);
/* The one that takes the fewest. */
int ladder_smallest(Ladder *l);
/* Rewrites m's main as the rung says. */
void ladder_apply(Ladder *l, int rung, Module *m);

#endif
