/* The update of a step: norm of all gradients, one sweep over all parameters,
 * counters. Tensors stand in a table; pieces are blocks of them. */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

enum {
    SWEEP_PIECE = 32768,
    LEAST_SWEEP_PIECE = 2048,
    FEW_SWEEP_PIECES = 32,
    DEVICE_PIECE = 8192,
    MANY_ELEMENTS = 1 << 22, /* of a sweep: from memory, not from a cache */
    AHEAD = 256,
    NEAR_AHEAD = 64,
    LINE_ELEMENTS = 16
};

/* ---- tables ---- */

static const Tensor *
storage(const Value *v)
{
    return v->home->tensor;
}

static Region
region_of(const Value *v)
{
    return storage(v) ? storage(v)->region : v->home->region;
}

/* Offset of a value in its region, in elements. */
static int64_t
element_offset(const Value *v)
{
    int64_t place = storage(v) ? storage(v)->place : v->home->place;
    return place / (dtype_info[v->type.dtype].bits / 8) + v->layout.offset;
}

/* In `region`, or a copy, f32 and dense: what the tables can say. */
static bool
fits_table(const Value *v, Region region)
{
    Layout l = v->layout;
    l.offset = 0;
    return (region_of(v) == region || !storage(v)) && v->type.dtype == DT_f32 && layout_is_dense(&l, &v->type);
}

/* On a device a piece is a block. */
static void
set_blocks(Kernel *k, int64_t pieces)
{
    k->pieces = pieces;
    k->run = RUN_blocks;
    k->count = pieces;
    k->threads = 256;
    HeadLine line = {"piece", "const int64_t piece = blockIdx.x;"};
    vec_push(k->cg->arena, &k->head, line);
}

/* The loop over elements lo to hi of a piece. */
static void
open_elements(Kernel *k)
{
    if (k->cg->cuda)
        emit_open(&k->out, "for (int64_t c = lo + threadIdx.x; c < hi; "
                           "c += blockDim.x)");
    else
        emit_open(&k->out, "for (int64_t c = lo; c < hi; c++)");
}

/* The row whose pieces `piece` is one of, and the elements lo to hi of it. */
static void
emit_find(Kernel *k, int rows, int64_t each)
{
    Emit *e = &k->out;
    if (rows > 1 && k->cg->cuda) {
        emit_line(e, "int i = 0, past = %d;", rows);
        emit_open(e, "while (past - i > 1)");
        emit_line(e, "const int half = (i + past) / 2;");
        emit_line(e, "if (rows[half].first <= piece)");
        emit_line(e, "    i = half;");
        emit_line(e, "else");
        emit_line(e, "    past = half;");
        emit_close(e, "");
        emit_line(e,
                  "const int64_t lo = (piece - rows[i].first) * %" PRId64 ";",
                  each);
    } else if (rows > 1) {
        emit_line(e, "int i = 0;");
        emit_line(e, "while (i + 1 < %d && rows[i + 1].first <= piece)", rows);
        emit_line(e, "    i++;");
        emit_line(e,
                  "const int64_t lo = (piece - rows[i].first) * %" PRId64 ";",
                  each);
    } else {
        emit_line(e, "const int i = 0;");
        emit_line(e, "const int64_t lo = piece * %" PRId64 ";", each);
    }
    emit_line(e,
              "const int64_t hi = lo + %" PRId64 " < rows[i].n ? lo + %" PRId64
              " : rows[i].n;",
              each, each);
}

static int
region_param(Kernel *k, Region region, bool write)
{
    return kernel_region(k, region, DT_f32, write);
}

/* ---- norm of all gradients ---- */

static void
emit_norm_block(Kernel *k, const char *sums)
{
    Emit *e = &k->out;
    emit_line(e, "__shared__ double folds[32];");
    emit_line(e, "double sum = 0;");
    open_elements(k);
    emit_line(e, "sum += (double)g[c] * (double)g[c];");
    emit_close(e, "");
    emit_line(e, "const double whole = edl_block_sum(sum, folds);");
    emit_line(e, "if (threadIdx.x == 0)");
    emit_line(e, "    %s[piece] = whole;", sums);
    k->comment = "squares of all gradients, a sum a block";
}

