/* precision: --precision=bf16 around products and attention, once gradients
 * are there (so these are of the f32 model, and none of a parameter is ever
 * rounded):
 *
 *     y = matmul x, w        =>  x.bf16 = cast x
 *                                w.bf16 = cast w
 *                                y = matmul x.bf16, w.bf16 (to = f32)
 *
 *     y, lse = attention q.. =>  y.bf16, lse = attention q.bf16..
 *                                y.f32 = cast y.bf16
 *
 * The cast of a value is one, for all of its products, and stands above the
 * views (and rope, concat) through which they read it. What is read of a
 * tensor is cast for each product: the C target rounds it while it packs.
 * The pass narrow does the rest, when kernels are known. */
#include "passes/precision.h"
#include "passes/pass.h"

bool
precision_is_bf16(const Module *m)
{
    return module_option_is(m, "precision", "bf16");
}

bool
precision_shares_casts(const Module *m)
{
    return module_option_is(m, "target", "cuda");
}

Value *
precision_cast(Graph *g, Value *v, Dtype to)
{
    const char *word = dtype_info[to].name, *base = v->name;
    size_t n = strlen(base);
    if (to == DT_f32 && n > 5 && strcmp(base + n - 5, ".bf16") == 0)
        base = arena_printf(g->module->arena, "%.*s", (int)(n - 5), base);
    Attr a = attr_word("to", word);
    return graph_add(g, OP_cast, graph_derive(g, base, word), &v, 1, &a, 1)
        ->results[0];
}

Node *
precision_round(Graph *g, Value *v)
{
    return precision_cast(g, v, DT_bf16)->def;
}

Node *
precision_like(const Node *n, Value *const *args)
{
    Graph *g = n->graph;
    const char *name = graph_derive(g, n->results[0]->name, "bf16");
    Node *c =
        graph_add(g, n->op, name, args, n->n_args, n->attrs, n->n_attrs);
    for (int i = 1; i < n->n_results; i++)
        if (c->results[i]->type.dtype == DT_bf16)
            value_rename(c->results[i],
                         graph_derive(g, n->results[i]->name, "bf16"));
    return c;
}

Value *
precision_source(const Value *v)
{
    const Node *n = v->def;
    bool wide = n->op == OP_cast && v->type.dtype == DT_f32 &&
                n->args[0]->type.dtype == DT_bf16;
    return wide ? n->args[0] : NULL;
}

int64_t
precision_macs(const Node *n)
{
    const Type *a = &n->args[0]->type, *y = &n->results[0]->type;
    if (n->op == OP_matmul)
        return type_elements(y) *
               a->dim[a->rank - (node_flag(n, "ta") ? 2 : 1)];
    const Type *k = &n->args[n->op == OP_attention_grad ? 2 : 1]->type;
    return type_elements(y) * k->dim[k->rank - 2];
}

/* ---- the bf16 twin of a value (Value.note) ---- */

static Value *twin(Value *v, Node *reader);

static bool
is_view(const Node *n)
{
    return op_info[n->op].flags & OP_VIEW;
}

/* Computes, but in both types alike: what feeds it crosses kernels anyway. */
static bool
is_carrier(const Node *n)
{
    return is_view(n) || n->op == OP_concat || n->op == OP_rope;
}

static int
carried_args(const Node *n)
{
    return n->op == OP_concat ? n->n_args : 1;
}

static bool
shows_tensor(const Value *v)
{
    while (is_view(v->def))
        v = v->def->args[0];
    return v->def->op == OP_read;
}

static void
open_behind(const Node *n)
{
    Graph *g = n->graph;
    g->at = n->next;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
}

/* The same node on twins; behind the node itself. */
static Node *
carry(Node *n)
{
    Arena *a = n->graph->module->arena;
    Value **args = ARENA_ARRAY(a, Value *, n->n_args);
    for (int i = 0; i < n->n_args; i++)
        args[i] = i < carried_args(n) ? twin(n->args[i], n) : n->args[i];
    open_behind(n);
    Node *c = precision_like(n, args);
    for (int i = 0; i < n->n_results; i++)
        n->results[i]->note = c->results[i];
    return c;
}

