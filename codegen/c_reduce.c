/* Reductions over any axes. When the last axis stays, a piece is a run of
 * columns and goes down all that is reduced; else a piece is some rows. */
#include "codegen/c_ops.h"
#include "codegen/cells_pass.h"
#include "ir/scratch.h"

#include <inttypes.h>

enum { COLUMNS = 64 };

/* ---- the axes ---- */

static const Node *
first_reduction(const Node *n)
{
    if (n->op != OP_fused)
        return n;
    graph_each(n->body, b)
        if (node_attr(b, "axes"))
            return b;
    bug("codegen: a reduce group without a reduction");
}

unsigned
cells_mask(const Node *n)
{
    const Attr *axes = node_attr(n, "axes");
    unsigned mask = 0;
    for (int64_t i = 0; i < axes->i; i++)
        mask |= 1u << axes->list[i];
    return mask;
}

int
reduced_access(Loops *s, int param, const Type *t, const Layout *l,
               unsigned mask)
{
    int64_t stride[MAX_RANK] = {0};
    bool kept = t->rank == s->rank;
    int from = 0;
    for (int i = 0; i < s->rank; i++) {
        if (mask >> i & 1) {
            from += kept;
            continue;
        }
        stride[i] = l->stride[from++];
    }
    return loops_strided(s, param, t->dtype, stride);
}

/* ---- building ---- */

static void
store_reduced(Cells *c, const Node *n, unsigned mask)
{
    for (int i = 0; i < n->n_results; i++) {
        const Value *v = n->results[i];
        if (!has_memory(v))
            continue;
        int param = kernel_value(c->k, v, 0, true);
        cells_store(
            c, cells_value(c, v),
            reduced_access(c->loops, param, &v->type, &v->layout, mask));
    }
}

static void
build(Cells *c, const Node *n, unsigned mask)
{
    if (n->op != OP_fused) {
        row_node(c, n);
        store_reduced(c, n, mask);
        return;
    }
    graph_each(n->body, b) {
        if (b->op != OP_write && b->op != OP_accumulate) {
            row_node(c, b);
            continue;
        }
        const Tensor *t = b->tensor;
        int param = kernel_tensor(c->k, t, true);
        cells_write(
            c, b, reduced_access(c->loops, param, &t->type, &t->layout, mask));
    }
    store_reduced(c, n, mask);
}

/* ---- going down columns ---- */

static void
emit_columns(Cells *c)
{
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            cells_combine(
                c, i, arena_printf(c->k->cg->arena, "%s[l]", c->cell.at[i].now),
                cells_need(c, c->cell.at[i].in[0]));
}

static size_t
open_columns(Cells *c, int64_t n)
{
    Emit *e = &c->k->out;
    if (n % COLUMNS == 0)
        emit_open(e, "for (int64_t l = 0; l < %d; l++)", COLUMNS);
    else if (n < COLUMNS)
        emit_open(e, "for (int64_t l = 0; l < %" PRId64 "; l++)", n);
    else
        emit_open(e, "for (int64_t l = 0; l < n; l++)");
    cells_next_loop(c);
    return e->n;
}

/* body: where it begins. */
static void
close_columns(Cells *c, int64_t n, size_t body)
{
    Emit *e = &c->k->out;
    emit_if_used(e, body, "c",
                 n <= COLUMNS ? "const int64_t c = l;"
                              : "const int64_t c = from + l;");
    emit_close(e, "");
    c->loop = 0;
}

/* j0, j1, .. of row q, those that are used; body: where it begins. */
static void
emit_places(Cells *c, size_t body)
{
    const Loops *s = c->loops;
    Arena *a = c->k->cg->arena;
    int64_t after = 1;
    for (int i = s->n_inner - 2; i >= 0; i--) {
        const char *name = arena_printf(a, "j%d", i), *at = "q";
        if (after > 1)
            at = arena_printf(a, "%s / %" PRId64, at, after);
        if (i > 0)
            at = arena_printf(a, "%s %% %" PRId64, at, s->inner[i]);
        emit_if_used(&c->k->out, body, name,
                     arena_printf(a, "const int64_t %s = %s;", name, at));
        after *= s->inner[i];
    }
}

/* Adds to the accumulators of a block, down all rows, or those of a part. */
static void
emit_down(Cells *c, int64_t n, bool part)
{
    Emit *e = &c->k->out;
    int open = part ? 1 : loops_open_inner(c->loops);
    bool one = c->loops->n_inner == 2;
    if (part)
        emit_open(e, "for (int64_t %s = lo; %s < hi; %s++)", one ? "j0" : "q",
                  one ? "j0" : "q", one ? "j0" : "q");
    size_t rows = e->n, body = open_columns(c, n);
    emit_columns(c);
    close_columns(c, n, body);
    if (part && !one)
        emit_places(c, rows);
    for (int i = 0; i < open; i++)
        emit_close(e, "");
}

