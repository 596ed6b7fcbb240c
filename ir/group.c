/* Copies of nodes, and groups of nodes that run as one kernel. */
#include "ir/graph.h"

static Value *
mapped(const Value *v)
{
    return v->note ? v->note : (Value *)v;
}

Graph *
fused_open(Node *fused)
{
    Graph *body = ARENA_NEW(fused->graph->module->arena, Graph);
    body->module = fused->graph->module;
    body->name = fused->graph->name;
    body->owner = fused;
    fused->body = body;
    return body;
}

/* The copy of a value as result i of `def`; layout and home stay default. */
static Value *
clone_value(Graph *g, Value *old, Node *def, const char *suffix)
{
    Module *m = g->module;
    Value *v = ARENA_NEW(m->arena, Value);
    v->name = graph_fresh(g, graph_derive(g, old->name, suffix));
    v->type = old->type;
    v->layout = layout_dense(&old->type);
    v->sharding = old->sharding;
    v->space = old->space;
    v->def = def;
    v->result = old->result;
    v->home = v;
    v->place = -1;
    map_put(m->arena, &graph_outer(g)->values, v->name, v);
    old->note = v;
    return v;
}

static Node *
clone_shell(Graph *g, const Node *n)
{
    Arena *a = g->module->arena;
    Node *c = ARENA_NEW(a, Node);
    *c = *n;
    c->prev = c->next = NULL;
    c->body = NULL;
    c->mark = 0;
    c->attrs = arena_grow(a, n->attrs, sizeof(Attr) * (size_t)n->n_attrs,
                          sizeof(Attr) * (size_t)(n->n_attrs + 1));
    c->args = ARENA_ARRAY(a, Value *, n->n_args + 1);
    c->results = ARENA_ARRAY(a, Value *, n->n_results + 1);
    /* link at g->at */
    c->graph = g;
    c->next = g->at;
    c->prev = g->at ? g->at->prev : g->last;
    *(c->prev ? &c->prev->next : &g->first) = c;
    *(g->at ? &g->at->prev : &g->last) = c;
    return c;
}

Node *
node_clone(Graph *g, const Node *n, const char *suffix)
{
    Node *c = clone_shell(g, n);
    for (int i = 0; i < n->n_args; i++)
        c->args[i] = mapped(n->args[i]);
    if (n->body) {
        fused_open(c);
        graph_each(n->body, inner)
            node_clone(c->body, inner, suffix);
        for (int i = 0; i < n->n_results; i++)
            c->results[i] = n->results[i]->note;
        return c;
    }
    for (int i = 0; i < n->n_results; i++)
        c->results[i] = clone_value(g, n->results[i], c, suffix);
    return c;
}

/* ---- groups ---- */

typedef VEC(Value *) Values;

static bool
inside(const Value *v, const Node *fused)
{
    for (const Graph *g = v->def->graph; g->owner; g = g->owner->graph)
        if (g->owner == fused)
            return true;
    return false;
}

/* mark: 1 where an operand is listed already; how many uses are inside. */
static void
collect_args(Node *fused, Values *args)
{
    Arena *a = fused->graph->module->arena;
    graph_each(fused->body, n)
        for (int i = 0; i < n->n_args; i++) {
            Value *v = n->args[i];
            if (inside(v, fused) || v->mark == -7)
                continue;
            v->mark = -7;
            vec_push(a, args, v);
        }
    for (int i = 0; i < args->n; i++)
        args->at[i]->mark = 0;
}

static void
collect_results(Node *fused, Values *results)
{
    Arena *a = fused->graph->module->arena;
    graph_each(fused->body, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
    graph_each(fused->body, n)
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->mark++;
    graph_each(fused->body, n)
        for (int i = 0; i < n->n_results; i++)
            if (n->results[i]->n_uses > n->results[i]->mark)
                vec_push(a, results, n->results[i]);
    graph_each(fused->body, n) {
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->mark = 0;
    }
}

const Node *
node_find(const Node *n, Op op)
{
    if (n->op == op)
        return n;
    for (const Node *b = n->body ? n->body->first : NULL; b; b = b->next)
        if (b->op == op)
            return b;
    return NULL;
}

void
fused_refresh(Node *fused)
{
    Values args = {0}, results = {0};
    collect_args(fused, &args);
    collect_results(fused, &results);
    fused->args = args.at;
    fused->n_args = args.n;
    fused->results = results.at;
    fused->n_results = results.n;
}

static void
move_into(Graph *body, Node *n)
{
    if (!n->body) {
        node_move_before(n, body, NULL);
        return;
    }
    while (n->body->first)
        node_move_before(n->body->first, body, NULL);
    node_remove(n);
}

Node *
graph_fuse(Graph *g, Node *const *nodes, int n, const char *kind)
{
    const Node *last = nodes[n - 1];
    Node *at = g->at;
    Context context = g->context;
    g->at = last->next;
    g->context = (Context){last->phase, last->stage, last->block, last->loc};
    Attr a = attr_word("kind", kind);
    Node *fused = graph_add(g, OP_fused, NULL, NULL, 0, &a, 1);
    fused_open(fused);
    for (int i = 0; i < n; i++)
        move_into(fused->body, nodes[i]);
    g->at = at;
    g->context = context;
    fused_refresh(fused);
    return fused;
}
