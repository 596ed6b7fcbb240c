/* The head of a model and its loss in chunks of rows: the logits of a chunk
 * are the only ones that exist; their gradient is made over them. */
#include "codegen/classes.h"
#include "ir/scratch.h"

#include <inttypes.h>

enum { COLUMNS = 64 };

typedef struct Head {
    const Node *group;
    const Node *product, *loss, *grad, *dx, *dw, *sum;
    const Node *dbias, *bias_sum;
    const Value *bias; /* added to every row of the product, or NULL */
    int64_t rows, inner, chunk; /* inner: the width of x */
    Classes classes;
    const Value *w; /* the weight, as it lies in memory */
    bool bf16;      /* products of bf16; logits lie as f32 */
    bool narrow;    /* but their gradient as bf16: on a device */
    const char *row;    /* C text of the first row of the chunk */
    int64_t chunk_rows; /* of the chunk that is emitted */
    int64_t line; /* elements from a row of logits to the next */
} Head;

static Head
head_of(Cg *cg, const Node *n)
{
    Head h = {.group = n};
    graph_each(n->body, b) {
        if (b->op == OP_cross_entropy)
            h.loss = b;
        else if (b->op == OP_cross_entropy_grad)
            h.grad = b;
        else if (b->op == OP_add)
            h.bias = b->args[b->args[0] == h.product->results[0]];
        else if (b->op == OP_reduce_sum)
            h.dbias = b;
        else if (b->op == OP_accumulate && b->args[0]->def == h.dbias)
            h.bias_sum = b;
        else if (b->op == OP_accumulate)
            h.sum = b;
        else if (b->op == OP_matmul && !h.product)
            h.product = b;
        else if (b->op == OP_matmul && node_flag(b, "ta"))
            h.dw = b;
        else if (b->op == OP_matmul)
            h.dx = b;
    }
    const Value *x = h.product->args[0], *w = h.product->args[1];
    h.w = w->def->graph == n->body && w->def->op == OP_cast ? w->def->args[0]
                                                            : w;
    h.bf16 = x->type.dtype == DT_bf16;
    h.narrow = h.bf16 && h.grad && cg->cuda;
    h.rows = x->type.dim[0];
    h.inner = x->type.dim[1];
    h.chunk = node_int(n, "chunk", h.rows);
    if (h.chunk > h.rows)
        h.chunk = h.rows;
    h.classes = classes_of(h.loss, h.product->results[0]);
    h.line = scratch_logits(n, h.classes.n);
    return h;
}

/* ---- addresses in the chunk ---- */

/* Row `row` of a value, where rows are `stride` elements apart. */
static const char *
at_row(Cg *cg, const Head *h, const char *address, int64_t stride)
{
    if (strcmp(h->row, "0") == 0)
        return address;
    if (stride == 1)
        return arena_printf(cg->arena, "%s + %s", address, h->row);
    return arena_printf(cg->arena, "%s + %s * %" PRId64, address, h->row,
                        stride);
}

static const char *
rows_of(Cg *cg, const Head *h, const Value *v)
{
    return at_row(cg, h, address_value(cg, v, 0), v->layout.stride[0]);
}

static const char *
logits_of(Cg *cg, const Head *h)
{
    return address_scratch(cg, h->group, 0, DT_f32, "logits");
}

/* The gradient of the logits: over them, or as bf16 behind the losses. */
static const char *
slopes_of(Cg *cg, const Head *h)
{
    if (!h->narrow)
        return logits_of(cg, h);
    int64_t at = scratch_part(4 * h->chunk * h->line) +
                 scratch_part(4 * h->rows);
    return address_scratch(cg, h->group, at, DT_bf16, "slopes");
}

static const char *
losses_of(Cg *cg, const Head *h)
{
    int64_t at = scratch_part(4 * h->chunk * h->line);
    return address_scratch(cg, h->group, at, DT_f32, "losses");
}

/* ---- the rows of a chunk ---- */

static int
address_access(Loops *s, Dtype d, const char *address, bool write,
               const char *name, int64_t row, int64_t column)
{
    int64_t stride[MAX_RANK] = {row, column};
    return loops_strided(s, kernel_address(s->k, d, address, write, name), d,
                         stride);
}

/* Of a part of the scratch. */
static int
scratch_access(Loops *s, Dtype d, const char *address, bool write,
               const char *name, int64_t row)
{
    int access = address_access(s, d, address, write, name, row, 1);
    kernel_aligned(s->k, s->access.at[access].param);
    return access;
}

