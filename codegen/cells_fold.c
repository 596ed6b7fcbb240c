/* Folds of cells: where they begin, their accumulators, one step, the loops
 * over them, the end. */
#include "codegen/cells_pass.h"

#include <inttypes.h>

/* Fewer elements behind the last whole 16 are done one by one. */
enum { LEAST_GUARDED = 4 };

const char *
cells_fold_start(const Cell *cell)
{
    bool real = dtype_info[cell->dtype].kind == KIND_FLOAT;
    switch (cell->fold) {
    case FOLD_sum:
        return "0";
    case FOLD_max:
        return real                    ? "-INFINITY"
               : cell->dtype == DT_i64 ? "INT64_MIN"
               : cell->dtype == DT_u8  ? "0"
                                       : "INT32_MIN";
    case FOLD_min:
        return real                    ? "INFINITY"
               : cell->dtype == DT_i64 ? "INT64_MAX"
               : cell->dtype == DT_u8  ? "255"
                                       : "INT32_MAX";
    }
    bug("codegen: a fold of kind %d", (int)cell->fold);
}

void
cells_combine(Cells *c, int fold, const char *to, const char *v)
{
    const Cell *cell = &c->cell.at[fold];
    Emit *e = &c->k->out;
    const char *t = c_compute(cell->dtype);
    bool real = dtype_info[cell->dtype].kind == KIND_FLOAT;
    bool f64 = cell->dtype == DT_f64;
    switch (cell->fold) {
    case FOLD_sum:
        if (real)
            emit_line(e, "%s += %s;", to, v);
        else
            emit_line(e, "%s = (%s)((uint64_t)%s + (uint64_t)%s);", to, t, to,
                      v);
        return;
    case FOLD_max:
    case FOLD_min:
        if (real)
            emit_set(e, to,
                     arena_printf(c->k->cg->arena, "edl_%s%s(%s, %s)",
                                  cell->fold == FOLD_max ? "max" : "min",
                                  f64 ? "" : "f", to, v));
        else
            emit_line(e, "%s = %s %c %s ? %s : %s;", to, v,
                      cell->fold == FOLD_max ? '>' : '<', to, v, to);
        return;
    }
}

void
cells_lanes(Cells *c, int fold, int n)
{
    Cell *cell = &c->cell.at[fold];
    Emit *e = &c->k->out;
    const char *start = cells_fold_start(cell);
    cell->now =
        kernel_local(c->k, arena_printf(c->k->cg->arena, "%s_l", cell->path));
    const char *t = c_compute(cell->dtype);
    if (strcmp(start, "0") == 0) {
        emit_line(e, "%s %s[%d] = {0};", t, cell->now, n);
        return;
    }
    emit_line(e, "%s %s[%d];", t, cell->now, n);
    emit_line(e, "for (int l = 0; l < %d; l++)", n);
    emit_line(e, "    %s[l] = %s;", cell->now, start);
}

void
cells_fold_end(Cells *c, int fold)
{
    Cell *cell = &c->cell.at[fold];
    Emit *e = &c->k->out;
    const char *lanes = cell->now;
    const char *name = kernel_local(c->k, cell->path);
    const char *t = c_compute(cell->dtype);
    if (cell->fold == FOLD_sum && dtype_info[cell->dtype].kind == KIND_FLOAT) {
        const char *sum = arena_printf(c->k->cg->arena, "edl_sum16%s(%s)",
                                       cell->dtype == DT_f64 ? "" : "f", lanes);
        emit_line(e, "const %s %s = %s;", t, name,
                  cells_round(c, cell->dtype, sum));
    } else if (cell->fold == FOLD_max && cell->dtype == DT_f32) {
        emit_line(e, "const float %s = edl_max16f(%s);", name, lanes);
    } else {
        emit_line(e, "%s %s = %s[0];", t, name, lanes);
        emit_open(e, "for (int l = 1; l < 16; l++)");
        cells_combine(c, fold, name,
                      arena_printf(c->k->cg->arena, "%s[l]", lanes));
        emit_close(e, "");
    }
    cell->now = name;
    cell->now_loop = 0;
}