/* The sums of columns [from, from + 64) of the row that is open. */
static void
emit_block(Cells *c, int64_t n, bool part)
{
    Arena *a = c->k->cg->arena;
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            cells_hoist(c, c->cell.at[i].in[0]);
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            cells_lanes(c, i, n < COLUMNS ? (int)n : COLUMNS);
    emit_down(c, n, part);
    size_t body = open_columns(c, n);
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (cell->kind != CELL_fold)
            continue;
        const char *sum = arena_printf(a, "%s[l]", cell->now);
        if (cell->dtype == DT_bf16 || cell->dtype == DT_f16)
            sum = c_load(a, cell->dtype, c_store(a, cell->dtype, sum));
        cell->now = sum;
        cell->now_loop = 0;
    }
    for (int i = 0; i < c->stores.n; i++)
        cells_need(c, c->stores.at[i].cell);
    for (int i = 0; i < c->stores.n; i++)
        cells_put(c, &c->stores.at[i]);
    close_columns(c, n, body);
}

/* Of a block of n columns, where the last is narrower. */
static void
emit_width(Emit *e, int64_t n)
{
    if (n > COLUMNS && n % COLUMNS)
        emit_line(e,
                  "const int64_t n = %" PRId64 " - from < %d ? %" PRId64
                  " - from : %d;",
                  n, COLUMNS, n, COLUMNS);
}

/* Pieces are (row, block of columns). */
void
columns_emit(Cells *c)
{
    Kernel *k = c->k;
    Loops *s = c->loops;
    Emit *e = &k->out;
    int64_t n = s->inner[s->n_inner - 1], rows = loops_rows(s);
    int64_t blocks = (n + COLUMNS - 1) / COLUMNS;
    int64_t work = rows * loops_columns(s);
    if (rows * blocks > 1 && (work > 2 * PIECE_ELEMENTS || k->want))
        k->pieces = rows * blocks;
    else if (rows * blocks > 1)
        emit_open(e, "for (int64_t piece = 0; piece < %" PRId64 "; piece++)",
                  rows * blocks);
    if (rows > 1 && blocks > 1)
        emit_line(e, "const int64_t r = piece / %" PRId64 ";", blocks);
    else if (rows > 1)
        emit_line(e, "const int64_t r = piece;");
    if (blocks > 1)
        emit_line(e, "const int64_t from = piece %% %" PRId64 " * %d;", blocks,
                  COLUMNS);
    emit_width(e, n);
    loops_rows_here(s);
    emit_block(c, n, false);
    if (rows * blocks > 1 && k->pieces == 1)
        emit_close(e, "");
}

void
columns_emit_part(Cells *c, int64_t rows)
{
    Loops *s = c->loops;
    Emit *e = &c->k->out;
    int64_t n = s->inner[s->n_inner - 1];
    emit_range(c->k, loops_columns(s) / n, rows);
    loops_rows_here(s);
    if (n > COLUMNS)
        emit_open(e, "for (int64_t from = 0; from < %" PRId64 "; from += %d)",
                  n, COLUMNS);
    emit_width(e, n);
    emit_block(c, n, true);
    if (n > COLUMNS)
        emit_close(e, "");
}

/* Sums, largest and smallest alone can go down columns: one pass. */
static bool
one_pass(const Cells *c)
{
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].level > 1)
            return false;
    return true;
}

/* The last axis that is not 1, or -1. */
static int
last_axis(const Type *t)
{
    int i = t->rank - 1;
    while (i >= 0 && t->dim[i] == 1)
        i--;
    return i;
}

