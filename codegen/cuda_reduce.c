/* Sums down columns on a device: a block does some neighbouring columns; its
 * threads take every so many-th of the elements that are added, and their
 * parts are added in order of the threads. No atomics: the same bits always. */
#include "codegen/cells_pass.h"

#include <inttypes.h>

enum { THREADS = 512 };

typedef struct Columns {
    Cells *c;
    int64_t n, down;  /* columns; elements of a sum */
    int64_t wide;     /* columns of a block */
    int64_t blocks;   /* of a row */
} Columns;

static Columns
columns_new(Cells *c)
{
    Loops *s = c->loops;
    Columns x = {.c = c, .n = s->inner[s->n_inner - 1], .wide = 32};
    x.down = loops_columns(s) / x.n;
    x.blocks = (x.n + x.wide - 1) / x.wide;
    if (loops_rows(s) * x.blocks < 128 && x.down > THREADS / 32) {
        x.wide = 8;
        x.blocks = (x.n + x.wide - 1) / x.wide;
    }
    return x;
}

static void
emit_place(const Columns *x)
{
    Kernel *k = x->c->k;
    Emit *e = &k->out;
    k->run = RUN_blocks;
    k->threads = THREADS;
    k->count = loops_rows(x->c->loops) * x->blocks;
    emit_line(e, "__shared__ double folds[%d];", THREADS);
    emit_line(e, "const int32_t lane = threadIdx.x %% %" PRId64 ";", x->wide);
    emit_line(e, "const int32_t part = threadIdx.x / %" PRId64 ";", x->wide);
    if (x->c->loops->n_outer)
        emit_line(e, "const int64_t r = blockIdx.x / %" PRId64 ";", x->blocks);
    emit_line(e,
              "const int64_t c = (int64_t)(blockIdx.x %% %" PRId64
              ") * %" PRId64 " + lane;",
              x->blocks, x->wide);
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
            i > 0 ? arena_printf(a, "const int64_t %s = q / %" PRId64
                                    " %% %" PRId64 ";", name, after,
                                 s->inner[i])
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
    emit_open(e,
              "for (int64_t q = part; c < %" PRId64 " && q < %" PRId64
              "; q += %" PRId64 ")",
              x->n, x->down, THREADS / x->wide);
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

void
cuda_columns_emit(Cells *c)
{
    Columns x = columns_new(c);
    Emit *e = &c->k->out;
    emit_place(&x);
    loops_rows_here(c->loops);
    emit_parts(&x);
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_fold)
            emit_fold(&x, i);
    emit_line(e, "if (part > 0 || c >= %" PRId64 ")", x.n);
    emit_line(e, "    return;");
    cells_next_loop(c);
    for (int i = 0; i < c->stores.n; i++)
        cells_need(c, c->stores.at[i].cell);
    for (int i = 0; i < c->stores.n; i++)
        cells_put(c, &c->stores.at[i]);
    c->loop = 0;
}
