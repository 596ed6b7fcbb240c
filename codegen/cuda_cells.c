/* Passes over a row on a device. A block's threads share a row: thread t does
 * columns t, t + threads, ... (or so many neighbours) in every pass, so what a pass stores is read by
 * the thread that stored it. A fold adds up a thread's columns in order, then
 * the threads as a fixed tree. */
#include "codegen/cells_pass.h"

#include <inttypes.h>

static void
start_folds(Cells *c, int level)
{
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (!cells_is_fold(c, i, level))
            continue;
        cell->now = kernel_local(
            c->k, arena_printf(c->k->cg->arena, "%s_l", cell->path));
        emit_line(&c->k->out, "%s %s = %s;", c_compute(cell->dtype), cell->now,
                  cells_fold_start(cell));
    }
}

/* What the pass does with element c. */
static void
emit_body(Cells *c, int level)
{
    cells_next_loop(c);
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level))
            cells_need(c, c->cell.at[i].in[0]);
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        if (cells_store_is_full(c, s) && cells_store_level(c, s) == level)
            cells_need(c, s->cell);
    }
    for (int i = 0; i < c->cell.n; i++) {
        const Cell *cell = &c->cell.at[i];
        if (cells_is_fold(c, i, level))
            cells_combine(c, i, cell->now, c->cell.at[cell->in[0]].now);
    }
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        if (cells_store_is_full(c, s) && cells_store_level(c, s) == level)
            cells_put(c, s);
    }
    c->loop = 0;
}

static void
end_folds(Cells *c, int level)
{
    static const char *const names[] = {
        [FOLD_sum] = "sum", [FOLD_max] = "max", [FOLD_min] = "min"};
    Arena *a = c->k->cg->arena;
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (!cells_is_fold(c, i, level))
            continue;
        const char *all = cell->now;
        if (c->loops->mode == MODE_block)
            all = arena_printf(a, "edl_block_%s(%s, folds)", names[cell->fold],
                               cell->now);
        if (cell->fold == FOLD_sum)
            all = cells_round(c, cell->dtype, all);
        const char *name = kernel_local(c->k, cell->path);
        emit_line(&c->k->out, "const %s %s = %s;", c_compute(cell->dtype), name,
                  all);
        cell->now = name;
        cell->now_loop = 0;
    }
}

/* ---- neighbours that a thread does ---- */

/* In this pass. */
static bool
is_stored(const Cells *c, int access, int level)
{
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        if (s->access == access && cells_store_level(c, s) == level)
            return true;
    }
    return false;
}

static bool
is_loaded(const Cells *c, int access)
{
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_load && c->cell.at[i].access == access)
            return true;
    return false;
}

static const char *
lane_type(const Access *a)
{
    return a->dtype == DT_f32 ? "float" : "uint16_t";
}

/* Columns of the row that threads do in groups of neighbours, or all. */
static int64_t
whole_columns(const Loops *s)
{
    return s->inner[s->n_inner - 1] - s->tail;
}

/* Opens a loop over the neighbours. */
static bool
open_lanes(Cells *c)
{
    if (c->loops->each <= 1)
        return false;
    emit_line(&c->k->out, "#pragma unroll");
    emit_open(&c->k->out, "for (int l = 0; l < %d; l++)", c->loops->each);
    return true;
}

/* Before the loop, which begins at `start`, reads what it uses. */
static void
read_lanes(Cells *c, size_t start)
{
    Loops *s = c->loops;
    Arena *a = c->k->cg->arena;
    for (int i = s->access.n - 1; i >= 0; i--) {
        const Access *x = &s->access.at[i];
        if (!x->lanes || x->held)
            continue;
        if (is_loaded(c, i))
            emit_if_used(&c->k->out, start, x->lanes,
                         arena_printf(a, "edl_load%d(%s, %s + c0);", s->each,
                                      x->lanes, x->base));
        emit_if_used(&c->k->out, start, x->lanes,
                     arena_printf(a, "%s %s[%d];", lane_type(x), x->lanes,
                                  s->each));
    }
}

static void
close_lanes(Cells *c, size_t start, size_t body, int level)
{
    Loops *s = c->loops;
    Emit *e = &c->k->out;
    emit_if_used(e, body, "c", "const int64_t c = c0 + l;");
    emit_close(e, "");
    for (int i = 0; i < s->access.n; i++)
        if (s->access.at[i].lanes && is_stored(c, i, level))
            emit_line(e, "edl_store%d(%s + c0, %s);", s->each,
                      s->access.at[i].base, s->access.at[i].lanes);
    read_lanes(c, start);
}

