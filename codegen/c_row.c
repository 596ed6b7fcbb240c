/* Rows: norms, softmax and reductions along inner axes, with elementwise work
 * around them. */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

static Dtype
of(const Cells *c, int cell)
{
    return c->cell.at[cell].dtype;
}

/* A literal of the cell's type. */
static int
number(Cells *c, int like, double x)
{
    return cells_literal(c, of(c, like),
                         c_number(c->k->cg->arena, of(c, like), x));
}

/* How many elements a reduction of x takes together. */
static int64_t
count_of(const Value *x, const Value *y)
{
    return type_elements(&x->type) / type_elements(&y->type);
}

static int
function(Cells *c, const char *path, const char *f32, const char *f64, int a)
{
    return cells_expr1(c, of(c, a), path, of(c, a) == DT_f64 ? f64 : f32, a);
}

static int
exponent(Cells *c, int x, int shift)
{
    int d = cells_expr2(c, of(c, x), "d", "%0 - %1", x, shift);
    return function(c, "e", "edl_weightf(%0)", "exp(%0)", d);
}

/* The largest of the row, to subtract; 0 where that is -inf. */
static int
row_shift(Cells *c, int max)
{
    return cells_expr1(c, of(c, max), "shift",
                       of(c, max) == DT_f64 ? "%0 == -INFINITY ? 0.0 : %0"
                                            : "%0 == -INFINITY ? 0.0f : %0",
                       max);
}

/* Rows of bf16 and f16 are computed in f32 and rounded once. */
static int
wide_value(Cells *c, const Value *v)
{
    int x = cells_value(c, v);
    if (of(c, x) == DT_bf16 || of(c, x) == DT_f16)
        return cells_expr1(c, DT_f32, v->name, "%0", x);
    return x;
}

static void
bind_row(Cells *c, const Value *y, int cell)
{
    if (of(c, cell) != y->type.dtype)
        cell = cells_expr1(c, y->type.dtype, y->name, "%0", cell);
    cells_bind(c, y, cell);
}

/* ---- softmax ---- */

static void
softmax_row(Cells *c, const Node *n)
{
    int x = wide_value(c, n->args[0]);
    Dtype d = of(c, x);
    int max = cells_fold(c, FOLD_max, "largest", x);
    int e = exponent(c, x, row_shift(c, max));
    int sum = cells_fold(c, FOLD_sum, "total", e);
    /* a row of nothing but -inf gives 0 */
    int total = cells_expr1(
        c, d, "divisor",
        d == DT_f64 ? "%0 == 0.0 ? 1.0 : %0" : "%0 == 0.0f ? 1.0f : %0", sum);
    const char *name = n->results[0]->name;
    bind_row(c, n->results[0], cells_expr2(c, d, name, "%0 / %1", e, total));
}

int
row_lse(Cells *c, const Value *x, const char *name)
{
    return row_lse_cell(c, wide_value(c, x), name);
}

int
row_lse_cell(Cells *c, int v, const char *name)
{
    Dtype d = of(c, v);
    int max = cells_fold(c, FOLD_max, "largest", v);
    int sum =
        cells_fold(c, FOLD_sum, "total", exponent(c, v, row_shift(c, max)));
    return cells_expr2(c, d, name,
                       d == DT_f64 ? "%0 - %0 == 0.0 ? %0 + log(%1) : %0"
                                   : "%0 - %0 == 0.0f ? %0 + edl_logf(%1) : "
                                     "%0",
                       max, sum);
}

static void
log_softmax_row(Cells *c, const Node *n)
{
    int lse = row_lse(c, n->args[0], "lse");
    int x = wide_value(c, n->args[0]);
    bind_row(c, n->results[0],
             cells_expr2(c, of(c, x), n->results[0]->name,
                         "%0 == -INFINITY ? %0 : %0 - %1", x, lse));
}

