/* Attention without the matrix of scores: rows of queries against blocks of
 * 64 keys, with a running maximum; the gradient computes scores again from
 * lse. One query at a time. */
#include "codegen/c_ops.h"

#include <inttypes.h>

/* Query heads of a group are an axis of their own: q is [.., G, R, T, D] with
 * R = H / G, and k and v, [.., G, S, D], do not move along R. */
typedef struct Heads {
    const Node *node;
    Type rows; /* [.., G, R, T, D] */
    int64_t t, s, d, r;
    int q_at, mask_at, bias_at; /* operands; -1: not there */
    bool causal;
    int64_t shift; /* query t sees keys up to t + shift */
    double scale;
} Heads;

static Heads
heads_of(const Node *n, int q_at, int extra)
{
    const Type *q = &n->args[q_at]->type, *k = &n->args[q_at + 1]->type;
    int r = q->rank;
    Heads h = {.node = n,
               .rows = *q,
               .q_at = q_at,
               .mask_at = -1,
               .bias_at = -1,
               .t = q->dim[r - 2],
               .d = q->dim[r - 1],
               .s = k->dim[r - 2],
               .r = q->dim[r - 3] / k->dim[r - 3]};
    h.rows.rank = r + 1;
    h.rows.dim[r - 3] = k->dim[r - 3];
    h.rows.dim[r - 2] = h.r;
    h.rows.dim[r - 1] = h.t;
    h.rows.dim[r] = h.d;
    if (node_flag(n, "mask"))
        h.mask_at = extra++;
    if (node_flag(n, "bias"))
        h.bias_at = extra;
    h.causal = node_flag(n, "causal");
    if (strcmp(node_word(n, "align", "start"), "end") == 0)
        h.shift = h.s - h.t;
    h.scale = node_float(n, "scale", 1);
    return h;
}

/* [.., H, T, D], or without D: moves along G, R and T. */
static int
query_access(Loops *s, const Heads *h, const Value *v, bool write)
{
    int64_t stride[MAX_RANK] = {0};
    int heads = h->rows.rank - 4; /* the axis of H in v */
    for (int i = 0; i < v->type.rank; i++)
        stride[i <= heads ? i : i + 1] = v->layout.stride[i];
    stride[heads + 1] = stride[heads];
    stride[heads] *= h->r;
    return loops_strided(s, kernel_value(s->k, v, 0, write), v->type.dtype,
                         stride);
}

/* [.., G, S, D]: moves along G and D; S is the caller's. */
static int
key_access(Loops *s, const Heads *h, const Value *v, bool write)
{
    int64_t stride[MAX_RANK] = {0};
    int heads = h->rows.rank - 4;
    for (int i = 0; i <= heads; i++)
        stride[i] = v->layout.stride[i];
    stride[heads + 3] = v->layout.stride[heads + 2];
    int a = loops_strided(s, kernel_value(s->k, v, 0, write), v->type.dtype,
                          stride);
    s->access.at[a].late = true;
    s->access.at[a].shift = arena_printf(s->k->cg->arena, "s * %" PRId64,
                                         v->layout.stride[heads + 1]);
    return a;
}

/* A mask or bias, which broadcasts to [.., H, T, S]. */
static int
score_access(Loops *s, const Heads *h, const Value *v, bool write)
{
    int64_t full[MAX_RANK] = {0}, stride[MAX_RANK] = {0};
    int rank = h->rows.rank - 1, heads = h->rows.rank - 4;
    int shift = rank - v->type.rank;
    for (int i = 0; i < v->type.rank; i++)
        full[i + shift] = v->type.dim[i] == 1 ? 0 : v->layout.stride[i];
    for (int i = 0; i < heads; i++)
        stride[i] = full[i];
    stride[heads] = full[heads] * h->r;
    stride[heads + 1] = full[heads];
    stride[heads + 2] = full[heads + 1];
    int a = loops_strided(s, kernel_value(s->k, v, 0, write), v->type.dtype,
                          stride);
    s->access.at[a].late = true;
    s->access.at[a].shift =
        arena_printf(s->k->cg->arena, "s * %" PRId64, full[heads + 2]);
    return a;
}

