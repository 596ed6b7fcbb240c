/* Attention without the matrix of scores: a block of queries against blocks
 * of keys, both products on tiles of the stack, with a running maximum. */
#include "codegen/attention.h"
#include "codegen/cuda.h"

#include <inttypes.h>

typedef struct Forward {
    Heads h;
    Operand q, k, v, mask, bias, y, lse;
    int64_t blocks;   /* of queries, */
    bool one;         /* one of keys */
    const char *t0;   /* C text: the first query of the block, */
    const char *rows; /* how many there are, */
    const char *n;    /* and keys of the tile */
} Forward;

static Forward
forward_new(Loops *s, const Node *n, const Heads *h, int64_t blocks)
{
    Forward f = {.h = *h, .blocks = blocks, .one = h->s <= h->keys};
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

/* Products become scores, and top[i] the largest of query i so far. */
static void
emit_scores(Kernel *k, const Forward *f, const Part *p)
{
    Emit *e = &k->out;
    const Heads *h = &f->h;
    heads_open_row(k, h, p, "score");
    heads_first(k, h, p);
    const char *score = heads_masked(k, h, p, &f->mask, &f->bias);
    heads_open_columns(k, h, p, true);
    emit_line(e, "row[i] = %s;", heads_hidden(k, h, "-INFINITY", score));
    emit_line(e, "top[i] = row[i] > top[i] ? row[i] : top[i];");
    emit_close(e, "");
    emit_close(e, "");
}

/* top[i] from the largest score to what is taken from them; what there was
 * before becomes relative to it, */
static void
emit_tops(Kernel *k, const Forward *f)
{
    Emit *e = &k->out;
    emit_open(e, "for (int i = 0; i < %" PRId64 "; i++)", f->h.queries);
    emit_line(e, "const float x = top[i] == -INFINITY ? 0 : top[i];");
    if (!f->one) {
        emit_line(e, "keep[i] = edl_weightf(most[i] - x);");
        emit_line(e, "sum[i] *= keep[i];");
    }
    emit_line(e, "most[i] = top[i];");
    emit_line(e, "top[i] = x;");
    emit_close(e, "");
    if (f->one)
        return;
    emit_line(e, "for (int64_t i = 0; s0 > 0 && i < %s; i++)", f->rows);
    emit_line(e, "    for (int64_t d = 0; d < %" PRId64 "; d++)", f->h.d);
    emit_line(e, "        out[i * %" PRId64 " + d] *= keep[i];", f->h.d);
}

/* and scores weights. */
static void
emit_weights(Kernel *k, const Forward *f, Part *p)
{
    Emit *e = &k->out;
    const Heads *h = &f->h;
    heads_open_keys(k, h, p);
    heads_open_row(k, h, p, "score");
    heads_open_columns(k, h, p, true);
    emit_line(e, "row[i] = edl_weightf(row[i] - top[i]);");
    emit_line(e, "sum[i] += row[i];");
    emit_close(e, "");
    emit_close(e, "");
    heads_close(k, p);
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
    const char *columns = arena_printf(a, "%" PRId64, h->queries);
    emit_line(e, "for (int i = 0; i < %s; i++)", columns);
    emit_line(e, "    top[i] = most[i];");
    Part p = heads_part(k, h, f->t0, f->rows, f->n);
    heads_open_keys(k, h, &p);
    heads_product(k, &(TileProduct){"by_key", p.k0, p.k1, p.q0, columns, d,
                                    key.at, q->at, "score", key.row, key.col,
                                    q->col, q->row, h->queries, "0"});
    emit_scores(k, f, &p);
    heads_close(k, &p);
    emit_tops(k, f);
    emit_weights(k, f, &p);
    heads_open_queries(k, h, &p);
    heads_product(k, &(TileProduct){"by_value", p.q0, p.q1, "0", d, p.k1,
                                    "score", value.at, "out", 1, h->queries,
                                    value.row, value.col, h->d,
                                    f->one ? "0" : "s0 > 0"});
    heads_close(k, &p);
}

static void
emit_finish(Kernel *k, const Forward *f)
{
    Emit *e = &k->out;
    emit_line(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    e->indent++;
    heads_put(k, &f->lse, "i", "0",
              "sum[i] > 0 ? most[i] + edl_logf(sum[i]) : most[i]");
    e->indent--;
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", f->rows);
    emit_line(e, "const float by = sum[i] > 0 ? 1.0f / sum[i] : sum[i];");
    emit_open(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", f->h.d);
    heads_put(
        k, &f->y, "i", "d",
        arena_printf(k->cg->arena, "out[i * %" PRId64 " + d] * by", f->h.d));
    emit_close(e, "");
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
    emit_line(e, "float out[%" PRId64 "]%s;", h.queries * h.d,
              h.causal && h.shift < 0 ? " = {0}" : "");
    emit_line(e, "float most[%" PRId64 "], top[%" PRId64 "];", h.queries,
              h.queries);
    emit_line(e, "float sum[%" PRId64 "] = {0};", h.queries);
    if (!f.one)
        emit_line(e, "float keep[%" PRId64 "];", h.queries);
    emit_line(e, "for (int i = 0; i < %" PRId64 "; i++)", h.queries);
    emit_line(e, "    most[i] = -INFINITY;");
    Operand q = heads_across(k, &h, &f.q, "query", f.rows);
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
