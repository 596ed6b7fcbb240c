/* Products. f32 goes through the runtime's edl_matmul, bf16 through its
 * edl_matmul_bf16, a piece being a block of rows and columns of one batch;
 * other types run a plain loop. All are chains of fma over K. What follows in
 * a matmul group is done on the block while it is warm. */
#include "codegen/cuda.h"

#include <inttypes.h>

typedef struct Side {
    int param;
    Dtype dtype;
    int64_t row, col; /* strides */
    int64_t batch[MAX_RANK];
} Side;

typedef struct Product {
    const Node *node; /* the matmul */
    int64_t m, n, k;
    int n_batch;
    int64_t dim[MAX_RANK]; /* of the batch */
    Side a, b, c;
    const char *add;       /* "add", "0" */
    bool tile;             /* the product of a piece stays on the stack */
    bool plain;            /* f16, f64, or columns that are not adjacent */
    bool bf16;             /* the operands, where they are not rounded yet too */
    int64_t rows, columns; /* of a piece */
    bool serial;           /* one thread makes all pieces */
} Product;

/* ---- shapes and strides ---- */

/* Strides of an operand with the batch axes of the result. */
static Side
side_of(const Type *t, const Layout *l, bool transposed, int n_batch)
{
    Side s = {.param = -1, .dtype = t->dtype};
    int r = t->rank, shift = n_batch - (r - 2);
    s.row = l->stride[transposed ? r - 1 : r - 2];
    s.col = l->stride[transposed ? r - 2 : r - 1];
    for (int i = 0; i < r - 2; i++)
        s.batch[shift + i] = t->dim[i] == 1 ? 0 : l->stride[i];
    return s;
}

/* The last batch axis is more rows when all sides walk it so. */
static void
fold_batch(Product *p)
{
    while (p->n_batch > 0) {
        int last = p->n_batch - 1;
        int64_t m = p->m;
        bool one = p->dim[last] == 1;
        bool rows = p->a.batch[last] == m * p->a.row &&
                    p->c.batch[last] == m * p->c.row && p->b.batch[last] == 0;
        if (!one && !rows)
            return;
        p->m *= p->dim[last];
        p->n_batch--;
    }
}

static int64_t
batches(const Product *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->n_batch; i++)
        n *= p->dim[i];
    return n;
}

static void
cut(Product *p, int64_t want)
{
    Cut c = {.m = p->m,
             .n = p->n,
             .k = p->k,
             .batches = batches(p),
             .tile = p->tile,
             .bf16 = p->bf16,
             .a_along = p->a.col == 1,
             .b_along = p->b.col == 1,
             .want = want};
    c_cut(&c);
    p->rows = c.rows;
    p->columns = c.columns;
    p->serial = c.serial;
}

/* ---- text ---- */

/* " + batch / 4 % 3 * 64": where a batch of one side starts. */
static const char *
batch_offset(Kernel *k, const Product *p, const Side *s)
{
    Emit e = emit_new(k->cg->arena);
    int64_t after = 1;
    for (int i = p->n_batch - 1; i >= 0; i--) {
        if (s->batch[i] != 0) {
            emit(&e, " + batch");
            if (after > 1)
                emit(&e, " / %" PRId64, after);
            if (i > 0)
                emit(&e, " %% %" PRId64, p->dim[i]);
            emit(&e, " * %" PRId64, s->batch[i]);
        }
        after *= p->dim[i];
    }
    return emit_string(&e);
}

static void
emit_bounds(Kernel *k, const char *name, const char *index, int64_t each,
            int64_t n)
{
    Emit *e = &k->out;
    if (each >= n) {
        emit_line(e, "const int64_t %s0 = 0, %s1 = %" PRId64 ";", name, name,
                  n);
        return;
    }
    emit_line(e, "const int64_t %s0 = %s * %" PRId64 ";", name, index, each);
    if (n % each == 0)
        emit_line(e, "const int64_t %s1 = %s0 + %" PRId64 ";", name, name,
                  each);
    else
        emit_line(e,
                  "const int64_t %s1 = %s0 + %" PRId64 " < %" PRId64
                  " ? %s0 + %" PRId64 " : %" PRId64 ";",
                  name, name, each, n, name, each, n);
}

