/* Minimum cuts of a directed network with capacities, by Dinic's method. */
#ifndef EDL_PASSES_PLAN_CUT_H
#define EDL_PASSES_PLAN_CUT_H

#include "ir/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct CutEdge {
    int to, next; /* next: of the same vertex, or -1; its pair is edge ^ 1 */
    double left;  /* capacity that is left */
} CutEdge;

typedef struct Cut {
    Arena *arena;
    int n;
    int *first; /* of a vertex: an edge or -1 */
    int *level; /* after cut_run: at least 0 on the source's side */
    int *at;
    int *queue;
    VEC(CutEdge) edges;
    int64_t work; /* grows with what cut_run does */
} Cut;

extern const double cut_endless;

void cut_init(Cut *c, Arena *a, int n);
/* Takes out all edges. */
void cut_clear(Cut *c);
/* Returns the edge. */
int cut_edge(Cut *c, int from, int to, double capacity);
/* The flow from source to sink, which is no more than any cut. */
double cut_run(Cut *c, int source, int sink);

#endif
