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
    bool early;    /* parameters change in the backward pass: plan/early.h */
    int64_t ns;    /* beside those of a step that keeps all, once a microbatch,
                    * without copies: exact where nothing moves */
    int64_t load;  /* bytes of copies and stash in use at once, about */
    int64_t kept;  /* bytes of the stash */
    int64_t work;  /* bytes of the workspace, at least, about */
    int64_t others; /* bytes of the other regions */
    int64_t least; /* bytes: it takes no fewer, about */
    int64_t total; /* bytes of all regions; -1: not judged in full */
    bool timed;    /* `stall` is exact */
    /* what leaves the device: */
    const int *moved; /* stashed values, by number */
    int n_moved;
    int states;    /* optimizer states of so many parameters */
    int weights;   /* so many parameters themselves */
    int ahead;     /* of plan/ahead.h */
    int64_t floor; /* ns beside those of a step that keeps all, at least */
    int64_t stall; /* ns that copies add to a step, at least */
} Rung;

/* Copies one behind the other. */
typedef struct CopyQueue {
    int64_t bytes;
    int n;
} CopyQueue;

/* A parameter that may leave the device. */
typedef struct MovedParam {
    int at; /* among the module's tensors */
    int64_t bytes;
    CopyQueue states; /* its optimizer states */
    bool back; /* the backward pass reads it */
} MovedParam;

typedef struct Ladder {
    Arena *a;
    Arena *judging; /* empty between two rungs */
    Module *m;
    Drop *drop;
    VEC(Rung) at;     /* by the least time, then by least bytes; the first
                       * keeps all */
    VEC(MovedParam) params; /* the largest first */
    int last;         /* the rung that makes everything in blocks again */
    int64_t step_ns;  /* of a step that makes nothing again */
    int64_t batches;  /* microbatches in a step */
    int64_t early_bytes, early_ns; /* of gradients that need not be kept; of
                                    * a step in which they are not */
} Ladder;

/* m: after `fuse`, with a graph main that has a backward pass. NULL when the
 * later passes fail on it. The marks of main must stay. */
Ladder *ladder_make(Arena *a, Module *m);
void ladder_free(Ladder *l);

/* Bytes of all regions of the device under a rung. */
int64_t ladder_total(Ladder *l, int rung);
/* It takes at most so many bytes. */
bool ladder_fits(Ladder *l, int rung, int64_t limit);
/* The predicted time of a step under it; before it is judged: at least. */
int64_t ladder_ns(const Ladder *l, int rung);
/* The fastest that takes at most so many bytes; -1: none does. again: it may
 * make values again. */
int ladder_fastest(Ladder *l, int64_t limit, bool again);
/* It moves something off the device. */
bool ladder_moves(const Rung *r);
/* The one that takes the fewest. */
int ladder_smallest(Ladder *l, bool again);
/* A limit that works, and is hardly above that of the smallest, in less
 * time. */
int64_t ladder_enough(Ladder *l, bool again);
/* Rewrites m's main as the rung says. */
void ladder_apply(Ladder *l, int rung, Module *m);

#endif
