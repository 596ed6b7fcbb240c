/* Cross entropy of classes: loss = lse - x[t], never -log(p). */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

/* What the attributes say, and the pieces of text that follow from it. */
typedef struct Classes {
    int64_t n;
    double smoothing;
    const Attr *ignore;
    bool mean, none;
} Classes;

static Classes
classes_of(const Node *n, const Value *logits)
{
    const char *how = node_word(n, "reduction", "mean");
    return (Classes){
        .n = logits->type.dim[logits->type.rank - 1],
        .smoothing = node_float(n, "smoothing", 0),
        .ignore = node_attr(n, "ignore"),
        .mean = strcmp(how, "mean") == 0,
        .none = strcmp(how, "none") == 0,
    };
}

/* An operand with one element a row: all axes but the last. */
static int
row_access(Loops *s, const Value *v, bool write)
{
    int64_t stride[MAX_RANK] = {0};
    for (int i = 0; i < v->type.rank; i++)
        stride[i] = v->layout.stride[i];
    return loops_strided(s, kernel_value(s->k, v, 0, write), v->type.dtype,
                         stride);
}

/* The same for a dense run of scratch. */
static int
scratch_access(Loops *s, const Type *rows)
{
    Layout l = layout_dense(rows);
    int64_t stride[MAX_RANK] = {0};
    memcpy(stride, l.stride, sizeof *stride * (size_t)rows->rank);
    return loops_strided(s, kernel_scratch(s->k, 0, DT_f32, "losses"), DT_f32,
                         stride);
}

/* 1 where the row counts; -1 where all do. */
static int
valid_cell(Cells *c, const Classes *cl, int target)
{
    if (!cl->ignore)
        return -1;
    const char *text = arena_printf(
        c->k->cg->arena, "%%0 != %s",
        c_integer(c->k->cg->arena, DT_i64, cl->ignore->i));
    return cells_expr1(c, DT_bool, "valid", text, target);
}

/* ---- one row ---- */

/* at: the row's class, 0 where it does not count. */
static void
emit_target(Cells *c, int target, int valid, int64_t n)
{
    Kernel *k = c->k;
    const char *at = cells_need(c, target);
    if (valid >= 0)
        at = arena_printf(k->cg->arena, "%s ? %s : 0", cells_need(c, valid),
                          at);
    emit_line(&k->out, "const int64_t at = edl_index(%s, %" PRId64 ", %s);",
              at, n, kernel_fault(k));
}

/* The largest, the sum of exponentials and the row's loss. */
static void
loss_rows_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    const Value *x = n->args[0];
    Classes cl = classes_of(n, x);
    Loops s = loops_new(k, &x->type, 1u << (x->type.rank - 1));
    Cells c = cells_new(k, &s);
    int lse = row_lse(&c, x, "lse"), xs = cells_value(&c, x);
    Dtype d = c.cell.at[lse].dtype;
    int target = cells_load(&c, row_access(&s, n->args[1], false), "target");
    int valid = valid_cell(&c, &cl, target);
    int all = cl.smoothing == 0 ? -1 : cells_fold(&c, FOLD_sum, "total", xs);
    cells_store(&c, lse, row_access(&s, n->results[1], true));
    int loss = cl.none ? row_access(&s, n->results[0], true)
                       : scratch_access(&s, &n->args[1]->type);
    kernel_fault(k);
    k->comment = arena_printf(a, "cross entropy of each row of %s, %s",
                              x->name, describe(k->cg, x));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    const char *l = cells_need(&c, lse);
    emit_target(&c, target, valid, cl.n);
    const char *hit = c_load(a, x->type.dtype,
                             loops_element(&s, c.cell.at[xs].access, "at"));
    const char *text = arena_printf(a, "%s - %s", l, hit);
    if (all >= 0)
        text = arena_printf(
            a, "%s * (%s) + %s * (%s - %s / %s)",
            c_number(a, d, 1 - cl.smoothing), text,
            c_number(a, d, cl.smoothing), l, cells_need(&c, all),
            c_number(a, d, (double)cl.n));
    if (valid >= 0)
        text = arena_printf(a, "%s ? %s : 0", cells_need(&c, valid), text);
    emit_line(&k->out, "%s = %s;", loops_element(&s, loss, "c"), text);
    loops_close(&s);
}

/* ---- all rows ---- */

