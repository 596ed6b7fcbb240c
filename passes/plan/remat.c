#include "passes/plan/remat.h"

#include "passes/plan/prove.h"
#include "passes/plan/remat_anneal.h"

/* Work of one unit of effort. Of the smallest limit: the part of the effort
 * that the first search takes, and that each step down takes; the part of the
 * peak that a step is worth; how often one byte below is tried. */
enum { WORK = 850000, FIRST = 4, STEP = 4, SQUEEZES = 2, PARTS = 256,
       TRIES = 4 };

/* A point of a curve takes this part of the effort. */
enum { SHARE = 4 };

/* Tiny graphs need less work. Graphs of a few nodes gain more by beginning
 * anew, large ones by cooling slowly. */
enum { TINY = 80, FEW = 150, REHEATS = 3, WIDE = 80 };

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
    .under = 0.06,
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
    bool any;    /* plan will do, not only a fast one */
    bool sketch; /* of what is least: no slow way to the limit */
    int *unplanned;
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

/* One cooling from the unplanned order, then some from what that found. A
 * large graph with nothing found yet takes two of these in one go. */
static void
search_once(Planner *p, RematSearch *s, int64_t work)
{
    int64_t part = work * 3 / 5 / REHEATS;
    remat_anneal(s, &first, p->unplanned, p->g->n, work * 2 / 5);
    int left = REHEATS;
    if (p->g->n > FEW && !p->sketch && s->n_best == 0 && s->n_tight > 0) {
        remat_anneal(s, &repair, s->tight, s->n_tight, 2 * part);
        left -= 2;
    }
    for (; left > 0; left--) {
        if (s->n_best > 0)
            remat_anneal(s, &again, s->best, s->n_best, part);
        else if (s->n_tight > 0)
            remat_anneal(s, &repair, s->tight, s->n_tight, part);
    }
}

static int64_t
full_work(const Planner *p, int effort)
{
    int n = p->g->n < TINY ? p->g->n : TINY;
    return (int64_t)WORK * n / TINY * effort;
}

/* Rounds until the work is spent. More of it begins as less does, so it finds
 * nothing worse. */
static void
search(Planner *p, RematSearch *s)
{
    int64_t left = full_work(p, p->effort), round = full_work(p, REMAT_EFFORT);
    for (int i = 0; left > 0 && s->best_time > s->enough; i++) {
        int64_t work = left < round ? left : round;
        search_once(p, s, work);
        left -= work;
        if (p->g->n > FEW && i > 0)
            round *= 2;
    }
}

static RematSearch *
new_search(const Planner *p, Arena *a, int64_t limit)
{
    RematSearch *s = ARENA_NEW(a, RematSearch);
    remat_search_init(s, a, p->flat, (int32_t)(limit / p->flat->unit));
    if (p->any)
        s->enough = INT64_MAX - 1;
    return s;
}

/* What is left open after so much is hardly ever closed by more of it. */
static int
quick(const CostGraph *g)
{
    return g->n > WIDE ? PROVE_QUICK / 4 : PROVE_QUICK;
}

/* The plan within the limit, in out; and, found or not, in tight what is
 * tighter than that. */
static bool
plan_within(Planner *p, int64_t limit, RematPlan *out, RematPlan *tight)
{
    RematPlan met;
    Arena *a = arena_new();
    RematSearch *s = new_search(p, a, limit);
    search(p, s);
    bool found = s->n_best > 0;
    if (found)
        keep(p, out, s->best, s->n_best);
    if (s->n_tight > 0) {
        keep(p, &met, s->tight, s->n_tight);
        if (met.result.peak < tight->result.peak)
            *tight = met;
    }
    arena_free(a);
    if (!found)
        found = remat_prove(p->arena, p->g, limit, quick(p->g), out, false);
    if (found && out->result.peak < tight->result.peak)
        *tight = *out;
    return found;
}

/* An order within the limit from the one of the smallest peak so far; that is
 * kept in tight, or else what is tighter than it was. */
static bool
tighten(Planner *p, int64_t limit, int64_t work, RematPlan *tight)
{
    RematPlan met;
    Arena *a = arena_new();
    RematSearch *s = new_search(p, a, limit);
    s->enough = INT64_MAX - 1;
    for (int i = 0; i < SQUEEZES && s->n_best == 0; i++) {
        bool met_one = s->n_tight > 0;
        remat_anneal(s, &repair, met_one ? s->tight : tight->order,
                     met_one ? s->n_tight : tight->n, work / SQUEEZES);
    }
    bool found = s->n_best > 0;
    if (found || s->n_tight > 0) {
        keep(p, &met, found ? s->best : s->tight, found ? s->n_best
                                                        : s->n_tight);
        if (met.result.peak < tight->result.peak)
            *tight = met;
    }
    arena_free(a);
    return found;
}

