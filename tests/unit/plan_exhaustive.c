/* Small cost graphs at random limits: the planner and the proof against a
 * search through everything that can be alive. A thousand training chains of
 * six stages, and other graphs. */
#include <stdio.h>
#include <stdlib.h>

#include "passes/plan/prove.h"

enum {
    STAGES = 6,
    CHAIN = 2 * STAGES,
    CHAINS = 1000,
    OTHER = 8,
    OTHERS = 300,
    MOST = CHAIN,
    EFFORT = 1,
    MOST_EXTRA = 400
};

static uint32_t
draw(uint32_t *x, uint32_t n)
{
    *x = *x * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*x * n) >> 32);
}

/* ---- graphs ---- */

static void
add_input(CostNode *node, int *inputs, int v)
{
    for (int i = 0; i < node->n_inputs; i++)
        if (inputs[i] == v)
            return;
    inputs[node->n_inputs++] = v;
    node->inputs = inputs;
}

static CostGraph *
new_graph(Arena *a, int n, uint32_t *x)
{
    CostGraph *g = ARENA_NEW(a, CostGraph);
    g->n = n;
    g->scale = 1;
    g->nodes = ARENA_ARRAY(a, CostNode, n);
    for (int v = 0; v < n; v++) {
        g->nodes[v].time = 1 + draw(x, 9);
        g->nodes[v].bytes = 1 + draw(x, draw(x, 2) ? 10 : 3);
    }
    return g;
}

static CostGraph *
finish(Arena *a, CostGraph *g)
{
    int order[MOST];
    CostResult r;
    for (int v = 0; v < g->n; v++)
        order[v] = v;
    if (!costs_check(a, g, order, g->n, &r))
        abort();
    g->time = r.time;
    g->peak = r.peak;
    return g;
}

/* Forward i reads forward i - 1; its backward reads that, its result, and
 * the gradient. */
static CostGraph *
chain(Arena *a, uint32_t *x)
{
    CostGraph *g = new_graph(a, CHAIN, x);
    for (int v = 1; v < CHAIN; v++) {
        int *inputs = ARENA_ARRAY(a, int, 3), f = CHAIN - 1 - v;
        CostNode *node = &g->nodes[v];
        add_input(node, inputs, v - 1);
        if (v >= STAGES) {
            add_input(node, inputs, f);
            if (f > 0)
                add_input(node, inputs, f - 1);
        }
    }
    return finish(a, g);
}

static CostGraph *
other(Arena *a, uint32_t *x)
{
    CostGraph *g = new_graph(a, OTHER, x);
    for (int v = 1; v < OTHER; v++) {
        int *inputs = ARENA_ARRAY(a, int, 3);
        for (uint32_t i = draw(x, 4); i > 0; i--)
            add_input(&g->nodes[v], inputs, (int)draw(x, (uint32_t)v));
    }
    return finish(a, g);
}

/* ---- everything ---- */

typedef struct Point {
    int done, live;
} Point;

typedef struct Points {
    VEC(Point) at;
} Points;

typedef struct Everything {
    Arena *arena;
    const CostGraph *g;
    int64_t limit;
    int inputs[MOST];
    bool *seen[1 << MOST]; /* of what has run: by what is alive */
    Points by_extra[MOST_EXTRA];
} Everything;

static int64_t
bytes_of(const CostGraph *g, int set)
{
    int64_t bytes = 0;
    for (int v = 0; v < g->n; v++)
        bytes += set >> v & 1 ? g->nodes[v].bytes : 0;
    return bytes;
}

static void
reach(Everything *e, int64_t extra, int done, int live)
{
    if (extra >= MOST_EXTRA)
        return;
    vec_push(e->arena, &e->by_extra[extra].at, ((Point){done, live}));
}

