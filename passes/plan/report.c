#include "passes/plan/report.h"

#include <stdlib.h>

#include "ir/work.h"
#include "passes/plan/life.h"

const char *
report_node_name(const Node *n)
{
    return work_name(n);
}

int
report_count(const Graph *g)
{
    int n = 0;
    graph_each(g, node)
        n++;
    return n;
}

static Node *
node_at(const Graph *g, int order)
{
    graph_each(g, n)
        if (n->order == order)
            return n;
    return NULL;
}

/* What lies in stash or gradients takes nothing of the workspace. */
static bool
in_workspace(const Life *l)
{
    return l->kernel || l->home->region == REGION_workspace;
}

static void
find_peak(Arena *a, Report *r, Graph *g, const Lives *l)
{
    int64_t *load = ARENA_ARRAY(a, int64_t, l->n_nodes + 1);
    for (int i = 0; i < l->at.n; i++) {
        if (!in_workspace(&l->at.at[i]))
            continue;
        load[l->at.at[i].first] += l->at.at[i].bytes;
        load[l->at.at[i].end] -= l->at.at[i].bytes;
    }
    int64_t now = 0;
    int at = 0;
    for (int i = 0; i < l->n_nodes; i++) {
        now += load[i];
        if (now > r->load) {
            r->load = now;
            at = i;
        }
    }
    r->peak = node_at(g, at);
}

static void
add_alive(Arena *a, Report *r, const Lives *l)
{
    int at = r->peak->order;
    for (int i = 0; i < l->at.n; i++) {
        const Life *x = &l->at.at[i];
        if (x->first > at || x->end <= at || !in_workspace(x))
            continue;
        ReportLine line = {x->home ? x->home->name
                                   : report_node_name(x->kernel),
                           REGION_workspace, r->graph,
                           x->home ? &x->home->type : NULL, x->bytes};
        vec_push(a, &r->largest, line);
    }
}

typedef struct Sorted {
    ReportLine line;
    int at;
} Sorted;

static int
by_bytes(const void *a, const void *b)
{
    const Sorted *x = a, *y = b;
    if (x->line.bytes != y->line.bytes)
        return x->line.bytes > y->line.bytes ? -1 : 1;
    return x->at - y->at;
}

static void
sort_lines(Arena *a, Report *r)
{
    int n = r->largest.n;
    Sorted *s = ARENA_ARRAY(a, Sorted, n + 1);
    for (int i = 0; i < n; i++)
        s[i] = (Sorted){r->largest.at[i], i};
    qsort(s, (size_t)n, sizeof *s, by_bytes);
    for (int i = 0; i < n; i++)
        r->largest.at[i] = s[i].line;
}

int64_t
report_total(const Module *m)
{
    int64_t bytes = 0;
    for (int i = 0; i < REGION_COUNT; i++)
        if (i != REGION_host && i != REGION_disk)
            bytes += m->region_bytes[i];
    return bytes;
}

Report
report_make(Arena *a, Module *m)
{
    Report r = {.total = report_total(m)};
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        vec_push(a, &r.largest,
                 ((ReportLine){t->name, t->region, NULL, &t->type, t->bytes}));
    }
    Graph *fullest = NULL;
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        if (g->workspace > (fullest ? fullest->workspace : 0))
            fullest = g;
    }
    r.graph = fullest;
    if (fullest) {
        Lives l = life_find(a, fullest);
        find_peak(a, &r, fullest, &l);
        add_alive(a, &r, &l);
    }
    sort_lines(a, &r);
    return r;
}
