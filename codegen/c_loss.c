/* Cross entropy of classes: loss = lse - x[t], never -log(p). */
#include "codegen/classes.h"

#include <inttypes.h>

/* Of so many the row's own takes longer by itself than asking which it is. */
enum { FEW_CLASSES = 64 };

Classes
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

/* The same for a dense run of f32 in a scratch. */
static int
dense_access(Loops *s, const Type *rows, int param)
{
    Layout l = layout_dense(rows);
    int64_t stride[MAX_RANK] = {0};
    for (int i = 0; i < rows->rank; i++)
        stride[i] = l.stride[i];
    return loops_strided(s, param, DT_f32, stride);
}

/* ---- what a row says ---- */

int
classes_valid(Cells *c, const Classes *cl, int target)
{
    Arena *a = c->k->cg->arena;
    if (!cl->ignore)
        return -1;
    const char *text =
        arena_printf(a, "%%0 != %s", c_integer(a, DT_i64, cl->ignore->i));
    return cells_expr1(c, DT_bool, "valid", text, target);
}

void
classes_emit_target(Cells *c, const Classes *cl, int target, int valid)
{
    Kernel *k = c->k;
    const char *at = cells_need(c, target);
    if (valid >= 0)
        at =
            arena_printf(k->cg->arena, "%s ? %s : 0", cells_need(c, valid), at);
    emit_line(&k->out, "const int64_t at = edl_index(%s, %" PRId64 ", %s);", at,
              cl->n, kernel_fault(k));
    if (cl->n == 1)
        emit_line(&k->out, "(void)at; /* there is one class */");
}

const char *
classes_loss(Cells *c, const Classes *cl, Dtype d, int lse, const char *own,
             int all, int valid)
{
    Arena *a = c->k->cg->arena;
    const char *l = cells_need(c, lse);
    const char *text = arena_printf(a, "%s - %s", l, own);
    if (all >= 0)
        text = arena_printf(a, "%s * (%s) + %s * (%s - %s / %s)",
                            c_number(a, d, 1 - cl->smoothing), text,
                            c_number(a, d, cl->smoothing), l,
                            cells_need(c, all), c_number(a, d, (double)cl->n));
    if (valid >= 0)
        text = arena_printf(a, "%s ? %s : 0", cells_need(c, valid), text);
    return text;
}

/* What is subtracted from the probability of the own class, and of others. */
static double
own_share(const Classes *cl)
{
    return 1 - cl->smoothing + cl->smoothing / (double)cl->n;
}

static double
other_share(const Classes *cl)
{
    return cl->smoothing / (double)cl->n;
}

int
classes_grad(Cells *c, const Classes *cl, Dtype d, int x, int lse, int scale,
             int valid, const char *path)
{
    Arena *a = c->k->cg->arena;
    bool f64 = d == DT_f64;
    const char *p = f64 ? "exp(%0 - %1)" : "edl_weightf(%0 - %1)";
    const char *other = c_number(a, d, other_share(cl));
    if (cl->whole) {
        x = cells_expr2(c, d, "p", p, x, lse);
        p = arena_printf(a, "(%%0 - (c == at ? %s : %s))",
                         c_number(a, d, own_share(cl)), other);
    } else if (cl->smoothing != 0) {
        p = arena_printf(a, "(%s - %s)", p, other);
    }
    const char *text = arena_printf(a, "%%2 * %s", p);
    if (valid >= 0)
        text = arena_printf(a, "%%3 ? %s : %s", text, f64 ? "0.0" : "0.0f");
    int in[] = {x, lse, scale, valid};
    return cells_expr(c, d, path, text, valid < 0 ? 3 : 4, in);
}

