#include "ir/busy.h"

#include "ir/lend.h"

typedef struct Find {
    Arena *a;
    Map numbers; /* of stash tensors, + 1 */
    Busy *at;
    bool *written;
    bool any; /* is touched */
    int n;    /* nodes */
} Find;

static int
number_of(const Find *f, const Tensor *t)
{
    return t && t->kind == TENSOR_stash
               ? (int)(intptr_t)map_get(&f->numbers, t->name) - 1
               : -1;
}

static void
touch(Find *f, const Tensor *t, int now)
{
    int i = number_of(f, t);
    if (i < 0)
        return;
    Busy *b = &f->at[i];
    if (b->end == 0)
        b->first = now;
    b->end = now + 1;
    f->any = true;
}

static void
touch_node(Find *f, const Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        touch(f, n->args[i]->home->tensor, n->order);
    for (int i = 0; i < n->n_results; i++)
        touch(f, n->results[i]->home->tensor, n->order);
    if (n->op != OP_write || number_of(f, n->tensor) < 0)
        return;
    touch(f, n->tensor, n->order);
    f->written[number_of(f, n->tensor)] = true;
}

/* ---- graphs that touch none ---- */

static bool
uses_stash(const Graph *g)
{
    graph_each(g, n)
        if ((n->op == OP_write || n->op == OP_read) &&
            n->tensor->kind == TENSOR_stash)
            return true;
    return false;
}

static bool
calls(const Action *x, const Graph *g)
{
    if (x->kind == ACTION_call)
        return g ? x->graph == g : uses_stash(x->graph);
    for (int i = 0; i < x->body.n; i++)
        if (calls(x->body.at[i], g))
            return true;
    return false;
}

/* g NULL: any graph that uses the stash. */
static bool
program_calls(const Program *p, const Graph *g)
{
    for (int i = 0; i < p->actions.n; i++)
        if (calls(p->actions.at[i], g))
            return true;
    return false;
}

static bool
is_apart(const Graph *g)
{
    const Module *m = g->module;
    for (int i = 0; i < m->programs.n; i++)
        if (program_calls(m->programs.at[i], g) &&
            program_calls(m->programs.at[i], NULL))
            return false;
    return true;
}

/* ---- gradients ---- */

static void
find_grads(Find *f, const Graph *g)
{
    const Module *m = g->module;
    Lend lend = lend_find(f->a, m);
    int base = lend_base(&lend, g);
    for (int i = 0; i < m->tensors.n; i++) {
        if (m->tensors.at[i]->kind != TENSOR_grad)
            continue;
        int first = base < 0 ? 0 : lend.first[i] - base;
        f->at[i].first = first < 0 ? 0 : first < f->n ? first : f->n;
        f->at[i].end = f->n;
    }
}

Busy *
busy_find(Arena *a, const Graph *g)
{
    const Module *m = g->module;
    Find f = {.a = a, .at = ARENA_ARRAY(a, Busy, m->tensors.n + 1)};
    f.written = ARENA_ARRAY(a, bool, m->tensors.n + 1);
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_stash)
            map_put(a, &f.numbers, m->tensors.at[i]->name,
                    (void *)(intptr_t)(i + 1));
    graph_each(g, n) {
        touch_node(&f, n);
        f.n++;
    }
    bool none = !f.any && is_apart(g);
    for (int i = 0; i < m->tensors.n; i++) {
        Busy *b = &f.at[i];
        Region r = m->tensors.at[i]->region;
        if ((none && r == REGION_stash) ||
            (r != REGION_stash && r != REGION_grads))
            *b = (Busy){0, 0};
        else if (b->end == 0)
            b->end = f.n;
        else if (f.written[i])
            b->end = f.n;
        else
            b->first = 0;
    }
    find_grads(&f, g);
    return f.at;
}