/* ---- loops ---- */

const char *
cells_guard(const Cells *c, const char *x, const char *other)
{
    if (!c->guard)
        return x;
    return arena_printf(c->k->cg->arena, "%s ? %s : %s", c->guard, x, other);
}

const char *
cells_fold_input(Cells *c, int i)
{
    const Cell *cell = &c->cell.at[i];
    const char *x = c->cell.at[cell->in[0]].now;
    if (!c->guard)
        return x;
    x = cells_guard(c, x, cells_fold_start(cell));
    if (dtype_info[cell->dtype].kind == KIND_FLOAT)
        return x;
    return arena_printf(c->k->cg->arena, "(%s)", x);
}

/* 16 elements from `from` on, of which there are those with the guard. */
static void
emit_lanes(Cells *c, int level, const char *from, const char *guard)
{
    Emit *e = &c->k->out;
    emit_line(e, "EDL_LANES");
    emit_open(e, "for (int l = 0; l < 16; l++)");
    size_t body = e->n;
    c->guard = guard;
    cells_body(c, level, "l");
    c->guard = NULL;
    emit_if_used(e, body, "c",
                 arena_printf(c->k->cg->arena, "const int64_t c = %sl;", from));
    emit_close(e, "");
}

/* Of f64 functions are called, lane by lane; and AVX2 reads parts of vectors
 * of 32 bits alone. */
static bool
has_lanes(const Cells *c, const Cell *cell)
{
    if (cell->kind == CELL_uniform || cell->dtype == DT_f64)
        return false;
    if (cell->kind != CELL_load || !cell->full)
        return true;
    return dtype_info[c->loops->access.at[cell->access].dtype].bits == 32;
}

/* May lanes without an element be computed? What is stored would be written
 * in part, and read again as a whole, which processors are slow at. */
static bool
can_be_guarded(const Cells *c, int level)
{
    for (int i = 0; i < c->stores.n; i++)
        if (cells_store_is_full(c, &c->stores.at[i]) &&
            cells_store_level(c, &c->stores.at[i]) == level)
            return false;
    for (int i = 0; i < c->cell.n; i++)
        if (!has_lanes(c, &c->cell.at[i]))
            return false;
    return true;
}

/* The elements from `whole` on, which are less than 16. */
static void
emit_rest(Cells *c, int level, int64_t whole, int64_t n)
{
    Arena *a = c->k->cg->arena;
    const char *from = whole ? arena_printf(a, "%" PRId64 " + ", whole) : "";
    if (n - whole >= LEAST_GUARDED && can_be_guarded(c, level)) {
        emit_lanes(c, level, from, arena_printf(a, "c < %" PRId64, n));
        return;
    }
    emit_open(&c->k->out,
              "for (int64_t c = %" PRId64 "; c < %" PRId64 "; c++)", whole, n);
    cells_body(c, level,
               whole ? arena_printf(a, "c - %" PRId64, whole) : "c");
    emit_close(&c->k->out, "");
}

void
cells_lane_loops(Cells *c, int level, const Stretch *s)
{
    Emit *e = &c->k->out;
    int64_t n = s->most, whole = n / 16 * 16;
    if (s->cut) { /* parts begin at a multiple of 16 */
        emit_open(e, "for (int64_t c0 = %s; c0 + 16 <= %s; c0 += 16)", s->from,
                  s->to);
        emit_lanes(c, level, "c0 + ", NULL);
        emit_close(e, "");
        if (whole == n)
            return;
        emit_open(e, "for (int64_t c = %s / 16 * 16; c < %s; c++)", s->to,
                  s->to);
        cells_body(c, level, "c % 16");
        emit_close(e, "");
        return;
    }
    if (whole > 0) {
        emit_open(e, "for (int64_t c0 = 0; c0 < %" PRId64 "; c0 += 16)", whole);
        emit_lanes(c, level, "c0 + ", NULL);
        emit_close(e, "");
    }
    if (whole < n)
        emit_rest(c, level, whole, n);
}