void
classes_emit_hit(Cells *c, const Classes *cl, Dtype d, int lse, int scale,
                 const char *own)
{
    Emit *e = &c->k->out;
    const char *by = cells_need(c, scale), *l = cells_need(c, lse);
    emit_line(e, "const %s hit =", c_compute(d));
    emit_line(e, "    %s * (%s(%s - %s) - %s);", by,
              d == DT_f64 ? "exp" : "edl_weightf", own, l,
              c_number(c->k->cg->arena, d, own_share(cl)));
}

void
classes_put_hit(Cells *c, int valid, const char *to, const char *hit)
{
    Emit *e = &c->k->out;
    const char *when = valid >= 0 ? cells_need(c, valid) : NULL;
    const char *mine = NULL;
    if (c->loops->mode == MODE_element)
        mine = "at == c";
    else if (c->loops->mode == MODE_block)
        mine = cuda_owns(c->loops, "at");
    if (when || mine)
        emit_line(e, "if (%s%s%s)", when ? when : "",
                  when && mine ? " && " : "", mine ? mine : "");
    emit_line(e, "%s%s = %s;", when || mine ? "    " : "", to, hit);
}

/* ---- loss and lse of each row ---- */

/* aux: NULL where lse is not there yet. */
static void
loss_rows_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    const Value *x = n->args[0];
    Classes cl = classes_of(n, x);
    Loops s = loops_new(k, &x->type, 1u << (x->type.rank - 1));
    Cells c = cells_new(k, &s);
    int lse =
        k->aux ? cells_load(&c, row_access(&s, n->results[1], false), "lse")
               : row_lse(&c, x, "lse");
    int xs = cells_value(&c, x);
    int target = cells_load(&c, row_access(&s, n->args[1], false), "target");
    int valid = classes_valid(&c, &cl, target);
    int all = cl.smoothing == 0 ? -1 : cells_fold(&c, FOLD_sum, "total", xs);
    if (!k->aux)
        cells_store(&c, lse, row_access(&s, n->results[1], true));
    int loss =
        cl.none ? row_access(&s, n->results[0], true)
                : dense_access(&s, &n->args[1]->type,
                               kernel_scratch(k, 0, DT_f32, "losses"));
    kernel_fault(k);
    k->comment = arena_printf(a, "cross entropy of each row of %s, %s", x->name,
                              describe(k->cg, x));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    classes_emit_target(&c, &cl, target, valid);
    const char *own =
        c_load(a, x->type.dtype, loops_element(&s, c.cell.at[xs].access, "at"));
    loops_open_single(&s);
    emit_set(&k->out, loops_element(&s, loss, "c"),
             classes_loss(&c, &cl, c.cell.at[lse].dtype, lse, own, all, valid));
    loops_close_single(&s);
    loops_close(&s);
}

/* ---- all rows ---- */

/* How many rows count. */
static int
count_cell(Cells *c, const LossSum *sum)
{
    const Type *rows = &sum->targets->type;
    if (!sum->classes.ignore)
        return cells_literal(
            c, DT_i32, c_integer(c->k->cg->arena, DT_i32, type_elements(rows)));
    int access = loops_value(c->loops, sum->targets, false);
    int valid =
        classes_valid(c, &sum->classes, cells_load(c, access, "target"));
    int one = cells_expr1(c, DT_i32, "one", "%0", valid);
    return type_elements(rows) > 1 ? cells_fold(c, FOLD_sum, "count", one)
                                   : one;
}

