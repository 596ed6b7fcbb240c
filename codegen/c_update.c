/* The update of a step: one sweep over all parameters, counters. Tensors
 * stand in a table; pieces are blocks of them. */
#include "codegen/c_sweep.h"
#include "ir/optimizer.h"

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

Region
sweep_region_of(const Value *v)
{
    return storage(v) ? storage(v)->region : v->home->region;
}

int64_t
sweep_offset(const Value *v)
{
    int64_t place = storage(v) ? storage(v)->place : v->home->place;
    return place / (dtype_info[v->type.dtype].bits / 8) + v->layout.offset;
}

bool
sweep_fits(const Value *v, Region region)
{
    Layout l = v->layout;
    l.offset = 0;
    return (sweep_region_of(v) == region || !storage(v)) &&
           v->type.dtype == DT_f32 && layout_is_dense(&l, &v->type);
}

void
sweep_blocks(Kernel *k, int64_t pieces)
{
    k->pieces = pieces;
    k->run = RUN_blocks;
    k->count = pieces;
    k->threads = 256;
    HeadLine line = {"piece", "const int64_t piece = blockIdx.x;"};
    vec_push(k->cg->arena, &k->head, line);
}

void
sweep_open(Kernel *k)
{
    if (k->cg->cuda)
        emit_open(&k->out, "for (int64_t c = lo + threadIdx.x; c < hi; "
                           "c += blockDim.x)");
    else
        emit_open(&k->out, "for (int64_t c = lo; c < hi; c++)");
}

void
sweep_find(Kernel *k, int rows, int64_t each)
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

const char *
sweep_region(Kernel *k, Region region, bool write)
{
    return kernel_name(k, kernel_region(k, region, DT_f32, write, NULL));
}

/* ---- optimizers ---- */

static const Node *
first_of(const Sweep *s)
{
    return s->nodes.at[0];
}

static const Value *
state_of(const Node *n, int i)
{
    return n->args[optimizer_of(n).state[i]];
}

static int64_t
sweep_elements(const Sweep *s)
{
    int64_t all = 0;
    for (int i = 0; i < s->nodes.n; i++)
        all += type_elements(&s->nodes.at[i]->args[0]->type);
    return all;
}

/* Less where there would be few pieces. */
int64_t
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
         count, sweep_offset(n->args[0]) + from,
         sweep_offset(n->args[1]) + from);
    for (int j = 0; j < s->n_state; j++)
        emit(&row, ", %" PRId64, sweep_offset(state_of(n, j)) + from);
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

void
sweep_go(Kernel *k, const Node *n)
{
    int go = optimizer_of(n).go;
    if (go >= 0)
        emit_go(k, n, go);
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
        sweep_open(k);
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

void
sweep_adamw_element(Kernel *k, const Sweep *s, const char *at)
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
void
sweep_adamw_numbers(Kernel *k, const Sweep *s)
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
}

static void
emit_adamw(Kernel *k, const Sweep *s, const char *param,
           const char *const *state, const char *grads)
{
    Emit *e = &k->out;
    sweep_adamw_numbers(k, s);
    emit_line(e, "float *EDL_RESTRICT p = %s + rows[i].p;", param);
    emit_line(e, "float *EDL_RESTRICT m = %s + rows[i].m;", state[0]);
    emit_line(e, "float *EDL_RESTRICT v = %s + rows[i].v;", state[1]);
    emit_line(e, "const float *g = %s + rows[i].g;", grads);
    each_element(k, s, sweep_adamw_element, "gpmv");
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
    const char *param = sweep_region(k, s->param, true);
    const char *state[2] = {param, param};
    for (int i = 0; i < s->n_state; i++)
        state[i] = sweep_region(k, s->state[i], true);
    const char *grads = sweep_region(k, s->grad, false);
    emit_no_fault(k);
    sweep_go(k, n);
    int64_t pieces;
    int rows = emit_rows(k, s, &pieces);
    sweep_find(k, rows, sweep_piece(k));
    if (n->op == OP_adamw)
        emit_adamw(k, s, param, state, grads);
    else
        emit_sgd(k, s, param, state, grads);
    k->comment = "one sweep over parameters, gradients, optimizer state";
    k->pieces = pieces;
    if (k->cg->cuda)
        sweep_blocks(k, pieces);
    else if (pieces == 1)
        emit_one_piece(k);
}

static void
set_regions(Sweep *s, const Node *n)
{
    s->param = sweep_region_of(n->args[0]);
    s->grad = sweep_region_of(n->args[1]);
    for (int i = 0; i < s->n_state; i++)
        s->state[i] = sweep_region_of(state_of(n, i));
}

/* The rows of a table count from the start of one region each. */
static bool
is_in_regions(const Sweep *s, const Node *n)
{
    bool same = sweep_region_of(n->args[0]) == s->param &&
                sweep_region_of(n->args[1]) == s->grad;
    for (int i = 0; i < s->n_state; i++)
        same &= sweep_region_of(state_of(n, i)) == s->state[i];
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

/* Of i8, which nothing moves. */
static bool
has_codes(const Node *n)
{
    Optimizer o = optimizer_of(n);
    return o.n_state > 0 && o.scale[0] >= 0;
}

static void
collect(Sweep *s, Cg *cg, const Node *n)
{
    if ((op_info[n->op].flags & OP_OPTIMIZER) && has_codes(n) == s->codes) {
        vec_push(cg->arena, &s->nodes, n);
        bool ok = sweep_fits(n->args[0], REGION_state) &&
                  sweep_fits(n->args[1], sweep_region_of(n->args[1]));
        s->n_state = optimizer_of(n).n_state;
        for (int j = 0; j < s->n_state; j++)
            ok &= s->codes ? sweep_region_of(state_of(n, j)) == REGION_state
                           : sweep_fits(state_of(n, j), REGION_state);
        if (ok && s->nodes.n == 1)
            set_regions(s, n);
        if (!ok || !is_in_regions(s, n))
            refuse(cg, n);
    }
    if (n->body)
        graph_each(n->body, b)
            collect(s, cg, b);
}

static void
emit_sweep(Cg *cg, const Node *n, bool codes)
{
    Sweep s = {.codes = codes};
    collect(&s, cg, n);
    if (s.nodes.n == 0 || cg->failed)
        return;
    const Node *first = first_of(&s);
    const char *op = op_info[first->op].name;
    kernel_emit(cg, first, codes ? arena_printf(cg->arena, "%s_i8", op) : op,
                n->op == OP_fused ? cg->m->name
                                  : value_tensor(first->args[0])->name,
                codes ? sweep_codes_body : sweep_body, &s);
}

void
c_sweep(Cg *cg, const Node *n)
{
    emit_sweep(cg, n, true);
    emit_sweep(cg, n, false);
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
