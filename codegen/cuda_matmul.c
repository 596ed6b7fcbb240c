/* Products on a device. f32, and bf16 added up in f32, with rows or columns
 * that lie together goes to cuBLASLt, through a table of shapes that `init` turns into plans; any other
 * runs a plain kernel, a thread an element. What follows in a matmul group is
 * a kernel of its own, element by element. */
#include "codegen/cuda_product.h"
#include "ir/scratch.h"

#include <inttypes.h>

/* ---- sides ---- */

/* It lies dense: all follows from the type. */
static Side
side_of(const Type *t, bool turned, int n_batch)
{
    Side s = {.dtype = t->dtype};
    Layout l = layout_dense(t);
    int r = t->rank, shift = n_batch - (r - 2);
    s.row = l.stride[turned ? r - 1 : r - 2];
    s.col = l.stride[turned ? r - 2 : r - 1];
    for (int i = 0; i < r - 2; i++)
        s.batch[shift + i] = t->dim[i] == 1 ? 0 : l.stride[i];
    return s;
}

/* ---- cuBLASLt ---- */

/* " + i0 * 64": the outer batches are loops of the host. */
static const char *
at_batch(Cg *cg, const Product *p, const Side *s)
{
    Emit e = emit_new(cg->arena);
    emit(&e, "%s", s->address);
    for (int i = 0; i + 1 < p->n_batch; i++)
        if (s->batch[i])
            emit(&e, " + i%d * %" PRId64, i, s->batch[i]);
    return emit_string(&e);
}

/* Of one without batches. */
static void
emit_sum(Cg *cg, const Product *p, const char *workspace)
{
    const char *items[] = {
        "m",
        arena_printf(cg->arena, "%d", product_row(cg, p)),
        p->a.address,
        p->b.address,
        p->bias ? p->bias : "NULL",
        p->plus ? p->plus : "NULL",
        p->c.address,
        workspace,
    };
    emit_list(cg_calls(cg), "edl_product_sum(", items, 8, ");");
}

static void
emit_library(Cg *cg, const Product *p, const char *workspace)
{
    Emit *e = cg_calls(cg);
    const char *items[] = {
        "m",
        arena_printf(cg->arena, "%d", product_row(cg, p)),
        at_batch(cg, p, &p->a),
        at_batch(cg, p, &p->b),
        at_batch(cg, p, &p->c),
        p->add,
        workspace,
    };
    emit_line(e, "/* %s: [%" PRId64 ", %" PRId64 "] @ [%" PRId64 ", %" PRId64
                 "] */", p->path, p->m, p->k, p->k, p->n);
    if (p->bias || p->plus) {
        emit_sum(cg, p, workspace);
        return;
    }
    for (int i = 0; i + 1 < p->n_batch; i++)
        emit_open(e, "for (int64_t i%d = 0; i%d < %" PRId64 "; i%d++)", i, i,
                  p->dim[i], i);
    emit_list(e, "edl_product(", items, 7, ");");
    for (int i = 0; i + 1 < p->n_batch; i++)
        emit_close(e, "");
}

/* ---- a thread an element ---- */

static const char *
element_text(Kernel *k, const Product *p, const Side *s, const char *name,
             const char *row, const char *column)
{
    Emit e = emit_new(k->cg->arena);
    int64_t after = 1;
    emit(&e, "%s[%s * %" PRId64 " + %s * %" PRId64, name, row, s->row, column,
         s->col);
    for (int i = p->n_batch - 1; i >= 0; i--) {
        if (s->batch[i])
            emit(&e, " + batch / %" PRId64 " %% %" PRId64 " * %" PRId64, after,
                 p->dim[i], s->batch[i]);
        after *= p->dim[i];
    }
    emit(&e, "]");
    return emit_string(&e);
}

static void
plain_body(Kernel *k)
{
    const Product *p = k->aux;
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    Dtype d = p->a.dtype, to = p->c.dtype;
    const char *t = c_compute(d);
    const char *in_a = kernel_name(
        k, kernel_address(k, d, p->a.address, false, "a"));
    const char *in_b = kernel_name(
        k, kernel_address(k, p->b.dtype, p->b.address, false, "b"));
    const char *out =
        kernel_name(k, kernel_address(k, to, p->c.address, true, "product"));
    int64_t n = p->m * p->n;
    for (int i = 0; i < p->n_batch; i++)
        n *= p->dim[i];
    if (strcmp(p->add, "0") != 0)
        kernel_scalar(k, "int", "add", p->add);
    k->pieces = n;
    if (n == 1)
        emit_line(e, "const int64_t piece = 0;");
    emit_line(e, "const int64_t col0 = piece %% %" PRId64 ";", p->n);
    emit_line(e, "const int64_t row0 = piece / %" PRId64 " %% %" PRId64 ";",
              p->n, p->m);
    if (p->n_batch)
        emit_line(e, "const int64_t batch = piece / %" PRId64 ";", p->m * p->n);
    const char *c = element_text(k, p, &p->c, out, "row0", "col0");
    emit_line(e, "%s sum = %s;", t,
              strcmp(p->add, "0") == 0
                  ? "0"
                  : arena_printf(a, "add ? %s : 0", c_load(a, to, c)));
    emit_line(e, "for (int64_t p = 0; p < %" PRId64 "; p++)", p->k);
    emit_line(e, "    sum = %s(%s,", d == DT_f64 ? "fma" : "edl_fmaf",
              c_load(a, d, element_text(k, p, &p->a, in_a, "row0", "p")));
    emit_line(e, "        %s, sum);",
              c_load(a, p->b.dtype,
                     element_text(k, p, &p->b, in_b, "p", "col0")));
    emit_line(e, "%s = %s;", c, c_store(a, to, "sum"));
    k->comment = arena_printf(a, "%s: a product, a thread an element", p->path);
}

