/* When the kernels of a step run, as predicted, and what is alive then. */
#ifndef EDL_PASSES_PLAN_TIMELINE_H
#define EDL_PASSES_PLAN_TIMELINE_H

#include "passes/plan/flow.h"

/* A kernel, and the bytes in use while it runs: what is stashed and not yet
 * read for the last time, and what is alive in the workspace. */
typedef struct Moment {
    const Graph *graph;
    const Node *node;
    int64_t start, ns;
    int64_t stash, workspace;
} Moment;

/* A copy off the device or back. */
typedef struct Transfer {
    const Graph *graph;
    const Node *node;
    FlowQueue queue;
    int64_t start, ns;
} Transfer;

/* The first microbatch of a step (or of an inference) and what follows all of
 * them; the other microbatches are like the first. */
typedef struct Timeline {
    VEC(Moment) at; /* nodes that take no time are left out */
    VEC(Transfer) copies;
    int64_t ns;      /* the end of the last */
    int64_t batches; /* microbatches in a step */
    int peak;        /* the moment with the most bytes; -1: there is none */
} Timeline;

/* m is placed. Uses marks. */
Timeline timeline_make(Arena *a, Module *m);

#endif
