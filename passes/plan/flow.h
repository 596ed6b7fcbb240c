/* The exact simulator of one call of a graph: a queue that computes and two
 * that copy, each in the order of the graph's nodes. A copy begins when its
 * node is met and the copies before it are done; a wait stops the compute
 * queue until its copy is done. While both ways are busy they share what the
 * link has. */
#ifndef EDL_PASSES_PLAN_FLOW_H
#define EDL_PASSES_PLAN_FLOW_H

#include "ir/graph.h"

typedef enum { FLOW_compute, FLOW_out, FLOW_in, FLOW_QUEUES } FlowQueue;

typedef struct FlowSpan {
    const Node *node;
    FlowQueue queue;
    int64_t begin, end;
} FlowSpan;

typedef VEC(FlowSpan) FlowSpans;

/* ns from the start of the call to its end. spans, if not NULL: what ran when,
 * in the order in which it was met; nodes that take no time are left out. */
int64_t flow_graph(Arena *a, const Graph *g, FlowSpans *spans);
/* All calls of a program; 0 when there is none of that name. */
int64_t flow_program(const Module *m, const char *name);
/* ns of a copy by itself. */
int64_t flow_copy_ns(const Node *copy);

#endif
