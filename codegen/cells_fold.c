/* Folds of cells: where they begin, their accumulators, one step, the end. */
#include "codegen/cells_pass.h"

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
            emit_line(e, "%s = edl_%s%s(%s, %s);", to,
                      cell->fold == FOLD_max ? "max" : "min", f64 ? "" : "f",
                      to, v);
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
