/* Attention without the matrix of scores: a block of queries against blocks
 * of keys, both products on tiles of the stack, with a running maximum. */
#include "codegen/attention.h"
#include "codegen/cuda.h"

#include <inttypes.h>

typedef struct Forward {
    Heads h;
    Operand q, k, v, mask, bias, y, lse;
    int64_t blocks;   /* of queries */
    const char *t0;   /* C text: the first query of the block, */
    const char *rows; /* how many there are, */
    const char *n;    /* and keys of the tile */
} Forward;

static Forward
forward_new(Loops *s, const Node *n, const Heads *h, int64_t blocks)
{
    Forward f = {.h = *h, .blocks = blocks};
    f.mask.access = f.bias.access = -1;
    f.q = heads_query(s, h, n->args[0], false);
    f.k = heads_key(s, h, n->args[1], false);
    f.v = heads_key(s, h, n->args[2], false);
    if (h->mask_at >= 0)
        f.mask = heads_score(s, h, n->args[h->mask_at], false);
    if (h->bias_at >= 0)
        f.bias = heads_score(s, h, n->args[h->bias_at], false);
    f.y = heads_query(s, h, n->results[0], true);
    f.lse = heads_query(s, h, n->results[1], true);
    return f;
}

static void
forward_starts(Forward *f, const Loops *s)
{
    Operand *all[] = {&f->q, &f->k, &f->v, &f->mask, &f->bias, &f->y, &f->lse};
    for (int i = 0; i < 7; i++)
        if (all[i]->access >= 0)
            all[i]->at = heads_start(s, all[i]);
}

/* "keys": those that the last query of the block may look at. */
static void
emit_keys(Kernel *k, const Forward *f)
{
    const Heads *h = &f->h;
    Emit *e = &k->out;
    int64_t last = h->t + h->shift < h->s ? h->t + h->shift : h->s;
    if (!h->causal || f->blocks == 1) {
        emit_line(e, "const int64_t keys = %" PRId64 ";",
                  !h->causal ? h->s
                  : last < 0 ? 0
                             : last);
        return;
    }
    emit_line(e, "int64_t keys = %s + %s + %" PRId64 ";", f->t0, f->rows,
              h->shift);
    emit_line(e,
              "keys = keys < 0 ? 0 : keys > %" PRId64 " ? %" PRId64 " : keys;",
              h->s, h->s);
}

/* Scores of row i with a mask or a bias, which exist for keys only. */
static void
emit_masked_scores(Kernel *k, const Forward *f, const char *score)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    if (f->h.bias_at >= 0)
        score = arena_printf(a, "%s + %s", score,
                             heads_load(k, &f->bias, "i", "s0 + j"));
    if (f->h.mask_at >= 0)
        score = arena_printf(a, "%s ? %s : -INFINITY",
                             heads_load(k, &f->mask, "i", "s0 + j"), score);
    emit_line(e, "for (int64_t j = 0; j < seen; j++)");
    emit_line(e, "    row[j] = %s;", score);
    emit_line(e, "for (int64_t j = seen; j < last[i]; j++)");
    emit_line(e, "    row[j] = -INFINITY;");
}

/* Products become scores, and top[i] the largest of row i so far. What is
 * behind last[i], a multiple of 16, is not seen. */
static void
emit_scores(Kernel *k, const Forward *f)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &f->h;
    const char *scale = c_number(a, DT_f32, h->scale);
    bool plain = h->mask_at < 0 && h->bias_at < 0;
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    emit_line(e, "float *const row = score + i * %" PRId64 ";", h->keys);
    heads_seen(k, h,
               strcmp(f->t0, "0") ? arena_printf(a, "%s + i", f->t0) : "i",
               f->n);
    emit_line(e, "last[i] = (int)(seen + 15) / 16 * 16;");
    if (!plain)
        emit_masked_scores(k, f, arena_printf(a, "row[j] * %s", scale));
    emit_line(e, "float lane[16];");
    emit_line(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "    lane[l] = most[i];");
    emit_open(e, "for (int j = 0; j < last[i]; j += 16)");
    emit_open(e, "for (int l = 0; l < 16; l++)");
    if (plain) {
        emit_line(e, "const float x = row[j + l] * %s;", scale);
        emit_line(e, "row[j + l] = j + l < (int)seen ? x : -INFINITY;");
    }
    emit_line(e, "lane[l] = row[j + l] > lane[l] ? row[j + l] : lane[l];");
    emit_close(e, "");
    emit_close(e, "");
    emit_line(e, "top[i] = edl_top16f(lane);");
    emit_close(e, "");
}

/* A row of scores becomes one of weights, relative to the new maximum. */
static void
emit_weights(Kernel *k, const Forward *f)
{
    Emit *e = &k->out;
    const Heads *h = &f->h;
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    emit_line(e, "const float x = edl_weightf(most[i] - top[i]);");
    emit_line(e, "keep[i] = top[i] > most[i] ? x : 1.0f;");
    emit_close(e, "");
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    emit_line(e, "float *const row = score + i * %" PRId64 ";", h->keys);
    emit_line(e, "const float shift = top[i] == -INFINITY ? 0 : top[i];");
    emit_line(e, "float lane[16] = {0};");
    emit_open(e, "for (int j = 0; j < last[i]; j += 16)");
    emit_open(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "row[j + l] = edl_weightf(row[j + l] - shift);");
    emit_line(e, "lane[l] += row[j + l];");
    emit_close(e, "");
    emit_close(e, "");
    emit_line(e, "for (int j = last[i]; j < %" PRId64 "; j++)", h->keys);
    emit_line(e, "    row[j] = 0;");
    emit_line(e, "most[i] = top[i];");
    emit_line(e, "sum[i] = sum[i] * keep[i] + edl_sum16f(lane);");
    emit_line(e, "for (int64_t d = 0; s0 > 0 && d < %" PRId64 "; d++)", h->d);
    emit_line(e, "    out[i * %" PRId64 " + d] *= keep[i];", h->d);
    emit_close(e, "");
}

