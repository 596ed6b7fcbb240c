/* Rows of a table by index: embedding, take, take_along and their gradients.
 * An index out of range is noted as a fault and reads the nearest row. */
#include "codegen/cuda.h"

#include <inttypes.h>

enum { COLUMNS = 64 };

/* table [before, n, after] at index; picked: [before, index, after], or, in
 * take_along, the index's own shape. */
typedef struct Table {
    const Value *table, *index, *picked;
    const Tensor *into; /* gradient: the tensor instead of table */
    const Node *adds;   /* the accumulate of into */
    int axis;
    bool along;
} Table;

static const Type *
table_type(const Table *t)
{
    return t->into ? &t->into->type : &t->table->type;
}

static const Layout *
table_layout(const Table *t)
{
    return t->into ? &t->into->layout : &t->table->layout;
}

/* Axes of picked that index has. */
static unsigned
index_axes(const Table *t)
{
    if (t->along)
        return 1u << t->axis;
    return ((1u << t->index->type.rank) - 1) << t->axis;
}

static int
index_access(Loops *s, const Table *t)
{
    int64_t stride[MAX_RANK] = {0};
    int from = t->along ? 0 : t->axis;
    for (int i = 0; i < t->index->type.rank; i++)
        stride[from + i] = t->index->layout.stride[i];
    return loops_strided(s, kernel_value(s->k, t->index, 0, false),
                         t->index->type.dtype, stride);
}

/* The table's row; "id * stride" is added to each element. */
static int
table_access(Loops *s, const Table *t, const char *id, bool write)
{
    int64_t stride[MAX_RANK] = {0};
    const Layout *l = table_layout(t);
    int wide = t->along ? 1 : t->index->type.rank;
    for (int i = 0; i < table_type(t)->rank; i++)
        if (i < t->axis)
            stride[i] = l->stride[i];
        else if (i > t->axis)
            stride[i + wide - 1] = l->stride[i];
    int param = t->into ? kernel_tensor(s->k, t->into, write)
                        : kernel_value(s->k, t->table, 0, write);
    int a = loops_strided(s, param, table_type(t)->dtype, stride);
    int64_t step = l->stride[t->axis];
    s->access.at[a].late = true;
    s->access.at[a].shift =
        step == 1 ? id
                  : arena_printf(s->k->cg->arena, "%s * %" PRId64, id, step);
    return a;
}

static void
emit_id(Kernel *k, Loops *s, const Table *t, int index, const char *id)
{
    emit_line(&k->out, "const int64_t %s = edl_index(%s, %" PRId64 ", %s);", id,
              loops_element(s, index, "c"), table_type(t)->dim[t->axis],
              kernel_fault(k));
}

/* Does the index change along the last inner dimension? */
static bool
changes_inside(const Loops *s, int index)
{
    return s->n_inner > 0 && s->access.at[index].inner[s->n_inner - 1] != 0;
}

/* ---- reading ---- */

static void
gather_body(Kernel *k)
{
    const Table *t = k->aux;
    Arena *a = k->cg->arena;
    Loops s = loops_new(k, &t->picked->type, 0);
    const char *id = kernel_local(k, "id");
    int index = index_access(&s, t);
    int from = table_access(&s, t, id, false);
    int to = loops_value(&s, t->picked, true);
    kernel_fault(k);
    k->comment = arena_printf(a, "%s: rows of %s by %s, %s", t->picked->name,
                              t->table->name, t->index->name,
                              describe(k->cg, t->picked));
    loops_fold(&s);
    loops_open(&s);
    bool inside = changes_inside(&s, index);
    if (!inside)
        emit_id(k, &s, t, index, id);
    int open = loops_open_last(&s);
    if (inside)
        emit_id(k, &s, t, index, id);
    emit_line(&k->out, "%s = %s;", loops_element(&s, to, "c"),
              loops_element(&s, from, "c"));
    if (open)
        emit_close(&k->out, "");
    loops_close(&s);
}

/* ---- adding up ---- */

static void
open_columns(Kernel *k, int64_t n, bool blocks)
{
    if (blocks)
        emit_open(&k->out, "for (int64_t c = from; c < to; c++)");
    else
        emit_open(&k->out, "for (int64_t c = 0; c < %" PRId64 "; c++)", n);
}

/* piece is (row, block of columns); serial where there is little to do. */
static void
open_pieces(Kernel *k, Loops *s, int64_t blocks)
{
    Emit *e = &k->out;
    int64_t rows = loops_rows(s), n = rows * blocks;
    if (n > 1 && (k->cg->cuda ||
                  rows * loops_columns(s) > 2 * PIECE_ELEMENTS))
        k->pieces = n;
    else if (n > 1)
        emit_open(e, "for (int64_t piece = 0; piece < %" PRId64 "; piece++)",
                  n);
    if (rows > 1 && blocks > 1)
        emit_line(e, "const int64_t r = piece / %" PRId64 ";", blocks);
    else if (rows > 1)
        emit_line(e, "const int64_t r = piece;");
    if (blocks > 1) {
        int64_t columns = s->inner[s->n_inner - 1];
        emit_line(e, "const int64_t from = piece %% %" PRId64 " * %d;", blocks,
                  COLUMNS);
        if (columns % COLUMNS == 0)
            emit_line(e, "const int64_t to = from + %d;", COLUMNS);
        else
            emit_line(e,
                      "const int64_t to = from + %d < %" PRId64
                      " ? from + %d : %" PRId64 ";",
                      COLUMNS, columns, COLUMNS, columns);
    }
    loops_rows_here(s);
}