/* ---- pieces of text ---- */

static const char *
load(Loops *s, int access)
{
    return c_load(s->k->cg->arena, s->access.at[access].dtype,
                  loops_element(s, access, "d"));
}

/* const float NAME = sum of x[d] * y[d], in 16 lanes. */
static void
emit_dot(Kernel *k, const Heads *h, const char *name, const char *x,
         const char *y)
{
    Emit *e = &k->out;
    int64_t whole = h->d / 16 * 16;
    emit_line(e, "float %s_l[16] = {0};", name);
    if (whole) {
        emit_open(e, "for (int64_t d0 = 0; d0 < %" PRId64 "; d0 += 16)", whole);
        emit_open(e, "for (int l = 0; l < 16; l++)");
        emit_line(e, "const int64_t d = d0 + l;");
        emit_line(e, "%s_l[l] = edl_fmaf(%s, %s, %s_l[l]);", name, x, y, name);
        emit_close(e, "");
        emit_close(e, "");
    }
    if (whole < h->d) {
        emit_line(e, "for (int64_t d = %" PRId64 "; d < %" PRId64 "; d++)",
                  whole, h->d);
        emit_line(e,
                  "    %s_l[d - %" PRId64
                  "] = edl_fmaf(%s, %s, %s_l[d - %" PRId64 "]);",
                  name, whole, x, y, name, whole);
    }
    emit_line(e, "const float %s = edl_sum16f(%s_l);", name, name);
}

static void
open_d(Kernel *k, const Heads *h)
{
    emit_open(&k->out, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
}

/* How many keys query t may see: "keys". */
static void
emit_keys(Kernel *k, const Heads *h, const char *t)
{
    Emit *e = &k->out;
    if (!h->causal) {
        emit_line(e, "const int64_t keys = %" PRId64 ";", h->s);
        return;
    }
    emit_line(e, "int64_t keys = %s + %" PRId64 ";", t, h->shift + 1);
    emit_line(e,
              "keys = keys < 0 ? 0 : keys > %" PRId64 " ? %" PRId64 " : keys;",
              h->s, h->s);
}

typedef struct Scores {
    int q, k, v, mask, bias;
} Scores;

static Scores
scores_new(Loops *s, const Heads *h)
{
    const Node *n = h->node;
    Scores c = {.mask = -1, .bias = -1};
    c.q = query_access(s, h, n->args[h->q_at], false);
    c.k = key_access(s, h, n->args[h->q_at + 1], false);
    c.v = key_access(s, h, n->args[h->q_at + 2], false);
    if (h->mask_at >= 0)
        c.mask = score_access(s, h, n->args[h->mask_at], false);
    if (h->bias_at >= 0)
        c.bias = score_access(s, h, n->args[h->bias_at], false);
    return c;
}

/* "score" of key s for the query that is open; without the mask. */
static void
emit_score(Kernel *k, Loops *s, const Heads *h, const Scores *c)
{
    Arena *a = k->cg->arena;
    emit_dot(k, h, "qk", load(s, c->q), load(s, c->k));
    const char *scale = c_number(a, DT_f32, h->scale);
    if (c->bias >= 0)
        emit_line(&k->out, "const float score = qk * %s + %s;", scale,
                  load(s, c->bias));
    else
        emit_line(&k->out, "const float score = qk * %s;", scale);
}

/* ---- forward ---- */

static void
emit_block(Kernel *k, Loops *s, const Heads *h, const Scores *c)
{
    Emit *e = &k->out;
    emit_line(e, "const int64_t n = keys - s0 < 64 ? keys - s0 : 64;");
    emit_line(e, "float row[64], top = most;");
    emit_open(e, "for (int64_t j = 0; j < n; j++)");
    emit_line(e, "const int64_t s = s0 + j;");
    emit_score(k, s, h, c);
    if (c->mask >= 0)
        emit_line(e, "row[j] = %s ? score : -INFINITY;", load(s, c->mask));
    else
        emit_line(e, "row[j] = score;");
    emit_line(e, "top = edl_maxf(top, row[j]);");
    emit_close(e, "");
    emit_line(e, "if (top == -INFINITY)");
    emit_line(e, "    continue;");
    emit_line(e, "const float keep = edl_expf(most - top);");
    emit_line(e, "sum *= keep;");
    emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    emit_line(e, "    out[d] *= keep;");
    emit_open(e, "for (int64_t j = 0; j < n; j++)");
    emit_line(e, "const int64_t s = s0 + j;");
    emit_line(e, "const float weight = edl_expf(row[j] - top);");
    emit_line(e, "sum += weight;");
    emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    emit_line(e, "    out[d] = edl_fmaf(weight, %s, out[d]);", load(s, c->v));
    emit_close(e, "");
    emit_line(e, "most = top;");
}

static void
attention_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Heads h = heads_of(n, 0, 3);
    Loops s = loops_new(k, &h.rows, 1u << (h.rows.rank - 1));
    Scores c = scores_new(&s, &h);
    int y = query_access(&s, &h, n->results[0], true);
    int lse = query_access(&s, &h, n->results[1], true);
    loops_fold(&s);
    k->comment =
        arena_printf(a, "%s: attention, %s over %" PRId64 " keys",
                     n->results[0]->name, describe(k->cg, n->results[0]), h.s);
    int64_t each = (1 << 19) / (h.s * h.d);
    loops_open_rows(&s, each > 1 ? each : 1);
    Emit *e = &k->out;
    emit_keys(k, &h, s.n_outer ? arena_printf(a, "r %% %" PRId64, h.t) : "0");
    emit_line(e, "float most = -INFINITY, sum = 0, out[%" PRId64 "] = {0};",
              h.d);
    emit_open(e, "for (int64_t s0 = 0; s0 < keys; s0 += 64)");
    emit_block(k, &s, &h, &c);
    emit_close(e, "");
    emit_line(e, "const float by = sum > 0 ? 1.0f / sum : sum;");
    open_d(k, &h);
    emit_line(e, "%s = %s;", loops_element(&s, y, "d"),
              c_store(a, s.access.at[y].dtype, "out[d] * by"));
    emit_close(e, "");
    emit_line(e, "%s = sum > 0 ? most + edl_logf(sum) : most;",
              loops_element(&s, lse, "d"));
    loops_close(&s);
}

