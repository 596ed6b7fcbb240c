#include "ir/graph.h"
#include "ir/shape.h"

/* ---- names ---- */

Graph *
graph_outer(const Graph *g)
{
    while (g->owner)
        g = g->owner->graph;
    return (Graph *)g;
}

Node *
value_node(const Value *v)
{
    Node *n = v->def;
    while (n->graph->owner)
        n = n->graph->owner;
    return n;
}

Tensor *
value_tensor(const Value *v)
{
    const Node *n = v->def->op == OP_fetch ? v->def->args[0]->def : v->def;
    return n->op == OP_read ? n->tensor : NULL;
}

const char *
graph_fresh(Graph *g, const char *name)
{
    Module *m = g->module;
    g = graph_outer(g);
    if (!map_get(&g->values, name))
        return intern(m->interner, name);
    intptr_t i = (intptr_t)map_get(&g->counts, name);
    const char *next;
    do {
        i = i ? i + 1 : 2;
        next = arena_printf(m->arena, "%s'%d", name, (int)i);
    } while (map_get(&g->values, next));
    map_put(m->arena, &g->counts, intern(m->interner, name), (void *)i);
    return intern(m->interner, next);
}

const char *
graph_derive(Graph *g, const char *base, const char *suffix)
{
    Module *m = g->module;
    return intern(m->interner, arena_printf(m->arena, "%s.%s", base, suffix));
}

void
value_rename(Value *v, const char *name)
{
    Graph *g = graph_outer(v->def->graph);
    map_put(g->module->arena, &g->values, v->name, NULL);
    v->name = graph_fresh(g, name);
    map_put(g->module->arena, &g->values, v->name, v);
}

void
value_swap_names(Value *a, Value *b)
{
    Graph *g = graph_outer(a->def->graph);
    const char *name = a->name;
    a->name = b->name;
    b->name = name;
    map_put(g->module->arena, &g->values, a->name, a);
    map_put(g->module->arena, &g->values, b->name, b);
}

/* What is appended to a node's name for its results after the first. */
static const char *
result_suffix(Module *m, Op op, int i)
{
    static const char *const table[OP_COUNT][3] = {
        [OP_layernorm] = {"mean", "rstd"},
        [OP_rmsnorm] = {"rstd"},
        [OP_attention] = {"lse"},
        [OP_attention_grad] = {"k", "v", "bias"},
        [OP_cross_entropy] = {"lse", "valid"},
        [OP_global_norm] = {"finite"},
        [OP_quantize] = {"scale"},
    };
    if (i <= 3 && table[op][i - 1])
        return table[op][i - 1];
    return arena_printf(m->arena, "%d", i);
}

/* ---- making nodes ---- */

static void
link_before(Graph *g, Node *n, Node *at)
{
    n->graph = g;
    n->next = at;
    n->prev = at ? at->prev : g->last;
    *(n->prev ? &n->prev->next : &g->first) = n;
    *(at ? &at->prev : &g->last) = n;
}

static void
unlink_node(Node *n)
{
    Graph *g = n->graph;
    *(n->prev ? &n->prev->next : &g->first) = n->next;
    *(n->next ? &n->next->prev : &g->last) = n->prev;
    n->prev = n->next = NULL;
}

static Value *
new_value(Graph *g, Node *def, int result, const char *name, const Type *t)
{
    Module *m = g->module;
    Value *v = ARENA_NEW(m->arena, Value);
    v->name = graph_fresh(g, name);
    v->type = *t;
    v->layout = layout_dense(t);
    v->sharding = sharding_none();
    v->def = def;
    v->result = result;
    v->home = v;
    v->place = -1;
    map_put(m->arena, &graph_outer(g)->values, v->name, v);
    return v;
}

/* A node without results, linked at g->at. */
static Node *
new_node(Graph *g, Op op, Value *const *args, int n_args, const Attr *attrs,
         int n_attrs)
{
    Arena *a = g->module->arena;
    Node *n = ARENA_NEW(a, Node);
    n->op = op;
    n->phase = g->context.phase;
    n->stage = g->context.stage;
    n->block = g->context.block;
    n->loc = g->context.loc;
    n->scratch = -1;
    n->args = ARENA_ARRAY(a, Value *, n_args ? n_args : 1);
    n->n_args = n_args;
    for (int i = 0; i < n_args; i++)
        n->args[i] = args[i];
    link_before(g, n, g->at);
    for (int i = 0; i < n_attrs; i++)
        node_set_attr(n, attrs[i]);
    return n;
}

static void
add_results(Node *n, const char *name, const Type *types, int n_types)
{
    Graph *g = n->graph;
    Module *m = g->module;
    n->results = ARENA_ARRAY(m->arena, Value *, n_types ? n_types : 1);
    n->n_results = n_types;
    for (int i = 0; i < n_types; i++) {
        const char *full =
            i ? graph_derive(g, name, result_suffix(m, n->op, i)) : name;
        n->results[i] = new_value(g, n, i, full, &types[i]);
        if (i == 0)
            name = n->results[0]->name;
    }
}

Node *
graph_add_typed(Graph *g, Op op, const char *name, const Type *types,
                int n_types, Value *const *args, int n_args, const Attr *attrs,
                int n_attrs)
{
    Arena *a = g->module->arena;
    Type *in = ARENA_ARRAY(a, Type, n_args ? n_args : 1);
    for (int i = 0; i < n_args; i++)
        in[i] = args[i]->type;
    Type out[MAX_RESULTS] = {0};
    for (int i = 0; i < n_types; i++)
        out[i] = types[i];
    int n_out = n_types;
    ShapeError err;
    if (!shape_infer(a, op, in, n_args, attrs, n_attrs, out, &n_out, &err))
        bug("%s %s: %s", op_info[op].name, name ? name : "", err.text);
    Node *n = new_node(g, op, args, n_args, attrs, n_attrs);
    add_results(n, name, out, n_out);
    return n;
}