/* Rows are added in the order of the index, by one piece for each element. */
static void
scatter_body(Kernel *k)
{
    const Table *t = k->aux;
    Arena *a = k->cg->arena;
    Dtype d = t->picked->type.dtype, into = table_type(t)->dtype;
    int last = t->picked->type.rank - 1;
    Loops s = loops_new(k, &t->picked->type, index_axes(t) | 1u << last);
    const char *id = kernel_local(k, "id");
    int index = index_access(&s, t);
    int from = loops_value(&s, t->picked, false);
    int to = table_access(&s, t, id, true);
    kernel_fault(k);
    k->comment = arena_printf(a, "rows of %s are added by %s, in its order",
                              t->picked->name, t->index->name);
    loops_fold(&s);
    int64_t n = s.n_inner ? s.inner[s.n_inner - 1] : 1;
    bool apart = s.n_inner && s.access.at[to].inner[s.n_inner - 1] != 0;
    int64_t blocks = apart ? (n + COLUMNS - 1) / COLUMNS : 1;
    bool alone = k->cg->cuda && apart;
    if (alone)
        cuda_open_columns(&s);
    else
        open_pieces(k, &s, blocks);
    int open = loops_open_inner(&s);
    bool inside = changes_inside(&s, index);
    if (!inside)
        emit_id(k, &s, t, index, id);
    if (s.n_inner && !alone) {
        open_columns(k, n, blocks > 1);
        open++;
    }
    if (inside)
        emit_id(k, &s, t, index, id);
    const char *at = loops_element(&s, to, "c");
    const char *v = c_load(a, d, loops_element(&s, from, "c"));
    emit_line(
        &k->out, "%s = %s;", at,
        c_store(a, into, arena_printf(a, "%s + %s", c_load(a, into, at), v)));
    for (int i = 0; i < open; i++)
        emit_close(&k->out, "");
    if (!alone && loops_rows(&s) * blocks > 1 && k->pieces == 1)
        emit_close(&k->out, "");
}

static void
zero_body(Kernel *k)
{
    const Table *t = k->aux;
    Loops s = loops_new(k, table_type(t), 0);
    Cells c = cells_new(k, &s);
    Dtype d = table_type(t)->dtype;
    int to = t->into ? loops_tensor(&s, t->into, true)
                     : loops_value(&s, t->table, true);
    cells_store(&c, cells_literal(&c, d, c_number(k->cg->arena, d, 0)), to);
    cells_settle(&c);
    if (t->adds) {
        const char *add = kernel_add(k, t->adds);
        emit_line(&k->out, "if (%s)", add);
        emit_line(&k->out, "    return;");
    }
    k->comment = "zero, before rows are added";
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static Table
table_of(const Node *n)
{
    bool grad = n->op == OP_embedding_grad || n->op == OP_take_grad ||
                n->op == OP_take_along_grad;
    return (Table){
        .table = grad ? n->results[0] : n->args[0],
        .index = n->args[1],
        .picked = grad ? n->args[0] : n->results[0],
        .axis = (int)node_int(n, "axis", 0),
        .along = n->op == OP_take_along || n->op == OP_take_along_grad,
    };
}

/* A group of kind table: one gradient and its accumulate. */
static Table
table_group(const Node *n)
{
    Table t = {0};
    graph_each(n->body, b) {
        if (b->op == OP_embedding_grad || b->op == OP_take_grad)
            t = table_of(b);
        if (b->op == OP_accumulate) {
            t.into = b->tensor;
            t.adds = b;
        }
    }
    return t;
}

void
c_table(Cg *cg, const Node *n)
{
    Table t = n->op == OP_fused ? table_group(n) : table_of(n);
    if (t.picked == (n->n_results ? n->results[0] : NULL)) {
        kernel_emit(cg, n, op_info[n->op].name, t.picked->name, gather_body,
                    &t);
        return;
    }
    TableGrad g = {.table = table_type(&t),
                   .place = table_layout(&t),
                   .into = t.into,
                   .value = t.table,
                   .index = t.index,
                   .rows = t.picked,
                   .adds = t.adds};
    if (cg->cuda && t.axis == 0 && !t.along && cuda_scatter_fits(&g)) {
        cuda_scatter(cg, n, &g);
        return;
    }
    const char *path = t.into ? t.into->name : t.table->name;
    if (!t.adds || !node_flag(t.adds, "more"))
        kernel_emit(cg, n, "zero", path, zero_body, &t);
    kernel_emit(cg, n, "scatter", path, scatter_body, &t);
}

/* ---- rotary embedding ---- */

typedef struct Rope {
    Loops s;
    int x, y, position;
    int64_t half;
    bool split; /* u and v are half a row apart, not neighbours */
} Rope;

/* The angles of position p: cosines and sines of a row. The sines are there
 * negated as well: gcc 12 makes fmaddsub of a*b - c*d beside a*b + c*d, even
 * where -ffp-contract=off forbids it. */
static void
emit_angles(Kernel *k, const Rope *r, const char *position, bool inverse)
{
    Emit *e = &k->out;
    emit_line(e, "const double place = (double)%s;", position);
    emit_open(e, "for (int64_t i = 0; i < %" PRId64 "; i++)", r->half);
    emit_line(e, "co[i] = (float)cos(place * turn[i]);");
    emit_line(e, "si[i] = (float)%ssin(place * turn[i]);", inverse ? "-" : "");
    emit_line(e, "ns[i] = -si[i];");
    emit_close(e, "");
}

static void
emit_rotation(Kernel *k, Rope *r)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    Dtype d = k->node->args[0]->type.dtype;
    const char *u = r->split ? "i" : "2 * i";
    const char *v =
        r->split ? arena_printf(a, "i + %" PRId64, r->half) : "2 * i + 1";
    emit_open(e, "for (int64_t i = 0; i < %" PRId64 "; i++)", r->half);
    emit_line(e, "const float left = %s;",
              c_load(a, d, loops_element(&r->s, r->x, u)));
    emit_line(e, "const float right = %s;",
              c_load(a, d, loops_element(&r->s, r->x, v)));
    emit_line(e, "%s = %s;", loops_element(&r->s, r->y, u),
              c_store(a, d, "left * co[i] + right * ns[i]"));
    emit_line(e, "%s = %s;", loops_element(&r->s, r->y, v),
              c_store(a, d, "left * si[i] + right * co[i]"));
    emit_close(e, "");
}

