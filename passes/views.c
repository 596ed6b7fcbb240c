/* Decides where each value lies. From the end of a graph to its start, values
 * learn where their readers want them:
 *   - an operand of concat in its part of the result;
 *   - what is transposed and then reshaped, so that the reshape is dense;
 * then, from the start, every view lies in its operand's home if strides can
 * say it. A view that would be walked badly is a copy instead.
 *
 * A sum over several axes walks them as one where strides allow it, and its
 * order with it. So what it reads lies dense, whatever else reads it: or a
 * plan that stashes it, or makes it again, would change bits. What a matmul
 * reads and makes on a device lies dense as well, as how the library of
 * products adds up may follow from it (ir/scratch.h). */
#include "passes/pass.h"

#include <string.h>

#include "ir/scratch.h"
#include "passes/plan/layout.h"
#include "passes/plan/life.h"

/* A concat's result is there from its first operand on; not for longer than
 * this many nodes. */
enum { CONCAT_REACH = 32 };

/* What readers do with a value (Value.mark). */
enum {
    READ_BY_MATMUL = 1,
    READ_BY_ATTENTION = 2,
    WRITTEN = 4,
    SUMMED = 8,
    PLAIN = 16 /* operand or result of the library of products */
};

/* Where a value is to lie (Value.note). */
typedef struct Want {
    Value *home; /* NULL: its own */
    Layout layout;
} Want;

static Want *
want_of(const Value *v)
{
    return v->note;
}

static int
reader_mark(const Node *n)
{
    if (n->op == OP_matmul)
        return READ_BY_MATMUL;
    if (n->op == OP_attention || n->op == OP_attention_grad)
        return READ_BY_ATTENTION;
    if (n->op == OP_write || n->op == OP_accumulate)
        return WRITTEN;
    return 0;
}

static bool
sums_axes(const Node *n)
{
    const Attr *axes = node_attr(n, "axes");
    if (n->body)
        graph_each(n->body, b)
            if (sums_axes(b))
                return true;
    return axes && axes->i > 1;
}

static void
mark_args(Node *n, int mark)
{
    for (int i = 0; i < n->n_args; i++)
        n->args[i]->mark |= mark;
}

/* Is it the head's, the product takes all that the head reads and makes. */
static void
mark_product(Node *n)
{
    Node *kernel = n->graph->owner ? n->graph->owner : n;
    bool head = strcmp(node_word(kernel, "kind", ""), "head") == 0;
    mark_args(n, PLAIN);
    n->results[0]->mark |= PLAIN;
    for (int i = 0; head && i < kernel->n_results; i++)
        kernel->results[i]->mark |= PLAIN;
}

static void
mark_readers(Graph *g, bool device)
{
    graph_each(g, n) {
        if (n->body)
            mark_readers(n->body, device);
        else
            mark_args(n, reader_mark(n));
        if (device && n->op == OP_matmul)
            mark_product(n);
        if (sums_axes(n))
            mark_args(n, SUMMED);
    }
}

/* What is shown is summed as its views are; what is stashed is read as the
 * backward pass reads it (Tensor.mark). */
static void
spread_marks(Graph *g)
{
    graph_each_reverse(g, n) {
        int mark = 0;
        for (int i = 0; i < n->n_results; i++)
            mark |= n->results[i]->mark & (SUMMED | PLAIN);
        if (n->op == OP_read)
            n->tensor->mark |= mark;
        if (n->op == OP_write)
            mark_args(n, n->tensor->mark);
        else if (op_info[n->op].flags & OP_VIEW)
            mark_args(n, mark & SUMMED);
    }
}

/* From the last graph, so that readers of the stash come before its writers. */
static void
mark_graphs(Module *m)
{
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    for (int i = 0; i < m->graphs.n; i++) {
        graph_forget(m->graphs.at[i]);
        mark_readers(m->graphs.at[i], module_option_is(m, "target", "cuda"));
    }
    for (int i = m->graphs.n - 1; i >= 0; i--)
        spread_marks(m->graphs.at[i]);
}

/* ---- from the end: wants ---- */

static bool
is_view(const Node *n)
{
    return op_info[n->op].flags & OP_VIEW;
}

static bool
suits(const Value *v, const Layout *l)
{
    return !(v->mark & PLAIN) || scratch_is_plain(&v->type, l);
}

/* The value at the start of a chain of whole views; false where it cannot
 * choose its place: a tensor's, a part of something, one that was asked. */