static void
reduce_body(Kernel *k)
{
    const Node *n = k->node, *first = first_reduction(n);
    Type t = first->args[0]->type;
    unsigned mask = cells_mask(first);
    int last = last_axis(&t);
    bool down = last >= 0 && !(mask >> last & 1);
    Loops s = loops_new(k, &t, mask);
    Cells c = cells_new(k, &s);
    build(&c, n, mask);
    k->comment = arena_printf(
        k->cg->arena, "%s: %s of %s",
        n->n_results ? n->results[0]->name : first->results[0]->name,
        op_info[first->op].name, describe(k->cg, first->args[0]));
    if (down)
        s.is_inner[last] = true;
    cells_settle(&c);
    if (down && one_pass(&c) && s.n_inner > 1) {
        if (k->cg->cuda)
            cuda_columns_emit(&c);
        else
            columns_emit(&c);
        return;
    }
    if (down) {
        s.is_inner[last] = false;
        for (int i = 0; i < c.cell.n; i++) {
            c.cell.at[i].level = 0;
            c.cell.at[i].full = false;
        }
        loops_forget(&s);
        cells_settle(&c);
    }
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_reduce(Cg *cg, const Node *n)
{
    if (c_sum(cg, n))
        return;
    const char *path = n->n_results ? n->results[0]->name
                                    : first_reduction(n)->results[0]->name;
    if (sum_parts(n) > 1) {
        cuda_sum_parts(cg, n, path);
        return;
    }
    if (c_column_parts(cg, n, path))
        return;
    kernel_emit(cg, n, n->op == OP_fused ? "reduce" : op_info[n->op].name, path,
                reduce_body, NULL);
}

/* ---- the place of the largest, and the gradient to it ---- */

/* "x_r[j0 * 4 + c]" and the row-major place among the reduced axes. */
static const char *
place_text(Kernel *k, const Loops *s)
{
    Emit e = emit_new(k->cg->arena);
    int64_t after = 1;
    for (int i = s->n_inner - 1; i >= 0; i--) {
        emit(&e, "%s", e.n ? " + " : "");
        if (i + 1 == s->n_inner)
            emit(&e, "c");
        else
            emit(&e, "j%d", i);
        if (after > 1)
            emit(&e, " * %" PRId64, after);
        after *= s->inner[i];
    }
    emit(&e, "%s", e.n ? "" : "0");
    return emit_string(&e);
}

static int
open_scan(Kernel *k, Loops *s)
{
    int open = loops_open_inner(s);
    if (s->n_inner == 0)
        return open;
    emit_open(&k->out, "for (int64_t c = 0; c < %" PRId64 "; c++)",
              s->inner[s->n_inner - 1]);
    return open + 1;
}

static void
argmax_body(Kernel *k)
{
    const Node *n = k->node;
    const Value *x = n->args[0], *y = n->results[0];
    Arena *a = k->cg->arena;
    unsigned mask = cells_mask(n);
    Loops s = loops_new(k, &x->type, mask);
    int from = loops_value(&s, x, false);
    int to = reduced_access(&s, kernel_value(k, y, 0, true), &y->type,
                            &y->layout, mask);
    k->comment =
        arena_printf(a, "%s: argmax of %s", y->name, describe(k->cg, x));
    loops_fold(&s);
    loops_open(&s);
    Emit *e = &k->out;
    const char *t = c_compute(x->type.dtype);
    emit_line(e, "%s best = %s;", t,
              c_load(a, x->type.dtype,
                     arena_printf(a, "%s[0]", s.access.at[from].base)));
    emit_line(e, "int64_t at = 0;");
    int open = open_scan(k, &s);
    emit_line(e, "const %s value = %s;", t,
              c_load(a, x->type.dtype, loops_element(&s, from, "c")));
    emit_open(e, type_is_float(&x->type)
                     ? "if (best == best && !(value <= best))"
                     : "if (value > best)");
    emit_line(e, "best = value;");
    emit_line(e, "at = %s;", place_text(k, &s));
    emit_close(e, "");
    for (int i = 0; i < open; i++)
        emit_close(e, "");
    emit_line(e, "%s[0] = (int32_t)at;", s.access.at[to].base);
    loops_close(&s);
}

void
c_argmax(Cg *cg, const Node *n)
{
    ShortRows rows = {.x = n->args[0],
                      .y = n->results[0],
                      .axes = cells_mask(n),
                      .function = "argmax",
                      .what = "argmax"};
    if (c_short_rows(cg, n, "argmax", &rows))
        return;
    kernel_emit(cg, n, "argmax", n->results[0]->name, argmax_body, NULL);
}

static void
pick_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Loops s = loops_new(k, &n->args[1]->type, cells_mask(n));
    int in[3];
    for (int i = 0; i < 3; i++)
        in[i] = loops_value(&s, n->args[i], false);
    int to = loops_value(&s, n->results[0], true);
    k->comment = "the gradient goes to the first element that was picked";
    loops_fold(&s);
    loops_open(&s);
    Emit *e = &k->out;
    Dtype d = n->args[1]->type.dtype;
    const char *t = c_compute(d);
    emit_line(e, "const %s given = %s;", t,
              c_load(a, d, loops_element(&s, in[0], "c")));
    emit_line(e, "const %s picked = %s;", t,
              c_load(a, d, loops_element(&s, in[2], "c")));
    emit_line(e, "int found = 0;");
    int open = open_scan(k, &s);
    emit_line(e, "const %s value = %s;", t,
              c_load(a, d, loops_element(&s, in[1], "c")));
    emit_line(e, "const int hit = !found && (value == picked ||\n"
                 "                               (value != value && picked != "
                 "picked));");
    emit_line(e, "found |= hit;");
    emit_line(
        e, "%s = %s;", loops_element(&s, to, "c"),
        c_store(a, d,
                d == DT_f64 ? "hit ? given : 0.0" : "hit ? given : 0.0f"));
    for (int i = 0; i < open; i++)
        emit_close(e, "");
    loops_close(&s);
}

void
c_pick_grad(Cg *cg, const Node *n)
{
    kernel_emit(cg, n, "pick_grad", n->results[0]->name, pick_body, NULL);
}