/* Rows of the loops are positions; inside are all heads and batches that
 * share one. */
static Rope
rope_new(Kernel *k)
{
    const Node *n = k->node;
    const Type *t = &n->args[0]->type;
    unsigned rows = 1u << (t->rank - 2);
    bool by_batch = n->n_args > 1 && n->args[1]->type.rank == 2;
    if (by_batch)
        rows |= 1u;
    Rope r = {.half = t->dim[t->rank - 1] / 2, .position = -1};
    r.split = strcmp(node_word(n, "style", ""), "half") == 0;
    r.s = loops_new(k, t, ((1u << t->rank) - 1) & ~rows);
    r.s.apart = true; /* a head's row turns by itself */
    r.x = loops_value(&r.s, n->args[0], false);
    r.y = loops_value(&r.s, n->results[0], true);
    if (n->n_args > 1) {
        const Value *p = n->args[1];
        int64_t stride[MAX_RANK] = {0};
        stride[t->rank - 2] = p->layout.stride[p->type.rank - 1];
        if (by_batch)
            stride[0] = p->layout.stride[0];
        r.position = loops_strided(&r.s, kernel_value(k, p, 0, false),
                                   p->type.dtype, stride);
    }
    loops_fold(&r.s);
    return r;
}

static void
rope_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Rope r = rope_new(k);
    Emit *e = &k->out;
    k->comment =
        arena_printf(a, "%s: rotary embedding, %s", n->results[0]->name,
                     describe(k->cg, n->results[0]));
    emit_line(e, "double turn[%" PRId64 "];", r.half);
    emit_line(e, "float co[%" PRId64 "], si[%" PRId64 "], ns[%" PRId64 "];",
              r.half, r.half, r.half);
    emit_line(e, "for (int i = 0; i < %" PRId64 "; i++)", r.half);
    emit_line(e, "    turn[i] = pow(%s, i * %s);",
              c_double(a, node_float(n, "base", 10000)),
              c_double(a, -1.0 / (double)r.half));
    int64_t each = PIECE_ELEMENTS / loops_columns(&r.s);
    loops_open_rows(&r.s, each > 8 ? each : 8);
    const char *position = r.s.n_outer ? "r" : "0";
    if (r.position >= 0)
        position = loops_element(&r.s, r.position, "c");
    emit_angles(k, &r, position, node_flag(n, "inverse"));
    int open = loops_open_inner(&r.s);
    emit_rotation(k, &r);
    for (int i = 0; i < open; i++)
        emit_close(e, "");
    loops_close(&r.s);
}

void
c_rope(Cg *cg, const Node *n)
{
    if (n->args[0]->type.dtype == DT_f64) {
        cg_refuse(cg, n, "has no C for f64");
        return;
    }
    if (cg->cuda)
        cuda_rope(cg, n);
    else
        kernel_emit(cg, n, "rope", n->results[0]->name, rope_body, NULL);
}