static void
steps(Everything *e, int64_t extra, Point p)
{
    const CostGraph *g = e->g;
    int64_t room = e->limit - bytes_of(g, p.live);
    for (int v = 0; v < g->n; v++) {
        int bit = 1 << v;
        if (p.live & bit)
            reach(e, extra, p.done, p.live & ~bit);
        else if ((e->inputs[v] & ~p.live) == 0 && g->nodes[v].bytes <= room)
            reach(e, extra + (p.done & bit ? g->nodes[v].time : 0),
                  p.done | bit, p.live | bit);
    }
}

static bool
is_new(Everything *e, Point p)
{
    if (!e->seen[p.done])
        e->seen[p.done] = ARENA_ARRAY(e->arena, bool, 1 << e->g->n);
    bool new = !e->seen[p.done][p.live];
    e->seen[p.done][p.live] = true;
    return new;
}

/* The least time that is repeated, or -1. */
static int64_t
exhaust(Arena *a, const CostGraph *g, int64_t limit)
{
    Everything *e = ARENA_NEW(a, Everything);
    e->arena = a;
    e->g = g;
    e->limit = limit;
    for (int v = 0; v < g->n; v++)
        for (int i = 0; i < g->nodes[v].n_inputs; i++)
            e->inputs[v] |= 1 << g->nodes[v].inputs[i];
    reach(e, 0, 0, 0);
    for (int extra = 0; extra < MOST_EXTRA; extra++)
        for (int i = 0; i < e->by_extra[extra].at.n; i++) {
            Point p = e->by_extra[extra].at.at[i];
            if (p.done == (1 << g->n) - 1)
                return extra;
            if (is_new(e, p))
                steps(e, extra, p);
        }
    return -1;
}

/* ---- */

typedef struct Count {
    int planned, none; /* limits with an order, and without */
} Count;

static bool
wrong(const char *what, uint32_t seed, int64_t got, int64_t least)
{
    printf("seed %u: %s %lld, least %lld\n", (unsigned)seed, what,
           (long long)got, (long long)least);
    return false;
}

static bool
matches(const CostGraph *g, const RematPlan *plan, bool found, int64_t limit,
        int64_t best)
{
    if (!found)
        return best < 0;
    return plan->result.time - g->time == best && plan->result.peak <= limit;
}

/* One graph at a limit between its largest node and its peak. */
static bool
compare(Arena *a, const CostGraph *g, uint32_t seed, uint32_t *x, Count *c)
{
    int node;
    RematPlan plan;
    int64_t least = costs_least_peak(g, &node);
    if (least >= g->peak)
        return true;
    int64_t limit = least + draw(x, (uint32_t)(g->peak - least));
    int64_t best = exhaust(a, g, limit);
    c->planned += best >= 0;
    c->none += best < 0;
    bool found = remat_plan(a, g, limit, EFFORT, &plan);
    if (!matches(g, &plan, found, limit, best))
        return wrong("planned", seed, plan.result.time - g->time, best);
    if (best >= 0 && remat_bound(a, g, limit) > g->time + best)
        return wrong("bound", seed, remat_bound(a, g, limit), best);
    plan = (RematPlan){0};
    found = remat_prove(a, g, limit, PROVE_QUICK, &plan, false);
    if (!plan.proved || !matches(g, &plan, found, limit, best))
        return wrong("proved", seed, plan.result.time - g->time, best);
    return true;
}

static bool
run(int n, CostGraph *make(Arena *, uint32_t *), Count *c)
{
    for (uint32_t seed = 1; seed <= (uint32_t)n; seed++) {
        Arena *a = arena_new();
        uint32_t x = seed;
        draw(&x, 2);
        bool same = compare(a, make(a, &x), seed, &x, c);
        arena_free(a);
        if (!same)
            return false;
    }
    return true;
}

int
main(void)
{
    Count chains = {0}, others = {0};
    if (!run(CHAINS, chain, &chains) || !run(OTHERS, other, &others))
        return 1;
    printf("chains: %d planned, %d without an order\n", chains.planned,
           chains.none);
    printf("others: %d planned, %d without an order\n", others.planned,
           others.none);
    return 0;
}
