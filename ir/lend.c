#include "ir/lend.h"

#include <limits.h>

typedef struct Find {
    Map numbers; /* of gradients and stash, + 1 */
    Lend lend;
    bool *touched;
    int base; /* position of the call's first node */
} Find;

static int
number_of(const Find *f, const Tensor *t)
{
    return t ? (int)(intptr_t)map_get(&f->numbers, t->name) - 1 : -1;
}

/* ---- which program ---- */

static bool
is_lending(const Tensor *t)
{
    return t && (t->kind == TENSOR_grad || t->kind == TENSOR_stash);
}

static bool
uses(const Graph *g)
{
    graph_each(g, n)
        if (is_lending(n->tensor) || (n->body && uses(n->body)))
            return true;
    return false;
}

static bool
program_uses(const Action *x)
{
    if (x->kind == ACTION_call)
        return uses(x->graph);
    for (int i = 0; i < x->body.n; i++)
        if (program_uses(x->body.at[i]))
            return true;
    return false;
}

static bool
calls_once(const Program *p)
{
    for (int i = 0; i < p->actions.n; i++) {
        if (p->actions.at[i]->kind != ACTION_call)
            return false;
        for (int k = 0; k < i; k++)
            if (p->actions.at[k]->graph == p->actions.at[i]->graph)
                return false;
    }
    return true;
}

/* The only one that uses gradients or stash, if all is as it must be. */
static const Program *
find_program(const Module *m)
{
    const Program *found = NULL;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        bool any = false;
        for (int k = 0; k < p->actions.n; k++)
            any |= program_uses(p->actions.at[k]);
        if (!any)
            continue;
        if (found || !calls_once(p))
            return NULL;
        found = p;
    }
    return m->slots == 1 ? found : NULL;
}

/* ---- where tensors are touched ---- */

static void
touch(Find *f, const Tensor *t, int now, bool reads)
{
    int i = number_of(f, t);
    if (i < 0)
        return;
    if (t->kind == TENSOR_stash && t->space == SPACE_device)
        f->lend.last[i] = now;
    if (t->kind == TENSOR_grad && !f->touched[i])
        f->lend.first[i] = reads ? -1 : now;
    f->touched[i] = true;
}

static bool
reads(const Node *n)
{
    return n->op == OP_read ||
           (n->op == OP_accumulate && node_flag(n, "more"));
}

static void
touch_node(Find *f, const Node *n, int now)
{
    for (int i = 0; i < n->n_args; i++)
        touch(f, n->args[i]->home->tensor, now, true);
    if (n->body)
        graph_each(n->body, x)
            touch(f, x->tensor, now, reads(x));
    touch(f, n->tensor, now, reads(n));
    for (int i = 0; i < n->n_results; i++)
        touch(f, n->results[i]->home->tensor, now, false);
}

static void
touch_all(Find *f, const Program *p)
{
    for (int i = 0; i < p->actions.n; i++) {
        graph_each(p->actions.at[i]->graph, n)
            touch_node(f, n, f->base++);
    }
}

Lend
lend_find(Arena *a, const Module *m)
{
    int n = m->tensors.n;
    const Program *p = find_program(m);
    Find f = {.touched = ARENA_ARRAY(a, bool, n + 1)};
    f.lend = (Lend){ARENA_ARRAY(a, int, n + 1), ARENA_ARRAY(a, int, n + 1), p};
    for (int i = 0; i < n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (is_lending(t))
            map_put(a, &f.numbers, t->name, (void *)(intptr_t)(i + 1));
        f.lend.first[i] = -1;
        f.lend.last[i] = INT_MAX;
    }
    if (p)
        touch_all(&f, p);
    return f.lend;
}

int
lend_base(const Lend *l, const Graph *g)
{
    int base = 0;
    for (int i = 0; l->program && i < l->program->actions.n; i++) {
        const Graph *called = l->program->actions.at[i]->graph;
        if (called == g)
            return base;
        graph_each(called, n)
            base++;
    }
    return -1;
}
