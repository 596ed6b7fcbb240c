#include "passes/plan/cut.h"

const double cut_endless = 1e18;

void
cut_init(Cut *c, Arena *a, int n)
{
    *c = (Cut){.arena = a, .n = n};
    c->first = ARENA_ARRAY(a, int, n);
    c->level = ARENA_ARRAY(a, int, n);
    c->at = ARENA_ARRAY(a, int, n);
    c->queue = ARENA_ARRAY(a, int, n);
    cut_clear(c);
}

void
cut_clear(Cut *c)
{
    c->edges.n = 0;
    for (int v = 0; v < c->n; v++)
        c->first[v] = -1;
}

int
cut_edge(Cut *c, int from, int to, double capacity)
{
    int e = c->edges.n;
    vec_push(c->arena, &c->edges, ((CutEdge){to, c->first[from], capacity}));
    vec_push(c->arena, &c->edges, ((CutEdge){from, c->first[to], 0}));
    c->first[from] = e;
    c->first[to] = e + 1;
    return e;
}

static bool
find_levels(Cut *c, int source, int sink)
{
    int n = 0;
    c->work += c->n + c->edges.n;
    for (int v = 0; v < c->n; v++) {
        c->level[v] = -1;
        c->at[v] = c->first[v];
    }
    c->level[source] = 0;
    c->queue[n++] = source;
    for (int i = 0; i < n; i++) {
        int v = c->queue[i];
        for (int e = c->first[v]; e >= 0; e = c->edges.at[e].next) {
            const CutEdge *edge = &c->edges.at[e];
            if (edge->left <= 0 || c->level[edge->to] >= 0)
                continue;
            c->level[edge->to] = c->level[v] + 1;
            c->queue[n++] = edge->to;
        }
    }
    return c->level[sink] >= 0;
}

static double
push(Cut *c, int v, int sink, double most)
{
    double pushed = 0;
    if (v == sink)
        return most;
    for (; c->at[v] >= 0; c->at[v] = c->edges.at[c->at[v]].next) {
        CutEdge *edge = &c->edges.at[c->at[v]];
        double left = most - pushed < edge->left ? most - pushed : edge->left;
        if (left <= 0 || c->level[edge->to] != c->level[v] + 1)
            continue;
        double got = push(c, edge->to, sink, left);
        edge->left -= got;
        c->edges.at[c->at[v] ^ 1].left += got;
        pushed += got;
        if (pushed >= most)
            break;
    }
    return pushed;
}

double
cut_run(Cut *c, int source, int sink)
{
    double flow = 0;
    while (find_levels(c, source, sink)) {
        double got = push(c, source, sink, cut_endless);
        flow += got;
        if (got <= 0)
            break;
    }
    return flow;
}
