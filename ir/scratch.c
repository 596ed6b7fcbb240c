#include "ir/scratch.h"

#include <string.h>

int64_t
scratch_part(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t
of_cross_entropy(const Node *n)
{
    if (strcmp(node_word(n, "reduction", "mean"), "none") == 0)
        return 0;
    return scratch_part(4 * type_elements(&n->args[1]->type));
}

static int64_t
of_global_norm(const Node *n)
{
    int64_t pieces = 0;
    for (int i = 0; i < n->n_args; i++)
        pieces +=
            (type_elements(&n->args[i]->type) + NORM_PIECE - 1) / NORM_PIECE;
    return scratch_part(8 * pieces);
}

int64_t
sum_blocks(const Node *n)
{
    if (n->op != OP_reduce_sum)
        return 0;
    const Type *x = &n->args[0]->type;
    int64_t count = type_elements(x);
    bool all = type_elements(&n->results[0]->type) == 1;
    bool real = x->dtype == DT_f32 || x->dtype == DT_f64;
    if (!all || !real || count < SUM_MIN || count % SUM_BLOCK)
        return 0;
    return count / SUM_BLOCK;
}

/* ---- sums down columns on a device ---- */

static bool
on_device(const Node *n)
{
    return module_option_is(n->graph->module, "target", "cuda");
}

/* The last axis that is not 1 stays. */
static bool
goes_down(const Node *sum)
{
    const Attr *axes = node_attr(sum, "axes");
    const Type *x = &sum->args[0]->type;
    int last = x->rank - 1;
    while (last >= 0 && x->dim[last] == 1)
        last--;
    for (int64_t i = 0; i < axes->i; i++)
        if (axes->list[i] == last)
            return false;
    return last >= 0 && (x->dtype == DT_f32 || x->dtype == DT_f64);
}

/* Enough blocks of 32 columns, and 256 elements of a column in each. */
static int64_t
parts_of(const Node *sum)
{
    enum { BLOCKS = 1024, ENOUGH = 512, LEAST = 256, MOST = 64 };
    int64_t kept = type_elements(&sum->results[0]->type);
    int64_t down = type_elements(&sum->args[0]->type) / kept;
    int64_t blocks = (kept + 31) / 32;
    if (!goes_down(sum) || blocks >= ENOUGH)
        return 1;
    int64_t parts = BLOCKS / blocks;
    if (parts > down / LEAST)
        parts = down / LEAST;
    return parts < 1 ? 1 : parts > MOST ? MOST : parts;
}

int64_t
sum_parts(const Node *n)
{
    int64_t parts = 0;
    if (!on_device(n))
        return 1;
    if (n->op == OP_reduce_sum)
        return parts_of(n);
    if (!n->body)
        return 1;
    graph_each(n->body, b) {
        if (b->op != OP_reduce_sum)
            continue;
        int64_t one = parts_of(b);
        if (parts && one != parts)
            return 1;
        parts = one;
    }
    return parts ? parts : 1;
}

/* ---- sums down columns in parts of rows ---- */

bool
sums_down(const Node *n)
{
    if (n->op != OP_reduce_sum)
        return false;
    const Attr *axes = node_attr(n, "axes");
    const Type *x = &n->args[0]->type;
    if (!axes || x->rank < 2 || axes->i != x->rank - 1)
        return false;
    for (int64_t i = 0; i < axes->i; i++)
        if (axes->list[i] == x->rank - 1)
            return false;
    return x->dtype == DT_f32 || x->dtype == DT_f64;
}

static bool
wide(const Node *sum)
{
    return type_elements(&sum->results[0]->type) > 1;
}

static bool
is_kind(const Node *n, const char *kind)
{
    return n->op == OP_fused && strcmp(node_word(n, "kind", ""), kind) == 0;
}

/* Of those that are cut by rows; NULL: none, or not all. A single column is
 * a sum over all elements. */
static const Node *
first_down(const Node *n)
{
    bool reduce = is_kind(n, "reduce");
    const Node *first = NULL;
    if (n->op == OP_reduce_sum)
        return sums_down(n) && !on_device(n) && wide(n) ? n : NULL;
    if (!is_kind(n, "row") && (!reduce || on_device(n)))
        return NULL;
    graph_each(n->body, b) {
        if (reduce && b->op == OP_reduce_sum && !(sums_down(b) && wide(b)))
            return NULL;
        if (!first && sums_down(b))
            first = b;
    }
    return first;
}

static int64_t
rows_of(const Node *sum)
{
    const Type *x = &sum->args[0]->type;
    return type_elements(x) / x->dim[x->rank - 1];
}

/* Parts are work enough for a piece, few enough to add up, and their sums are
 * much less than the rows. */
int64_t
sum_rows(const Node *n)
{
    enum { ELEMENTS = 8192, LEAST = 32, MOST = 64 };
    const Node *sum = first_down(n);
    if (!sum)
        return 0;
    int64_t rows = rows_of(sum), part = LEAST;
    int64_t width = type_elements(&sum->args[0]->type) / rows;
    if (rows * width <= 2 * ELEMENTS)
        return rows;
    if (part < (rows + MOST - 1) / MOST)
        part = (rows + MOST - 1) / MOST;
    if (part < ELEMENTS / width)
        part = ELEMENTS / width;
    return part < rows ? part : rows;
}

int64_t
sum_row_parts(const Node *n)
{
    int64_t part = sum_rows(n);
    return part ? (rows_of(first_down(n)) + part - 1) / part : 0;
}

static int64_t
of_rows(const Node *n)
{
    int64_t bytes = 0, parts = sum_row_parts(n);
    if (n->op == OP_reduce_sum)
        return scratch_part(parts * type_bytes(&n->results[0]->type));
    graph_each(n->body, b)
        if (sums_down(b))
            bytes += scratch_part(parts * type_bytes(&b->results[0]->type));
    return bytes;
}

static int64_t
of_sum(const Node *sum, int64_t parts)
{
    const Type *t = &sum->results[0]->type;
    int64_t bytes = parts > 1 ? parts * type_bytes(t) : 8 * sum_blocks(sum);
    return scratch_part(bytes);
}

static int64_t
of_reduce(const Node *n)
{
    int64_t bytes = 0, parts = sum_parts(n);
    if (sum_row_parts(n) > 1)
        return of_rows(n);
    if (n->op == OP_reduce_sum)
        return of_sum(n, parts);
    graph_each(n->body, b)
        if (b->op == OP_reduce_sum)
            bytes += of_sum(b, parts);
    return bytes;
}

/* ---- products on a device ---- */

/* Enough to cut the sum of a product in four, or what its library likes. */
int64_t
scratch_product(int64_t m, int64_t n)
{
    enum { MOST = 32 << 20, ALIGN = 256 };
    int64_t bytes = m < MOST / 16 && n < MOST / 16 ? 16 * m * n : MOST;
    return scratch_part((bytes < MOST ? bytes : MOST) + ALIGN);
}

const Node *
scratch_sum(const Node *n)
{
    const Node *product = node_find(n, OP_matmul);
    if (n->op == OP_fused)
        graph_each(n->body, b)
            if (b->op == OP_accumulate && b->args[0] == product->results[0])
                return b;
    return NULL;
}

static bool
shares_place(const Value *a, const Value *b)
{
    return a->home == b->home ||
           (a->home->tensor && a->home->tensor == b->home->tensor);
}

/* What the group reads after the product, from outside, in v's place. */
static bool
is_read(const Node *n, const Value *v)
{
    graph_each(n->body, b) {
        if (b->op == OP_accumulate && v->home->tensor == b->tensor)
            return true;
        for (int i = 0; b->op != OP_matmul && i < b->n_args; i++)
            if (b->args[i]->def->graph != n->body &&
                shares_place(b->args[i], v))
                return true;
    }
    return false;
}

/* Are batches of the product no more than rows of one? Its operands lie
 * dense (ir/scratch.h). */
static bool
is_tall(const Node *matmul)
{
    const Type *a = &matmul->args[0]->type, *b = &matmul->args[1]->type;
    const Type *t = &matmul->results[0]->type;
    bool ta = node_flag(matmul, "ta");
    if (a->rank != t->rank)
        return false;
    for (int i = 0; i < b->rank - 2; i++)
        if (b->dim[i] != 1)
            return false;
    for (int i = 0; i < t->rank - 2; i++)
        if (a->dim[i] != t->dim[i] || (ta && t->dim[i] != 1))
            return false;
    return true;
}

bool
scratch_is_plain(const Type *t, const Layout *l)
{
    return layout_is_dense(l, t) && l->offset % 8 == 0;
}

static bool
is_plain(const Value *v)
{
    return scratch_is_plain(&v->type, &v->layout);
}

/* One row, for all rows of y; or as y. */
static bool
can_be_added(const Value *x, const Value *y)
{
    int64_t columns = y->type.dim[y->type.rank - 1];
    if (x->type.dtype != DT_f32 || !is_plain(x))
        return false;
    return type_equal(&x->type, &y->type) ||
           (x->type.rank > 0 && x->type.dim[x->type.rank - 1] == columns &&
            type_elements(&x->type) == columns);
}

const Value *
scratch_added(const Node *n)
{
    const Node *sum = scratch_epilogue(n);
    const Value *product = node_find(n, OP_matmul)->results[0];
    return sum->args[sum->args[0] == product ? 1 : 0];
}

const Node *
scratch_epilogue(const Node *n)
{
    const Node *sum = NULL;
    if (n->op != OP_fused || !on_device(n) || n->n_results != 1)
        return NULL;
    graph_each(n->body, b) {
        if (b->op == OP_matmul)
            continue;
        if (b->op != OP_add || sum)
            return NULL;
        sum = b;
    }
    const Node *product = node_find(n, OP_matmul);
    const Value *v = product->results[0], *y = n->results[0];
    if (!sum || y != sum->results[0] || v->type.dtype != DT_f32 ||
        !type_equal(&v->type, &y->type) || sum->args[0] == sum->args[1])
        return NULL;
    Dtype d = product->args[0]->type.dtype;
    const Value *x = sum->args[sum->args[0] == v ? 1 : 0];
    bool good = (d == DT_f32 || d == DT_bf16) && is_tall(product) &&
                is_plain(y) && can_be_added(x, y);
    return good ? sum : NULL;
}

const Value *
scratch_product_value(const Node *n)
{
    const Value *v = node_find(n, OP_matmul)->results[0];
    if (scratch_epilogue(n))
        return n->results[0];
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i] == v)
            return v;
    if (n->op == OP_matmul)
        return v;
    if (scratch_sum(n))
        return NULL;
    for (int i = 0; i < n->n_results; i++)
        if (type_equal(&n->results[i]->type, &v->type) &&
            is_plain(n->results[i]) && !is_read(n, n->results[i]))
            return n->results[i];
    return NULL;
}