static bool
asks(Arena *a, Value *v, Value *home, const Layout *l)
{
    Layout at = *l;
    for (;;) {
        if (want_of(v) || !suits(v, &at))
            return false;
        Node *n = v->def;
        if (!is_view(n))
            break;
        Layout before;
        if (!layout_before_view(n, &at, &before))
            return false;
        at = before;
        v = n->args[0];
    }
    if (v->def->op == OP_read || v->def->op == OP_const || v->tensor ||
        !layout_inner_is_one(&v->type, &at) || (v->mark & SUMMED) ||
        (home && (v->mark & WRITTEN)))
        return false;
    Want *w = ARENA_NEW(a, Want);
    *w = (Want){home, at};
    v->note = w;
    return true;
}

static Value *
root_of(Value *v)
{
    while (v->def->op == OP_reshape || v->def->op == OP_transpose)
        v = v->def->args[0];
    return v;
}

static void
want_parts(Arena *a, Node *concat)
{
    Value *whole = concat->results[0];
    const Want *w = want_of(whole);
    Value *home = w && w->home ? w->home : whole;
    Layout at = w ? w->layout : whole->layout;
    int64_t axis = node_int(concat, "axis", 0);
    if (axis < 0)
        axis += whole->type.rank;
    for (int i = 0; i < concat->n_args; i++) {
        Value *part = concat->args[i];
        const Node *def = value_node(root_of(part));
        if (def->order + CONCAT_REACH >= concat->order)
            asks(a, part, home, &at);
        at.offset += part->type.dim[axis] * at.stride[axis];
    }
}

/* The layout of v if the root of its chain were dense, or lies as it must. */
static bool
follows(Value *v, Layout *out)
{
    Node *n = v->def;
    if (n->op != OP_reshape && n->op != OP_transpose) {
        *out = v->tensor ? v->tensor->layout : v->layout;
        return true;
    }
    Layout before;
    return follows(n->args[0], &before) && layout_of_view(n, 0, &before, out);
}

static void
want_reshape(Arena *a, Node *n)
{
    Layout l;
    if (want_of(n->results[0]) || follows(n->results[0], &l))
        return;
    Layout dense = layout_dense(&n->results[0]->type);
    asks(a, n->results[0], NULL, &dense);
}

static void
find_wants(Arena *a, Graph *g)
{
    graph_each_reverse(g, n) {
        if (n->op == OP_concat)
            want_parts(a, n);
        else if (n->op == OP_reshape)
            want_reshape(a, n);
    }
}

/* ---- from the start: layouts ---- */

static bool
steps_by_one(const Type *t, const Layout *l, int axis)
{
    return axis >= 0 && (t->dim[axis] == 1 || l->stride[axis] == 1);
}

static bool
walks_well(const Value *v, const Layout *l)
{
    const Type *t = &v->type;
    if (!suits(v, l))
        return false;
    if ((v->mark & READ_BY_MATMUL) && !steps_by_one(t, l, t->rank - 1) &&
        !steps_by_one(t, l, t->rank - 2))
        return false;
    return !(v->mark & READ_BY_ATTENTION) || steps_by_one(t, l, t->rank - 1);
}

static void
lay_view(Node *n, int r)
{
    Value *v = n->results[r], *from = n->args[0];
    Layout l;
    if (!layout_of_view(n, r, &from->layout, &l) || !walks_well(v, &l))
        return;
    v->home = life_home(from);
    v->layout = l;
}

static void
lay_node(Node *n)
{
    for (int r = 0; r < n->n_results; r++) {
        Value *v = n->results[r];
        const Want *w = want_of(v);
        if (v->tensor && n->op == OP_read) {
            v->layout = v->tensor->layout;
        } else if (w) {
            v->layout = w->layout;
            v->home = w->home ? w->home : v;
        } else if (is_view(n)) {
            lay_view(n, r);
        }
    }
}

/* A stash tensor is the storage of the value that it keeps. */
static void
bind_stash(Graph *g)
{
    graph_each(g, n) {
        if (n->op != OP_write || n->tensor->kind != TENSOR_stash)
            continue;
        Value *v = n->args[0];
        if (v->home != v || v->tensor || v->def->op == OP_const)
            continue;
        v->tensor = n->tensor;
        n->tensor->layout = v->layout;
    }
}

bool
pass_views(Module *m)
{
    mark_graphs(m);
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        Arena *a = arena_new();
        graph_number(g);
        find_wants(a, g);
        graph_each(g, n)
            lay_node(n);
        bind_stash(g);
        graph_forget(g);
        arena_free(a);
    }
    return true;
}
