#include "codegen/cells_pass.h"

#include <inttypes.h>

Cells
cells_new(Kernel *k, Loops *loops)
{
    return (Cells){.k = k, .loops = loops};
}

/* ---- building ---- */

static int
add_cell(Cells *c, Cell cell)
{
    cell.now_loop = -1;
    for (int i = 0; i < cell.n_in; i++)
        c->cell.at[cell.in[i]].uses++;
    vec_push(c->k->cg->arena, &c->cell, cell);
    return c->cell.n - 1;
}

int
cells_literal(Cells *c, Dtype d, const char *text)
{
    return add_cell(c, (Cell){.kind = CELL_literal, .dtype = d, .text = text});
}

int
cells_load(Cells *c, int access, const char *path)
{
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_load && c->cell.at[i].access == access)
            return i;
    Dtype d = c->loops->access.at[access].dtype;
    return add_cell(
        c,
        (Cell){.kind = CELL_load, .dtype = d, .path = path, .access = access});
}

int
cells_index(Cells *c, const Type *t)
{
    int64_t stride[MAX_RANK] = {0};
    Layout dense = layout_dense(t);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1)
            stride[i + c->loops->rank - t->rank] = dense.stride[i];
    return cells_stride(c, stride);
}

int
cells_stride(Cells *c, const int64_t *stride)
{
    int access = loops_strided(c->loops, -1, DT_i64, stride);
    return add_cell(c, (Cell){.kind = CELL_index,
                              .dtype = DT_i64,
                              .path = "element",
                              .access = access});
}

int
cells_expr(Cells *c, Dtype d, const char *path, const char *text, int n_in,
           const int *in)
{
    Cell cell = {.kind = CELL_expr,
                 .dtype = d,
                 .path = path,
                 .text = text,
                 .n_in = n_in};
    for (int i = 0; i < n_in; i++)
        cell.in[i] = in[i];
    return add_cell(c, cell);
}

int
cells_expr1(Cells *c, Dtype d, const char *path, const char *text, int a)
{
    return cells_expr(c, d, path, text, 1, &a);
}

int
cells_expr2(Cells *c, Dtype d, const char *path, const char *text, int a, int b)
{
    int in[] = {a, b};
    return cells_expr(c, d, path, text, 2, in);
}

int
cells_fold(Cells *c, FoldKind fold, const char *path, int in)
{
    return add_cell(c, (Cell){.kind = CELL_fold,
                              .fold = fold,
                              .path = path,
                              .dtype = c->cell.at[in].dtype,
                              .n_in = 1,
                              .in = {in}});
}

int
cells_uniform(Cells *c, const char *key, int index)
{
    return add_cell(c, (Cell){.kind = CELL_uniform,
                              .path = "u",
                              .dtype = DT_f32,
                              .text = key,
                              .n_in = 1,
                              .in = {index}});
}

static void
add_store(Cells *c, CellStore s)
{
    c->cell.at[s.cell].uses++;
    vec_push(c->k->cg->arena, &c->stores, s);
}

void
cells_store(Cells *c, int cell, int access)
{
    add_store(c, (CellStore){cell, access, false});
}

void
cells_add(Cells *c, int cell, int access)
{
    add_store(c, (CellStore){cell, access, true});
}

void
cells_bind(Cells *c, const Value *v, int cell)
{
    Bound b = {v, cell};
    vec_push(c->k->cg->arena, &c->bound, b);
}

int
cells_value(Cells *c, const Value *v)
{
    for (int i = c->bound.n - 1; i >= 0; i--)
        if (c->bound.at[i].value == v)
            return c->bound.at[i].cell;
    Arena *a = c->k->cg->arena;
    int cell;
    if (v->def->op == OP_const) {
        const Attr *whole = node_attr(v->def, "int");
        Dtype d = v->type.dtype;
        cell = cells_literal(
            c, d,
            whole && !type_is_float(&v->type)
                ? c_integer(a, d, whole->i)
                : c_number(a, d,
                           whole ? (double)whole->i
                                 : node_float(v->def, "value", 0)));
    } else {
        cell = cells_load(c, loops_value(c->loops, v, false), v->name);
    }
    cells_bind(c, v, cell);
    return cell;
}

