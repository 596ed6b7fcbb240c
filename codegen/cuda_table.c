/* On a device: rotary embedding, a thread a pair; gradients of an embedding,
 * a block some rows of the table. */
#include "codegen/cuda.h"

#include <inttypes.h>

/* ---- rotary embedding ---- */

/* Half of the pairs of v: the shape of the loops, from element `offset` on. */
static int
pair_access(Loops *s, const Value *v, int64_t offset, int64_t step, bool write)
{
    int64_t stride[MAX_RANK] = {0};
    int last = v->type.rank - 1;
    for (int i = 0; i < last; i++)
        stride[i] = v->layout.stride[i];
    stride[last] = v->layout.stride[last] * step;
    return loops_strided(
        s, kernel_value(s->k, v, offset * v->layout.stride[last], write),
        v->type.dtype, stride);
}

static int
axis_cell(Cells *c, int axis)
{
    int64_t stride[MAX_RANK] = {0};
    stride[axis] = 1;
    return cells_stride(c, stride);
}

/* Where the row stands: what operand 1 says, or its index. */
static int
position_cell(Cells *c, const Node *n, int rank)
{
    int64_t stride[MAX_RANK] = {0};
    if (n->n_args < 2)
        return axis_cell(c, rank - 2);
    const Value *p = n->args[1];
    stride[rank - 2] = p->layout.stride[p->type.rank - 1];
    if (p->type.rank == 2)
        stride[0] = p->layout.stride[0];
    int access = loops_strided(c->loops, kernel_value(c->k, p, 0, false),
                               p->type.dtype, stride);
    return cells_load(c, access, p->name);
}

static void
rope_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    const Value *x = n->args[0], *y = n->results[0];
    Type t = x->type;
    Dtype d = t.dtype == DT_f32 ? DT_f32 : t.dtype;
    int64_t half = t.dim[t.rank - 1] / 2;
    bool split = strcmp(node_word(n, "style", ""), "half") == 0;
    bool inverse = node_flag(n, "inverse");
    int64_t step = split ? 1 : 2, other = split ? half : 1;
    t.dim[t.rank - 1] = half;
    Loops s = loops_new(k, &t, 0);
    Cells c = cells_new(k, &s);
    int left = cells_load(&c, pair_access(&s, x, 0, step, false), "left");
    int right = cells_load(&c, pair_access(&s, x, other, step, false), "right");
    int place = position_cell(&c, n, t.rank);
    int angle = cells_expr2(
        &c, DT_f64, "angle",
        arena_printf(a, "(double)%%0 * pow(%s, (double)%%1 * %s)",
                     c_double(a, node_float(n, "base", 10000)),
                     c_double(a, -1.0 / (double)half)),
        place, axis_cell(&c, t.rank - 1));
    int co = cells_expr1(&c, DT_f32, "co", "(float)cos(%0)", angle);
    int si = cells_expr1(&c, DT_f32, "si",
                         inverse ? "(float)-sin(%0)" : "(float)sin(%0)", angle);
    int in[] = {left, right, co, si};
    int first = cells_expr(&c, d, y->name, "%0 * %2 - %1 * %3", 4, in);
    int second = cells_expr(&c, d, y->name, "%0 * %3 + %1 * %2", 4, in);
    cells_store(&c, first, pair_access(&s, y, 0, step, true));
    cells_store(&c, second, pair_access(&s, y, other, step, true));
    k->comment = arena_printf(a, "%s: rotary embedding, %s", y->name,
                              describe(k->cg, y));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
cuda_rope(Cg *cg, const Node *n)
{
    kernel_emit(cg, n, "rope", n->results[0]->name, rope_body, NULL);
}

/* ---- the gradient of an embedding ---- */

enum { TABLE_ROWS = 8, TABLE_THREADS = 256 }; /* as edl_cuda.cuh has them */

bool
cuda_scatter_fits(const TableGrad *g)
{
    return g->table->rank == 2 && g->table->dtype == DT_f32 &&
           g->place->stride[1] == 1 && g->rows->type.dtype == DT_f32 &&
           layout_is_dense(&g->rows->layout, &g->rows->type) &&
           layout_is_dense(&g->index->layout, &g->index->type);
}

static void
scatter_body(Kernel *k)
{
    const TableGrad *g = k->aux;
    Arena *a = k->cg->arena;
    int64_t n = type_elements(&g->index->type);
    int to = g->into ? kernel_tensor(k, g->into, true)
                     : kernel_value(k, g->value, 0, true);
    const char *table = kernel_name(k, to);
    const char *index = kernel_name(k, kernel_value(k, g->index, 0, false));
    const char *rows = kernel_name(k, kernel_value(k, g->rows, 0, false));
    const char *add = g->adds ? kernel_add(k, g->adds) : "0";
    k->run = RUN_blocks;
    k->threads = TABLE_THREADS;
    k->count = (g->table->dim[0] + TABLE_ROWS - 1) / TABLE_ROWS;
    k->comment = arena_printf(a, "rows of %s are added by %s, in its order",
                              g->rows->name, g->index->name);
    emit_line(&k->out, "__shared__ int32_t memory[EDL_TABLE_INTS];");
    const char *items[] = {
        table,
        arena_printf(a, "%" PRId64, g->table->dim[0]),
        arena_printf(a, "%" PRId64, g->place->stride[0]),
        arena_printf(a, "%" PRId64, g->table->dim[1]),
        index,
        arena_printf(a, "%" PRId64, n),
        rows,
        add,
        kernel_fault(k),
        "memory",
    };
    emit_list(&k->out, "edl_table_grad(", items, 10, ");");
}

void
cuda_scatter(Cg *cg, const Node *n, const TableGrad *g)
{
    kernel_emit(cg, n, "scatter", g->into ? g->into->name : g->value->name,
                scatter_body, g);
}