static int
scale_of(Cells *c, const Head *h)
{
    int dloss = cells_value(c, h->grad->args[0]);
    if (!h->classes.mean)
        return dloss;
    int count;
    if (h->classes.ignore)
        count = cells_value(c, h->loss->results[2]);
    else
        count = cells_literal(c, DT_i32,
                              c_integer(c->k->cg->arena, DT_i32, h->rows));
    return cells_expr2(c, DT_f32, "scale", "%0 / (float)%1", dloss, count);
}

/* bias: its access, if there is one. */
static int
biased(Cells *c, const Head *h, int product, int *bias)
{
    if (!h->bias)
        return product;
    *bias = address_access(c->loops, DT_f32,
                           address_value(c->k->cg, h->bias, 0), false, "bias",
                           0, h->bias->layout.stride[0]);
    return cells_expr2(c, DT_f32, "logit", "%0 + %1", product,
                       cells_load(c, *bias, "bias"));
}

/* Over the logits: for products, if those do not read another copy, and for
 * the gradient of a bias. */
static void
store_grad(Cells *c, const Head *h, int grad, int logits, int slopes)
{
    cells_store(c, grad, slopes);
    if (slopes != logits && h->dbias)
        cells_store(c, grad, logits);
}

static void
put_hit(Cells *c, const Head *h, int valid, int logits, int slopes)
{
    Arena *a = c->k->cg->arena;
    classes_put_hit(c, valid, loops_element(c->loops, slopes, "at"),
                    h->narrow ? c_store(a, DT_bf16, "hit") : "hit");
    if (slopes != logits && h->dbias)
        classes_put_hit(c, valid, loops_element(c->loops, logits, "at"), "hit");
}

static void
rows_body(Kernel *k)
{
    const Head *h = k->aux;
    Cg *cg = k->cg;
    const Classes *cl = &h->classes;
    const Value *targets = h->loss->args[1];
    Type t = {.dtype = DT_f32, .rank = 2, .dim = {h->chunk_rows, cl->n}};
    Loops s = loops_new(k, &t, 2u);
    Cells c = cells_new(k, &s);
    int logits = scratch_access(&s, DT_f32, logits_of(cg, h),
                                h->grad && (!h->narrow || h->dbias), "logits",
                                h->line);
    int slopes = logits, bias = -1;
    int x = biased(&c, h, cells_load(&c, logits, h->bias ? "product" : "logit"),
                   &bias);
    int ids = address_access(&s, targets->type.dtype, rows_of(cg, h, targets),
                             false, "targets", targets->layout.stride[0], 0);
    int target = cells_load(&c, ids, "target");
    int losses = address_access(&s, DT_f32, at_row(cg, h, losses_of(cg, h), 1),
                                true, "losses", 1, 0);
    int valid = classes_valid(&c, cl, target);
    int lse = row_lse_cell(&c, x, "lse");
    int all = cl->smoothing == 0 ? -1 : cells_fold(&c, FOLD_sum, "all", x);
    int scale = -1;
    if (h->grad) {
        scale = scale_of(&c, h);
        if (h->narrow)
            slopes = scratch_access(&s, DT_bf16, slopes_of(cg, h), true,
                                    "slopes", h->line);
        store_grad(&c, h,
                   classes_grad(&c, cl, DT_f32, x, lse, scale, valid, "grad"),
                   logits, slopes);
    }
    kernel_fault(k);
    k->comment =
        arena_printf(cg->arena, "loss of %" PRId64 " rows%s", h->chunk_rows,
                     h->grad ? ", and the gradient over the logits" : "");
    cells_settle(&c);
    loops_open(&s);
    classes_emit_target(&c, cl, target, valid);
    emit_line(&k->out, "const float own = %s%s%s;",
              loops_element(&s, logits, "at"), h->bias ? " + " : "",
              h->bias ? loops_element(&s, bias, "at") : "");
    cells_emit(&c);
    loops_open_single(&s);
    emit_line(&k->out, "%s = %s;", loops_element(&s, losses, "c"),
              classes_loss(&c, cl, DT_f32, lse, "own", all, valid));
    loops_close_single(&s);
    if (h->grad) {
        classes_emit_hit(&c, cl, DT_f32, lse, scale, "own");
        put_hit(&c, h, valid, logits, slopes);
    }
    loops_close(&s);
}

/* ---- products ---- */

/* Behind the logits and the losses. */
static const char *
workspace_of(Cg *cg, const Head *h)
{
    if (!cg->cuda)
        return NULL;
    int64_t at = scratch_part(4 * h->chunk * h->line) +
                 scratch_part(4 * h->rows) +
                 scratch_slopes(h->group, h->chunk);
    return address_scratch(cg, h->group, at, DT_f32, "workspace");
}