/* Where pieces are blocks of rows alone. */
static void
say_cut(Kernel *k, const Product *p)
{
    if (p->a.row >= 0 && p->a.col >= 0)
        kernel_cut(k, p->a.param, 0, p->rows * p->a.row,
                   (p->rows - 1) * p->a.row + (p->k - 1) * p->a.col + 1);
    if (!p->tile && p->c.row >= 0 && p->c.col >= 0)
        kernel_cut(k, p->c.param, 0, p->rows * p->c.row,
                   (p->rows - 1) * p->c.row + (p->n - 1) * p->c.col + 1);
}

/* piece is (batch, block of rows, block of columns). True: a loop is open. */
static bool
open_pieces(Kernel *k, const Product *p)
{
    Arena *a = k->cg->arena;
    int64_t nr = (p->m + p->rows - 1) / p->rows;
    int64_t nc = (p->n + p->columns - 1) / p->columns;
    int64_t nb = batches(p), n = nb * nr * nc;
    bool serial = n > 1 && p->serial;
    k->pieces = serial ? 1 : n;
    if (k->pieces > 1 && nc == 1 && nb == 1)
        say_cut(k, p);
    if (serial)
        emit_open(&k->out,
                  "for (int64_t piece = 0; piece < %" PRId64 "; piece++)", n);
    if (nb > 1)
        emit_line(&k->out,
                  nr * nc > 1 ? "const int64_t batch = piece / %" PRId64 ";"
                              : "const int64_t batch = piece;",
                  nr * nc);
    emit_bounds(
        k, "row",
        nc == 1   ? arena_printf(a, nb > 1 ? "piece %% %" PRId64 : "piece", nr)
        : nb == 1 ? arena_printf(a, "piece / %" PRId64, nc)
                  : arena_printf(a, "piece / %" PRId64 " %% %" PRId64, nc, nr),
        p->rows, p->m);
    emit_bounds(k, "col",
                nb * nr > 1 ? arena_printf(a, "piece %% %" PRId64, nc)
                            : "piece",
                p->columns, p->n);
    return serial;
}

/* "edl_matmul(", and before it the shape that it is called with. */
static const char *
emit_shape(Kernel *k, const Product *p)
{
    Emit *e = &k->out;
    const char *at =
        arena_printf(k->cg->arena,
                     "{%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                     ", %" PRId64 ", %" PRId64 "}",
                     p->k, p->a.row, p->a.col, p->b.row, p->b.col,
                     p->tile ? p->columns : p->c.row);
    if (!p->bf16) {
        emit_list(e, "static const EdlProduct shape = ", &at, 1, ";");
        return "edl_matmul(";
    }
    const char *items[] = {at, p->a.dtype == DT_f32 ? "1" : "0",
                           p->b.dtype == DT_f32 ? "1" : "0"};
    emit_list(e, "static const EdlProductBf16 shape = {", items, 3, "};");
    k->cg->has_bf16 = true;
    return "edl_matmul_bf16(";
}

/* A bf16 product whose result is bf16 too. */
static void
emit_rounding(Kernel *k, const Product *p)
{
    if (!p->bf16 || p->c.dtype != DT_bf16)
        return;
    emit_line(&k->out, "for (int64_t i = 0; i < (row1 - row0) * %" PRId64
              "; i++)", p->columns);
    emit_line(&k->out,
              "    tile[i] = edl_bf16_to_f32(edl_f32_to_bf16(tile[i]));");
}

static void
emit_product(Kernel *k, const Product *p)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const char *call = emit_shape(k, p);
    const char *left = arena_printf(a, "%s%s", kernel_name(k, p->a.param),
                                    batch_offset(k, p, &p->a));
    const char *right = arena_printf(a, "%s%s", kernel_name(k, p->b.param),
                                     batch_offset(k, p, &p->b));
    if (p->tile) {
        emit_line(e, "float tile[%" PRId64 "];", p->rows * p->columns);
        const char *items[] = {
            "&shape",
            arena_printf(a, "%s + row0 * %" PRId64, left, p->a.row),
            arena_printf(a, "%s + col0 * %" PRId64, right, p->b.col),
            "tile",
            "0",
            "row1 - row0",
            "0",
            "col1 - col0",
            "0"};
        emit_list(e, call, items, 9, ");");
        emit_rounding(k, p);
        return;
    }
    const char *to = arena_printf(a, "%s%s", kernel_name(k, p->c.param),
                                  batch_offset(k, p, &p->c));
    const char *items[] = {"&shape", left,   right,  to,    "row0",
                           "row1",   "col0", "col1", p->add};
    emit_list(e, call, items, 9, ");");
}