void
cells_write(Cells *c, const Node *n, int access)
{
    int v = cells_value(c, n->args[0]);
    const Tensor *t = n->tensor;
    if (n->op == OP_accumulate) {
        int old = cells_load(c, access, t->name);
        int in[] = {v, old};
        v = cells_expr(c, t->type.dtype, n->args[0]->name,
                       arena_printf(c->k->cg->arena, "%s ? %%1 + %%0 : %%0",
                                    kernel_add(c->k, n)),
                       2, in);
    }
    cells_store(c, v, access);
}

/* ---- levels ---- */

void
cells_settle(Cells *c)
{
    loops_fold(c->loops);
    bool one = loops_columns(c->loops) == 1;
    for (int i = 0; i < c->cell.n; i++) {
        Cell *cell = &c->cell.at[i];
        if (cell->kind == CELL_load || cell->kind == CELL_index)
            cell->full = c->loops->access.at[cell->access].full;
        for (int j = 0; j < cell->n_in; j++) {
            const Cell *in = &c->cell.at[cell->in[j]];
            cell->full |= in->full;
            if (in->level > cell->level)
                cell->level = in->level;
        }
        if (cell->kind == CELL_fold) {
            cell->full = false;
            cell->level += !one;
        }
    }
    c->loops->cells = true;
    c->loops->folds = cells_last_level(c) > 0;
    c->loops->row_stores = false;
    for (int i = 0; i < c->stores.n && !one; i++)
        c->loops->row_stores |= !cells_store_is_full(c, &c->stores.at[i]);
}

/* Some load cell reads what this store overwrites. */
static bool
is_in_place(const Cells *c, int access)
{
    const Loops *s = c->loops;
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_load &&
            s->access.at[c->cell.at[i].access].param ==
                s->access.at[access].param)
            return true;
    return false;
}

int
cells_last_level(const Cells *c)
{
    int last = 0;
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].level > last)
            last = c->cell.at[i].level;
    return last;
}

/* A store happens as soon as its cell is known, but in place only when the
 * last pass reads the old elements. */
int
cells_store_level(const Cells *c, const CellStore *s)
{
    return is_in_place(c, s->access) ? cells_last_level(c)
                                     : c->cell.at[s->cell].level;
}

/* ---- printing cells ---- */

static const char *
substitute(Cells *c, const Cell *cell)
{
    Emit e = emit_new(c->k->cg->arena);
    bool wide = cell->dtype == DT_i64;
    for (const char *p = cell->text; *p; p++) {
        if (*p != '%')
            emit_text(&e, p, 1);
        else if (*++p == 't')
            emit(&e, "%s", c_compute(cell->dtype));
        else if (*p == 'u')
            emit(&e, wide ? "uint64_t" : "uint32_t");
        else
            emit(&e, "%s", c->cell.at[cell->in[*p - '0']].now);
    }
    return emit_string(&e);
}

/* r and the inner indices, by strides. */
const char *
cells_index_text(Cells *c, const Access *a, const char *at)
{
    const Loops *s = c->loops;
    Emit e = emit_new(c->k->cg->arena);
    for (int i = 0; i < s->n_outer + s->n_inner; i++) {
        bool inner = i >= s->n_outer;
        int64_t stride = inner ? a->inner[i - s->n_outer] : a->outer[i];
        bool last = i + 1 == s->n_outer + s->n_inner;
        if (stride == 0 || (inner && last && strcmp(at, "0") == 0))
            continue;
        emit(&e, "%s", e.n ? " + " : "");
        if (inner && last)
            emit(&e, "%s", at);
        else if (inner)
            emit(&e, "j%d", i - s->n_outer);
        else if (s->n_outer == 1)
            emit(&e, "r");
        else
            emit(&e, "i%d", i);
        if (stride != 1)
            emit(&e, " * %" PRId64, stride);
    }
    emit(&e, "%s", e.n ? "" : "0");
    return emit_string(&e);
}

