#include "passes/plan/life.h"

#include "ir/scratch.h"
#include "ir/storage.h"

enum { PRINTED = -1 }; /* Value.mark; else the number of its life + 1 */

Value *
life_home(Value *v)
{
    while (v->home != v)
        v = v->home;
    return v;
}

int64_t
life_extent(const Type *t, const Layout *l)
{
    int64_t last = l->offset;
    for (int i = 0; i < t->rank; i++)
        if (l->stride[i] > 0)
            last += (t->dim[i] - 1) * l->stride[i];
    return ((last + 1) * dtype_info[t->dtype].bits + 7) / 8 + l->pad;
}

static void
clear(Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            clear(n->body);
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
    }
    storage_mark_constants(g);
    graph_each(g, n)
        if (n->op == OP_const)
            n->results[0]->mark = n->results[0]->mark ? 0 : PRINTED;
}

static void
touch(Arena *a, Lives *l, Value *v, int at)
{
    Value *h = life_home(v);
    if (h->tensor || h->mark == PRINTED || h->space != SPACE_device)
        return;
    if (!h->mark) {
        int64_t bytes = scratch_part(life_extent(&h->type, &h->layout));
        vec_push(a, &l->at, ((Life){h, NULL, at, at + 1, bytes}));
        h->mark = l->at.n;
    }
    Life *life = &l->at.at[h->mark - 1];
    if (at + 1 > life->end)
        life->end = at + 1;
}

Lives
life_find(Arena *a, Graph *g)
{
    Lives l = {0};
    graph_number(g);
    clear(g);
    graph_each(g, n) {
        for (int i = 0; i < n->n_args; i++)
            touch(a, &l, n->args[i], n->order);
        for (int i = 0; i < n->n_results; i++)
            touch(a, &l, n->results[i], n->order);
        int64_t bytes = node_scratch(n);
        if (bytes > 0)
            vec_push(a, &l.at,
                     ((Life){NULL, n, n->order, n->order + 1, bytes}));
        l.n_nodes++;
    }
    return l;
}