static void
emit_logits(Cg *cg, const Head *h)
{
    const Value *x = h->product->args[0], *w = h->w;
    bool tb = node_flag(h->product, "tb");
    ProductSpec p = {.bf16 = h->bf16,
                     .a_dtype = x->type.dtype,
                     .b_dtype = w->type.dtype,
                     .m = h->chunk_rows,
                     .n = h->classes.n,
                     .k = h->inner,
                     .a = rows_of(cg, h, x),
                     .b = address_value(cg, w, 0),
                     .c = logits_of(cg, h),
                     .c_row = h->line,
                     .a_row = x->layout.stride[0],
                     .a_col = x->layout.stride[1],
                     .b_row = w->layout.stride[tb ? 1 : 0],
                     .b_col = w->layout.stride[tb ? 0 : 1],
                     .workspace = workspace_of(cg, h)};
    c_product(cg, h->group, h->product->results[0]->name, &p);
}

static void
emit_dx(Cg *cg, const Head *h)
{
    const Value *w = h->w, *dx = h->dx->results[0];
    bool tb = node_flag(h->dx, "tb");
    ProductSpec p = {.bf16 = h->bf16,
                     .a_dtype = h->narrow ? DT_bf16 : DT_f32,
                     .b_dtype = w->type.dtype,
                     .m = h->chunk_rows,
                     .n = h->inner,
                     .k = h->classes.n,
                     .a = slopes_of(cg, h),
                     .a_row = h->line,
                     .a_col = 1,
                     .b = address_value(cg, w, 0),
                     .b_row = w->layout.stride[tb ? 1 : 0],
                     .b_col = w->layout.stride[tb ? 0 : 1],
                     .c = rows_of(cg, h, dx),
                     .c_row = dx->layout.stride[0],
                     .workspace = workspace_of(cg, h)};
    c_product(cg, h->group, dx->name, &p);
}

/* The chain of an element goes on from chunk to chunk. */
static const char *
goes_on(Cg *cg, const Head *h, const Node *sum)
{
    if (node_flag(sum, "more"))
        return "1";
    cg->uses_mb = true;
    return strcmp(h->row, "0") == 0
               ? "mb > 0"
               : arena_printf(cg->arena, "mb > 0 || %s > 0", h->row);
}

static void
emit_dw(Cg *cg, const Head *h)
{
    const Value *x = h->product->args[0];
    const Tensor *to = h->sum->tensor;
    bool left = h->dw->args[0] != x;
    Dtype slopes = h->narrow ? DT_bf16 : DT_f32;
    ProductSpec p = {.bf16 = h->bf16,
                     .a_dtype = left ? slopes : x->type.dtype,
                     .b_dtype = left ? x->type.dtype : slopes,
                     .k = h->chunk_rows,
                     .c = address_tensor(cg, to, 0),
                     .c_row = to->layout.stride[0],
                     .add = goes_on(cg, h, h->sum),
                     .workspace = workspace_of(cg, h)};
    const char *d = slopes_of(cg, h), *rows = rows_of(cg, h, x);
    p.m = left ? h->classes.n : h->inner;
    p.n = left ? h->inner : h->classes.n;
    p.a = left ? d : rows;
    p.b = left ? rows : d;
    p.a_row = left ? 1 : x->layout.stride[1];
    p.a_col = left ? h->line : x->layout.stride[0];
    p.b_row = left ? x->layout.stride[0] : h->line;
    p.b_col = left ? x->layout.stride[1] : 1;
    c_product(cg, h->group, h->dw->results[0]->name, &p);
}

/* ---- the gradient of a bias ---- */

/* Down 64 columns at once; on a device a thread goes down one. */
static void
emit_sums(Kernel *k, const Head *h, const char *slopes, const char *to)
{
    Emit *e = &k->out;
    int64_t n = h->classes.n;
    emit_line(e, "const int64_t from = piece * %d;", COLUMNS);
    emit_line(e,
              "const int64_t n = %" PRId64 " - from < %d ? %" PRId64
              " - from : %d;",
              n, COLUMNS, n, COLUMNS);
    emit_line(e, "float sum[%d] = {0};", COLUMNS);
    emit_line(e, "for (int64_t l = 0; add && l < n; l++)");
    emit_line(e, "    sum[l] = %s[from + l];", to);
    emit_line(e, "for (int64_t r = 0; r < %" PRId64 "; r++)", h->chunk_rows);
    emit_line(e, "    for (int64_t l = 0; l < n; l++)");
    emit_line(e, "        sum[l] += %s[r * %" PRId64 " + from + l];", slopes,
              h->line);
    emit_line(e, "for (int64_t l = 0; l < n; l++)");
    emit_line(e, "    %s[from + l] = sum[l];", to);
}