static void
norm_pieces_body(Kernel *k)
{
    const Node *n = k->node;
    Emit *e = &k->out;
    const char *grads = kernel_name(k, region_param(k, REGION_grads, false));
    const char *sums = kernel_name(k, kernel_scratch(k, 0, DT_f64, "squares"));
    int64_t pieces = 0;
    emit_line(e, "static const struct {");
    emit_line(e, "    int64_t first, at, n;");
    emit_line(e, "} rows[] = {");
    for (int i = 0; i < n->n_args; i++) {
        const Value *g = n->args[i];
        int64_t count = type_elements(&g->type);
        emit_line(e, "    {%" PRId64 ", %" PRId64 ", %" PRId64 "}, /* %s */",
                  pieces, element_offset(g), count, g->name);
        pieces += (count + NORM_PIECE - 1) / NORM_PIECE;
    }
    emit_line(e, "};");
    emit_find(k, n->n_args, NORM_PIECE);
    emit_line(e, "const float *g = %s + rows[i].at;", grads);
    if (k->cg->cuda) {
        emit_norm_block(k, sums);
        set_blocks(k, pieces);
        return;
    }
    emit_line(e, "double sum_l[16] = {0};");
    emit_line(e, "int64_t c = lo;");
    emit_open(e, "for (; c + 16 <= hi; c += 16)");
    emit_line(e, "EDL_AHEAD(g + c + 1024);");
    emit_line(e, "EDL_LANES");
    emit_line(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "    sum_l[l] += (double)g[c + l] * (double)g[c + l];");
    emit_close(e, "");
    emit_line(e, "for (int l = 0; l < hi - c; l++)");
    emit_line(e, "    sum_l[l] += (double)g[c + l] * (double)g[c + l];");
    emit_line(e, "%s[piece] = edl_sum16(sum_l);", sums);
    k->comment = "squares of all gradients, a sum a piece";
    k->pieces = pieces;
    if (pieces == 1)
        emit_one_piece(k);
}

static void
norm_body(Kernel *k)
{
    const Node *n = k->node;
    Emit *e = &k->out;
    const char *sums = kernel_name(k, kernel_scratch(k, 0, DT_f64, "squares"));
    const char *norm = kernel_name(k, kernel_value(k, n->results[0], 0, true));
    const char *finite =
        kernel_name(k, kernel_value(k, n->results[1], 0, true));
    int64_t pieces = 0;
    for (int i = 0; i < n->n_args; i++)
        pieces +=
            (type_elements(&n->args[i]->type) + NORM_PIECE - 1) / NORM_PIECE;
    if (k->cg->cuda) {
        set_blocks(k, 1);
        emit_line(e, "__shared__ double folds[32];");
        emit_line(e, "double part = 0;");
        emit_line(e, "for (int64_t i = threadIdx.x; i < %" PRId64
                     "; i += blockDim.x)", pieces);
        emit_line(e, "    part += %s[i];", sums);
        emit_line(e, "const double sum = edl_block_sum(part, folds);");
        emit_line(e, "if (threadIdx.x > 0)");
        emit_line(e, "    return;");
    } else {
        emit_line(e, "double sum = 0;");
        emit_line(e, "for (int64_t i = 0; i < %" PRId64 "; i++)", pieces);
        emit_line(e, "    sum += %s[i];", sums);
    }
    emit_line(e, "const double whole = sqrt(sum) * %s;",
              c_double(k->cg->arena, node_float(n, "scale", 1)));
    emit_line(e, "*%s = (float)whole;", norm);
    emit_line(e, "*%s = *%s - *%s == 0;", finite, norm, norm);
    k->comment = "the norm of all gradients, and whether it is finite";
}

void
c_global_norm(Cg *cg, const Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i]->type.dtype != DT_f32)
            return; /* the update of that parameter says it */
    for (int i = 0; i < n->n_args; i++)
        if (region_of(n->args[i]) != REGION_grads ||
            !fits_table(n->args[i], REGION_grads)) {
            cg_refuse(cg, n, "has no C for what is no f32 gradient tensor");
            return;
        }
    kernel_emit(cg, n, "norm_squares", cg->m->name, norm_pieces_body, NULL);
    kernel_emit(cg, n, "norm", cg->m->name, norm_body, NULL);
}

/* ---- optimizers ---- */

typedef struct Sweep {
    VEC(const Node *) nodes; /* adamw or sgd, all of one kind */
    int n_state;             /* tensors of optimizer state of each */
    Region param, state[2];  /* where they are, all alike */
    Region grad;
} Sweep;

static const Node *
first_of(const Sweep *s)
{
    return s->nodes.at[0];
}

static const Value *
state_of(const Node *n, int i)
{
    return n->args[n->op == OP_adamw ? 2 + i : 4];
}