/* The plan of the smallest limit found: a first search, then steps down that
 * get longer while they work and shorter when not; then one byte below, as
 * it would be searched if it was asked for, as long as that works. It depends
 * on the graph and the effort alone, so that every limit from that one on
 * works whichever was asked for. */
static void
plan_smallest(Planner *p, int64_t least, RematPlan *tight)
{
    RematPlan plan;
    Planner part = *p;
    const int64_t *peak = &tight->result.peak;
    int64_t finest = p->g->peak / PARTS + p->flat->unit, step = 4 * finest;
    part.effort = (p->effort + FIRST - 1) / FIRST;
    part.any = part.sketch = true;
    keep(p, tight, p->unplanned, p->g->n);
    plan_within(&part, least, &plan, tight);
    while (step >= finest && *peak > least) {
        int64_t limit = *peak - step > least ? *peak - step : least;
        bool works = tighten(p, limit, full_work(p, p->effort) / STEP, tight);
        step = works ? 2 * step : step / 2;
    }
    part.effort = p->effort;
    part.sketch = false;
    for (int i = 0; i < TRIES && *peak > least; i++)
        if (!plan_within(&part, *peak - 1, &plan, tight))
            return;
}

/* Makes the plan, which is within the limit, faster. */
static void
improve(Planner *p, int64_t limit, RematPlan *plan)
{
    Arena *a = arena_new();
    RematSearch *s = new_search(p, a, limit);
    remat_anneal(s, &again, plan->order, plan->n, full_work(p, p->effort) / 2);
    if (s->n_best > 0)
        keep(p, plan, s->best, s->n_best);
    arena_free(a);
}

static Planner
planner(Arena *a, const CostGraph *g, int effort)
{
    Planner p = {.arena = a, .g = g, .flat = flat_graph(a, g),
                 .effort = effort, .unplanned = ARENA_ARRAY(a, int, g->n)};
    for (int v = 0; v < g->n; v++)
        p.unplanned[v] = v;
    return p;
}

static bool
find_plan(Arena *a, const CostGraph *g, int64_t limit, int effort,
          RematPlan *out)
{
    RematPlan tight;
    Planner p = planner(a, g, effort);
    int node;
    int64_t least = costs_least_peak(g, &node);
    keep(&p, out, p.unplanned, g->n);
    if (limit < 0 || limit >= g->peak)
        return true;
    tight = *out;
    if (limit >= least && plan_within(&p, limit, out, &tight))
        return true;
    plan_smallest(&p, least, out);
    bool found = out->result.peak <= limit;
    improve(&p, found ? limit : out->result.peak, out);
    return found;
}

bool
remat_plan(Arena *a, const CostGraph *g, int64_t limit, int effort,
           RematPlan *out)
{
    bool found = find_plan(a, g, limit, effort, out);
    if (found)
        remat_prove(a, g, limit, quick(g), out, true);
    return found;
}

/* ---- the curve ---- */

/* The plan at a limit above that of `below`. */
static void
plan_point(Planner *p, const RematPoint *below, RematPoint *out)
{
    RematPlan plan, tight = below->plan;
    out->plan = below->plan;
    if (out->limit >= p->g->peak)
        keep(p, &out->plan, p->unplanned, p->g->n);
    else if (plan_within(p, out->limit, &plan, &tight) &&
             plan.result.time < out->plan.result.time)
        out->plan = plan;
    else
        improve(p, out->limit, &out->plan);
    out->plan.bound = remat_bound(p->arena, p->g, out->limit);
}

int
remat_curve(Arena *a, const CostGraph *g, int effort, RematPoint *out)
{
    int node, n = 1;
    Planner p = planner(a, g, effort);
    plan_smallest(&p, costs_least_peak(g, &node), &out[0].plan);
    out[0].limit = out[0].plan.result.peak;
    p.effort = (effort + SHARE - 1) / SHARE;
    improve(&p, out[0].limit, &out[0].plan);
    out[0].plan.bound = remat_bound(a, g, out[0].limit);
    for (int k = 1; k <= REMAT_GRID; k++) {
        out[n].limit = g->peak / REMAT_GRID * k +
                       g->peak % REMAT_GRID * k / REMAT_GRID;
        if (out[n].limit > out[0].limit) {
            plan_point(&p, &out[n - 1], &out[n]);
            n++;
        }
    }
    for (int k = n - 1; k > 0; k--) /* what holds for more memory, too */
        if (out[k - 1].plan.bound < out[k].plan.bound)
            out[k - 1].plan.bound = out[k].plan.bound;
    return n;
}
