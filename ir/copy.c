#include "ir/copy.h"

typedef struct Copy {
    Module *m; /* the new one */
    Arena *a;
} Copy;

static void
copy_tensors(Copy *c, const Module *from)
{
    for (int i = 0; i < from->tensors.n; i++) {
        Tensor *old = from->tensors.at[i];
        Tensor *t = ARENA_NEW(c->a, Tensor);
        *t = *old;
        old->mark = i;
        if (t->owner)
            t->owner = module_tensor(c->m, t->owner->name);
        vec_push(c->a, &c->m->tensors, t);
        map_put(c->a, &c->m->tensor_map, t->name, t);
    }
}

static Tensor *
tensor(const Copy *c, const Tensor *old)
{
    return old ? c->m->tensors.at[old->mark] : NULL;
}

/* ---- nodes ---- */

static Value *
copy_value(Copy *c, Graph *outer, Value *old, Node *def)
{
    Value *v = ARENA_NEW(c->a, Value);
    *v = *old;
    v->def = def;
    v->tensor = tensor(c, old->tensor);
    v->note = NULL;
    old->note = v;
    map_put(c->a, &outer->values, v->name, v);
    return v;
}

static Value **
copied(Copy *c, Value *const *old, int n)
{
    Value **list = ARENA_ARRAY(c->a, Value *, n + 1);
    for (int i = 0; i < n; i++)
        list[i] = old[i]->note;
    return list;
}

static void copy_nodes(Copy *c, Graph *to, const Graph *from, Graph *outer);

static void
link_last(Graph *g, Node *n)
{
    n->graph = g;
    n->next = NULL;
    n->prev = g->last;
    *(g->last ? &g->last->next : &g->first) = n;
    g->last = n;
}

static void
copy_body(Copy *c, Node *n, const Node *old, Graph *outer)
{
    fused_open(n);
    copy_nodes(c, n->body, old->body, outer);
    n->results = copied(c, old->results, old->n_results);
}

static void
copy_node(Copy *c, Graph *to, const Node *old, Graph *outer)
{
    Node *n = ARENA_NEW(c->a, Node);
    *n = *old;
    link_last(to, n);
    n->tensor = tensor(c, old->tensor);
    n->attrs = ARENA_ARRAY(c->a, Attr, old->n_attrs + 1);
    for (int i = 0; i < old->n_attrs; i++)
        n->attrs[i] = old->attrs[i];
    n->args = copied(c, old->args, old->n_args);
    if (old->body) {
        copy_body(c, n, old, outer);
        return;
    }
    n->results = ARENA_ARRAY(c->a, Value *, old->n_results + 1);
    for (int i = 0; i < old->n_results; i++)
        n->results[i] = copy_value(c, outer, old->results[i], n);
}

static void
copy_nodes(Copy *c, Graph *to, const Graph *from, Graph *outer)
{
    graph_each(from, n)
        copy_node(c, to, n, outer);
}

/* A value may lie in one that is made later. */
static void
copy_homes(const Graph *from)
{
    graph_each(from, n) {
        if (n->body) {
            copy_homes(n->body);
            continue;
        }
        for (int i = 0; i < n->n_results; i++) {
            Value *v = n->results[i]->note;
            v->home = n->results[i]->home->note;
        }
    }
}

static void
copy_graph(Copy *c, Graph *from)
{
    Graph *g = module_add_graph(c->m, from->name);
    copy_nodes(c, g, from, g);
    copy_homes(from);
    graph_forget_notes(from);
    g->workspace = from->workspace;
    g->stash = from->stash;
}

/* ---- programs ---- */

static Action *
copy_action(Copy *c, const Action *old)
{
    Action *x = ARENA_NEW(c->a, Action);
    *x = *old;
    x->graph = old->graph ? module_graph(c->m, old->graph->name) : NULL;
    memset(&x->body, 0, sizeof x->body);
    for (int i = 0; i < old->body.n; i++)
        vec_push(c->a, &x->body, copy_action(c, old->body.at[i]));
    return x;
}

static void
copy_program(Copy *c, const Program *old)
{
    Program *p = ARENA_NEW(c->a, Program);
    *p = *old;
    memset(&p->actions, 0, sizeof p->actions);
    for (int i = 0; i < old->actions.n; i++)
        vec_push(c->a, &p->actions, copy_action(c, old->actions.at[i]));
    vec_push(c->a, &c->m->programs, p);
}

Module *
module_copy(Arena *a, Diag *d, Module *m)
{
    Module *to = module_new(a, d, m->name);
    Copy c = {to, a};
    for (int i = 0; i < m->options.n; i++)
        vec_push(a, &to->options, m->options.at[i]);
    for (int i = 0; i < m->dims.n; i++)
        vec_push(a, &to->dims, m->dims.at[i]);
    to->interner = m->interner;
    to->train = m->train;
    to->slots = m->slots;
    to->machine = m->machine;
    memcpy(to->region_bytes, m->region_bytes, sizeof to->region_bytes);
    copy_tensors(&c, m);
    for (int i = 0; i < m->graphs.n; i++)
        copy_graph(&c, m->graphs.at[i]);
    for (int i = 0; i < m->programs.n; i++)
        copy_program(&c, m->programs.at[i]);
    return to;
}