const char *
cells_round(Cells *c, Dtype d, const char *text)
{
    Arena *a = c->k->cg->arena;
    if (d == DT_bf16 || d == DT_f16)
        return c_load(a, d, c_store(a, d, text));
    return text;
}

static const char *
load_text(Cells *c, const Cell *cell, int access)
{
    const char *x = c_load(c->k->cg->arena, cell->dtype,
                           loops_element(c->loops, access, "c"));
    return cell->full ? cells_guard(c, x, "0") : x;
}

static const char *
cell_text(Cells *c, const Cell *cell)
{
    Arena *a = c->k->cg->arena;
    if (cell->kept)
        return load_text(c, cell, cell->kept - 1);
    switch (cell->kind) {
    case CELL_literal:
        return cell->text;
    case CELL_load:
        return load_text(c, cell, cell->access);
    case CELL_index:
        return cells_index_text(c, &c->loops->access.at[cell->access], "c");
    case CELL_expr:
        return cells_round(c, cell->dtype, substitute(c, cell));
    case CELL_uniform:
        return arena_printf(a, "edl_uniform_at(%s, %s, microbatch)",
                            cell->text, c->cell.at[cell->in[0]].now);
    case CELL_fold: /* of a single element */
        return c->cell.at[cell->in[0]].now;
    }
    bug("codegen: a cell of kind %d", (int)cell->kind);
}

/* A load is printed where it is used, if once and nothing overwrites it. */
static bool
prints_inline(const Cells *c, const Cell *cell)
{
    if (cell->kind == CELL_literal)
        return true;
    if (cell->kind == CELL_fold)
        return loops_columns(c->loops) == 1;
    if (cell->kind != CELL_load || cell->uses != 1 || !cell->full || c->guard)
        return false;
    int param = c->loops->access.at[cell->access].param;
    return param < 0 || !c->k->params.at[param].written;
}

const char *
cells_need(Cells *c, int i)
{
    Cell *cell = &c->cell.at[i];
    if (cell->now_loop == 0 || (cell->now && cell->now_loop == c->loop))
        return cell->now;
    if (cell->kind == CELL_fold && loops_columns(c->loops) != 1)
        bug("codegen: a fold is needed before its pass");
    for (int j = 0; j < cell->n_in && !cell->kept; j++)
        cells_need(c, cell->in[j]);
    cell = &c->cell.at[i];
    const char *text = cell_text(c, cell);
    if (!prints_inline(c, cell)) {
        const char *name = kernel_local(c->k, cell->path);
        emit_set(&c->k->out,
                 arena_printf(c->k->cg->arena, "const %s %s",
                              c_compute(cell->dtype), name),
                 text);
        text = name;
    }
    cell->now = text;
    cell->now_loop = cell->full ? c->loop : 0;
    return text;
}

void
cells_next_loop(Cells *c)
{
    int loop = 1;
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].now_loop >= loop)
            loop = c->cell.at[i].now_loop + 1;
    c->loop = loop > c->loop + 1 ? loop : c->loop + 1;
}

void
cells_hoist(Cells *c, int i)
{
    const Cell *cell = &c->cell.at[i];
    if (!cell->full) {
        if (cell->now_loop != 0)
            cells_need(c, i);
        return;
    }
    for (int j = 0; j < cell->n_in; j++)
        cells_hoist(c, cell->in[j]);
}

void
cells_put(Cells *c, const CellStore *s)
{
    const char *to = loops_element(c->loops, s->access, "c");
    const Access *a = &c->loops->access.at[s->access];
    const Cell *cell = &c->cell.at[s->cell];
    bool exact = cell->dtype == DT_bf16 && a->dtype == DT_bf16 &&
                 cell->kind != CELL_literal;
    if (s->adds) {
        emit_line(&c->k->out, "%s += %s;", to, cell->now);
        return;
    }
    emit_set(&c->k->out, to,
             exact ? arena_printf(c->k->cg->arena, "edl_bf16_bits(%s)", cell->now)
                   : c_store(c->k->cg->arena, a->dtype, cell->now));
}