static void
emit_sum(Kernel *k, const Head *h, const char *slopes, const char *to)
{
    Emit *e = &k->out;
    emit_line(e, "float sum = add ? %s[piece] : 0.0f;", to);
    emit_line(e, "for (int64_t r = 0; r < %" PRId64 "; r++)", h->chunk_rows);
    emit_line(e, "    sum += %s[r * %" PRId64 " + piece];", slopes, h->line);
    emit_line(e, "%s[piece] = sum;", to);
}

static void
bias_body(Kernel *k)
{
    const Head *h = k->aux;
    Cg *cg = k->cg;
    int64_t n = h->classes.n;
    const char *slopes = kernel_name(
        k, kernel_address(k, DT_f32, logits_of(cg, h), false, "slopes"));
    const char *to =
        kernel_name(k, kernel_address(k, DT_f32,
                                      address_tensor(cg, h->bias_sum->tensor, 0),
                                      true, "grad"));
    kernel_scalar(k, "int", "add", goes_on(cg, h, h->bias_sum));
    k->comment = arena_printf(cg->arena,
                              "the gradient of a bias goes on by %" PRId64
                              " rows",
                              h->chunk_rows);
    k->pieces = cg->cuda ? n : (n + COLUMNS - 1) / COLUMNS;
    if (cg->cuda)
        emit_sum(k, h, slopes, to);
    else
        emit_sums(k, h, slopes, to);
    if (k->pieces == 1)
        emit_one_piece(k);
}

static void
emit_chunk(Cg *cg, const Head *h)
{
    emit_logits(cg, h);
    kernel_emit(cg, h->group, "head_rows", h->loss->results[0]->name, rows_body,
                h);
    if (h->dbias)
        kernel_emit(cg, h->group, "head_bias", h->dbias->results[0]->name,
                    bias_body, h);
    if (h->dx)
        emit_dx(cg, h);
    if (h->dw)
        emit_dw(cg, h);
}

/* ---- the whole ---- */

static bool
can_emit(const Cg *cg, const Head *h)
{
    const Value *dx = h->dx ? h->dx->results[0] : NULL;
    const Value *x = h->product->args[0];
    if (cg->cuda && (!scratch_is_plain(&x->type, &x->layout) ||
                     (dx && !scratch_is_plain(&dx->type, &dx->layout))))
        return false;
    if (h->dw && (!h->sum || h->sum->tensor->layout.stride[1] != 1))
        return false;
    if (h->bias && (h->bias->type.dtype != DT_f32 || (h->dbias && !h->bias_sum)))
        return false;
    if (dx && (!has_memory(dx) || dx->layout.stride[1] != 1))
        return false;
    return !h->grad || !h->classes.mean || !h->classes.ignore ||
           has_memory(h->loss->results[2]);
}

static void
emit_chunks(Cg *cg, Head *h)
{
    int64_t whole = h->rows / h->chunk * h->chunk;
    h->chunk_rows = h->chunk;
    if (whole > h->chunk) {
        h->row = "row";
        emit_open(cg_calls(cg),
                  "for (int64_t row = 0; row < %" PRId64 "; row += %" PRId64
                  ")",
                  whole, h->chunk);
        cg->repeats = whole / h->chunk;
        emit_chunk(cg, h);
        cg->repeats = 0;
        emit_close(cg_calls(cg), "");
    } else {
        h->row = "0";
        emit_chunk(cg, h);
    }
    if (whole == h->rows)
        return;
    h->row = arena_printf(cg->arena, "%" PRId64, whole);
    h->chunk_rows = h->rows - whole;
    emit_chunk(cg, h);
}

void
c_head(Cg *cg, const Node *n)
{
    Head h = head_of(cg, n);
    const Value *valid = h.loss->results[2];
    if (!can_emit(cg, &h)) {
        cg_refuse(cg, n, "a head of this form has no C");
        return;
    }
    LossSum sum = {.targets = h.loss->args[1],
                   .valid = has_memory(valid) ? valid : NULL,
                   .classes = h.classes};
    if (sum.valid)
        c_loss_sum(cg, n, &sum);
    emit_chunks(cg, &h);
    if (!has_memory(h.loss->results[0]))
        return;
    sum.valid = NULL;
    sum.loss = h.loss->results[0];
    sum.losses = losses_of(cg, &h);
    c_loss_sum(cg, n, &sum);
}