static const char *
plain_target(Kernel *k, const Product *p)
{
    Arena *a = k->cg->arena;
    if (p->tile)
        return arena_printf(
            a, "tile[(row - row0) * %" PRId64 " + c0 + l - col0]", p->columns);
    return arena_printf(a, "%s[row * %" PRId64 " + (c0 + l) * %" PRId64 "%s]",
                        kernel_name(k, p->c.param), p->c.row, p->c.col,
                        batch_offset(k, p, &p->c));
}

/* The product of other types: 64 columns at a time. */
static void
emit_plain(Kernel *k, const Product *p)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    Dtype d = p->a.dtype, to = p->c.dtype;
    const char *t = c_compute(d), *fma = d == DT_f64 ? "fma" : "edl_fmaf";
    const char *c = plain_target(k, p), *sum = "sum[l]";
    if (p->tile) { /* rounded as a store would */
        sum = c_load(a, to, c_store(a, to, sum));
        emit_line(e, "%s tile[%" PRId64 "];", t, p->rows * p->columns);
        to = DT_f32;
    }
    emit_open(e, "for (int64_t row = row0; row < row1; row++)");
    emit_open(e, "for (int64_t c0 = col0; c0 < col1; c0 += 64)");
    emit_line(e, "const int64_t n = col1 - c0 < 64 ? col1 - c0 : 64;");
    emit_line(e, "%s sum[64] = {0};", t);
    if (strcmp(p->add, "0") != 0) {
        emit_line(e, "for (int64_t l = 0; l < n; l++)");
        emit_line(e, "    sum[l] = %s ? %s : 0;", p->add, c_load(a, to, c));
    }
    emit_open(e, "for (int64_t p = 0; p < %" PRId64 "; p++)", p->k);
    const char *left =
        arena_printf(a, "%s[row * %" PRId64 " + p * %" PRId64 "%s]",
                     kernel_name(k, p->a.param), p->a.row, p->a.col,
                     batch_offset(k, p, &p->a));
    const char *right =
        arena_printf(a, "%s[p * %" PRId64 " + (c0 + l) * %" PRId64 "%s]",
                     kernel_name(k, p->b.param), p->b.row, p->b.col,
                     batch_offset(k, p, &p->b));
    emit_line(e, "const %s left = %s;", t, c_load(a, d, left));
    emit_line(e, "for (int64_t l = 0; l < n; l++)");
    emit_line(e, "    sum[l] = %s(left, %s, sum[l]);", fma,
              c_load(a, d, right));
    emit_close(e, "");
    emit_line(e, "for (int64_t l = 0; l < n; l++)");
    emit_line(e, "    %s = %s;", c, c_store(a, to, sum));
    emit_close(e, "");
    emit_close(e, "");
}

/* ---- the group ---- */

/* The operand that the product reads: what a cast in the group rounds. */
static const Value *
operand_of(const Node *matmul, int i)
{
    const Value *v = matmul->args[i];
    bool rounds = v->def->op == OP_cast && matmul->graph->owner &&
                  v->def->graph == matmul->graph;
    return rounds ? v->def->args[0] : v;
}

/* The accumulate of the product itself, or NULL. */
static const Node *
direct_accumulate(const Node *n, const Node *matmul)
{
    if (n->op == OP_matmul)
        return NULL;
    graph_each(n->body, b)
        if (b->op == OP_accumulate && b->args[0] == matmul->results[0])
            return b;
    return NULL;
}

/* Element nodes of the group read memory that `to` overwrites. */
static bool
reads_place(Kernel *k, const Node *n, int to)
{
    const char *pass = k->params.at[to].pass;
    for (const Node *b = node_find(n, OP_matmul)->next; b; b = b->next)
        for (int i = 0; i < b->n_args; i++)
            if (b->args[i]->def->op != OP_const &&
                b->args[i]->def->graph != n->body &&
                strcmp(address_value(k->cg, b->args[i], 0), pass) == 0)
                return true;
    return false;
}

/* Products of bf16 operands make f32, in rows. */
static bool
can_hold(const Product *p, const Side *c)
{
    return !p->bf16 || (c->dtype == DT_f32 && c->col == 1);
}

/* Where the product goes: its own place, the tensor that it is added to, the
 * group's last result, or a tile on the stack. */
