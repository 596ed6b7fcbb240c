#include "passes/plan/prove.h"

#include "passes/plan/prove_parts.h"

enum {
    WORK = 100000, /* in the cuts, of a thousand steps */
    MOST_STATES = 1 << 21
};

static void
set_node(Prover *p, int v)
{
    const CostNode *node = &p->g->nodes[v];
    p->common = costs_gcd(node->time, p->common);
    set_add(&p->all, v);
    for (int i = 0; i < node->n_inputs; i++) {
        int u = node->inputs[i];
        set_add(&p->inputs[v], u);
        set_add(&p->readers[u], v);
        set_add(&p->before[v], u);
        p->before[v] = set_or(p->before[v], p->before[u]);
    }
    for (int u = 0; u < v; u++)
        if (set_has(&p->before[v], u))
            set_add(&p->after[u], v);
}

static void
set_up(Prover *p)
{
    int n = p->g->n;
    for (int v = 0; v < n; v++)
        set_node(p, v);
    p->common = p->common ? p->common : 1;
    for (int x = 0; x < n; x++) {
        p->room[x] = p->limit - p->g->nodes[x].bytes;
        for (int v = 0; v < n; v++) {
            bool here = v == x || set_has(&p->inputs[x], v);
            if (here && v != x)
                p->room[x] -= p->g->nodes[v].bytes;
            if (!here && set_meets(&p->readers[v], &p->after[x]))
                set_add(&p->crossing[x], v);
        }
    }
    cut_init(&p->cut, p->arena, 2 * n + 2);
}

/* ---- steps ---- */

/* Values that may still be read: by what has not run, or by what runs again
 * for such a reader. */
static NodeSet
useful(const Prover *p, const NodeSet *done)
{
    NodeSet use = {0}, want = set_less(p->all, *done);
    for (int v = p->g->n - 1; v >= 0; v--) {
        if (!set_meets(&p->readers[v], &want))
            continue;
        set_add(&use, v);
        set_add(&want, v);
    }
    return use;
}

/* Of two runs of which the second does not read the first, and where what the
 * first makes and reads stays, one order is enough: the second fits before
 * the first, and then the first does. */
static bool
other_order(const Prover *p, const ProveState *s, int w, const NodeSet *live)
{
    int v = s->last;
    if (v < 0 || set_has(&p->inputs[w], v) || !set_has(live, v) ||
        !set_within(&p->inputs[v], live))
        return false;
    bool again_w = set_has(&s->done, w), again_v = s->again;
    return again_v != again_w ? again_v : v > w;
}

typedef struct Step {
    int from;
    int v;
    bool again;
    NodeSet use; /* useful once v has run */
    int by_size[PROVE_NODES], n;
    int64_t over[PROVE_NODES + 1]; /* bytes of by_size from here on */
} Step;

/* After v, of what was alive before it this; false when that is of no use,
 * nor is it when more goes. */
static bool
arrive(Prover *p, const Step *step, NodeSet live, ProveState *s)
{
    const ProveState *from = &p->states.at[step->from];
    *s = *from;
    set_add(&live, step->v);
    s->live = set_and(live, step->use);
    set_add(&s->done, step->v);
    s->extra += step->again ? p->g->nodes[step->v].time : 0;
    s->parent = step->from;
    s->last = (int16_t)step->v;
    s->again = step->again;
    s->depth++;
    s->looked = false;
    prove_glance(p, s);
    return s->total < p->below;
}

/* All least sets of values that go so that `missing` bytes become free. */
static void
drop(Prover *p, const Step *step, int at, int64_t missing, NodeSet live)
{
    ProveState s;
    if (!arrive(p, step, live, &s))
        return;
    if (missing <= 0) {
        if (!other_order(p, &p->states.at[step->from], step->v, &s.live))
            prove_add(p, &s);
        return;
    }
    for (; at < step->n && step->over[at] >= missing; at++) {
        NodeSet rest = live;
        set_drop(&rest, step->by_size[at]);
        drop(p, step, at + 1,
             missing - p->g->nodes[step->by_size[at]].bytes, rest);
    }
}