static int64_t
sweep_elements(const Sweep *s)
{
    int64_t all = 0;
    for (int i = 0; i < s->nodes.n; i++)
        all += type_elements(&s->nodes.at[i]->args[0]->type);
    return all;
}

/* Elements of a piece: less where there would be few pieces. */
static int64_t
sweep_piece(const Kernel *k)
{
    int64_t all = sweep_elements(k->aux), piece = SWEEP_PIECE;
    if (k->cg->cuda)
        return DEVICE_PIECE;
    while (piece > LEAST_SWEEP_PIECE && all < FEW_SWEEP_PIECES * piece)
        piece /= 2;
    return piece;
}

static void
emit_rows_head(Emit *e, const Sweep *s)
{
    bool adam = first_of(s)->op == OP_adamw;
    emit_line(e, "/* places are elements from the start of the region */");
    emit_line(e, "static const struct {");
    emit_line(e, "    int64_t first, n, p, g%s%s;",
              s->n_state == 0 ? "" : adam ? ", m" : ", v",
              s->n_state > 1 ? ", v" : "");
    emit_line(e, "    double decay, rate;");
    emit_line(e, "} rows[] = {");
}

/* n elements of a tensor from `from` on. first: the piece that begins there. */
static void
emit_row(Kernel *k, const Sweep *s, const Node *n, int64_t first, int64_t from,
         int64_t count)
{
    Arena *a = k->cg->arena;
    const char *name = value_tensor(n->args[0])->name;
    Emit row = emit_new(a);
    emit(&row, "{%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64, first,
         count, element_offset(n->args[0]) + from,
         element_offset(n->args[1]) + from);
    for (int j = 0; j < s->n_state; j++)
        emit(&row, ", %" PRId64, element_offset(state_of(n, j)) + from);
    emit_line(&k->out, from ? "/* the rest of %s */" : "/* %s */", name);
    emit_line(&k->out, "%s, %s, %s},", emit_string(&row),
              c_double(a, node_float(n, "weight_decay", 0)),
              c_double(a, node_float(n, "lr_scale", 1)));
}

/* Of a small model first the first half of each tensor, then the second: so a
 * thread updates what it made the gradient of. Answers how many rows; pieces:
 * of all. */
static int
emit_rows(Kernel *k, const Sweep *s, int64_t *pieces)
{
    int64_t each = sweep_piece(k);
    bool halves = !k->cg->cuda && sweep_elements(s) < MANY_ELEMENTS;
    int rows = 0;
    *pieces = 0;
    emit_rows_head(&k->out, s);
    k->out.indent++;
    for (int part = 0; part < 1 + halves; part++)
        for (int i = 0; i < s->nodes.n; i++) {
            const Node *n = s->nodes.at[i];
            int64_t all = type_elements(&n->args[0]->type), half = all;
            if (halves && all > each)
                half = (all / 2 + LINE_ELEMENTS - 1) / LINE_ELEMENTS *
                       LINE_ELEMENTS;
            int64_t count = part ? all - half : half;
            if (count == 0)
                continue;
            emit_row(k, s, n, *pieces, part ? half : 0, count);
            *pieces += (count + each - 1) / each;
            rows++;
        }
    k->out.indent--;
    emit_line(&k->out, "};");
    return rows;
}

static const char *
operand(Kernel *k, const Node *n, int i)
{
    return kernel_name(k, kernel_value(k, n->args[i], 0, false));
}

static void
emit_go(Kernel *k, const Node *n, int i)
{
    emit_line(&k->out, "if (!*%s)", operand(k, n, i));
    emit_line(&k->out, "    return;");
}

/* On a device the update is queued before it is known whether an index was
 * out of range; it changes nothing then. */
static void
emit_no_fault(Kernel *k)
{
    if (!k->cg->cuda)
        return;
    emit_line(&k->out, "if (*%s)", kernel_fault(k));
    emit_line(&k->out, "    return;");
}

/* What a sweep does to the element at index `at`. */
typedef void ElementFn(Kernel *k, const Sweep *s, const char *at);

/* Elements lo to hi of a piece. A processor does not follow four streams of
 * memory well by itself: a line of each of `arrays`, a letter each, is asked
 * for in time. In a cache they are there, but for the parameters: other
 * threads have read them since they were written. */