static void
loss_sum_body(Kernel *k)
{
    const LossSum *sum = k->aux;
    const Classes *cl = &sum->classes;
    const Type *rows = &sum->targets->type;
    Loops s = loops_new(k, rows, (1u << rows->rank) - 1);
    Cells c = cells_new(k, &s);
    int count = cl->mean || sum->valid ? count_cell(&c, sum) : -1;
    if (sum->loss) {
        int from = kernel_address(k, DT_f32, sum->losses, false, "losses");
        kernel_aligned(k, from);
        int loss = cells_load(&c, dense_access(&s, rows, from), "loss");
        if (type_elements(rows) > 1)
            loss = cells_fold(&c, FOLD_sum, "total", loss);
        if (cl->mean)
            loss = cells_expr2(&c, DT_f32, "mean",
                               cl->ignore ? "%1 > 0 ? %0 / (float)%1 : %0"
                                          : "%0 / (float)%1",
                               loss, count);
        cells_store(&c, loss, loops_value(&s, sum->loss, true));
    }
    if (sum->valid)
        cells_store(&c, count, loops_value(&s, sum->valid, true));
    k->comment = "the loss of all rows, and how many count";
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_loss_sum(Cg *cg, const Node *n, const LossSum *s)
{
    const Value *v = s->loss ? s->loss : s->valid;
    kernel_emit(cg, n, s->loss ? "loss" : "count", v->name, loss_sum_body, s);
}

void
c_cross_entropy(Cg *cg, const Node *n)
{
    bool f64 = n->args[0]->type.dtype == DT_f64;
    Classes cl = classes_of(n, n->args[0]);
    if (f64 && !cl.none) {
        cg_refuse(cg, n, "has no C for f64 with a mean or a sum");
        return;
    }
    ShortRows rows = {.x = n->args[0],
                      .y = n->results[1],
                      .axes = 1u << (n->args[0]->type.rank - 1),
                      .function = "lse",
                      .what = "log of the sum of exp"};
    bool is_short = c_short_rows(cg, n, "lse", &rows);
    kernel_emit(cg, n, "cross_entropy", n->results[0]->name, loss_rows_body,
                is_short ? &rows : NULL);
    LossSum sum = {
        .targets = n->args[1], .valid = n->results[2], .classes = cl};
    if (!cl.none) {
        sum.loss = n->results[0];
        sum.losses = address_scratch(cg, n, 0, DT_f32, "losses");
    }
    c_loss_sum(cg, n, &sum);
}

/* ---- gradient: dloss (p - onehot), over the valid ones of a mean ---- */

static int
scale_cell(Cells *c, const Classes *cl, const Node *n, Dtype d)
{
    int dloss =
        cl->none && n->args[0]->def->op != OP_const
            ? cells_load(c, row_access(c->loops, n->args[0], false), "dloss")
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
    cl.whole = !k->cg->cuda && cl.n > 1 && cl.n <= FEW_CLASSES;
    Dtype d = x->type.dtype == DT_f64 ? DT_f64 : DT_f32;
    Loops s = loops_new(k, &x->type, 1u << (x->type.rank - 1));
    Cells c = cells_new(k, &s);
    int scale = scale_cell(&c, &cl, n, d);
    int target = cells_load(&c, row_access(&s, n->args[2], false), "target");
    int valid = classes_valid(&c, &cl, target);
    int lse = cells_load(&c, row_access(&s, n->args[3], false), "lse");
    int xs = cells_value(&c, x), to = loops_value(&s, dx, true);
    cells_store(&c, classes_grad(&c, &cl, d, xs, lse, scale, valid, dx->name),
                to);
    kernel_fault(k);
    k->comment = arena_printf(a, "%s: gradient of cross entropy, %s", dx->name,
                              describe(k->cg, dx));
    cells_settle(&c);
    loops_open(&s);
    classes_emit_target(&c, &cl, target, valid);
    if (!cl.whole)
        classes_emit_hit(&c, &cl, d, lse, scale,
                         c_load(a, x->type.dtype,
                                loops_element(&s, c.cell.at[xs].access, "at")));
    cells_emit(&c);
    if (!cl.whole)
        classes_put_hit(&c, valid, loops_element(&s, to, "at"),
                        c_store(a, x->type.dtype, "hit"));
    loops_close(&s);
}

void
c_cross_entropy_grad(Cg *cg, const Node *n)
{
    kernel_emit(cg, n, "cross_entropy_grad", n->results[0]->name,
                loss_grad_body, NULL);
}
