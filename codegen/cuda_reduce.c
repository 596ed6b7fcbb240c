/* Sums down columns on a device: a block does some neighbouring columns; its
 * threads take every so many-th of the elements that are added, and their
 * parts are added in order of the threads. Where that makes few blocks, each
 * does a part of the columns, and a second kernel adds the parts in order. No
 * atomics: the same bits always. */
#include "codegen/c_ops.h"
#include "codegen/cells_pass.h"
#include "ir/scratch.h"

#include <inttypes.h>

enum { THREADS = 512 };

typedef struct Columns {
    Cells *c;
    int64_t n, down;  /* columns; elements of a sum */
    int64_t wide;     /* columns of a block */
    int64_t blocks;   /* of a row */
    int64_t parts;    /* of a column, a block each */
} Columns;

/* The order of the sums follows from the shape alone, not from how its axes
 * are walked. */
static Columns
columns_new(Cells *c, int64_t parts)
{
    Loops *s = c->loops;
    Columns x = {.c = c, .n = s->inner[s->n_inner - 1], .parts = parts};
    x.down = loops_columns(s) / x.n;
    bool few = (loops_rows(s) * x.n + 31) / 32 < 128 && x.down > THREADS / 32;
    x.wide = parts == 1 && few ? 8 : 32;
    x.blocks = (x.n + x.wide - 1) / x.wide;
    return x;
}

static void
emit_place(const Columns *x)
{
    Kernel *k = x->c->k;
    Emit *e = &k->out;
    k->run = RUN_blocks;
    k->threads = THREADS;
    k->count = loops_rows(x->c->loops) * x->blocks * x->parts;
    emit_line(e, "__shared__ double folds[%d];", THREADS);
    emit_line(e, "const int32_t lane = threadIdx.x %% %" PRId64 ";", x->wide);
    emit_line(e, "const int32_t part = threadIdx.x / %" PRId64 ";", x->wide);
    const char *block = "blockIdx.x";
    if (x->parts > 1) {
        block = "block";
        emit_line(e, "const int32_t cut = blockIdx.x %% %" PRId64 ";", x->parts);
        emit_line(e, "const int32_t block = blockIdx.x / %" PRId64 ";",
                  x->parts);
    }
    if (x->c->loops->n_outer)
        emit_line(e, "const int64_t r = %s / %" PRId64 ";", block, x->blocks);
    emit_line(e,
              "const int64_t c = (int64_t)(%s %% %" PRId64 ") * %" PRId64
              " + lane;",
              block, x->blocks, x->wide);
}

/* The loop over what a thread adds of its block's part. */
static void
open_elements(const Columns *x)
{
    Emit *e = &x->c->k->out;
    const char *t = x->down < INT32_MAX / 2 ? "int32_t" : "int64_t";
    int64_t each = (x->down + x->parts - 1) / x->parts;
    if (x->parts == 1) {
        emit_open(e,
                  "for (%s q = part; c < %" PRId64 " && q < %" PRId64
                  "; q += %" PRId64 ")",
                  t, x->n, x->down, THREADS / x->wide);
        return;
    }
    emit_line(e, "const %s from = (%s)cut * %" PRId64 ";", t, t, each);
    emit_line(e,
              "const %s end = from + %" PRId64 " < %" PRId64 " ? from + %" PRId64
              " : %" PRId64 ";",
              t, each, x->down, each, x->down);
    emit_open(e,
              "for (%s q = from + part; c < %" PRId64 " && q < end; q += %" PRId64
              ")",
              t, x->n, THREADS / x->wide);
}

/* j0, j1, .. from q, the place among what is added; body: where its use
 * begins. */
static void
emit_places(const Columns *x, size_t body)
{
    const Loops *s = x->c->loops;
    Arena *a = x->c->k->cg->arena;
    int64_t after = 1;
    for (int i = s->n_inner - 2; i >= 0; i--) {
        const char *name = arena_printf(a, "j%d", i);
        const char *line =
            i > 0 && after > 1
                ? arena_printf(a, "const int64_t %s = q / %" PRId64
                                  " %% %" PRId64 ";", name, after, s->inner[i])
            : i > 0 ? arena_printf(a, "const int64_t %s = q %% %" PRId64 ";",
                                   name, s->inner[i])
            : after > 1
                ? arena_printf(a, "const int64_t j0 = q / %" PRId64 ";", after)
                : "const int64_t j0 = q;";
        emit_if_used(&x->c->k->out, body, name, line);
        after *= s->inner[i];
    }
}

static void
emit_parts(const Columns *x)
{
    Cells *c = x->c;
    Emit *e = &c->k->out;
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (cell->kind != CELL_fold)
            continue;
        cells_hoist(c, cell->in[0]);
        cell->now = kernel_local(
            c->k, arena_printf(c->k->cg->arena, "%s_l", cell->path));
        emit_line(e, "%s %s = %s;", c_compute(cell->dtype), cell->now,
                  cells_fold_start(cell));
    }
    open_elements(x);
    size_t body = e->n;
    cells_next_loop(c);
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            cells_combine(c, i, c->cell.at[i].now,
                          cells_need(c, c->cell.at[i].in[0]));
    emit_places(x, body);
    emit_close(e, "");
    c->loop = 0;
}