static void
choose_target(Kernel *k, const Node *n, Product *p)
{
    const Value *v = p->node->results[0];
    const Node *into = direct_accumulate(n, p->node);
    p->add = "0";
    if (has_memory(v)) {
        p->c = side_of(&v->type, &v->layout, false, p->n_batch);
        p->tile = !can_hold(p, &p->c);
        if (!p->tile)
            p->c.param = kernel_value(k, v, 0, true);
        return;
    }
    if (into) {
        const Tensor *t = into->tensor;
        p->c = side_of(&t->type, &t->layout, false, p->n_batch);
        p->tile = !can_hold(p, &p->c);
        if (p->tile)
            return;
        p->c.param = kernel_tensor(k, t, true);
        p->add = kernel_add(k, into);
        return;
    }
    p->tile = true;
    p->c = side_of(&v->type, &(Layout){0}, false, p->n_batch);
    for (int i = 0; n->op == OP_fused && i < n->n_results; i++) {
        const Value *y = n->results[i];
        if (!has_memory(y) || !type_equal(&y->type, &v->type))
            continue;
        Side c = side_of(&y->type, &y->layout, false, p->n_batch);
        if (!can_hold(p, &c))
            continue;
        int to = kernel_value(k, y, 0, true);
        if (reads_place(k, n, to))
            continue;
        p->c = c;
        p->c.param = to;
        p->tile = false;
        return;
    }
}

static Product
product_new(Kernel *k, const Node *n)
{
    Product p = {.node = node_find(n, OP_matmul)};
    const Value *a = operand_of(p.node, 0), *b = operand_of(p.node, 1);
    const Type *t = &p.node->results[0]->type;
    bool ta = node_flag(p.node, "ta"), tb = node_flag(p.node, "tb");
    p.n_batch = t->rank - 2;
    for (int i = 0; i < p.n_batch; i++)
        p.dim[i] = t->dim[i];
    p.m = t->dim[t->rank - 2];
    p.n = t->dim[t->rank - 1];
    p.k = a->type.dim[a->type.rank - (ta ? 2 : 1)];
    p.a = side_of(&a->type, &a->layout, ta, p.n_batch);
    p.a.param = kernel_value(k, a, 0, false);
    p.b = side_of(&b->type, &b->layout, tb, p.n_batch);
    p.b.param = kernel_value(k, b, 0, false);
    p.bf16 = p.node->args[0]->type.dtype == DT_bf16;
    choose_target(k, n, &p);
    p.plain = !p.bf16 && (a->type.dtype != DT_f32 ||
                          (!p.tile && p.c.col != 1 && p.n > 1));
    return p;
}

/* ---- the element nodes after it ---- */

/* Does anything of the group remain to be done after the product? */
static bool
has_rest(const Node *n, const Product *p)
{
    const Value *v = p->node->results[0];
    if (p->tile)
        return true;
    if (n->op == OP_matmul)
        return false;
    for (const Node *b = p->node->next; b; b = b->next)
        if (b->op != OP_const && !(b->op == OP_accumulate &&
                                   b->args[0] == v && !has_memory(v)))
            return true;
    return false;
}

static int
product_cell(Cells *c, Loops *s, const Product *p)
{
    const Type *t = &p->node->results[0]->type;
    int64_t stride[MAX_RANK] = {0};
    int access;
    if (p->tile) {
        stride[s->rank - 1] = 1;
        access =
            loops_strided(s, -1, t->dtype == DT_f64 ? DT_f64 : DT_f32, stride);
        Access *a = &s->access.at[access];
        a->base = "tile";
        a->late = true;
        a->shift = arena_printf(c->k->cg->arena,
                                "(r - first) * %" PRId64 " - col0", p->columns);
    } else {
        for (int i = 0; i < s->rank - 2; i++)
            stride[i] = p->c.batch[i];
        stride[s->rank - 2] = p->c.row;
        stride[s->rank - 1] = p->c.col;
        access = loops_strided(s, p->c.param, t->dtype, stride);
    }
    s->access.at[access].type = t;
    return cells_load(c, access, p->node->results[0]->name);
}

static void
build_rest(Cells *c, const Node *n, const Product *p)
{
    const Value *v = p->node->results[0];
    cells_bind(c, v, product_cell(c, c->loops, p));
    if (p->tile && has_memory(v))
        cells_store(c, cells_value(c, v), loops_value(c->loops, v, true));
    for (const Node *b = n->op == OP_fused ? p->node->next : NULL; b;
         b = b->next) {
        if (b->op == OP_const)
            continue;
        if (b->op == OP_write || b->op == OP_accumulate)
            cells_write(c, b, loops_tensor(c->loops, b->tensor, true));
        else
            cells_bind(c, b->results[0], cells_element(c, b));
    }
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i] != v && has_memory(n->results[i]))
            cells_store(c, cells_value(c, n->results[i]),
                        loops_value(c->loops, n->results[i], true));
}