static void
loss_sum_body(Kernel *k)
{
    const Node *n = k->node;
    Classes cl = classes_of(n, n->args[0]);
    const Type *rows = &n->args[1]->type;
    Loops s = loops_new(k, rows, (1u << rows->rank) - 1);
    Cells c = cells_new(k, &s);
    int count;
    if (cl.ignore) {
        int target = loops_value(&s, n->args[1], false);
        int valid =
            valid_cell(&c, &cl, cells_load(&c, target, "target"));
        count = cells_expr1(&c, DT_i32, "one", "%0", valid);
        if (type_elements(rows) > 1)
            count = cells_fold(&c, FOLD_sum, "count", count);
    } else {
        count = cells_literal(
            &c, DT_i32, c_integer(k->cg->arena, DT_i32, type_elements(rows)));
    }
    if (!cl.none) {
        int loss = cells_load(&c, scratch_access(&s, rows), "loss");
        if (type_elements(rows) > 1)
            loss = cells_fold(&c, FOLD_sum, "losses", loss);
        if (cl.mean)
            loss = cells_expr2(&c, DT_f32, "mean",
                               cl.ignore ? "%1 > 0 ? %0 / (float)%1 : %0"
                                         : "%0 / (float)%1",
                               loss, count);
        cells_store(&c, loss, loops_value(&s, n->results[0], true));
    }
    cells_store(&c, count, loops_value(&s, n->results[2], true));
    k->comment = "the loss of all rows, and how many count";
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_cross_entropy(Cg *cg, const Node *n)
{
    bool f64 = n->args[0]->type.dtype == DT_f64;
    if (f64 && strcmp(node_word(n, "reduction", "mean"), "none") != 0) {
        cg_refuse(cg, n, "has no C for f64 with a mean or a sum");
        return;
    }
    const char *path = n->results[0]->name;
    kernel_emit(cg, n, "cross_entropy_rows", path, loss_rows_body, NULL);
    kernel_emit(cg, n, "cross_entropy", path, loss_sum_body, NULL);
}

/* ---- gradient: dloss (p - onehot), over the valid ones of a mean ---- */

static int
scale_cell(Cells *c, const Classes *cl, const Node *n, Dtype d)
{
    int dloss = cl->none && n->args[0]->def->op != OP_const
                    ? cells_load(c, row_access(c->loops, n->args[0], false),
                                 "dloss")
                    : cells_value(c, n->args[0]);
    if (!cl->mean)
        return dloss;
    int valid = cells_value(c, n->args[4]);
    return cells_expr2(c, d, "scale", "%0 / (%t)%1", dloss, valid);
}

static void
loss_grad_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    const Value *x = n->args[1], *dx = n->results[0];
    Classes cl = classes_of(n, x);
    Dtype d = x->type.dtype == DT_f64 ? DT_f64 : DT_f32;
    bool f64 = d == DT_f64;
    Loops s = loops_new(k, &x->type, 1u << (x->type.rank - 1));
    Cells c = cells_new(k, &s);
    int scale = scale_cell(&c, &cl, n, d);
    int target = cells_load(&c, row_access(&s, n->args[2], false), "target");
    int valid = valid_cell(&c, &cl, target);
    int lse = cells_load(&c, row_access(&s, n->args[3], false), "lse");
    int xs = cells_value(&c, x);
    int in[] = {xs, lse, scale, valid < 0 ? scale : valid};
    const char *even = c_number(a, d, cl.smoothing / (double)cl.n);
    const char *p = f64 ? "exp(%0 - %1)" : "edl_expf(%0 - %1)";
    const char *rest = cl.smoothing == 0
                           ? p
                           : arena_printf(a, "(%s - %s)", p, even);
    const char *text =
        valid < 0 ? arena_printf(a, "%%2 * %s", rest)
                  : arena_printf(a, "%%3 ? %%2 * %s : %s", rest,
                                 f64 ? "0.0" : "0.0f");
    int out = cells_expr(&c, x->type.dtype, dx->name, text, valid < 0 ? 3 : 4,
                         in);
    int to = loops_value(&s, dx, true);
    cells_store(&c, out, to);
    kernel_fault(k);
    k->comment = arena_printf(a, "%s: gradient of cross entropy, %s", dx->name,
                              describe(k->cg, dx));
    cells_settle(&c);
    loops_open(&s);
    const char *by = cells_need(&c, scale), *l = cells_need(&c, lse);
    emit_target(&c, target, valid, cl.n);
    int from = c.cell.at[xs].access;
    emit_line(&k->out, "const %s hit =", c_compute(d));
    emit_line(&k->out, "    %s * (%s(%s - %s) - %s);", by,
              f64 ? "exp" : "edl_expf",
              c_load(a, x->type.dtype, loops_element(&s, from, "at")), l,
              c_number(a, d, 1 - cl.smoothing + cl.smoothing / (double)cl.n));
    cells_emit(&c);
    if (valid >= 0)
        emit_line(&k->out, "if (%s)", cells_need(&c, valid));
    emit_line(&k->out, "%s%s = %s;", valid >= 0 ? "    " : "",
              loops_element(&s, to, "at"),
              c_store(a, x->type.dtype, "hit"));
    loops_close(&s);
}

void
c_cross_entropy_grad(Cg *cg, const Node *n)
{
    kernel_emit(cg, n, "cross_entropy_grad", n->results[0]->name,
                loss_grad_body, NULL);
}