static Value *
twin(Value *v, Node *reader)
{
    Value *source = precision_source(v);
    if (source)
        return source;
    if (v->note)
        return v->note;
    Graph *g = v->def->graph;
    if (shows_tensor(v) && !precision_shares_casts(g->module)) {
        g->at = reader;
        g->context = (Context){reader->phase, reader->stage, reader->block,
                               reader->loc};
        return precision_cast(g, v, DT_bf16);
    }
    if (is_carrier(v->def)) {
        carry(v->def);
        return v->note;
    }
    open_behind(v->def);
    v->note = precision_cast(g, v, DT_bf16);
    return v->note;
}

/* ---- products and attention ---- */

static void
narrow_product(Node *n)
{
    Arena *a = n->graph->module->arena;
    Value *args[] = {twin(n->args[0], n), twin(n->args[1], n)};
    Attr *attrs = ARENA_ARRAY(a, Attr, n->n_attrs + 1);
    for (int i = 0; i < n->n_attrs; i++)
        attrs[i] = n->attrs[i];
    attrs[n->n_attrs] = attr_word("to", "f32");
    node_become(n, OP_matmul, args, 2, attrs, n->n_attrs + 1);
}

/* q, k, v, and what goes with them; not lse, mask and bias. */
static bool
is_narrowed(const Node *n, int arg)
{
    return n->op == OP_attention ? arg < 3 : arg < 5;
}

static void
narrow_attention(Node *n)
{
    Graph *g = n->graph;
    Value *args[8];
    for (int i = 0; i < n->n_args; i++)
        args[i] = is_narrowed(n, i) ? twin(n->args[i], n) : n->args[i];
    g->at = n;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    Node *c = precision_like(n, args);
    for (int i = 0; i < n->n_results; i++) {
        Value *old = n->results[i], *now = c->results[i];
        bool wide = now->type.dtype == DT_bf16 && old->type.dtype == DT_f32;
        old->note = wide ? now : NULL;
        if (!wide) /* lse */
            value_swap_names(old, now);
        value_forward(old, wide ? precision_cast(g, now, DT_f32) : now);
    }
}

static bool
is_product(const Node *n)
{
    return n->op == OP_matmul && n->args[0]->type.dtype == DT_f32;
}

static bool
is_attention(const Node *n)
{
    int q = n->op == OP_attention_grad;
    return (n->op == OP_attention || q) &&
           n->args[q]->type.dtype == DT_f32 && n->args[q]->type.rank <= 7;
}

static void
narrow_nodes(Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->phase == PHASE_update)
            continue;
        if (is_product(n) && precision_macs(n) >= PRECISION_MACS)
            narrow_product(n);
        else if (is_attention(n) && precision_macs(n) >= PRECISION_MACS)
            narrow_attention(n);
    }
}

/* ---- what is left reads bf16 through views too ---- */

static bool
carries_twins(const Node *n)
{
    if (!is_carrier(n) || n->results[0]->type.dtype != DT_f32)
        return false;
    for (int i = 0; i < carried_args(n); i++)
        if (!precision_source(value_final(n->args[i])))
            return false;
    return true;
}

/* view (cast x) => cast (view x), and so for what has a twin already. */
static void
widen_behind(Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        Value *known = is_carrier(n) ? n->results[0]->note : NULL;
        if (!known && !carries_twins(n))
            continue;
        for (int i = 0; i < n->n_args; i++)
            node_set_arg(n, i, value_final(n->args[i]));
        const Node *c = known ? known->def : carry(n);
        open_behind(c);
        for (int i = 0; i < n->n_results; i++)
            value_forward(n->results[i],
                          precision_cast(g, c->results[i], DT_f32));
    }
}

bool
pass_precision(Module *m)
{
    if (!precision_is_bf16(m))
        return true;
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        graph_forget_notes(g);
        narrow_nodes(g);
        graph_forward(g);
        widen_behind(g);
        graph_forward(g);
        g->at = NULL;
        graph_forget_notes(g);
    }
    return pass_dce(m);
}
