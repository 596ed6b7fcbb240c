#include "passes/plan/flow.h"

#include "passes/plan/cost.h"

typedef struct Copy {
    const Node *node;
    Link link;
    double latency, bytes; /* what is left of it */
    double begin, end;
    int span; /* in the list, or -1 */
} Copy;

/* Of one way: copies from `head` on are not done. */
typedef struct Way {
    VEC(Copy) at;
    int head;
} Way;

typedef struct Flow {
    Arena *a;
    double now; /* of the compute queue */
    double link_now; /* up to then the copies have run */
    Way way[FLOW_QUEUES]; /* FLOW_out and FLOW_in */
    FlowSpans *spans;
} Flow;

static const Value *
away(const Node *copy)
{
    return copy->op == OP_fetch ? copy->args[0] : copy->results[0];
}

static FlowQueue
queue_of(const Node *copy)
{
    return copy->op == OP_fetch ? FLOW_in : FLOW_out;
}

static Link
link_of(const Node *copy)
{
    return machine_link(machine_of(copy->graph->module), away(copy)->space);
}

int64_t
flow_copy_ns(const Node *copy)
{
    Link l = link_of(copy);
    double rate = copy->op == OP_fetch ? l.in : l.out;
    return (int64_t)((double)type_bytes(&away(copy)->type) / rate +
                     l.latency_ns);
}

/* ---- the link ---- */

static Copy *
head(Flow *f, FlowQueue q)
{
    Way *w = &f->way[q];
    return w->head < w->at.n ? &w->at.at[w->head] : NULL;
}

static bool
moves(const Copy *c)
{
    return c && c->latency <= 0;
}

static double
rate_of(Flow *f, FlowQueue q)
{
    const Copy *c = head(f, q);
    const Copy *other = head(f, q == FLOW_in ? FLOW_out : FLOW_in);
    double alone = q == FLOW_in ? c->link.in : c->link.out;
    double sum = c->link.in + c->link.out;
    if (!moves(other) || sum <= c->link.both)
        return alone;
    return alone * c->link.both / sum;
}

/* Until the next copy of a way changes what it does. */
static double
left_of(Flow *f, FlowQueue q)
{
    const Copy *c = head(f, q);
    if (!c)
        return -1;
    return c->latency > 0 ? c->latency : c->bytes / rate_of(f, q);
}

static void
finish(Flow *f, FlowQueue q)
{
    Copy *c = head(f, q);
    c->end = f->link_now;
    if (c->span >= 0)
        f->spans->at[c->span].end = cost_whole(c->end);
    f->way[q].head++;
    c = head(f, q);
    if (!c)
        return;
    c->begin = f->link_now;
    if (c->span >= 0)
        f->spans->at[c->span].begin = cost_whole(c->begin);
}

/* Runs both ways for `step`; what is within a thousandth of a ns is done. */
static void
run_for(Flow *f, double step)
{
    double rate[FLOW_QUEUES] = {0};
    for (FlowQueue q = FLOW_out; q <= FLOW_in; q++)
        rate[q] = moves(head(f, q)) ? rate_of(f, q) : 0;
    f->link_now += step;
    for (FlowQueue q = FLOW_out; q <= FLOW_in; q++) {
        Copy *c = head(f, q);
        if (!c)
            continue;
        if (c->latency > 0) {
            c->latency -= step;
            if (c->latency < 1e-3)
                c->latency = 0;
            continue;
        }
        c->bytes -= step * rate[q];
        if (c->bytes < 1e-3 * rate[q])
            finish(f, q);
    }
}

/* Runs the copies up to a moment; until < 0: until `c` of a way is done. */
static void
run_link(Flow *f, double until, FlowQueue way, int c)
{
    while (until >= 0 ? f->link_now < until : f->way[way].head <= c) {
        double out = left_of(f, FLOW_out), in = left_of(f, FLOW_in);
        double step = out < 0 || (in >= 0 && in < out) ? in : out;
        if (step < 0) {
            f->link_now = until;
            return;
        }
        if (until >= 0 && f->link_now + step > until)
            step = until - f->link_now;
        run_for(f, step);
    }
}

/* ---- nodes ---- */

static int
add_span(Flow *f, const Node *n, FlowQueue q, double begin, double end)
{
    if (!f->spans)
        return -1;
    vec_push(f->a, f->spans,
             ((FlowSpan){n, q, cost_whole(begin), cost_whole(end)}));
    return f->spans->n - 1;
}

static void
begin_copy(Flow *f, const Node *n)
{
    FlowQueue q = queue_of(n);
    Copy c = {.node = n, .link = link_of(n), .begin = f->now};
    run_link(f, f->now, q, 0);
    c.latency = c.link.latency_ns;
    c.bytes = (double)type_bytes(&away(n)->type);
    c.span = add_span(f, n, q, f->now, f->now);
    vec_push(f->a, &f->way[q].at, c);
}

static void
wait_for(Flow *f, const Node *wait)
{
    const Node *copy = wait->args[0]->def;
    FlowQueue q = queue_of(copy);
    Way *w = &f->way[q];
    for (int i = 0; i < w->at.n; i++) {
        if (w->at.at[i].node != copy)
            continue;
        run_link(f, -1, q, i);
        if (w->at.at[i].end > f->now)
            f->now = w->at.at[i].end;
    }
}

int64_t
flow_graph(Arena *a, const Graph *g, FlowSpans *spans)
{
    Flow f = {.a = a, .spans = spans};
    graph_each(g, n) {
        if (n->op == OP_offload || n->op == OP_fetch) {
            begin_copy(&f, n);
        } else if (n->op == OP_wait) {
            wait_for(&f, n);
        } else {
            double ns = (double)cost_kernel(n);
            if (ns > 0)
                add_span(&f, n, FLOW_compute, f.now, f.now + ns);
            f.now += ns;
        }
    }
    return cost_whole(f.now);
}

/* ---- programs ---- */

static int64_t
flow_action(Arena *a, const Action *x)
{
    if (x->kind == ACTION_call)
        return flow_graph(a, x->graph, NULL);
    int64_t ns = 0;
    for (int i = 0; i < x->body.n; i++)
        ns = cost_plus(ns, flow_action(a, x->body.at[i]));
    return cost_times(ns, x->hi - x->lo);
}

int64_t
flow_program(const Module *m, const char *name)
{
    Arena *a = arena_new();
    int64_t ns = 0;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        for (int k = 0; strcmp(p->name, name) == 0 && k < p->actions.n; k++)
            ns = cost_plus(ns, flow_action(a, p->actions.at[k]));
    }
    arena_free(a);
    return ns;
}
