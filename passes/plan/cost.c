#include "passes/plan/cost.h"

static const double MOST_NS = 1e15; /* of a kernel */
static const double PACKED = 1.5; /* passes for one, with packing */
static const int64_t MOST_SUM = INT64_C(4000000000000000000);

int64_t
cost_whole(double ns)
{
    return ns < (double)MOST_SUM ? (int64_t)ns : MOST_SUM;
}

int64_t
cost_plus(int64_t a, int64_t b)
{
    return a < MOST_SUM - b ? a + b : MOST_SUM;
}

int64_t
cost_times(int64_t ns, int64_t n)
{
    if (n <= 0)
        return 0;
    if (ns > MOST_SUM / n)
        return MOST_SUM;
    return ns < -(MOST_SUM / n) ? -MOST_SUM : ns * n;
}

/* What a chunk of a head walks, its products pack before they compute: nothing
 * hides that, and what is packed is written and read once more. */
static double
chunk_ns(const Work *w, const Machine *k)
{
    return PACKED * (double)w->chunked / k->device_memory;
}

int64_t
cost_ns(const Work *w, const Machine *k)
{
    double memory = (double)(w->bytes - w->chunked) / k->device_memory;
    double ns = w->ns;
    for (int i = 0; i < WORK_COUNT; i++)
        if (w->amount[i] > 0)
            ns += machine_work_ns(k, (WorkClass)i, w->amount[i]) *
                  (1 - w->narrow[i] / w->amount[i] *
                           (1 - k->device_f32 / k->device_bf16));
    double most = memory > ns ? memory : ns;
    double least = memory > ns ? ns : memory;
    if (most <= 0)
        return 0;
    double all = most + least * k->device_shown + k->device_start_ns +
                 chunk_ns(w, k);
    return all < MOST_NS ? (int64_t)all : (int64_t)MOST_NS;
}

/* As measured; negative: it was not. A head in other chunks moves other bytes
 * than it did then, and takes as much longer as is predicted. */
static double
measured_ns(const Machine *k, const char *name, const Work *w)
{
    const MeasuredKernel *t = k->measured ? map_get(k->measured, name) : NULL;
    if (!t || work_is_none(w))
        return -1;
    int64_t more = t->bytes >= 0 ? (int64_t)t->bytes - w->bytes : 0;
    if (more == 0)
        return t->ns;
    Work then = *w;
    then.bytes += more;
    if (w->chunked > 0)
        then.chunked += more > -w->chunked ? more : -w->chunked;
    double predicted = (double)cost_ns(&then, k);
    return predicted > 0 ? t->ns * (double)cost_ns(w, k) / predicted : t->ns;
}

int64_t
cost_named(const Machine *k, const char *name, const Work *w)
{
    double ns = measured_ns(k, name, w);
    return ns >= 0 ? cost_whole(ns) : cost_ns(w, k);
}

int64_t
cost_part(const Machine *k, const char *name, const Work *whole,
          const Work *part)
{
    double ns = measured_ns(k, name, whole);
    int64_t predicted = cost_ns(whole, k), now = cost_ns(part, k);
    if (ns < 0 || predicted <= 0)
        return now;
    return cost_whole((double)now * (ns / (double)predicted));
}

/* The kernel of the forward pass whose copy n is; NULL: it is not there. */
static const Node *
original(const Node *n)
{
    const Module *m = n->graph->module;
    const char *name = work_name(n);
    const Graph *g = module_graph(m, "forward");
    const Value *v = map_get(&(g ? g : n->graph)->values,
                             arena_strndup(m->arena, name, strlen(name) - 3));
    return v ? value_node(v) : NULL;
}

int64_t
cost_kernel(const Node *n)
{
    const Machine *k = machine_of(n->graph->module);
    const char *name = work_name(n);
    Work w = work_kernel(n);
    if (!n->recomputed || !k->measured || map_get(k->measured, name))
        return cost_named(k, name, &w);
    const Node *whole = original(n);
    if (!whole)
        return cost_ns(&w, k);
    Work all = work_kernel(whole);
    return cost_part(k, work_name(whole), &all, &w);
}

int64_t
cost_graph(const Graph *g)
{
    int64_t ns = 0;
    graph_each(g, n)
        ns = cost_plus(ns, cost_kernel(n));
    return ns;
}

static int64_t
cost_action(const Action *x)
{
    if (x->kind == ACTION_call)
        return cost_graph(x->graph);
    int64_t ns = 0;
    for (int i = 0; i < x->body.n; i++)
        ns = cost_plus(ns, cost_action(x->body.at[i]));
    return cost_times(ns, x->hi - x->lo);
}

int64_t
cost_program(const Module *m, const char *name)
{
    int64_t ns = 0;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (strcmp(p->name, name) != 0)
            continue;
        for (int k = 0; k < p->actions.n; k++)
            ns = cost_plus(ns, cost_action(p->actions.at[k]));
    }
    return ns;
}