static void
emit_rest(Kernel *k, Cells *c, const Product *p, int64_t rows)
{
    Emit *e = &k->out;
    bool many = batches(p) > 1;
    if (many)
        emit_line(e, "const int64_t first = batch * %" PRId64 " + row0;", rows);
    else
        emit_line(e, "const int64_t first = row0;");
    emit_open(e, "for (int64_t r = first; r < first + row1 - row0; r++)");
    loops_rows_here(c->loops);
    for (int i = 0; i < c->stores.n; i++)
        cells_hoist(c, c->stores.at[i].cell);
    Stretch row = {"col0", "col1", p->n, false};
    cells_open_stretch(c, &row, -1);
    emit_open(e, "for (int64_t c = %s; c < %s; c++)", row.from, row.to);
    cells_next_loop(c);
    for (int i = 0; i < c->stores.n; i++)
        cells_need(c, c->stores.at[i].cell);
    for (int i = 0; i < c->stores.n; i++)
        cells_put(c, &c->stores.at[i]);
    emit_close(e, "");
    cells_close_stretch(c, &row);
    emit_close(e, "");
}

static void
matmul_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Product p = product_new(k, n);
    const Value *y = p.node->results[0];
    Product whole = p; /* before folding: what cells see */
    fold_batch(&p);
    cut(&p, k->want);
    bool rest = has_rest(n, &p), alone = n->op == OP_matmul;
    Loops s = loops_new(k, &y->type, 1u << (y->type.rank - 1));
    Cells c = cells_new(k, &s);
    if (rest) {
        whole.columns = p.columns;
        build_rest(&c, n, &whole);
        cells_settle(&c);
    }
    k->comment =
        arena_printf(a, "%s = %s @ %s%s: %s", y->name, p.node->args[0]->name,
                     p.node->args[1]->name, rest && !alone ? " and what follows" : "",
                     describe(k->cg, y));
    bool open = open_pieces(k, &p);
    if (rest && k->pieces > 1 && p.columns >= p.n && batches(&p) == 1)
        loops_say_cut(&s, p.rows);
    if (p.plain)
        emit_plain(k, &p);
    else
        emit_product(k, &p);
    if (rest)
        emit_rest(k, &c, &p, p.m);
    if (open)
        emit_close(&k->out, "");
}

/* ---- a product that is a part of something else ---- */

static void
product_body(Kernel *k)
{
    const ProductSpec *s = k->aux;
    Product p = {
        .m = s->m, .n = s->n, .k = s->k, .add = "0", .bf16 = s->bf16};
    p.a = (Side){.dtype = s->a_dtype, .row = s->a_row, .col = s->a_col};
    p.b = (Side){.dtype = s->b_dtype, .row = s->b_row, .col = s->b_col};
    p.c = (Side){.row = s->c_row, .col = 1};
    p.a.param = kernel_address(k, s->a_dtype, s->a, false, "a");
    p.b.param = kernel_address(k, s->b_dtype, s->b, false, "b");
    p.c.param = kernel_address(k, DT_f32, s->c, true, "product");
    if (s->add) {
        kernel_scalar(k, "int", "add", s->add);
        p.add = "add";
    }
    k->comment = arena_printf(
        k->cg->arena, "[%" PRId64 ", %" PRId64 "] @ [%" PRId64 ", %" PRId64 "]",
        s->m, s->k, s->k, s->n);
    cut(&p, 0);
    bool open = open_pieces(k, &p);
    emit_product(k, &p);
    if (open)
        emit_close(&k->out, "");
}

void
c_product(Cg *cg, const Node *n, const char *path, const ProductSpec *p)
{
    if (cg->cuda)
        cuda_product(cg, n, path, p);
    else
        kernel_emit(cg, n, "matmul", path, product_body, p);
}

void
c_matmul(Cg *cg, const Node *n)
{
    const char *path =
        (n->n_results ? n : node_find(n, OP_matmul))->results[0]->name;
    if (cg->cuda)
        cuda_matmul(cg, n);
    else
        kernel_emit(cg, n, "matmul", path, matmul_body, NULL);
}
