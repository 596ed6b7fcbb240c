/* narrow: with --precision=bf16, a value that one kernel makes and others
 * read is stored in bf16; each kernel computes in f32:
 *
 *     h, u = fused .. {                h, u.bf16 = fused .. {
 *       u = add y, b                     u = add y, b
 *       h = gelu u                       u.bf16 = cast u
 *     }                          =>      h = gelu u
 *     fused .., u {                    }
 *       s = gelu_slope u               fused .., u.bf16 {
 *     }                                  u.f32 = cast u.bf16
 *                                        s = gelu_slope u.f32
 *                                      }
 *
 * It stays f32 where a reader cannot take bf16 (a loss, a table, an output),
 * where it is one number a row, or goes into the gradient of a parameter. */
#include "passes/pass.h"
#include "passes/precision.h"

typedef struct Use {
    Node *node;
    int arg;
} Use;

/* Value.note: its uses, those in bodies too. Value.mark: not to be rounded. */
typedef struct Uses {
    VEC(Use) at;
} Uses;

typedef struct Narrow {
    Arena *a;
    Graph *g;
} Narrow;

static Node *
top(Node *n)
{
    return n->graph->owner ? n->graph->owner : n;
}

static const char *
kind_of(const Node *n)
{
    return n->op == OP_fused ? node_word(n, "kind", "") : "";
}

static bool
is_element(const Node *n)
{
    return op_info[n->op].flags & OP_ELEMENT;
}

static bool
is_view(const Node *n)
{
    return op_info[n->op].flags & OP_VIEW;
}

static bool
is_row(const Node *n)
{
    int last = n->n_args ? n->args[0]->type.rank - 1 : -1;
    return (op_info[n->op].flags & OP_ROW) && node_int(n, "axis", last) == last;
}

/* ---- who reads what ---- */

static void
add_uses(Narrow *c, Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Value *v = n->args[i];
        if (!v->note)
            v->note = ARENA_NEW(c->a, Uses);
        Uses *u = v->note;
        Use use = {n, i};
        vec_push(c->a, &u->at, use);
    }
}

static void
find_uses(Narrow *c, Graph *g)
{
    graph_each(g, n)
        for (int i = 0; !n->body && i < n->n_results; i++) {
            n->results[i]->note = NULL;
            n->results[i]->mark = 0;
        }
    graph_each(g, n) {
        if (n->body)
            find_uses(c, n->body);
        else
            add_uses(c, n);
    }
}

static Uses
uses(const Value *v)
{
    static const Uses none = {{NULL, 0, 0}};
    return v->note ? *(const Uses *)v->note : none;
}

/* ---- terms of parameter gradients ---- */

/* Is what n reads a term of the gradient that n makes? A batch of products
 * whose rows are summed up is. */
static bool
is_sum_of_terms(const Node *n)
{
    if (n->op == OP_accumulate)
        return true;
    bool some = false;
    for (int i = 0; i < n->n_results; i++)
        some |= n->results[i]->mark;
    bool sums = n->op == OP_reduce_sum && n->args[0]->def->op == OP_matmul &&
                node_flag(n->args[0]->def, "ta");
    return some && n->phase == PHASE_backward &&
           (is_element(n) || is_view(n) || n->op == OP_concat || sums);
}

static void
mark_terms(Graph *g)
{
    graph_each_reverse(g, n) {
        if (n->body)
            mark_terms(n->body);
        else if (is_sum_of_terms(n))
            for (int i = 0; i < n->n_args; i++)
                n->args[i]->mark = 1;
    }
}

/* ---- what can be done ---- */

static bool
same_dims(const Type *a, const Type *b)
{
    Type t = *a;
    t.dtype = b->dtype;
    return type_equal(&t, b);
}

static bool
group_takes(const Node *group, const Node *inner, const Value *v)
{
    const char *kind = kind_of(group);
    if (inner->op == OP_accumulate || inner->op == OP_matmul)
        return false;
    if (strcmp(kind, "matmul") == 0)
        return same_dims(&inner->results[0]->type, &v->type);
    return strcmp(kind, "element") == 0 || strcmp(kind, "row") == 0 ||
           strcmp(kind, "reduce") == 0;
}

static bool readers_take(Value *v, const Node *maker);

static bool
reader_takes(Node *n, const Value *v)
{
    if (n->graph->owner)
        return group_takes(n->graph->owner, n, v);
    if (is_view(n)) {
        for (int i = 0; i < n->n_results; i++)
            if (!readers_take(n->results[i], n))
                return false;
        return true;
    }
    return is_element(n) || is_row(n) || n->op == OP_reduce_sum;
}

/* All readers outside of the maker. */
static bool
readers_take(Value *v, const Node *maker)
{
    Uses u = uses(v);
    for (int i = 0; i < u.at.n; i++)
        if (top(u.at.at[i].node) != maker &&
            !reader_takes(u.at.at[i].node, v))
            return false;
    return true;
}

static bool
crosses(const Value *v)
{
    Node *maker = top(v->def);
    Uses u = uses(v);
    for (int i = 0; i < u.at.n; i++)
        if (top(u.at.at[i].node) != maker)
            return true;
    return false;
}

/* The kind of a group of n and the cast of its result; NULL: none. */
static const char *
kind_with_cast(const Node *n)
{
    return n->op == OP_matmul ? "matmul"
           : is_element(n)    ? "element"
           : is_row(n)        ? "row"
                              : NULL;
}