/* dx = y (dy - sum(dy y)) */
static void
softmax_grad_row(Cells *c, const Node *n)
{
    int dy = wide_value(c, n->args[0]), y = wide_value(c, n->args[1]);
    Dtype d = of(c, dy);
    int dot = cells_fold(c, FOLD_sum, "dot",
                         cells_expr2(c, d, "product", "%0 * %1", dy, y));
    int in[] = {y, dy, dot};
    bind_row(c, n->results[0],
             cells_expr(c, d, n->results[0]->name, "%0 * (%1 - %2)", 3, in));
}

/* dx = dy - exp(y) sum(dy) */
static void
log_softmax_grad_row(Cells *c, const Node *n)
{
    int dy = wide_value(c, n->args[0]), y = wide_value(c, n->args[1]);
    int sum = cells_fold(c, FOLD_sum, "total", dy);
    int in[] = {dy, function(c, "e", "edl_weightf(%0)", "exp(%0)", y), sum};
    bind_row(
        c, n->results[0],
        cells_expr(c, of(c, dy), n->results[0]->name, "%0 - %1 * %2", 3, in));
}

/* dy exp(x - lse), with dy and lse kept */
static void
logsumexp_grad_row(Cells *c, const Node *n)
{
    int x = wide_value(c, n->args[1]);
    bool f64 = of(c, x) == DT_f64;
    int in[] = {wide_value(c, n->args[0]), x, wide_value(c, n->args[2])};
    bind_row(c, n->results[0],
             cells_expr(c, of(c, x), n->results[0]->name,
                        f64 ? "%2 == -INFINITY ? 0.0 : %0 * exp(%1 - %2)"
                            : "%2 == -INFINITY ? 0.0f : "
                              "%0 * edl_weightf(%1 - %2)",
                        3, in));
}

/* ---- norms ---- */

static int
row_mean(Cells *c, const char *name, int x, int64_t n)
{
    int sum = cells_fold(c, FOLD_sum, "total", x);
    return cells_expr2(c, of(c, sum), name, "%0 / %1", sum,
                       number(c, sum, (double)n));
}

static int
reciprocal_root(Cells *c, const char *name, int mean_square, double eps)
{
    int sum = cells_expr2(c, of(c, mean_square), "v", "%0 + %1", mean_square,
                          number(c, mean_square, eps));
    return function(c, name, "edl_rsqrtf(%0)", "1.0 / sqrt(%0)", sum);
}

static int
square_of(Cells *c, int x)
{
    return cells_expr1(c, of(c, x), "square", "%0 * %0", x);
}

/* The dtype of mean and rstd is f32, whatever x has. */
static void
bind_number(Cells *c, const Value *v, int cell)
{
    if (of(c, cell) != v->type.dtype)
        cell = cells_expr1(c, v->type.dtype, v->name, "(%t)%0", cell);
    cells_bind(c, v, cell);
}

static int64_t
width(const Value *x)
{
    return x->type.dim[x->type.rank - 1];
}

static void
layernorm_row(Cells *c, const Node *n)
{
    int x = wide_value(c, n->args[0]);
    Dtype d = of(c, x);
    int mean = row_mean(c, "mean", x, width(n->args[0]));
    int off = cells_expr2(c, d, "off", "%0 - %1", x, mean);
    int var = row_mean(c, "var", square_of(c, off), width(n->args[0]));
    int rstd = reciprocal_root(c, "rstd", var, node_float(n, "eps", 0));
    int y = cells_expr2(c, d, n->results[0]->name, "%0 * %1", off, rstd);
    bind_row(c, n->results[0], y);
    bind_number(c, n->results[1], mean);
    bind_number(c, n->results[2], rstd);
}

static void
rmsnorm_row(Cells *c, const Node *n)
{
    int x = wide_value(c, n->args[0]);
    int mean = row_mean(c, "mean_square", square_of(c, x), width(n->args[0]));
    int rstd = reciprocal_root(c, "rstd", mean, node_float(n, "eps", 0));
    int y = cells_expr2(c, of(c, x), n->results[0]->name, "%0 * %1", x, rstd);
    bind_row(c, n->results[0], y);
    bind_number(c, n->results[1], rstd);
}