static void
list_droppable(const Prover *p, Step *step, NodeSet live)
{
    const CostNode *nodes = p->g->nodes;
    live = set_less(live, p->inputs[step->v]);
    for (int v = 0; v < p->g->n; v++) {
        if (!set_has(&live, v) || nodes[v].bytes == 0)
            continue;
        int at = step->n++;
        for (; at > 0 && nodes[step->by_size[at - 1]].bytes < nodes[v].bytes;
             at--)
            step->by_size[at] = step->by_size[at - 1];
        step->by_size[at] = v;
    }
    for (int i = step->n - 1; i >= 0; i--)
        step->over[i] = step->over[i + 1] + nodes[step->by_size[i]].bytes;
}

static void
run(Prover *p, int from, int v, const NodeSet *use)
{
    ProveState s = p->states.at[from];
    Step step = {.from = from, .v = v, .again = set_has(&s.done, v)};
    NodeSet done = s.done;
    set_add(&done, v);
    step.use = step.again ? *use : useful(p, &done);
    int64_t missing =
        prove_bytes(p, &s.live) + p->g->nodes[v].bytes - p->limit;
    if (missing > 0)
        list_droppable(p, &step, s.live);
    drop(p, &step, 0, missing, s.live);
}

static bool
can_run(const Prover *p, const ProveState *s, int v, const NodeSet *use)
{
    return set_within(&p->inputs[v], &s->live) &&
           (!set_has(&s->done, v) ||
            (!set_has(&s->live, v) && set_has(use, v)));
}

static void
expand(Prover *p, int from)
{
    NodeSet done = p->states.at[from].done, use = useful(p, &done);
    for (int v = 0; v < p->g->n; v++)
        if (can_run(p, &p->states.at[from], v, &use))
            run(p, from, v, &use);
}

/* ---- the search ---- */

static void
take_plan(Prover *p, int state, RematPlan *plan)
{
    int n = p->states.at[state].depth;
    plan->order = ARENA_ARRAY(p->plan_arena, int, n + 1);
    plan->n = n;
    for (int s = state; n > 0; s = p->states.at[s].parent)
        plan->order[--n] = p->states.at[s].last;
    if (!costs_check(p->arena, p->g, plan->order, plan->n, &plan->result) ||
        plan->result.peak > p->limit)
        bug("the proof made an order that cannot run");
}

static void
begin(Prover *p)
{
    ProveState s = {.parent = -1, .last = -1, .x = -1};
    s.price = (double)p->g->time / (double)(p->g->peak + 1);
    prove_add(p, &s);
}

/* The extra time that no order goes below; prove_never when there is none
 * and no better one was known. */
static int64_t
search(Prover *p, int64_t work, RematPlan *plan, bool *found)
{
    for (int i; (i = prove_pop(p)) >= 0;) {
        ProveState *s = &p->states.at[i];
        int64_t total = s->total;
        if (s->old)
            continue;
        if (p->cut.work > work || p->states.n > MOST_STATES)
            return total;
        if (!s->looked)
            prove_look(p, s);
        if (s->total > total) {
            if (s->total < p->below)
                prove_push(p, i);
        } else if (set_equal(&s->done, &p->all)) {
            *found = true;
            take_plan(p, i, plan);
            return total;
        } else {
            expand(p, i);
        }
    }
    return p->below;
}

static bool
prove(Arena *a, const CostGraph *g, int64_t limit, int64_t effort,
      RematPlan *plan, bool found)
{
    Arena *scratch = arena_new();
    Prover *p = ARENA_NEW(scratch, Prover);
    *p = (Prover){.arena = scratch, .plan_arena = a, .g = g, .limit = limit,
                  .below = prove_never};
    if (found)
        p->below = plan->result.time - g->time;
    set_up(p);
    begin(p);
    int64_t extra = search(p, WORK * effort, plan, &found);
    plan->proved = extra == prove_never;
    if (!plan->proved && g->time + extra > plan->bound)
        plan->bound = g->time + extra;
    arena_free(scratch);
    return found;
}

bool
remat_prove(Arena *a, const CostGraph *g, int64_t limit, int64_t effort,
            RematPlan *plan, bool found)
{
    int node;
    plan->bound = remat_bound(a, g, limit);
    plan->proved = !found && limit < costs_least_peak(g, &node);
    if (g->n <= PROVE_NODES && !plan->proved &&
        !(found && plan->result.time <= plan->bound))
        found = prove(a, g, limit, effort, plan, found);
    if (found)
        plan->proved = plan->result.time <= plan->bound;
    return found;
}