/* ---- passes over a row ---- */

bool
cells_is_fold(const Cells *c, int i, int level)
{
    const Cell *cell = &c->cell.at[i];
    return cell->kind == CELL_fold && cell->level == level + 1;
}

bool
cells_store_is_full(const Cells *c, const CellStore *s)
{
    return c->loops->access.at[s->access].full;
}

void
cells_body(Cells *c, int level, const char *lane)
{
    cells_next_loop(c);
    Arena *a = c->k->cg->arena;
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level))
            cells_need(c, c->cell.at[i].in[0]);
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        if (cells_store_is_full(c, s) && cells_store_level(c, s) == level)
            cells_need(c, s->cell);
    }
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level))
            cells_combine(
                c, i, arena_printf(a, "%s[%s]", c->cell.at[i].now, lane),
                cells_fold_input(c, i));
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        if (cells_store_is_full(c, s) && cells_store_level(c, s) == level)
            cells_put(c, s);
    }
    c->loop = 0;
}

static void
emit_plain_loop(Cells *c, int level, const Stretch *s)
{
    Emit *e = &c->k->out;
    emit_open(e, "for (int64_t c = %s; c < %s; c++)", s->from, s->to);
    cells_body(c, level, "");
    emit_close(e, "");
}

/* All of the row, or what the piece has of it. */
static Stretch
whole_row(const Cells *c)
{
    const Loops *s = c->loops;
    int64_t n = s->inner[s->n_inner - 1];
    Stretch row = {"lo", "hi", n, false};
    if (!s->split) {
        row.from = "0";
        row.to = arena_printf(c->k->cg->arena, "%" PRId64, n);
    }
    return row;
}

/* What a pass has stored is there for the next ones. */
static void
keep_stored(Cells *c, int level)
{
    for (int i = 0; i < c->stores.n; i++) {
        const CellStore *s = &c->stores.at[i];
        Cell *cell = &c->cell.at[s->cell];
        if (cell->kind == CELL_expr && cell->full && !s->adds &&
            cells_store_is_full(c, s) && cells_store_level(c, s) == level &&
            c->loops->access.at[s->access].dtype == cell->dtype)
            cell->kept = s->access + 1;
    }
}

static void
emit_pass(Cells *c, int level)
{
    Loops *s = c->loops;
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
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level))
            cells_lanes(c, i, 16);
    int open = loops_open_inner(s);
    Stretch row = whole_row(c);
    cells_open_stretch(c, &row, level);
    if (folds)
        cells_lane_loops(c, level, &row);
    else
        emit_plain_loop(c, level, &row);
    cells_close_stretch(c, &row);
    for (int i = 0; i < open; i++)
        emit_close(&c->k->out, "");
    for (int i = 0; i < c->cell.n; i++)
        if (cells_is_fold(c, i, level))
            cells_fold_end(c, i);
    keep_stored(c, level);
}

void
cells_emit(Cells *c)
{
    /* what is read once a row is read before anything is written */
    for (int i = 0; i < c->cell.n; i++)
        if (c->cell.at[i].kind == CELL_load && !c->cell.at[i].full)
            cells_need(c, i);
    if (c->k->cg->cuda) {
        cuda_cells_emit(c);
        return;
    }
    if (loops_columns(c->loops) > 1)
        for (int level = 0; level <= cells_last_level(c); level++)
            emit_pass(c, level);
    for (int i = 0; i < c->stores.n; i++)
        if (!cells_store_is_full(c, &c->stores.at[i]))
            cells_need(c, c->stores.at[i].cell);
    for (int i = 0; i < c->stores.n; i++)
        if (!cells_store_is_full(c, &c->stores.at[i]))
            cells_put(c, &c->stores.at[i]);
}
