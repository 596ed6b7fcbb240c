/* Random numbers ahead of the loop that uses them. */
#include "codegen/cells_pass.h"

#include <inttypes.h>

/* An array of numbers has at most AHEAD: it stays in the first cache. Of fewer
 * than FEW each is computed by itself. */
enum { AHEAD = 1024, FEW = 16 };

static bool
is_root(const Cells *c, int i, int level)
{
    for (int j = 0; j < c->stores.n; j++) {
        const CellStore *s = &c->stores.at[j];
        if (s->cell == i && cells_store_is_full(c, s) &&
            (level < 0 || cells_store_level(c, s) == level))
            return true;
    }
    return false;
}

/* Marks the cells that the loop of a pass computes. */
static bool *
wanted_cells(Cells *c, int level)
{
    bool *wanted = ARENA_ARRAY(c->k->cg->arena, bool, c->cell.n);
    for (int i = 0; i < c->cell.n; i++)
        wanted[i] = is_root(c, i, level);
    for (int i = c->cell.n - 1; i >= 0; i--) {
        const Cell *cell = &c->cell.at[i];
        bool fold = cells_is_fold(c, i, level);
        if (!fold && (!wanted[i] || cell->kept || cell->kind == CELL_fold))
            continue;
        for (int j = 0; j < cell->n_in; j++)
            wanted[cell->in[j]] = true;
    }
    return wanted;
}

/* Do neighbours in the row have neighbouring numbers? */
static bool
can_be_ahead(const Cells *c, const Cell *cell)
{
    const Loops *s = c->loops;
    if (cell->kind != CELL_uniform || !cell->full || cell->now_loop == 0)
        return false;
    const Cell *index = &c->cell.at[cell->in[0]];
    return s->access.at[index->access].inner[s->n_inner - 1] == 1;
}

static void
cut_stretch(Cells *c, Stretch *s)
{
    Emit *e = &c->k->out;
    emit_open(e, "for (int64_t from = %s; from < %s; from += %d)", s->from,
              s->to, AHEAD);
    emit_line(e, "const int64_t to = from + %d < %s ? from + %d : %s;", AHEAD,
              s->to, AHEAD, s->to);
    s->from = "from";
    s->to = "to";
    s->cut = true;
}

static void
emit_ahead(Cells *c, Cell *cell, const Stretch *s)
{
    Kernel *k = c->k;
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    bool zero = strcmp(s->from, "0") == 0;
    const char *all = kernel_local(k, "u_all"), *u = kernel_local(k, "u");
    const char *n = zero ? s->to : arena_printf(a, "%s - %s", s->to, s->from);
    const Access *index =
        &c->loops->access.at[c->cell.at[cell->in[0]].access];
    const char *first = kernel_local(k, "first");
    emit_set(e, arena_printf(a, "const int64_t %s", first),
             cells_index_text(c, index, s->from));
    emit_line(e, "float %s[EDL_UNIFORMS(%" PRId64 ")];", all,
              s->most < AHEAD ? s->most : AHEAD);
    emit_set(e, arena_printf(a, "const float *%s", u),
             arena_printf(a, "edl_uniforms(%s, %s, %s, microbatch, %s)", all,
                          cell->text, first, n));
    cell->now = zero ? arena_printf(a, "%s[c]", u)
                     : arena_printf(a, "%s[c - %s]", u, s->from);
    cell->now_loop = 0;
}

void
cells_open_stretch(Cells *c, Stretch *s, int level)
{
    if (c->k->cg->cuda || s->most < FEW || c->loops->n_inner == 0)
        return;
    const bool *wanted = wanted_cells(c, level);
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (!wanted[i] || !can_be_ahead(c, cell))
            continue;
        if (s->most > AHEAD && !s->cut)
            cut_stretch(c, s);
        emit_ahead(c, cell, s);
    }
}

/* Numbers of a part, or of one of several inner rows, are of no use later. */
void
cells_close_stretch(Cells *c, const Stretch *s)
{
    if (s->cut)
        emit_close(&c->k->out, "");
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (cell->kind == CELL_uniform && cell->full &&
            (s->cut || c->loops->n_inner > 1)) {
            cell->now = NULL;
            cell->now_loop = -1;
        }
    }
}