static int
open_columns(Cells *c)
{
    Loops *s = c->loops;
    Emit *e = &c->k->out;
    int open = loops_open_inner(s);
    int64_t n = whole_columns(s);
    if (s->mode == MODE_element)
        return open;
    if (s->held)
        emit_open(e, "if (c0 < %" PRId64 ")", n);
    else if (s->mode == MODE_block && s->each > 1)
        emit_open(e,
                  "for (int32_t c0 = threadIdx.x * %d; c0 < %" PRId64
                  "; c0 += blockDim.x * %d)",
                  s->each, n, s->each);
    else if (s->mode == MODE_block)
        emit_open(e,
                  "for (int32_t c = threadIdx.x; c < %" PRId64
                  "; c += blockDim.x)",
                  n);
    else
        emit_open(e, "for (int64_t c = 0; c < %" PRId64 "; c++)", n);
    return open + 1;
}

/* The columns that are left over, one a thread. */
static void
emit_tail(Cells *c, int level)
{
    Loops *s = c->loops;
    Emit *e = &c->k->out;
    const char **lanes =
        ARENA_ARRAY(c->k->cg->arena, const char *, s->access.n + 1);
    if (!s->tail)
        return;
    for (int i = 0; i < s->access.n; i++) {
        lanes[i] = s->access.at[i].lanes;
        s->access.at[i].lanes = NULL;
    }
    emit_open(e,
              "for (int32_t c = %" PRId64 " + threadIdx.x; c < %" PRId64
              "; c += blockDim.x)",
              whole_columns(s), s->inner[s->n_inner - 1]);
    emit_body(c, level);
    emit_close(e, "");
    for (int i = 0; i < s->access.n; i++)
        s->access.at[i].lanes = lanes[i];
}

static void
emit_pass(Cells *c, int level)
{
    bool folds = false, stores = false;
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level)) {
            folds = true;
            cells_hoist(c, c->cell.at[i].in[0]);
        }
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *st = &c->stores.at[i];
        if (cells_store_is_full(c, st) && cells_store_level(c, st) == level) {
            stores = true;
            cells_hoist(c, st->cell);
        }
    }
    if (!folds && !stores)
        return;
    start_folds(c, level);
    int open = open_columns(c);
    size_t start = c->k->out.n;
    bool lanes = open_lanes(c);
    size_t body = c->k->out.n;
    emit_body(c, level);
    if (lanes)
        close_lanes(c, start, body, level);
    for (int i = 0; i < open; i++)
        emit_close(&c->k->out, "");
    emit_tail(c, level);
    end_folds(c, level);
}

/* Of what the passes read of the row, all that registers have room for. */
static bool
choose_held(Cells *c)
{
    enum { MOST = 48 }; /* registers, of 4 bytes */
    Loops *s = c->loops;
    int used = 0;
    for (int i = 0; i < s->access.n; i++) {
        Access *x = &s->access.at[i];
        int more = s->each * dtype_info[x->dtype].bits / 32;
        x->held = x->lanes && is_loaded(c, i) && used + more <= MOST;
        used += x->held ? more : 0;
    }
    return used > 0;
}

/* Reads it, once for all passes. */
static void
hold_row(Cells *c)
{
    Loops *s = c->loops;
    Emit *e = &c->k->out;
    if (!s->held || cells_last_level(c) == 0 || !choose_held(c))
        return;
    for (int i = 0; i < s->access.n; i++) {
        const Access *x = &s->access.at[i];
        if (x->held)
            emit_line(e, "%s %s[%d] = {};", lane_type(x), x->lanes, s->each);
    }
    emit_open(e, "if (c0 < %" PRId64 ")", whole_columns(s));
    for (int i = 0; i < s->access.n; i++) {
        const Access *x = &s->access.at[i];
        if (x->held)
            emit_line(e, "edl_load%d(%s, %s + c0);", s->each, x->lanes,
                      x->base);
    }
    emit_close(e, "");
}

void
cuda_cells_emit(Cells *c)
{
    bool rows = false;
    hold_row(c);
    if (loops_columns(c->loops) > 1)
        for (int level = 0; level <= cells_last_level(c); level++)
            emit_pass(c, level);
    for (int i = 0; i < c->stores.n; i++)
        if (!cells_store_is_full(c, &c->stores.at[i])) {
            cells_need(c, c->stores.at[i].cell);
            rows = true;
        }
    if (!rows)
        return;
    loops_open_single(c->loops);
    for (int i = 0; i < c->stores.n; i++)
        if (!cells_store_is_full(c, &c->stores.at[i]))
            cells_put(c, &c->stores.at[i]);
    loops_close_single(c->loops);
}