static void
each_element(Kernel *k, const Sweep *s, ElementFn *element, const char *arrays)
{
    Emit *e = &k->out;
    bool far = sweep_elements(s) >= MANY_ELEMENTS;
    if (k->cg->cuda) {
        open_elements(k);
        element(k, s, "c");
        emit_close(e, "");
        return;
    }
    emit_line(e, "int64_t c = lo;");
    emit_open(e, "for (; c + 16 <= hi; c += 16)");
    for (; far && *arrays; arrays++)
        emit_line(e, "EDL_AHEAD(%c + c + %d);", *arrays, AHEAD);
    if (!far) {
        emit_line(e, "EDL_TO_WRITE(p + c + %d);", NEAR_AHEAD);
        emit_line(e, "EDL_LANES");
    }
    emit_open(e, "for (int l = 0; l < 16; l++)");
    element(k, s, "c + l");
    emit_close(e, "");
    emit_close(e, "");
    emit_open(e, "for (; c < hi; c++)");
    element(k, s, "c");
    emit_close(e, "");
}

static void
adamw_element(Kernel *k, const Sweep *s, const char *at)
{
    const Node *n = first_of(s);
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    double b1 = node_float(n, "beta1", 0.9), b2 = node_float(n, "beta2", 0.999);
    emit_line(e, "const float grad = g[%s] * by;", at);
    emit_line(e, "m[%s] = edl_normalf(%s * m[%s] + %s * grad);", at,
              c_number(a, DT_f32, b1), at, c_number(a, DT_f32, 1 - b1));
    emit_line(e, "v[%s] = edl_normalf(%s * v[%s] + %s * grad * grad);", at,
              c_number(a, DT_f32, b2), at, c_number(a, DT_f32, 1 - b2));
    emit_line(e, "p[%s] = p[%s] * keep -", at, at);
    emit_line(e, "       step * m[%s] / (edl_sqrtf(v[%s]) * root + %s);", at,
              at, c_number(a, DT_f32, node_float(n, "eps", 1e-8)));
}

/* As PyTorch's AdamW: decoupled decay, eps outside the root. */
static void
emit_adamw(Kernel *k, const Sweep *s, const char *param,
           const char *const *state, const char *grads)
{
    const Node *n = first_of(s);
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    double b1 = node_float(n, "beta1", 0.9), b2 = node_float(n, "beta2", 0.999);
    emit_line(e, "const double now = (double)(*%s + 1);", operand(k, n, 4));
    emit_line(e, "const double rate = (double)*%s * rows[i].rate;",
              operand(k, n, 5));
    emit_line(e, "const float step = (float)(rate / (1.0 - pow(%s, now)));",
              c_double(a, b1));
    emit_line(e, "const float root = (float)(1.0 / sqrt(1.0 - pow(%s, now)));",
              c_double(a, b2));
    emit_line(e, "const float keep = (float)(1.0 - rate * rows[i].decay);");
    emit_line(e, "const float by = *%s;", operand(k, n, 6));
    emit_line(e, "float *EDL_RESTRICT p = %s + rows[i].p;", param);
    emit_line(e, "float *EDL_RESTRICT m = %s + rows[i].m;", state[0]);
    emit_line(e, "float *EDL_RESTRICT v = %s + rows[i].v;", state[1]);
    emit_line(e, "const float *g = %s + rows[i].g;", grads);
    each_element(k, s, adamw_element, "gpmv");
}

static void
sgd_element(Kernel *k, const Sweep *s, const char *at)
{
    const Node *n = first_of(s);
    Emit *e = &k->out;
    const char *momentum =
        c_number(k->cg->arena, DT_f32, node_float(n, "momentum", 0));
    emit_line(e, "const float grad = g[%s] * by + decay * p[%s];", at, at);
    if (s->n_state)
        emit_line(e, "v[%s] = edl_normalf(%s * v[%s] + grad);", at, momentum,
                  at);
    if (s->n_state && node_flag(n, "nesterov"))
        emit_line(e, "p[%s] -= rate * (grad + %s * v[%s]);", at, momentum, at);
    else if (s->n_state)
        emit_line(e, "p[%s] -= rate * v[%s];", at, at);
    else
        emit_line(e, "p[%s] -= rate * grad;", at);
}

static void
emit_sgd(Kernel *k, const Sweep *s, const char *param,
         const char *const *state, const char *grads)
{
    const Node *n = first_of(s);
    Emit *e = &k->out;
    emit_line(e, "const float rate = (float)((double)*%s * rows[i].rate);",
              operand(k, n, 2));
    emit_line(e, "const float decay = (float)rows[i].decay;");
    emit_line(e, "const float by = *%s;", operand(k, n, 3));
    emit_line(e, "float *EDL_RESTRICT p = %s + rows[i].p;", param);
    if (s->n_state)
        emit_line(e, "float *EDL_RESTRICT v = %s + rows[i].v;", state[0]);
    emit_line(e, "const float *g = %s + rows[i].g;", grads);
    each_element(k, s, sgd_element, s->n_state ? "gpv" : "gp");
}