void
c_attention(Cg *cg, const Node *n)
{
    if (n->args[0]->type.dtype == DT_f64 || n->args[0]->type.rank > 7) {
        cg_refuse(cg, n, "has no C for this type");
        return;
    }
    kernel_emit(cg, n, "attention", n->results[0]->name, attention_body, NULL);
}

/* ---- backward ---- */

typedef struct Grads {
    int dy, y, lse, dq, dk, dv, dbias;
} Grads;

static Grads
grads_new(Loops *s, const Heads *h)
{
    const Node *n = h->node;
    Grads g = {.dbias = -1};
    g.dy = query_access(s, h, n->args[0], false);
    g.y = query_access(s, h, n->args[4], false);
    g.lse = query_access(s, h, n->args[5], false);
    g.dq = query_access(s, h, n->results[0], true);
    g.dk = key_access(s, h, n->results[1], true);
    g.dv = key_access(s, h, n->results[2], true);
    if (h->bias_at >= 0)
        g.dbias = score_access(s, h, n->results[3], true);
    return g;
}

static void
emit_zero_keys(Kernel *k, Loops *s, const Heads *h, const Grads *g)
{
    Emit *e = &k->out;
    emit_open(e, "for (int64_t s = 0; s < %" PRId64 "; s++)", h->s);
    open_d(k, h);
    emit_line(e, "%s = 0;", loops_element(s, g->dk, "d"));
    emit_line(e, "%s = 0;", loops_element(s, g->dv, "d"));
    emit_close(e, "");
    emit_close(e, "");
}

