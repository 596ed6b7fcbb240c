#include "passes/plan/remat.h"

#include "passes/plan/remat_anneal.h"

/* Work of one unit of effort; the parts in which the smallest limit is looked
 * for; how often one below it is tried. */
enum { WORK = 300000, PARTS = 2048, TRIES = 4 };

static const RematCooling cooling = {
    .hot = 0.3,
    .cold = 0.01,
    .shrink = 0.6,
    .weight = 10,
    .rise = 0.6,
    .steeper = 1000,
};

typedef struct Planner {
    Arena *arena;
    const CostGraph *g;
    const FlatGraph *flat;
    int effort;
    int *unplanned;
    RematPlan *plan;  /* the last one found */
    RematPlan *tight; /* of the smallest peak met */
} Planner;

static void
keep(Planner *p, RematPlan *out, const int *order, int n)
{
    out->order = ARENA_ARRAY(p->arena, int, n);
    out->n = n;
    memcpy(out->order, order, sizeof(int) * (size_t)n);
    if (!costs_check(p->arena, p->g, order, n, &out->result))
        bug("the planner made an order that cannot run");
}

static void
search(Planner *p, RematSearch *s)
{
    int cycles = p->g->n <= 120 ? 3 : 1;
    int64_t work = (int64_t)WORK * p->effort / cycles;
    for (int i = 0; i < cycles; i++)
        remat_anneal(s, &cooling, p->unplanned, p->g->n, work);
}

/* A plan within the limit, in p->plan; and, found or not, what is tighter
 * than p->tight. */
static bool
plan_within(Planner *p, int64_t limit)
{
    RematPlan met;
    Arena *a = arena_new();
    RematSearch *s = ARENA_NEW(a, RematSearch);
    remat_search_init(s, a, p->flat, (int32_t)(limit / p->flat->unit));
    search(p, s);
    if (s->n_tight > 0) {
        keep(p, &met, s->tight, s->n_tight);
        if (met.result.peak < p->tight->result.peak)
            *p->tight = met;
    }
    bool found = s->n_best > 0;
    if (found) {
        keep(p, p->plan, s->best, s->n_best);
        if (p->plan->result.peak < p->tight->result.peak)
            *p->tight = *p->plan;
    }
    arena_free(a);
    return found;
}

/* Makes p->tight the plan of the smallest limit that works: by halving from
 * `fails`, then one unit below. */
static void
tighten(Planner *p, int64_t fails)
{
    int64_t step = p->g->peak / PARTS + p->flat->unit;
    int64_t *peak = &p->tight->result.peak;
    while (*peak - fails > step) {
        int64_t limit = fails + (*peak - fails) / 2;
        if (!plan_within(p, limit))
            fails = limit;
    }
    for (int i = 0; i < TRIES && *peak - 1 > fails; i++)
        if (!plan_within(p, *peak - 1))
            return;
}

bool
remat_plan(Arena *a, const CostGraph *g, int64_t limit, int effort,
           RematPlan *out)
{
    RematPlan tight;
    Planner p = {a, g, flat_graph(a, g), effort, NULL, out, &tight};
    int node;
    int64_t least = costs_least_peak(g, &node);
    p.unplanned = ARENA_ARRAY(a, int, g->n);
    for (int v = 0; v < g->n; v++)
        p.unplanned[v] = v;
    keep(&p, out, p.unplanned, g->n);
    tight = *out;
    if (limit < 0 || limit >= g->peak)
        return true;
    if (limit >= least && plan_within(&p, limit))
        return true;
    tighten(&p, limit < least ? least - 1 : limit);
    *out = tight;
    return out->result.peak <= limit;
}