static void
emit_fold(const Columns *x, int i)
{
    Cells *c = x->c;
    Cell *cell = &c->cell.at[i];
    Arena *a = c->k->cg->arena;
    Emit *e = &c->k->out;
    const char *t = c_compute(cell->dtype), *mine = cell->now;
    const char *name = kernel_local(c->k, cell->path);
    const char *all = kernel_local(c->k, "all");
    emit_line(e, "%s *const %s = (%s *)folds;", t, all, t);
    emit_line(e, "__syncthreads();");
    emit_line(e, "%s[threadIdx.x] = %s;", all, mine);
    emit_line(e, "__syncthreads();");
    emit_line(e, "%s %s = %s[lane];", t, name, all);
    emit_open(e, "for (int l = 1; l < %" PRId64 "; l++)", THREADS / x->wide);
    cells_combine(c, i, name,
                  arena_printf(a, "%s[l * %" PRId64 " + lane]", all, x->wide));
    emit_close(e, "");
    cell->now = cells_round(c, cell->dtype, name);
    cell->now_loop = 0;
}

/* All folds of the columns of the block; one thread a column goes on. */
static void
emit_folds(const Columns *x)
{
    Cells *c = x->c;
    emit_place(x);
    loops_rows_here(c->loops);
    emit_parts(x);
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            emit_fold(x, i);
    emit_line(&c->k->out, "if (part > 0 || c >= %" PRId64 ")", x->n);
    emit_line(&c->k->out, "    return;");
}

void
cuda_columns_emit(Cells *c)
{
    Columns x = columns_new(c, 1);
    emit_folds(&x);
    cells_next_loop(c);
    for (int i = 0; i < c->stores.n; i++)
        cells_need(c, c->stores.at[i].cell);
    for (int i = 0; i < c->stores.n; i++)
        cells_put(c, &c->stores.at[i]);
    c->loop = 0;
}

/* ---- columns in parts ---- */

/* Scratch with the parts of a sum; `at`: where it begins, moves on. */
static const char *
parts_param(Kernel *k, const Value *v, int64_t parts, int64_t *at)
{
    int param = kernel_scratch(k, *at, v->type.dtype, v->name);
    *at += scratch_part(parts * type_bytes(&v->type));
    return kernel_name(k, param);
}

static void
store_part(const Columns *x, const char *to, const char *sum)
{
    const Loops *s = x->c->loops;
    Emit *e = &x->c->k->out;
    int64_t all = loops_rows(s) * x->n;
    if (s->n_outer)
        emit_line(e, "%s[cut * %" PRId64 " + r * %" PRId64 " + c] = %s;", to,
                  all, x->n, sum);
    else
        emit_line(e, "%s[cut * %" PRId64 " + c] = %s;", to, all, sum);
}

/* What is stored would keep axes that are summed apart from those that stay. */
static void
keep_apart(Loops *s, unsigned mask)
{
    int64_t stride[MAX_RANK] = {0}, step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (mask >> i & 1)
            continue;
        stride[i] = step;
        step *= s->dim[i];
    }
    loops_strided(s, -1, DT_i64, stride);
}

static void
parts_body(Kernel *k)
{
    const Node *n = k->node, *sum = node_find(n, OP_reduce_sum);
    const Type *t = &sum->args[0]->type;
    unsigned mask = cells_mask(sum);
    int64_t at = 0, parts = sum_parts(n);
    Loops s = loops_new(k, t, mask);
    Cells c = cells_new(k, &s);
    row_nodes(&c, n);
    int last = t->rank - 1;
    while (t->dim[last] == 1)
        last--;
    s.is_inner[last] = true;
    keep_apart(&s, mask);
    cells_settle(&c);
    k->comment = arena_printf(k->cg->arena, "sums of %" PRId64 " parts of %s",
                              parts, describe(k->cg, sum->args[0]));
    Columns x = columns_new(&c, parts);
    emit_folds(&x);
    for (int i = 0; i < c.bound.n; i++) {
        const Value *v = c.bound.at[i].value;
        if (v->def->op == OP_reduce_sum)
            store_part(&x, parts_param(k, v, parts, &at),
                       c.cell.at[c.bound.at[i].cell].now);
    }
}

/* The sum of a value's parts, as a cell. */
static void
bind_sum(Cells *c, const Value *v, int64_t parts, int64_t *at)
{
    Arena *a = c->k->cg->arena;
    int64_t n = type_elements(&v->type);
    const char *from = parts_param(c->k, v, parts, at);
    cells_bind(c, v,
               cells_expr1(c, v->type.dtype, v->name,
                           arena_printf(a, "edl_sum_parts(%s + %%0, %" PRId64
                                           ", %" PRId64 ")", from, n, parts),
                           cells_index(c, &v->type)));
}

static void
total_body(Kernel *k)
{
    const Node *n = k->node, *first = node_find(n, OP_reduce_sum);
    int64_t at = 0, parts = sum_parts(n);
    Loops s = loops_new(k, &first->results[0]->type, 0);
    Cells c = cells_new(k, &s);
    if (n->op == OP_reduce_sum)
        bind_sum(&c, n->results[0], parts, &at);
    else
        graph_each(n->body, b) {
            if (b->op == OP_reduce_sum)
                bind_sum(&c, b->results[0], parts, &at);
            else if (b->op == OP_accumulate)
                cells_write(&c, b, loops_tensor(&s, b->tensor, true));
        }
    store_results(&c, n);
    k->comment = arena_printf(k->cg->arena, "%s: the parts, in order",
                              first->results[0]->name);
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
cuda_sum_parts(Cg *cg, const Node *n, const char *path)
{
    kernel_emit(cg, n, "reduce_parts", path, parts_body, NULL);
    kernel_emit(cg, n, "reduce", path, total_body, NULL);
}