int64_t
scratch_product_rows(const Node *n)
{
    enum { MOST = 32 << 20, STEP = 256 };
    const Node *matmul = node_find(n, OP_matmul);
    const Type *t = &matmul->results[0]->type;
    int64_t line = t->dim[t->rank - 1] * dtype_info[t->dtype].bits / 8;
    int64_t all = type_elements(t) / t->dim[t->rank - 1];
    int64_t rows = MOST / line / STEP * STEP;
    if (rows < STEP)
        rows = STEP;
    if (rows >= all || t->dtype == DT_bf16 || scratch_sum(n) ||
        node_flag(matmul, "ta") || !is_tall(matmul))
        return all;
    int64_t parts = (all + rows - 1) / rows; /* about as large */
    return ((all + parts - 1) / parts + STEP - 1) / STEP * STEP;
}

static int64_t
of_matmul(const Node *n)
{
    const Value *v = node_find(n, OP_matmul)->results[0];
    const Type *t = &v->type;
    int64_t columns = t->dim[t->rank - 1], rows = scratch_product_rows(n);
    if (scratch_product_value(n) || scratch_sum(n))
        return scratch_product(rows, columns);
    return scratch_product(rows, columns) +
           scratch_part(rows * columns * dtype_info[t->dtype].bits / 8);
}