Node *
graph_add(Graph *g, Op op, const char *name, Value *const *args, int n_args,
          const Attr *attrs, int n_attrs)
{
    return graph_add_typed(g, op, name, NULL, 0, args, n_args, attrs, n_attrs);
}

Value *
graph_unary(Graph *g, Op op, const char *name, Value *a)
{
    return graph_add(g, op, name, &a, 1, NULL, 0)->results[0];
}

Value *
graph_binary(Graph *g, Op op, const char *name, Value *a, Value *b)
{
    Value *args[] = {a, b};
    return graph_add(g, op, name, args, 2, NULL, 0)->results[0];
}

Value *
graph_const(Graph *g, const char *name, const Type *t, double value)
{
    Attr a = attr_float("value", value);
    return graph_add_typed(g, OP_const, name, t, 1, NULL, 0, &a, 1)->results[0];
}

Value *
graph_read(Graph *g, const char *name, Tensor *t)
{
    Node *n =
        graph_add_typed(g, OP_read, name, &t->type, 1, NULL, 0, NULL, 0);
    n->tensor = t;
    n->results[0]->tensor = t;
    n->results[0]->layout = t->layout;
    n->results[0]->space = t->space;
    return n->results[0];
}

Node *
graph_write(Graph *g, Op op, Tensor *t, Value *v)
{
    Node *n = graph_add(g, op, NULL, &v, 1, NULL, 0);
    n->tensor = t;
    return n;
}

/* ---- changing graphs ---- */

void
node_remove(Node *n)
{
    Graph *outer = graph_outer(n->graph);
    if (n->body)
        while (n->body->last)
            node_remove(n->body->last);
    else
        for (int i = 0; i < n->n_results; i++)
            map_put(outer->module->arena, &outer->values, n->results[i]->name,
                    NULL);
    if (n->graph->at == n)
        n->graph->at = n->next;
    unlink_node(n);
}

void
node_move_before(Node *n, Graph *g, Node *at)
{
    if (n == at)
        return;
    if (n->graph->at == n)
        n->graph->at = n->next;
    unlink_node(n);
    link_before(g, n, at);
}

void
node_set_arg(Node *n, int i, Value *v)
{
    n->args[i] = v;
}

void
node_become(Node *n, Op op, Value *const *args, int n_args, const Attr *attrs,
            int n_attrs)
{
    Arena *a = n->graph->module->arena;
    Value **now = ARENA_ARRAY(a, Value *, n_args ? n_args : 1);
    Type *in = ARENA_ARRAY(a, Type, n_args ? n_args : 1);
    Type out[MAX_RESULTS] = {0};
    for (int i = 0; i < n_args; i++) {
        now[i] = args[i];
        in[i] = args[i]->type;
    }
    for (int i = 0; i < n->n_results; i++)
        out[i] = n->results[i]->type;
    int n_out = n->n_results;
    ShapeError err;
    if (!shape_infer(a, op, in, n_args, attrs, n_attrs, out, &n_out, &err))
        bug("%s %s: %s", op_info[op].name, n->results[0]->name, err.text);
    for (int i = 0; i < n->n_results; i++)
        if (n_out != n->n_results || !type_equal(&out[i], &n->results[i]->type))
            bug("%s changes the type of %s", op_info[op].name,
                n->results[i]->name);
    n->op = op;
    n->args = now;
    n->n_args = n_args;
    n->attrs = NULL;
    n->n_attrs = 0;
    for (int i = 0; i < n_attrs; i++)
        node_set_attr(n, attrs[i]);
}

static void
replace_from(Node *n, Value *old, Value *new)
{
    for (; n; n = n->next) {
        for (int i = 0; i < n->n_args; i++)
            if (n->args[i] == old)
                n->args[i] = new;
        if (n->body)
            replace_from(n->body->first, old, new);
    }
}

void
value_replace(Value *old, Value *new)
{
    replace_from(graph_outer(old->def->graph)->first, old, new);
}

void
value_forward(Value *old, Value *new)
{
    if (value_final(new) != old)
        old->forward = new;
}

Value *
value_final(Value *v)
{
    while (v->forward)
        v = v->forward;
    return v;
}

static void
forward_args(Graph *g)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_args; i++)
            n->args[i] = value_final(n->args[i]);
        if (n->body)
            forward_args(n->body);
    }
}

static void
clear_forwards(Graph *g)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->forward = NULL;
        if (n->body)
            clear_forwards(n->body);
    }
}

void
graph_forward(Graph *g)
{
    forward_args(g);
    clear_forwards(g);
}

static void
each_use(Graph *g, int by)
{
    graph_each(g, n) {
        if (n->body) {
            each_use(n->body, by);
            continue;
        }
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->n_uses += by;
    }
}

static void
clear_uses(Graph *g)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->n_uses = 0;
        if (n->body)
            clear_uses(n->body);
    }
}

void
graph_forget_notes(const Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            graph_forget_notes(n->body);
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->note = NULL;
    }
}

void
graph_forget(Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            graph_forget(n->body);
        for (int i = 0; i < n->n_results; i++) {
            n->results[i]->mark = 0;
            n->results[i]->note = NULL;
        }
    }
}

void
graph_count_uses(Graph *g)
{
    clear_uses(g);
    each_use(g, 1);
}

void
graph_number(Graph *g)
{
    int i = 0;
    graph_each(g, n) {
        n->order = i++;
        if (n->body)
            graph_number(n->body);
    }
}