static void
sweep_body(Kernel *k)
{
    const Sweep *s = k->aux;
    const Node *n = first_of(s);
    const char *param = kernel_name(k, region_param(k, s->param, true));
    const char *state[2] = {param, param};
    for (int i = 0; i < s->n_state; i++)
        state[i] = kernel_name(k, region_param(k, s->state[i], true));
    const char *grads = kernel_name(k, region_param(k, s->grad, false));
    emit_no_fault(k);
    if (n->op == OP_adamw && n->n_args == 8)
        emit_go(k, n, 7);
    if (n->op == OP_sgd && node_flag(n, "go"))
        emit_go(k, n, n->n_args - 1);
    int64_t pieces;
    int rows = emit_rows(k, s, &pieces);
    emit_find(k, rows, sweep_piece(k));
    if (n->op == OP_adamw)
        emit_adamw(k, s, param, state, grads);
    else
        emit_sgd(k, s, param, state, grads);
    k->comment = "one sweep over parameters, gradients, optimizer state";
    k->pieces = pieces;
    if (k->cg->cuda)
        set_blocks(k, pieces);
    else if (pieces == 1)
        emit_one_piece(k);
}

static void
set_regions(Sweep *s, const Node *n)
{
    s->param = region_of(n->args[0]);
    s->grad = region_of(n->args[1]);
    for (int i = 0; i < s->n_state; i++)
        s->state[i] = region_of(state_of(n, i));
}

/* The rows of a table count from the start of one region each. */
static bool
is_in_regions(const Sweep *s, const Node *n)
{
    bool same = region_of(n->args[0]) == s->param &&
                region_of(n->args[1]) == s->grad;
    for (int i = 0; i < s->n_state; i++)
        same &= region_of(state_of(n, i)) == s->state[i];
    return same;
}

static void
refuse(Cg *cg, const Node *n)
{
    const Value *p = n->args[0];
    if (p->type.dtype == DT_f32)
        cg_refuse(cg, n, "has no C for a parameter whose gradient lies apart");
    else
        cg_refuse(cg, n,
                  arena_printf(cg->arena,
                               "updates f32 parameters, `%s` is %s; declare it "
                               "f32 and cast where it is read",
                               p->name, dtype_info[p->type.dtype].name));
}

static void
collect(Sweep *s, Cg *cg, const Node *n)
{
    if (op_info[n->op].flags & OP_OPTIMIZER) {
        vec_push(cg->arena, &s->nodes, n);
        bool ok = fits_table(n->args[0], REGION_state) &&
                  fits_table(n->args[1], region_of(n->args[1]));
        s->n_state = n->op == OP_adamw                   ? 2
                     : node_float(n, "momentum", 0) != 0 ? 1
                                                         : 0;
        for (int j = 0; j < s->n_state; j++)
            ok &= fits_table(state_of(n, j), REGION_state);
        if (ok && s->nodes.n == 1)
            set_regions(s, n);
        if (!ok || !is_in_regions(s, n))
            refuse(cg, n);
    }
    if (n->body)
        graph_each(n->body, b)
            collect(s, cg, b);
}

void
c_sweep(Cg *cg, const Node *n)
{
    Sweep s = {0};
    collect(&s, cg, n);
    if (s.nodes.n == 0 || cg->failed)
        return;
    const Node *first = first_of(&s);
    kernel_emit(cg, first, op_info[first->op].name,
                n->op == OP_fused ? cg->m->name
                                  : value_tensor(first->args[0])->name,
                sweep_body, &s);
}

/* ---- counters ---- */

static void
count_body(Kernel *k)
{
    const Node *n = k->node;
    const char *t = kernel_name(k, kernel_tensor(k, n->tensor, true));
    emit_no_fault(k);
    if (n->n_args)
        emit_go(k, n, 0);
    emit_line(&k->out, "*%s += 1;", t);
}

void
c_count(Cg *cg, const Node *n)
{
    kernel_emit(cg, n, "count", n->tensor->name, count_body, NULL);
}

void
c_learning_rate(Cg *cg, const Node *n)
{
    const char *to = address_value(cg, n->results[0], 0);
    if (cg->cuda)
        emit_line(cg_calls(cg), "edl_set_rate(m, %s);", to);
    else
        emit_line(cg_calls(cg), "*%s = (float)edl_lr(m);", to);
}
