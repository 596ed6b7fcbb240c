/* Ops that only move elements, where the plan has not laid them in place. */
#include "codegen/c_ops.h"

#include "ir/extent.h"

#include <inttypes.h>

/* From one place to another, over a shape. */
typedef struct Copy {
    Type space;
    const Value *from, *to;
    int64_t from_offset, to_offset;
    int64_t from_stride[MAX_RANK], to_stride[MAX_RANK];
    const char *what;
} Copy;

static Copy
copy_new(const Value *from, const Value *to, const Type *space,
         const char *what)
{
    Copy c = {.space = *space, .from = from, .to = to, .what = what};
    for (int i = 0; i < MAX_RANK; i++) {
        c.from_stride[i] = from->layout.stride[i];
        c.to_stride[i] = to->layout.stride[i];
    }
    return c;
}

static void
copy_body(Kernel *k)
{
    const Copy *m = k->aux;
    Dtype d = m->from->type.dtype;
    Loops s = loops_new(k, &m->space, 0);
    s.wide = true;
    int from = loops_strided(
        &s, kernel_value(k, m->from, m->from_offset, false), d, m->from_stride);
    int to = loops_strided(&s, kernel_value(k, m->to, m->to_offset, true), d,
                           m->to_stride);
    Cells c = cells_new(k, &s);
    cells_store(&c, cells_load(&c, from, m->from->name), to);
    Value shape = {.type = m->space};
    shape.type.dtype = d;
    k->comment =
        arena_printf(k->cg->arena, "%s: %s to %s, %s", m->what, m->from->name,
                     m->to->name, describe(k->cg, &shape));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static void
emit_copy(Cg *cg, const Node *n, const Copy *c)
{
    kernel_emit(cg, n, c->what, c->to->name, copy_body, c);
}

/* ---- fills ---- */

typedef struct Fill {
    const Value *to;
    double value;
} Fill;

static void
fill_body(Kernel *k)
{
    const Fill *f = k->aux;
    Dtype d = f->to->type.dtype;
    Loops s = loops_new(k, &f->to->type, 0);
    Cells c = cells_new(k, &s);
    int v = cells_literal(&c, d, c_number(k->cg->arena, d, f->value));
    cells_store(&c, v, loops_value(&s, f->to, true));
    k->comment = arena_printf(k->cg->arena, "%s: %s", f->to->name,
                              describe(k->cg, f->to));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static void
emit_fill(Cg *cg, const Node *n, const Value *to, double value)
{
    Fill f = {to, value};
    kernel_emit(cg, n, "fill", to->name, fill_body, &f);
}

/* ---- reshape ---- */

/* "e / 12 % 4 * 3 + e % 12": where element e in row-major order lies. */
static const char *
place_of(Kernel *k, const Value *v, const char *e)
{
    Emit out = emit_new(k->cg->arena);
    int64_t after = 1;
    for (int i = v->type.rank - 1; i >= 0; i--) {
        int64_t n = v->type.dim[i];
        if (n > 1 && v->layout.stride[i] != 0) {
            emit(&out, "%s%s", out.n ? " + " : "", e);
            if (after > 1)
                emit(&out, " / %" PRId64, after);
            if (i > 0)
                emit(&out, " %% %" PRId64, n);
            if (v->layout.stride[i] != 1)
                emit(&out, " * (%" PRId64 ")", v->layout.stride[i]);
        }
        after *= n;
    }
    emit(&out, "%s", out.n ? "" : "0");
    return emit_string(&out);
}

/* Neither side is dense: element by element. */
static void
reshape_body(Kernel *k)
{
    const Value *from = k->node->args[0], *to = k->node->results[0];
    int64_t n = type_elements(&to->type);
    int x = kernel_value(k, from, 0, false), y = kernel_value(k, to, 0, true);
    if (n > 2 * PIECE_ELEMENTS || (k->cg->cuda && n > 1))
        emit_range(k, n, k->cg->cuda ? 1 : PIECE_ELEMENTS);
    if (k->pieces > 1)
        emit_open(&k->out, "for (int64_t c = lo; c < hi; c++)");
    else
        emit_open(&k->out, "for (int64_t c = 0; c < %" PRId64 "; c++)", n);
    emit_line(&k->out, "%s[%s] =", kernel_name(k, y), place_of(k, to, "c"));
    emit_line(&k->out, "    %s[%s];", kernel_name(k, x),
              place_of(k, from, "c"));
    emit_close(&k->out, "");
    k->comment = arena_printf(k->cg->arena, "%s: reshape", to->name);
}

static void
reshape(Cg *cg, const Node *n)
{
    const Value *from = n->args[0], *to = n->results[0];
    Copy c;
    if (layout_is_dense(&from->layout, &from->type)) {
        c = copy_new(from, to, &to->type, "reshape");
        Layout l = layout_dense(&to->type);
        memcpy(c.from_stride, l.stride, sizeof c.from_stride);
    } else if (layout_is_dense(&to->layout, &to->type)) {
        c = copy_new(from, to, &from->type, "reshape");
        Layout l = layout_dense(&from->type);
        memcpy(c.to_stride, l.stride, sizeof c.to_stride);
    } else {
        kernel_emit(cg, n, "reshape", to->name, reshape_body, NULL);
        return;
    }
    emit_copy(cg, n, &c);
}

/* ---- the other views ---- */

/* The elements of whole that start and step select, as the shape of part. */
static int64_t
select_part(const Node *n, const Value *whole, int64_t *stride)
{
    const Attr *start = node_attr(n, "start"), *step = node_attr(n, "step");
    int64_t offset = 0;
    for (int i = 0; i < whole->type.rank; i++) {
        offset += start->list[i] * whole->layout.stride[i];
        stride[i] = step->list[i] * whole->layout.stride[i];
    }
    return offset;
}

static void
transpose(Cg *cg, const Node *n)
{
    Copy c =
        copy_new(n->args[0], n->results[0], &n->results[0]->type, "transpose");
    const Attr *perm = node_attr(n, "perm");
    for (int i = 0; i < perm->i; i++)
        c.from_stride[i] = n->args[0]->layout.stride[perm->list[i]];
    emit_copy(cg, n, &c);
}

static void
broadcast(Cg *cg, const Node *n)
{
    const Value *from = n->args[0], *to = n->results[0];
    Copy c = copy_new(from, to, &to->type, "broadcast");
    int shift = to->type.rank - from->type.rank;
    for (int i = 0; i < to->type.rank; i++) {
        int at = i - shift;
        bool one = at < 0 || from->type.dim[at] == 1;
        c.from_stride[i] = one ? 0 : from->layout.stride[at];
    }
    emit_copy(cg, n, &c);
}

static void
slice(Cg *cg, const Node *n)
{
    Copy c = copy_new(n->args[0], n->results[0], &n->results[0]->type, "slice");
    c.from_offset = select_part(n, n->args[0], c.from_stride);
    emit_copy(cg, n, &c);
}

static void
slice_grad(Cg *cg, const Node *n)
{
    emit_fill(cg, n, n->results[0], 0);
    Copy c =
        copy_new(n->args[0], n->results[0], &n->args[0]->type, "slice_grad");
    c.to_offset = select_part(n, n->results[0], c.to_stride);
    emit_copy(cg, n, &c);
}

static bool
shares_home(const Value *a, const Value *b)
{
    return a->home == b->home ||
           (a->home->tensor && a->home->tensor == b->home->tensor);
}

static void
split(Cg *cg, const Node *n)
{
    const Value *from = n->args[0];
    int axis = (int)node_int(n, "axis", 0);
    int64_t at = 0;
    for (int i = 0; i < n->n_results; i++) {
        const Value *to = n->results[i];
        Copy c = copy_new(from, to, &to->type, "split");
        c.from_offset = at * from->layout.stride[axis];
        at += to->type.dim[axis];
        if (!shares_home(from, to) && has_memory(to))
            emit_copy(cg, n, &c);
    }
}

void
c_view(Cg *cg, const Node *n)
{
    if (n->op == OP_split) {
        split(cg, n);
        return;
    }
    if (n->op == OP_slice_grad) {
        slice_grad(cg, n);
        return;
    }
    if (shares_home(n->args[0], n->results[0]) || !has_memory(n->results[0]))
        return;
    if (n->op == OP_reshape)
        reshape(cg, n);
    else if (n->op == OP_transpose)
        transpose(cg, n);
    else if (n->op == OP_broadcast)
        broadcast(cg, n);
    else
        slice(cg, n);
}

/* ---- concat and pad ---- */

/* Operand i lies in its part already; elsewhere in the same home it does not,
 * as both halves of concat([a, a]) cannot. */
static bool
is_in_part(const Node *n, int i)
{
    const Value *from = n->args[i];
    Layout part = extent_of_part(n, i);
    return shares_home(from, n->results[0]) &&
           extent_same(&from->type, &part, &from->layout);
}

void
c_concat(Cg *cg, const Node *n)
{
    const Value *to = n->results[0];
    int axis = (int)node_int(n, "axis", 0);
    int64_t at = 0;
    for (int i = 0; i < n->n_args; i++) {
        const Value *from = n->args[i];
        Copy c = copy_new(from, to, &from->type, "concat");
        c.to_offset = at * to->layout.stride[axis];
        at += from->type.dim[axis];
        if (!is_in_part(n, i))
            emit_copy(cg, n, &c);
    }
}

void
c_pad(Cg *cg, const Node *n)
{
    const Value *to = n->results[0];
    const Attr *before = node_attr(n, "before");
    emit_fill(cg, n, to, node_float(n, "value", 0));
    Copy c = copy_new(n->args[0], to, &n->args[0]->type, "pad");
    for (int i = 0; i < to->type.rank; i++)
        c.to_offset += before->list[i] * to->layout.stride[i];
    emit_copy(cg, n, &c);
}

/* ---- slices at a position that is known when running ---- */

static void
slice_at_body(Kernel *k)
{
    const Node *n = k->node;
    bool grad = n->op == OP_slice_at_grad;
    const Value *part = grad ? n->args[0] : n->results[0];
    const Value *whole = grad ? n->results[0] : n->args[0];
    int axis = (int)node_int(n, "axis", 0);
    int64_t last = whole->type.dim[axis] - node_int(n, "size", 1);
    Dtype d = whole->type.dtype;
    int position = kernel_value(k, n->args[1], 0, false);
    Loops s = loops_new(k, &part->type, 0);
    int small = loops_strided(&s, kernel_value(k, part, 0, !grad), d,
                              part->layout.stride);
    int large = loops_strided(&s, kernel_value(k, whole, 0, grad), d,
                              whole->layout.stride);
    emit_line(&k->out, "const int64_t at = edl_index(%s[0], %" PRId64 ", %s);",
              kernel_name(k, position), last + 1, kernel_fault(k));
    s.access.at[large].shift =
        arena_printf(k->cg->arena, "at * %" PRId64, whole->layout.stride[axis]);
    Cells c = cells_new(k, &s);
    cells_store(&c, cells_load(&c, grad ? small : large, part->name),
                grad ? large : small);
    k->comment = arena_printf(k->cg->arena, "%s: %s, %s", n->results[0]->name,
                              op_info[n->op].name, describe(k->cg, part));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_slice_at(Cg *cg, const Node *n)
{
    if (n->op == OP_slice_at_grad)
        emit_fill(cg, n, n->results[0], 0);
    kernel_emit(cg, n, op_info[n->op].name, n->results[0]->name, slice_at_body,
                NULL);
}