static void
emit_tile(Kernel *k, Forward *f, const Operand *q)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &f->h;
    f->n = heads_left(k, "n", "keys", h->keys, "s0",
                      !h->causal && h->s % h->keys == 0);
    emit_line(e, "float score[%" PRId64 "];", h->queries * h->keys);
    Operand key = heads_floats(k, h, &f->k, "key", "s0", f->n, h->keys);
    Operand value = heads_floats(k, h, &f->v, "value", "s0", f->n, h->keys);
    const char *d = arena_printf(a, "%" PRId64, h->d);
    key = heads_across(k, h, &key, "key_across", f->n);
    Part p = heads_part(k, h, f->t0, f->rows, f->n);
    heads_open_queries(k, h, &p);
    heads_product(k, &(TileProduct){"by_key", p.q0, p.q1, p.k1, d, q->at,
                                    key.at, "score", q->row, q->col, key.col,
                                    key.row, h->keys, "0"});
    heads_close(k, &p);
    emit_scores(k, f);
    emit_weights(k, f);
    heads_open_queries(k, h, &p);
    heads_product(k, &(TileProduct){"by_value", p.q0, p.q1, d, p.k1, "score",
                                    value.at, "out", h->keys, 1, value.row,
                                    value.col, h->d, "s0 > 0"});
    heads_close(k, &p);
}

static void
emit_finish(Kernel *k, const Forward *f)
{
    Emit *e = &k->out;
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    emit_line(e, "const float by = sum[i] > 0 ? 1.0f / sum[i] : sum[i];");
    emit_open(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", f->h.d);
    heads_put(
        k, &f->y, "i", "d",
        arena_printf(k->cg->arena, "out[i * %" PRId64 " + d] * by", f->h.d));
    emit_close(e, "");
    heads_put(k, &f->lse, "i", "0",
              "sum[i] > 0 ? most[i] + edl_logf(sum[i]) : most[i]");
    emit_close(e, "");
}

/* Rows of the loops are blocks of queries. */
static Loops
forward_loops(Kernel *k, const Heads *h, int64_t blocks)
{
    Type t = *h->q;
    t.rank = h->lead + 4;
    t.dim[h->lead] = h->g;
    t.dim[h->lead + 1] = h->r;
    t.dim[h->lead + 2] = blocks;
    t.dim[h->lead + 3] = 1;
    return loops_new(k, &t, 1u << (t.rank - 1));
}

static void
attention_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    Heads h = heads_of(n, 0, 3);
    int64_t blocks = (h.t + h.queries - 1) / h.queries;
    Loops s = forward_loops(k, &h, blocks);
    Forward f = forward_new(&s, n, &h, blocks);
    loops_fold(&s);
    k->comment =
        arena_printf(a, "%s: attention, %s over %" PRId64 " keys",
                     n->results[0]->name, describe(k->cg, n->results[0]), h.s);
    int64_t each = (1 << 19) / (h.s * h.d * h.queries);
    loops_open_rows(&s, each > 1 ? each : 1);
    forward_starts(&f, &s);
    f.t0 = "0";
    if (blocks > 1) {
        f.t0 = "t0";
        emit_line(e, "const int64_t t0 = r %% %" PRId64 " * %" PRId64 ";",
                  blocks, h.queries);
    }
    f.rows = heads_left(k, "rows", arena_printf(a, "%" PRId64, h.t), h.queries,
                        f.t0, h.t % h.queries == 0);
    emit_keys(k, &f);
    emit_line(e,
              "float out[%" PRId64 "]%s, most[%" PRId64 "], sum[%" PRId64
              "] = {0};",
              h.queries * h.d, h.causal && h.shift < 0 ? " = {0}" : "",
              h.queries, h.queries);
    emit_line(e, "float top[%" PRId64 "], keep[%" PRId64 "];", h.queries,
              h.queries);
    emit_line(e, "int last[%" PRId64 "];", h.queries);
    emit_line(e, "for (int64_t i = 0; i < %" PRId64 "; i++)", h.queries);
    emit_line(e, "    most[i] = -INFINITY;");
    Operand q = heads_floats(k, &h, &f.q, "query", "0", f.rows, h.queries);
    emit_open(e, "for (int64_t s0 = 0; s0 < keys; s0 += %" PRId64 ")", h.keys);
    emit_tile(k, &f, &q);
    emit_close(e, "");
    emit_finish(k, &f);
    loops_close(&s);
}

void
c_attention(Cg *cg, const Node *n)
{
    if (cg->cuda) {
        cuda_attention(cg, n);
        return;
    }
    if (n->args[0]->type.dtype == DT_f64 || n->args[0]->type.rank > 7) {
        cg_refuse(cg, n, "has no C for this type");
        return;
    }
    kernel_emit(cg, n, "attention", n->results[0]->name, attention_body, NULL);
}
