#include "passes/plan/remat.h"

#include "passes/plan/remat_anneal.h"

/* Work of one unit of effort; the parts in which the smallest limit is looked
 * for; how often one below it is tried. */
enum { WORK = 450000, PARTS = 2048, TRIES = 4 };

/* Effort of a round on a graph of a few nodes, and of one on others: small
 * ones gain more by beginning anew, large ones by cooling slowly. */
enum { FEW = 150, ROUND_FEW = 100, ROUND = 400, REHEATS = 2 };

/* From the unplanned order, with the limit coming down as it cools. */
static const RematCooling first = {
    .hot = 0.3,
    .cold = 0.01,
    .shrink = 0.6,
    .under = 0,
    .back = 0.9,
    .weight = 10,
    .rise = 0.6,
    .steeper = 1000,
};

/* From the best order. */
static const RematCooling again = {
    .hot = 0.2,
    .cold = 0.01,
    .shrink = 0,
    .under = 0,
    .back = 0.9,
    .weight = 10,
    .rise = 0.3,
    .steeper = 1000,
};

/* From the order of the smallest peak, to one within the limit. */
static const RematCooling repair = {
    .hot = 0.2,
    .cold = 0.01,
    .shrink = 0.3,
    .under = 0.03,
    .back = 0.9,
    .weight = 100,
    .rise = 0,
    .steeper = 100,
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

/* One cooling from the unplanned order, then some from what that found. */
static void
search_once(Planner *p, RematSearch *s, int64_t work)
{
    remat_anneal(s, &first, p->unplanned, p->g->n, work * 3 / 5);
    for (int i = 0; i < REHEATS; i++) {
        int64_t part = work * 2 / 5 / REHEATS;
        if (s->n_best > 0)
            remat_anneal(s, &again, s->best, s->n_best, part);
        else if (s->n_tight > 0)
            remat_anneal(s, &repair, s->tight, s->n_tight, part);
    }
}

static void
search(Planner *p, RematSearch *s)
{
    int round = p->g->n <= FEW ? ROUND_FEW : ROUND;
    int rounds = (p->effort + round - 1) / round;
    for (int i = 0; i < rounds; i++)
        search_once(p, s, (int64_t)WORK * p->effort / rounds);
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