static void
emit_any(Cg *cg, Product *p, const char *workspace)
{
    product_fold(p);
    bool fits = product_fits(p);
    if ((p->bias || p->plus) && (!fits || p->n_batch))
        bug("codegen: %s is no product of cuBLASLt", p->path);
    if (fits)
        emit_library(cg, p, workspace);
    else
        kernel_emit(cg, p->node, "matmul", p->path, plain_body, p);
}

/* ---- the group ---- */

static const char *
add_text(Cg *cg, const Node *sum)
{
    if (node_flag(sum, "more"))
        return "1";
    cg->uses_mb = true;
    return "mb > 0";
}

static void
choose_place(Cg *cg, const Node *n, Product *p)
{
    const Value *v = node_find(n, OP_matmul)->results[0];
    const Value *to = scratch_product_value(n);
    const Node *sum = scratch_sum(n);
    p->add = "0";
    if (scratch_epilogue(n)) {
        const Value *x = scratch_added(n);
        bool row = !type_equal(&x->type, &to->type);
        *(row ? &p->bias : &p->plus) = address_value(cg, x, 0);
    }
    if (to) {
        p->c = side_of(&to->type, false, p->n_batch);
        p->c.address = address_value(cg, to, 0);
    } else if (sum) {
        p->c = side_of(&sum->tensor->type, false, p->n_batch);
        p->c.address = address_tensor(cg, sum->tensor, 0);
        p->add = add_text(cg, sum);
    } else {
        p->c = side_of(&v->type, false, p->n_batch);
        p->c.address = address_scratch(cg, n, 0, v->type.dtype, "product");
    }
}

static Product
product_new(Cg *cg, const Node *n)
{
    const Node *matmul = node_find(n, OP_matmul);
    const Value *a = matmul->args[0], *b = matmul->args[1];
    const Type *t = &matmul->results[0]->type;
    bool ta = node_flag(matmul, "ta"), tb = node_flag(matmul, "tb");
    Product p = {.node = n, .path = matmul->results[0]->name};
    p.n_batch = t->rank - 2;
    for (int i = 0; i < p.n_batch; i++)
        p.dim[i] = t->dim[i];
    p.m = t->dim[t->rank - 2];
    p.n = t->dim[t->rank - 1];
    p.k = a->type.dim[a->type.rank - (ta ? 2 : 1)];
    p.a = side_of(&a->type, ta, p.n_batch);
    p.a.address = address_value(cg, a, 0);
    p.b = side_of(&b->type, tb, p.n_batch);
    p.b.address = address_value(cg, b, 0);
    choose_place(cg, n, &p);
    return p;
}

/* The product as the element nodes read it. */
static int
product_access(Loops *s, const Product *p)
{
    const Value *v = node_find(p->node, OP_matmul)->results[0];
    int64_t stride[MAX_RANK] = {0};
    for (int i = 0; i < s->rank - 2; i++)
        stride[i] = p->c.batch[i];
    stride[s->rank - 2] = p->c.row;
    stride[s->rank - 1] = p->c.col;
    const Value *to = scratch_product_value(p->node);
    int param = to ? kernel_value(s->k, to, 0, false)
                   : kernel_address(s->k, p->c.dtype, p->c.address, false,
                                    v->name);
    if (!to && !scratch_sum(p->node)) /* the start of a scratch */
        kernel_aligned(s->k, param);
    int access = loops_strided(s, param, p->c.dtype, stride);
    s->access.at[access].type = &v->type;
    return access;
}

static void
rest_body(Kernel *k)
{
    const Product *p = k->aux;
    const Node *n = p->node, *matmul = node_find(n, OP_matmul);
    const Value *v = matmul->results[0];
    Loops s = loops_new(k, &v->type, 0);
    s.wide = true;
    k->part_row = p->part_row;
    k->part_elements = p->part_rows * p->c.row;
    k->part_columns = p->c.row;
    Cells c = cells_new(k, &s);
    cells_bind(&c, v, cells_load(&c, product_access(&s, p), v->name));
    graph_each(n->body, b) {
        if (b == matmul || b->op == OP_const)
            continue;
        if (b->op == OP_write || b->op == OP_accumulate)
            cells_write(&c, b, loops_tensor(&s, b->tensor, true));
        else
            cells_bind(&c, b->results[0], cells_element(&c, b));
    }
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i] != v && has_memory(n->results[i]))
            cells_store(&c, cells_value(&c, n->results[i]),
                        loops_value(&s, n->results[i], true));
    k->comment = arena_printf(k->cg->arena, "what follows %s: %s", v->name,
                              describe(k->cg, v));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static bool