/* dx = rstd (dy - mean(dy) - h mean(dy h)) with h = (x - mean) rstd */
static void
layernorm_grad_row(Cells *c, const Node *n)
{
    int dy = wide_value(c, n->args[0]), x = wide_value(c, n->args[1]);
    int mean = cells_value(c, n->args[2]), rstd = cells_value(c, n->args[3]);
    Dtype d = of(c, dy);
    int64_t w = width(n->args[0]);
    int off[] = {x, mean, rstd};
    int hat = cells_expr(c, d, "hat", "(%0 - %1) * %2", 3, off);
    int a = row_mean(c, "mean_dy", dy, w);
    int b = row_mean(c, "mean_dy_hat",
                     cells_expr2(c, d, "product", "%0 * %1", dy, hat), w);
    int in[] = {dy, a, hat, b};
    int rest = cells_expr(c, d, "rest", "%0 - %1 - %2 * %3", 4, in);
    bind_row(c, n->results[0],
             cells_expr2(c, d, n->results[0]->name, "%0 * %1", rstd, rest));
}

/* dx = rstd (dy - h mean(dy h)) with h = x rstd */
static void
rmsnorm_grad_row(Cells *c, const Node *n)
{
    int dy = wide_value(c, n->args[0]), x = wide_value(c, n->args[1]);
    int rstd = cells_value(c, n->args[2]);
    Dtype d = of(c, dy);
    int hat = cells_expr2(c, d, "hat", "%0 * %1", x, rstd);
    int dot = row_mean(c, "mean_dy_hat",
                       cells_expr2(c, d, "product", "%0 * %1", dy, hat),
                       width(n->args[0]));
    int in[] = {dy, hat, dot, rstd};
    bind_row(
        c, n->results[0],
        cells_expr(c, d, n->results[0]->name, "%3 * (%0 - %1 * %2)", 4, in));
}

/* ---- reductions ---- */

static void
fold_row(Cells *c, const Node *n)
{
    FoldKind fold = n->op == OP_reduce_sum   ? FOLD_sum
                    : n->op == OP_reduce_max ? FOLD_max
                                             : FOLD_min;
    const Value *x = n->args[0], *y = n->results[0];
    int v = cells_value(c, x);
    if (count_of(x, y) > 1)
        v = cells_fold(c, fold, y->name, v);
    cells_bind(c, y, v);
}

static void
variance_row(Cells *c, const Node *n)
{
    const Value *x = n->args[0], *y = n->results[0];
    int64_t count = count_of(x, y);
    int v = wide_value(c, x);
    int mean = count > 1 ? row_mean(c, "mean", v, count) : v;
    int off = cells_expr2(c, of(c, v), "off", "%0 - %1", v, mean);
    int sum = square_of(c, off);
    if (count > 1)
        sum = cells_fold(c, FOLD_sum, "total", sum);
    double by = (double)(count - node_int(n, "ddof", 0));
    bind_row(c, y,
             cells_expr2(c, of(c, sum), y->name, "%0 / %1", sum,
                         number(c, sum, by)));
}

static void
logsumexp_row(Cells *c, const Node *n)
{
    const Value *x = n->args[0], *y = n->results[0];
    bind_row(c, y,
             count_of(x, y) > 1 ? row_lse(c, x, y->name) : cells_value(c, x));
}

typedef void (*RowBuilder)(Cells *c, const Node *n);

static const RowBuilder builders[OP_COUNT] = {
    [OP_softmax] = softmax_row,
    [OP_softmax_grad] = softmax_grad_row,
    [OP_log_softmax] = log_softmax_row,
    [OP_log_softmax_grad] = log_softmax_grad_row,
    [OP_logsumexp_grad] = logsumexp_grad_row,
    [OP_layernorm] = layernorm_row,
    [OP_layernorm_grad] = layernorm_grad_row,
    [OP_rmsnorm] = rmsnorm_row,
    [OP_rmsnorm_grad] = rmsnorm_grad_row,
    [OP_reduce_sum] = fold_row,
    [OP_reduce_max] = fold_row,
    [OP_reduce_min] = fold_row,
    [OP_variance] = variance_row,
    [OP_logsumexp] = logsumexp_row,
};

