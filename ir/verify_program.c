/* The lists of calls. */
#include <inttypes.h>

#include "ir/verify_check.h"

static void verify_actions(Verifier *v, Action *const *list, int n,
                           const Action *loop);

static int64_t
microbatches(const Verifier *v)
{
    return v->m->train ? v->m->train->accumulate : 1;
}

static void
verify_call(Verifier *v, const Action *a, const Action *loop)
{
    v->at = a->loc;
    if (!a->graph || module_graph(v->m, a->graph->name) != a->graph) {
        verify_fault(v, "calls a graph that is not there");
        return;
    }
    if (a->mb == MB_LOOP && !loop)
        verify_fault(v, "call %s: mb = mb outside of a repeat", a->graph->name);
    if (a->mb < MB_LOOP || a->mb >= microbatches(v))
        verify_fault(v, "call %s: there is no microbatch %" PRId64,
                     a->graph->name, a->mb);
    if (a->slot < 0 || a->slot >= v->m->slots)
        verify_fault(v, "call %s: there is no slot %" PRId64, a->graph->name,
                     a->slot);
}

static void
verify_repeat(Verifier *v, const Action *a, const Action *loop)
{
    v->at = a->loc;
    if (loop)
        verify_fault(v, "a repeat in a repeat: which is mb?");
    if (a->lo < 0 || a->lo >= a->hi || a->hi > microbatches(v))
        verify_fault(v,
                     "repeat from %" PRId64 " to %" PRId64 " of %" PRId64
                     " microbatches",
                     a->lo, a->hi, microbatches(v));
    verify_actions(v, a->body.at, a->body.n, a);
}

static void
verify_actions(Verifier *v, Action *const *list, int n, const Action *loop)
{
    for (int i = 0; i < n; i++)
        if (list[i]->kind == ACTION_repeat)
            verify_repeat(v, list[i], loop);
        else
            verify_call(v, list[i], loop);
}

/* ---- states ---- */

/* Every read of a step sees the old value, so only the graph that gives a
 * state its next value may read it: it runs before all others. */
static void
verify_states(Verifier *v, const Graph *g, const Graph **writer)
{
    graph_each(g, n) {
        if (n->op != OP_read || n->tensor->kind != TENSOR_state)
            continue;
        const Graph *by = writer[n->tensor->mark];
        verify_at(v, n);
        if (by && by != g)
            verify_fault(v, "%s has its next value from graph %s already",
                         n->tensor->name, by->name);
    }
}

static void
find_writers(const Graph *g, const Graph **writer)
{
    graph_each(g, n)
        if (n->op == OP_write && n->tensor->kind == TENSOR_state)
            writer[n->tensor->mark] = g;
}

static void
each_called(Verifier *v, Action *const *list, int n, const Graph **writer,
            bool find)
{
    for (int i = 0; i < n; i++) {
        Action *a = list[i];
        if (a->kind == ACTION_repeat)
            each_called(v, a->body.at, a->body.n, writer, find);
        else if (find)
            find_writers(a->graph, writer);
        else
            verify_states(v, a->graph, writer);
    }
}

/* ---- parameters ---- */

static bool
is_updated(const Node *n, const Value *x)
{
    const Tensor *t = value_tensor(x);
    return (op_info[n->op].flags & OP_OPTIMIZER) &&
           n->phase != PHASE_update && t &&
           (t->kind == TENSOR_param || t->kind == TENSOR_opt);
}

/* by: who has changed it, by Tensor.mark. */
static void
find_updated(const Graph *g, const Graph *of, const Graph **by)
{
    graph_each(g, n) {
        if (n->body)
            find_updated(n->body, of, by);
        for (int i = 0; i < n->n_args; i++)
            if (is_updated(n, n->args[i]))
                by[value_tensor(n->args[i])->mark] = of;
    }
}

static void
verify_updated(Verifier *v, const Graph *g, const Graph **by)
{
    graph_each(g, n) {
        const Graph *who = n->op == OP_read ? by[n->tensor->mark] : NULL;
        verify_at(v, n);
        if (who)
            verify_fault(v, "%s is updated by graph %s already",
                         n->tensor->name, who->name);
    }
    find_updated(g, g, by);
}

/* All of a step reads the parameters that it began with: a pass that updates
 * one runs once, and no later one reads it. */
static void
verify_updates(Verifier *v, Action *const *list, int n, const Graph **by)
{
    for (int i = 0; i < n; i++) {
        const Action *a = list[i];
        int turns = a->kind != ACTION_repeat ? 1 : a->hi - a->lo > 1 ? 2 : 1;
        for (int k = 0; k < turns && a->kind == ACTION_repeat; k++)
            verify_updates(v, a->body.at, a->body.n, by);
        if (a->kind == ACTION_call)
            verify_updated(v, a->graph, by);
    }
}

static void
verify_fence(Verifier *v, const Program *p)
{
    int n = v->m->tensors.n;
    const Graph **writer = ARENA_ARRAY(v->arena, const Graph *, n + 1);
    for (int i = 0; i < n; i++)
        v->m->tensors.at[i]->mark = i;
    each_called(v, p->actions.at, p->actions.n, writer, true);
    each_called(v, p->actions.at, p->actions.n, writer, false);
    memset(writer, 0, sizeof *writer * (size_t)n);
    verify_updates(v, p->actions.at, p->actions.n, writer);
}

void
verify_programs(Verifier *v)
{
    int before = v->faults;
    for (int i = 0; i < v->m->programs.n; i++) {
        const Program *p = v->m->programs.at[i];
        v->at = p->loc;
        v->what = arena_printf(v->arena, "program %s", p->name);
        for (int k = 0; k < i; k++) {
            const Program *q = v->m->programs.at[k];
            if (!strcmp(p->name, q->name) && p->rank == q->rank)
                verify_fault(v, "two programs of rank %d are called so",
                             p->rank);
        }
        verify_actions(v, p->actions.at, p->actions.n, NULL);
        if (v->faults == before)
            verify_fence(v, p);
    }
}
