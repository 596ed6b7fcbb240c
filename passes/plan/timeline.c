#include "passes/plan/timeline.h"

#include "passes/plan/life.h"

typedef struct Make {
    Arena *a;
    Module *m;
    VEC(Graph *) calls;         /* one microbatch, then the rest */
    int n;                      /* nodes of all calls */
    int64_t *stash, *workspace; /* by position in the step; at first what
                                 * changes there */
    int *first, *end;           /* by Tensor.mark: where it holds a value */
} Make;

/* ---- the calls ---- */

static void
add_calls(Make *k, const Action *x)
{
    if (x->kind == ACTION_call) {
        vec_push(k->a, &k->calls, x->graph);
        return;
    }
    for (int i = 0; i < x->body.n; i++)
        add_calls(k, x->body.at[i]);
}

static void
find_calls(Make *k)
{
    const char *name = module_graph(k->m, "infer") ? "infer" : "step";
    for (int i = 0; i < k->m->programs.n; i++) {
        const Program *p = k->m->programs.at[i];
        for (int x = 0; strcmp(p->name, name) == 0 && x < p->actions.n; x++)
            add_calls(k, p->actions.at[x]);
    }
    for (int i = 0; i < k->calls.n; i++)
        graph_each(k->calls.at[i], n)
            k->n++;
}

/* ---- what is alive ---- */

static void
add_alive(int64_t *series, int first, int end, int64_t bytes)
{
    series[first] += bytes;
    series[end] -= bytes;
}

/* NULL where it lies in gradients, which count whole. */
static int64_t *
series_of(Make *k, const Life *l)
{
    Region r = l->home ? l->home->region : REGION_workspace;
    return r == REGION_stash ? k->stash : r == REGION_grads ? NULL
                                                             : k->workspace;
}

static void
add_workspace(Make *k, Graph *g, int base)
{
    Arena *a = arena_new();
    Lives l = life_find(a, g);
    for (int i = 0; i < l.at.n; i++) {
        const Life *x = &l.at.at[i];
        int64_t *series = series_of(k, x);
        if (series)
            add_alive(series, base + x->first, base + x->end, x->bytes);
    }
    arena_free(a);
}

static void
touch(Make *k, const Tensor *t, int at)
{
    if (!t || t->kind != TENSOR_stash)
        return;
    if (k->end[t->mark] == 0)
        k->first[t->mark] = at;
    k->end[t->mark] = at + 1;
}

static void
touch_all(Make *k, Graph *g, int at)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_args; i++)
            touch(k, life_home(n->args[i])->tensor, at);
        for (int i = 0; i < n->n_results; i++)
            touch(k, life_home(n->results[i])->tensor, at);
        touch(k, n->op == OP_write ? n->tensor : NULL, at);
        at++;
    }
}

static void
find_alive(Make *k)
{
    int tensors = k->m->tensors.n, base = 0;
    k->first = ARENA_ARRAY(k->a, int, tensors + 1);
    k->end = ARENA_ARRAY(k->a, int, tensors + 1);
    k->stash = ARENA_ARRAY(k->a, int64_t, k->n + 1);
    k->workspace = ARENA_ARRAY(k->a, int64_t, k->n + 1);
    for (int i = 0; i < tensors; i++)
        k->m->tensors.at[i]->mark = i;
    for (int i = 0; i < k->calls.n; i++) {
        add_workspace(k, k->calls.at[i], base);
        touch_all(k, k->calls.at[i], base);
        graph_each(k->calls.at[i], n)
            base++;
    }
    for (int i = 0; i < tensors; i++) {
        const Tensor *t = k->m->tensors.at[i];
        if (t->region == REGION_stash && k->end[i] > 0)
            add_alive(k->stash, k->first[i], k->end[i], t->bytes);
    }
    for (int i = 1; i < k->n; i++) {
        k->stash[i] += k->stash[i - 1];
        k->workspace[i] += k->workspace[i - 1];
    }
}

/* ---- moments ---- */

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void
add_moment(Make *k, Timeline *t, Moment x)
{
    const Moment *peak = t->peak >= 0 ? &t->at.at[t->peak] : NULL;
    if (!peak || x.stash + x.workspace > peak->stash + peak->workspace)
        t->peak = t->at.n;
    vec_push(k->a, &t->at, x);
}

/* What is alive at nodes that take no time counts at the next that does. at:
 * the position of the call's first node. */
static void
add_call(Make *k, Timeline *t, const Graph *g, int at)
{
    FlowSpans spans = {0};
    int64_t stash = 0, workspace = 0, end = flow_graph(k->a, g, &spans);
    const Node *n = g->first;
    for (int i = 0; i < spans.n; i++) {
        const FlowSpan *s = &spans.at[i];
        int64_t start = t->ns + s->begin, ns = s->end - s->begin;
        if (s->queue != FLOW_compute) {
            vec_push(k->a, &t->copies,
                     ((Transfer){g, s->node, s->queue, start, ns}));
            continue;
        }
        for (bool found = false; !found; n = n->next) {
            stash = larger(stash, k->stash[at]);
            workspace = larger(workspace, k->workspace[at++]);
            found = n == s->node;
        }
        add_moment(k, t, (Moment){g, s->node, start, ns, stash, workspace});
        stash = workspace = 0;
    }
    t->ns += end;
}

static void
add_calls_of_all(Make *k, Timeline *t)
{
    int at = 0;
    for (int i = 0; i < k->calls.n; i++) {
        add_call(k, t, k->calls.at[i], at);
        graph_each(k->calls.at[i], n)
            at++;
    }
}

Timeline
timeline_make(Arena *a, Module *m)
{
    Make k = {.a = a, .m = m};
    Timeline t = {.batches = m->train ? m->train->accumulate : 1, .peak = -1};
    find_calls(&k);
    find_alive(&k);
    add_calls_of_all(&k, &t);
    return t;
}