void
row_node(Cells *c, const Node *n)
{
    if (n->op == OP_const)
        return;
    if (builders[n->op])
        builders[n->op](c, n);
    else if (op_info[n->op].flags & OP_ELEMENT)
        cells_bind(c, n->results[0], cells_element(c, n));
    else
        cg_refuse(c->k->cg, n, "has no C inside a group of rows");
}

void
row_nodes(Cells *c, const Node *n)
{
    if (n->op != OP_fused) {
        row_node(c, n);
        return;
    }
    graph_each(n->body, b)
        if (b->op != OP_write && b->op != OP_accumulate)
            row_node(c, b);
}

/* ---- kernels of rows ---- */

/* The shape of the rows of a group: the broadcast of all of it. */
static Type
row_type(const Node *n)
{
    if (n->op != OP_fused)
        return n->args[n->op == OP_logsumexp_grad]->type;
    Type t = type_scalar(DT_f32);
    graph_each(n->body, b)
        for (int i = 0; i < b->n_args; i++) {
            Type sum;
            if (!type_broadcast(&t, &b->args[i]->type, &sum))
                bug("codegen: the shapes of a row group do not broadcast");
            t = sum;
        }
    return t;
}

static int
row_axis(const Node *n, const Type *t)
{
    if (n->op != OP_fused && node_attr(n, "axis"))
        return (int)node_int(n, "axis", 0);
    return t->rank - 1;
}

/* The kernel is called after the largest of its results, or its sum. */
static const char *
row_path(const Node *n)
{
    const Value *best = NULL;
    for (int i = 0; i < n->n_results; i++)
        if (!best ||
            type_elements(&n->results[i]->type) > type_elements(&best->type))
            best = n->results[i];
    if (!best && sum_rows(n))
        graph_each(n->body, b)
            if (sums_down(b))
                return b->results[0]->name;
    return best ? best->name : "rows";
}

static void
row_body(Kernel *k)
{
    const Node *n = k->node;
    Type t = row_type(n);
    unsigned axes = 1u << row_axis(n, &t);
    if (n->op == OP_logsumexp_grad)
        axes = 0;
    Loops s = loops_new(k, &t, axes);
    Cells c = cells_new(k, &s);
    int64_t at = 0, part = sum_rows(n);
    if (n->op == OP_fused) {
        graph_each(n->body, b) {
            if (sums_down(b))
                column_sum(&c, b, &at);
            else if (is_column_sum(b))
                continue;
            else if (b->op == OP_write || b->op == OP_accumulate)
                cells_write(&c, b, loops_tensor(&s, b->tensor, true));
            else
                row_node(&c, b);
        }
    } else {
        row_node(&c, n);
    }
    store_results(&c, n);
    k->comment =
        arena_printf(k->cg->arena, "%s: %s, rows of %" PRId64, row_path(n),
                     n->op == OP_fused ? "group" : op_info[n->op].name,
                     t.rank ? t.dim[row_axis(n, &t)] : 1);
    cells_settle(&c);
    if (part) {
        column_sums_clear(k);
        loops_open_rows(&s, part);
    } else {
        loops_open(&s);
    }
    cells_emit(&c);
    loops_close(&s);
}

void
c_row(Cg *cg, const Node *n)
{
    if (cg->cuda && sum_rows(n))
        cg_refuse(cg, n, "has sums down columns, which rows have no CUDA for");
    kernel_emit(cg, n, n->op == OP_fused ? "row" : op_info[n->op].name,
                row_path(n), row_body, NULL);
    if (sum_rows(n))
        column_sums_total(cg, n);
}