static bool
is_made_right(const Value *v)
{
    const Node *n = v->def, *group = n->graph->owner;
    const char *kind = group ? kind_of(group) : kind_with_cast(n);
    if (!kind || v->result > 0 || !kind_with_cast(n))
        return false;
    return strcmp(kind, "matmul") == 0 || strcmp(kind, "element") == 0 ||
           strcmp(kind, "row") == 0;
}

static bool
is_worth(const Type *t)
{
    return t->dtype == DT_f32 && t->rank > 0 && t->dim[t->rank - 1] > 1 &&
           type_elements(t) >= PRECISION_ELEMENTS;
}

static bool
can_narrow(Value *v)
{
    if (!is_worth(&v->type) || v->mark || v->def->phase == PHASE_update)
        return false;
    return (precision_source(v) || is_made_right(v)) && crosses(v) &&
           readers_take(v, top(v->def));
}

/* ---- doing it ---- */

static void
open_at(Graph *g, Node *at, const Node *like)
{
    g->at = at;
    g->context = (Context){like->phase, like->stage, like->block, like->loc};
}

/* A cast to bf16 beside v's own node, or NULL. */
static Value *
cast_beside(const Value *v)
{
    Uses u = uses(v);
    for (int i = 0; i < u.at.n; i++) {
        Node *n = u.at.at[i].node;
        if (n->op == OP_cast && n->graph == v->def->graph &&
            n->results[0]->type.dtype == DT_bf16 &&
            (n->graph->owner || n->prev == v->def))
            return n->results[0];
    }
    return NULL;
}

static Value *
rounded(Narrow *c, Value *v)
{
    Value *known = precision_source(v);
    if (known)
        return known;
    Node *n = v->def;
    known = cast_beside(v);
    if (!known) {
        open_at(n->graph, n->next, n);
        known = precision_cast(n->graph, v, DT_bf16);
        n->graph->at = NULL;
    }
    if (n->graph == c->g) {
        Node *both[] = {n, known->def};
        graph_fuse(c->g, both, 2, kind_with_cast(n));
    }
    return known;
}

/* Where a group's casts of what it reads stand: a product comes first. */
static Node *
first_after_product(const Graph *body)
{
    graph_each(body, n)
        if (n->op == OP_matmul)
            return n->next;
    return body->first;
}

static Value *
widened_in(Graph *body, Value *low)
{
    Node *at = first_after_product(body);
    for (Node *n = at; n && n->op == OP_cast; n = n->next)
        if (n->args[0] == low && n->results[0]->type.dtype == DT_f32)
            return n->results[0];
    open_at(body, at, body->owner);
    Value *wide = precision_cast(body, low, DT_f32);
    body->at = NULL;
    return wide;
}

static void give_readers(Narrow *c, Value *v, Value *low);

static void
give_view(Narrow *c, Node *n, Value *low)
{
    open_at(c->g, n->next, n);
    Node *view = precision_like(n, &low);
    for (int i = 0; i < n->n_results; i++)
        give_readers(c, n->results[i], view->results[i]);
}

/* A node that is no group yet becomes one with the cast of what it reads. */
static void
give_lone(Narrow *c, Node *n, int arg, Value *low)
{
    open_at(c->g, n, n);
    Value *wide = precision_cast(c->g, low, DT_f32);
    node_set_arg(n, arg, wide);
    Node *both[] = {wide->def, n};
    graph_fuse(c->g, both, 2, n->op == OP_reduce_sum ? "reduce"
                                                     : kind_with_cast(n));
}

static void
give(Narrow *c, Use use, Value *low)
{
    Node *n = use.node;
    bool narrows = n->op == OP_cast && n->results[0]->type.dtype == DT_bf16;
    if (narrows && n->results[0] != low)
        value_forward(n->results[0], low);
    else if (n->graph->owner)
        node_set_arg(n, use.arg, widened_in(n->graph, low));
    else if (is_view(n))
        give_view(c, n, low);
    else
        give_lone(c, n, use.arg, low);
}

/* Those outside of v's own kernel read `low`. */
static void
give_readers(Narrow *c, Value *v, Value *low)
{
    Uses u = uses(v);
    Node *maker = top(v->def);
    for (int i = 0; i < u.at.n; i++)
        if (top(u.at.at[i].node) != maker)
            give(c, u.at.at[i], low);
}

static void
narrow_values(Narrow *c, Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->body)
            narrow_values(c, n->body);
        for (int i = 0; !n->body && i < n->n_results; i++)
            if (can_narrow(n->results[i]))
                give_readers(c, n->results[i], rounded(c, n->results[i]));
    }
}

/* ---- what nobody reads any more ---- */

static bool
is_dead(const Node *n)
{
    if (op_info[n->op].flags & OP_PINNED)
        return false;
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i]->n_uses > 0)
            return false;
    return true;
}

static void
sweep(Graph *g)
{
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (n->body) {
            sweep(n->body);
            if (!n->body->first)
                node_remove(n);
            continue;
        }
        if (!is_dead(n))
            continue;
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->n_uses--;
        node_remove(n);
    }
}

static void
refresh(Graph *g)
{
    graph_forward(g);
    graph_count_uses(g);
    sweep(g);
    graph_each(g, n)
        if (n->body)
            fused_refresh(n);
}

bool
pass_narrow(Module *m)
{
    if (!precision_is_bf16(m))
        return true;
    for (int i = 0; i < m->graphs.n; i++) {
        Narrow c = {arena_new(), m->graphs.at[i]};
        find_uses(&c, c.g);
        mark_terms(c.g);
        narrow_values(&c, c.g);
        refresh(c.g);
        graph_forget_notes(c.g);
        arena_free(c.a);
    }
    return true;
}