has_rest(const Node *n)
{
    const Node *matmul = node_find(n, OP_matmul), *sum = scratch_sum(n);
    if (scratch_epilogue(n))
        return false;
    if (n->op == OP_matmul)
        return false;
    graph_each(n->body, b)
        if (b != matmul && b->op != OP_const &&
            !(b == sum && !scratch_product_value(n)))
            return true;
    return false;
}

/* "x + row * 768" */
static const char *
from_row(Cg *cg, const char *address, const char *row, int64_t stride)
{
    if (!address || strcmp(row, "0") == 0)
        return address;
    return arena_printf(cg->arena, "%s + %s * %" PRId64, address, row, stride);
}

/* Some rows, from `row` on, and what follows; scratch: they are made at its
 * start. */
static void
emit_part(Cg *cg, const Product *all, const Product *whole, const char *row,
          int64_t rows, bool scratch, const char *workspace)
{
    Product part = *all, rest = *whole;
    part.m = rows;
    part.a.address = from_row(cg, all->a.address, row, all->a.row);
    part.plus = from_row(cg, all->plus, row, all->c.row);
    rest.part_row = row;
    rest.part_rows = rows;
    if (scratch) /* what follows counts rows from the first of all */
        rest.c.address = arena_printf(cg->arena, "%s - %s * %" PRId64,
                                      all->c.address, row, all->c.row);
    else
        part.c.address = from_row(cg, all->c.address, row, all->c.row);
    emit_any(cg, &part, workspace);
    if (has_rest(all->node))
        kernel_emit(cg, all->node, "after", all->path, rest_body, &rest);
}

static void
emit_parts(Cg *cg, Product *p, const Product *whole, int64_t rows, bool scratch,
           const char *workspace)
{
    Emit *e = cg_calls(cg);
    product_fold(p);
    if (p->n_batch)
        bug("codegen: a product in parts has batches");
    int64_t last = p->m % rows;
    emit_open(e, "for (int64_t row = 0; row < %" PRId64 "; row += %" PRId64 ")",
              p->m - last, rows);
    emit_part(cg, p, whole, "row", rows, scratch, workspace);
    emit_close(e, "");
    if (last)
        emit_part(cg, p, whole, arena_printf(cg->arena, "%" PRId64, p->m - last),
                  last, scratch, workspace);
}

/* False after an error: a schedule that was edited. */
static bool
lies_plain(Cg *cg, const Node *n)
{
    const Node *matmul = node_find(n, OP_matmul);
    const Value *v[] = {matmul->args[0], matmul->args[1],
                        scratch_product_value(n)};
    for (int i = 0; i < 3; i++)
        if (v[i] && !scratch_is_plain(&v[i]->type, &v[i]->layout))
            cg_refuse(cg, n, "operands and result of a product lie dense on "
                             "CUDA, from a multiple of 8 elements on");
    return !cg->failed;
}

void
cuda_matmul(Cg *cg, const Node *n)
{
    const Value *v = node_find(n, OP_matmul)->results[0];
    if (!lies_plain(cg, n))
        return;
    Product p = product_new(cg, n);
    Product whole = p; /* before folding: what cells see */
    bool scratch = !scratch_product_value(n) && !scratch_sum(n);
    int64_t rows = scratch_product_rows(n), columns = p.n;
    int64_t at = scratch ? scratch_part(rows * columns *
                                        dtype_info[v->type.dtype].bits / 8)
                         : 0;
    const char *workspace = address_scratch(cg, n, at, DT_f32, "workspace");
    if (rows < type_elements(&v->type) / columns) {
        emit_parts(cg, &p, &whole, rows, scratch, workspace);
        return;
    }
    emit_any(cg, &p, workspace);
    if (has_rest(n))
        kernel_emit(cg, n, "after", v->name, rest_body, &whole);
}

/* ---- a product that is a part of something else ---- */

void
cuda_product(Cg *cg, const Node *n, const char *path, const ProductSpec *s)
{
    Product p = {.node = n,
                 .m = s->m,
                 .n = s->n,
                 .k = s->k,
                 .path = path,
                 .add = s->add ? s->add : "0"};
    p.a = (Side){.dtype = s->a_dtype, .row = s->a_row, .col = s->a_col};
    p.b = (Side){.dtype = s->b_dtype, .row = s->b_row, .col = s->b_col};
    p.c = (Side){.dtype = DT_f32, .row = s->c_row, .col = 1};
    p.a.address = s->a;
    p.b.address = s->b;
    p.c.address = s->c;
    emit_any(cg, &p, s->workspace);
}