/* to += text, through the dtype. */
static void
emit_add(Kernel *k, Loops *s, int access, const char *text)
{
    Arena *a = k->cg->arena;
    Dtype d = s->access.at[access].dtype;
    const char *at = loops_element(s, access, "d");
    emit_line(
        &k->out, "%s = %s;", at,
        c_store(a, d, arena_printf(a, "%s + %s", c_load(a, d, at), text)));
}

static void
emit_key_grad(Kernel *k, Loops *s, const Heads *h, const Scores *c,
              const Grads *g)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    if (c->mask >= 0) {
        emit_line(e, "if (!%s)", load(s, c->mask));
        emit_line(e, "    continue;");
    }
    emit_score(k, s, h, c);
    emit_line(e, "const float weight = edl_expf(score - most);");
    emit_dot(k, h, "dyv", load(s, g->dy), load(s, c->v));
    emit_line(e, "const float ds = weight * (dyv - delta);");
    if (g->dbias >= 0)
        emit_add(k, s, g->dbias, "ds");
    emit_line(e, "const float by = ds * %s;", c_number(a, DT_f32, h->scale));
    open_d(k, h);
    emit_line(e, "out[d] = edl_fmaf(by, %s, out[d]);", load(s, c->k));
    emit_add(k, s, g->dk, arena_printf(a, "by * %s", load(s, c->q)));
    emit_add(k, s, g->dv, arena_printf(a, "weight * %s", load(s, g->dy)));
    emit_close(e, "");
}

/* Opens loops over the queries of a group; the accesses get row pointers. */
static int
open_queries(Loops *s)
{
    Emit *e = &s->k->out;
    for (int i = 0; i + 1 < s->n_inner; i++)
        emit_open(e, "for (int64_t j%d = 0; j%d < %" PRId64 "; j%d++)", i, i,
                  s->inner[i], i);
    return s->n_inner - 1;
}

static void
attention_grad_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Heads h = heads_of(n, 1, 6);
    int r = h.rows.rank;
    Loops s = loops_new(k, &h.rows, 7u << (r - 3));
    s.keep = true;
    Scores c = scores_new(&s, &h);
    Grads g = grads_new(&s, &h);
    loops_fold(&s);
    k->comment = arena_printf(a, "gradients of attention: %s, %s, %s",
                              n->results[0]->name, n->results[1]->name,
                              n->results[2]->name);
    Emit *e = &k->out;
    loops_open_rows(&s, g.dbias >= 0 ? INT64_MAX : 1);
    emit_zero_keys(k, &s, &h, &g);
    int open = open_queries(&s);
    emit_keys(k, &h, "j1");
    emit_line(e, "const float most = %s;", loops_element(&s, g.lse, "d"));
    emit_line(e, "float out[%" PRId64 "] = {0};", h.d);
    emit_dot(k, &h, "delta", load(&s, g.dy), load(&s, g.y));
    emit_open(e, "for (int64_t s = 0; s < keys && most != -INFINITY; s++)");
    emit_key_grad(k, &s, &h, &c, &g);
    emit_close(e, "");
    open_d(k, &h);
    emit_line(e, "%s = %s;", loops_element(&s, g.dq, "d"),
              c_store(a, s.access.at[g.dq].dtype, "out[d]"));
    emit_close(e, "");
    for (int i = 0; i < open; i++)
        emit_close(e, "");
    loops_close(&s);
}

static void
zero_bias_body(Kernel *k)
{
    const Value *v = k->node->results[3];
    Loops s = loops_new(k, &v->type, 0);
    Cells c = cells_new(k, &s);
    cells_store(&c,
                cells_literal(&c, v->type.dtype,
                              c_number(k->cg->arena, v->type.dtype, 0)),
                loops_value(&s, v, true));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_attention_grad(Cg *cg, const Node *n)
{
    if (n->args[0]->type.dtype == DT_f64 || n->args[0]->type.rank > 7) {
        cg_refuse(cg, n, "has no C for this type");
        return;
    }
    if (node_flag(n, "bias"))
        kernel_emit(cg, n, "fill", n->results[3]->name, zero_bias_body, NULL);
    kernel_emit(cg, n, "attention_grad", n->results[0]->name,
                attention_grad_body, NULL);
}