/* The largest workspace of the head's products. */
static int64_t
of_head_products(const Node *n, int64_t rows, int64_t classes)
{
    int64_t most = 0;
    graph_each(n->body, b) {
        if (b->op != OP_matmul)
            continue;
        const Type *t = &b->results[0]->type;
        int64_t m = t->dim[0] == classes ? classes : rows;
        int64_t bytes = scratch_product(node_flag(b, "ta") ? t->dim[0] : m,
                                        t->dim[1]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t
scratch_logits(const Node *head, int64_t classes)
{
    return on_device(head) ? (classes + 7) / 8 * 8 : classes;
}

int64_t
scratch_slopes(const Node *n, int64_t rows)
{
    bool narrow = false;
    int64_t classes = 0;
    graph_each(n->body, b) {
        narrow |= b->op == OP_matmul && b->args[0]->type.dtype == DT_bf16;
        if (b->op == OP_cross_entropy_grad)
            classes = b->args[1]->type.dim[b->args[1]->type.rank - 1];
    }
    if (!narrow || !on_device(n))
        return 0;
    return scratch_part(2 * rows * scratch_logits(n, classes));
}

static int64_t
of_head(const Node *n)
{
    int64_t bytes = 0;
    graph_each(n->body, b) {
        if (b->op != OP_cross_entropy)
            continue;
        const Type *logits = &b->args[0]->type;
        int64_t v = logits->dim[logits->rank - 1];
        int64_t rows = type_elements(logits) / v;
        int64_t chunk = node_int(n, "chunk", rows);
        chunk = chunk < rows ? chunk : rows;
        bytes += scratch_part(4 * chunk * scratch_logits(n, v));
        bytes += of_cross_entropy(b) + scratch_slopes(n, chunk);
        if (on_device(n))
            bytes += of_head_products(n, node_int(n, "chunk", rows), v);
    }
    return bytes;
}

int64_t
node_scratch(const Node *n)
{
    if (n->op == OP_cross_entropy)
        return of_cross_entropy(n);
    if (n->op == OP_global_norm)
        return of_global_norm(n);
    if (n->op == OP_attention_grad && on_device(n))
        return scratch_part(type_bytes(&n->args[5]->type));
    const char *kind = n->op == OP_fused ? node_word(n, "kind", "") : "";
    if (strcmp(kind, "head") == 0)
        return of_head(n);
    if (strcmp(kind, "reduce") == 0)
        return of_reduce(n);
    if (strcmp(kind, "row") == 0)
        return of_rows(n);
    if ((n->op == OP_matmul || strcmp(kind, "matmul") == 0) && on_device(n))
        return of_matmul(n);
    return n->op == OP_reduce_sum ? of_reduce(n) : 0;
}
