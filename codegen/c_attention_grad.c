/* The gradient of attention: blocks of queries, and for each the blocks of
 * keys that it sees. Weights come again from lse; dq, dk and dv grow from
 * block to block in their places. Where dk and dv cannot, they do in tiles of
 * the stack, and blocks of keys are the outer ones. */
#include "codegen/attention.h"
#include "codegen/cuda.h"

#include <inttypes.h>

typedef struct Backward {
    Heads h;
    Operand dy, q, k, v, y, lse, mask, bias, dq, dk, dv, dbias;
    const char *rows, *n; /* C text: queries and keys of the tile */
    bool straight;        /* products add to dq where it lies, */
    bool straight_keys;   /* and to dk and dv, where all blocks are seen */
    const char *more;     /* C text: to what is there already */
} Backward;

static Backward
backward_new(Loops *s, const Node *n, const Heads *h)
{
    Backward b = {.h = *h};
    b.mask.access = b.bias.access = b.dbias.access = -1;
    b.dy = heads_query(s, h, n->args[0], false);
    b.q = heads_query(s, h, n->args[1], false);
    b.k = heads_key(s, h, n->args[2], false);
    b.v = heads_key(s, h, n->args[3], false);
    b.y = heads_query(s, h, n->args[4], false);
    b.lse = heads_query(s, h, n->args[5], false);
    if (h->mask_at >= 0)
        b.mask = heads_score(s, h, n->args[h->mask_at], false);
    if (h->bias_at >= 0) {
        b.bias = heads_score(s, h, n->args[h->bias_at], false);
        b.dbias = heads_score(s, h, n->results[3], true);
    }
    b.dq = heads_query(s, h, n->results[0], true);
    b.dk = heads_key(s, h, n->results[1], true);
    b.dv = heads_key(s, h, n->results[2], true);
    b.straight = b.dq.dtype == DT_f32 && b.dq.col == 1;
    b.straight_keys = b.dk.dtype == DT_f32 && b.dk.col == 1 &&
                      b.dv.dtype == DT_f32 && b.dv.col == 1 &&
                      (!h->causal || h->s <= h->t + h->shift);
    return b;
}

/* Pointers of the keys of a group, which do not move with the head. */
static void
start_group(Backward *b, const Loops *s)
{
    Operand *all[] = {&b->dy,   &b->q,    &b->k,  &b->v,  &b->y,  &b->lse,
                      &b->mask, &b->bias, &b->dq, &b->dk, &b->dv, &b->dbias};
    for (int i = 0; i < 12; i++)
        if (all[i]->access >= 0)
            all[i]->at = heads_start(s, all[i]);
}

/* Pointers of the block of queries that is open. */
static void
start_block(Kernel *k, Backward *b, const Loops *s, const char *head,
            const char *t0)
{
    Arena *a = k->cg->arena;
    Operand *all[] = {&b->dy,   &b->q,    &b->y,  &b->lse,
                      &b->mask, &b->bias, &b->dq, &b->dbias};
    for (int i = 0; i < 8; i++) {
        Operand *o = all[i];
        if (o->access < 0)
            continue;
        const Param *p = &k->params.at[s->access.at[o->access].param];
        const char *step = arena_printf(a, "%s%s", heads_step(a, head, o->head),
                                        heads_step(a, t0, o->row));
        if (!step[0])
            continue;
        const char *name = kernel_local(k, arena_printf(a, "%s_b", p->name));
        emit_line(&k->out, "%s%s%s = %s%s;", p->written ? "" : "const ",
                  p->type, name, o->at, step);
        o->at = name;
    }
}

static void
emit_dy_times_y(Kernel *k, const Backward *b, const char *d, const char *sum)
{
    const char *items[] = {heads_load(k, &b->dy, "i", d),
                           heads_load(k, &b->y, "i", d), sum};
    k->out.indent++;
    emit_list(&k->out, arena_printf(k->cg->arena, "%s = edl_fmaf(", sum), items,
              3, ");");
    k->out.indent--;
}

/* delta[i] = dy . y of query i, in 16 lanes. Lane by lane, compilers make
 * vectors of it. */
static void
emit_delta(Kernel *k, const Backward *b)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    int64_t d = b->h.d, whole = d / 16 * 16;
    emit_line(e, "float lane[16]%s;", whole ? "" : " = {0}");
    if (whole) {
        emit_open(e, "for (int l = 0; l < 16; l++)");
        emit_line(e, "float x = 0;");
        emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d += 16)", whole);
        emit_dy_times_y(k, b, "d + l", "x");
        emit_line(e, "lane[l] = x;");
        emit_close(e, "");
    }
    if (whole < d) {
        const char *lane =
            arena_printf(a, "lane[d - %" PRId64 "]", whole);
        emit_line(e, "for (int64_t d = %" PRId64 "; d < %" PRId64 "; d++)",
                  whole, d);
        emit_dy_times_y(k, b, "d", lane);
    }
    emit_line(e, "delta[i] = edl_sum16f(lane);");
}

/* Of each query: what is taken from its scores, so that a query that sees no
 * key has weights of 0, and delta. */
static void
emit_tops(Kernel *k, const Backward *b)
{
    Emit *e = &k->out;
    const Heads *h = &b->h;
    const char *lse = heads_load(k, &b->lse, "i", "0");
    emit_line(e, "float top[%" PRId64 "], delta[%" PRId64 "]%s;", h->queries,
              h->queries, h->t % h->queries ? " = {0}" : "");
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", b->rows);
    emit_line(e, "top[i] = %s == -INFINITY ? INFINITY : %s;", lse, lse);
    emit_delta(k, b);
    emit_close(e, "");
    if (h->t % h->queries == 0)
        return;
    emit_line(e, "for (int64_t i = %s; i < %" PRId64 "; i++)", b->rows,
              h->queries);
    emit_line(e, "    top[i] = INFINITY;");
}

/* Row j of the tiles: products become weights, and gradients of products. */
static void
emit_row(Kernel *k, const Backward *b, const Part *p)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    const char *scale = c_number(a, DT_f32, h->scale);
    const char *then = h->bias_at < 0 ? arena_printf(a, " * %s", scale) : "";
    emit_line(e, "float *const slope = ds + j * %" PRId64 ";", h->queries);
    heads_first(k, h, p);
    const char *score = heads_masked(k, h, p, &b->mask, &b->bias);
    heads_open_columns(k, h, p, true);
    emit_set(e, "const float w",
             arena_printf(a, "edl_weightf(%s - top[i])", score));
    emit_set(e, "const float d",
             arena_printf(a, "w * (slope[i] - delta[i])%s", then));
    emit_line(e, "row[i] = %s;", heads_hidden(k, h, "0", "w"));
    emit_line(e, "slope[i] = %s;", heads_hidden(k, h, "0", "d"));
    emit_close(e, "");
}

/* The slopes of the part go to the bias, a line of memory at a time. */
static void
emit_dbias(Kernel *k, const Backward *b, const Part *p)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    const char *slope = arena_printf(a, "ds[j * %" PRId64 " + i]", h->queries);
    emit_open(e, "for (int64_t j0 = %s; j0 < %s; j0 += 16)", p->k0, p->k1);
    emit_line(e, "const int64_t j1 = %s - j0 > 16 ? j0 + 16 : %s;", p->k1,
              p->k1);
    heads_open_columns(k, h, p, false);
    emit_open(e, "for (int64_t j = j0; j < j1; j++)");
    heads_put(k, &b->dbias, "i", "s0 + j",
              arena_printf(a, "%s + %s",
                           heads_load(k, &b->dbias, "i", "s0 + j"), slope));
    emit_line(e, "%s *= %s;", slope, c_number(a, DT_f32, h->scale));
    emit_close(e, "");
    emit_close(e, "");
    emit_close(e, "");
}

/* dq (+)= ds @ k */
static void
emit_dq(Kernel *k, const Backward *b, const Operand *key, Part *q)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool one = h->s <= h->keys; /* block of keys */
    const char *d = arena_printf(a, "%" PRId64, h->d);
    if (!b->straight)
        emit_line(e, "float part[%" PRId64 "];", h->queries * h->d);
    heads_open_queries(k, h, q);
    TileProduct p = {"to_query",
                     q->q0,
                     q->q1,
                     "0",
                     d,
                     q->k1,
                     "ds",
                     key->at,
                     b->dq.at,
                     1,
                     h->queries,
                     key->row,
                     key->col,
                     b->dq.row,
                     one ? "0" : "s0 > 0"};
    if (!b->straight) {
        p.c = "part";
        p.c_row = h->d;
        p.add = "0";
    }
    heads_product(k, &p);
    heads_close(k, q);
    if (b->straight)
        return;
    const char *part = arena_printf(a, "part[i * %" PRId64 " + d]", h->d);
    emit_line(e, "for (int64_t i = 0; i < %s; i++)", b->rows);
    emit_line(e, "    for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    if (!one)
        part = arena_printf(a, "s0 > 0 ? %s + %s : %s",
                            heads_load(k, &b->dq, "i", "d"), part, part);
    e->indent += 2;
    heads_put(k, &b->dq, "i", "d", part);
    e->indent -= 2;
}

/* The floats that products read: rows of queries and keys, and queries as
 * columns. */
typedef struct Tiles {
    Operand q, dy, q_across, dy_across, key, value;
} Tiles;

/* The weights of a part of the tile, and the gradients of its products. */
static void
emit_weights(Kernel *k, const Backward *b, const Tiles *s, const Part *p)
{
    const Heads *h = &b->h;
    Arena *a = k->cg->arena;
    const char *d = arena_printf(a, "%" PRId64, h->d);
    const char *columns = arena_printf(a, "%" PRId64, h->queries);
    heads_product(k, &(TileProduct){"by_key", p->k0, p->k1, p->q0, columns, d,
                                    s->key.at, s->q_across.at, "weight",
                                    s->key.row, s->key.col, s->q_across.col,
                                    s->q_across.row, h->queries, "0"});
    heads_product(k, &(TileProduct){"by_value", p->k0, p->k1, p->q0, columns, d,
                                    s->value.at, s->dy_across.at, "ds",
                                    s->value.row, s->value.col,
                                    s->dy_across.col, s->dy_across.row,
                                    h->queries, "0"});
    heads_open_row(k, h, p, "weight");
    emit_row(k, b, p);
    emit_close(&k->out, "");
    if (h->bias_at >= 0)
        emit_dbias(k, b, p);
}

/* to (+)= from @ rows, of the keys and queries of p */
static void
emit_to_keys(Kernel *k, const Backward *b, const Part *p, const char *name,
             const char *from, const Operand *rows, const Operand *to,
             const char *tile)
{
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool all = strcmp(p->q0, "0") == 0;
    TileProduct t = {
        .name = name,
        .m0 = p->k0,
        .m1 = p->k1,
        .n0 = "0",
        .n1 = arena_printf(a, "%" PRId64, h->d),
        .k = all ? p->rows : arena_printf(a, "%s - q0", p->rows),
        .a = arena_printf(a, "%s%s", from, heads_step(a, p->q0, 1)),
        .b = arena_printf(a, "%s%s", rows->at, heads_step(a, p->q0, rows->row)),
        .c = tile,
        .a_row = h->queries,
        .a_col = 1,
        .b_row = rows->row,
        .b_col = rows->col,
        .c_row = h->d,
        .add = "1"};
    if (b->straight_keys) {
        t.c = arena_printf(a, "%s%s", to->at, heads_step(a, "s0", to->row));
        t.c_row = to->row;
        t.add = b->more;
    }
    heads_product(k, &t);
}

/* dv (+)= weights @ dy, dk (+)= ds @ q, dq (+)= ds' @ k */
static void
emit_tile(Kernel *k, const Backward *b, const Tiles *s, const char *t0)
{
    const Heads *h = &b->h;
    emit_line(&k->out, "float weight[%" PRId64 "], ds[%" PRId64 "];",
              h->queries * h->keys, h->queries * h->keys);
    Part p = heads_part(k, h, t0, b->rows, b->n);
    heads_open_keys(k, h, &p);
    emit_weights(k, b, s, &p);
    emit_to_keys(k, b, &p, "to_value", "weight", &s->dy, &b->dv, "dv");
    emit_to_keys(k, b, &p, "to_key", "ds", &s->q, &b->dk, "dk");
    heads_close(k, &p);
    emit_dq(k, b, &s->key, &p);
}

/* ---- the loops over blocks ---- */

/* The blocks of queries of all heads of the group, from C text `from` on, of
 * which one is open; how many loops that are. */
static int
open_queries(Kernel *k, Backward *b, const Loops *s, const char *from,
             Tiles *tiles, const char **t0)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool heads = h->r > 1, blocks = h->t > h->queries;
    if (heads)
        emit_open(e, "for (int64_t i7 = 0; i7 < %" PRId64 "; i7++)", h->r);
    if (blocks)
        emit_open(e,
                  "for (int64_t t0 = %s; t0 < %" PRId64 "; t0 += %" PRId64 ")",
                  from, h->t, h->queries);
    *t0 = blocks ? "t0" : "0";
    b->rows = heads_left(k, "rows", arena_printf(a, "%" PRId64, h->t),
                         h->queries, *t0, h->t % h->queries == 0);
    start_block(k, b, s, heads ? "i7" : "0", *t0);
    tiles->q = heads_floats(k, h, &b->q, "query", "0", b->rows, h->queries);
    tiles->dy = heads_floats(k, h, &b->dy, "given", "0", b->rows, h->queries);
    tiles->q_across = heads_across(k, h, &tiles->q, "query_across", b->rows);
    tiles->dy_across = heads_across(k, h, &tiles->dy, "given_across", b->rows);
    emit_tops(k, b);
    return heads + blocks;
}

/* The keys of a block, from s0 on. */
static void
start_keys(Kernel *k, Backward *b, Tiles *tiles, const char *keys, bool whole)
{
    const Heads *h = &b->h;
    b->n = heads_left(k, "n", keys, h->keys, "s0", whole);
    tiles->value = heads_floats(k, h, &b->v, "value", "s0", b->n, h->keys);
    tiles->key = heads_floats(k, h, &b->k, "key", "s0", b->n, h->keys);
}

/* "from": the first block of queries that has to do with the keys at s0. */
static const char *
emit_from(Kernel *k, const Backward *b)
{
    const Heads *h = &b->h;
    if (!h->causal || h->t <= h->queries || h->s <= h->keys)
        return "0";
    emit_line(&k->out,
              "int64_t from = (s0 - %" PRId64 ") / %" PRId64 " * %" PRId64 ";",
              h->shift, h->queries, h->queries);
    emit_line(&k->out, "from = s0 == 0 || from < 0 ? 0 : from;");
    return "from";
}

/* Queries outside. The first block of keys has a tile with all of them, which
 * sets dq. A block of queries sets dk and dv of the keys that those before it
 * do not see. */
static void
emit_by_queries(Kernel *k, Backward *b, const Loops *s)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool heads = h->r > 1, blocks = h->t > h->queries;
    Tiles tiles;
    const char *t0, *all = arena_printf(a, "%" PRId64, h->s), *keys = all;
    int loops = open_queries(k, b, s, "0", &tiles, &t0);
    if (h->causal && blocks && h->s > h->keys) {
        keys = "keys";
        emit_line(e, "int64_t keys = t0 + %" PRId64 ";", h->queries + h->shift);
        emit_line(e, "keys = keys < 1 ? 1 : keys > %s ? %s : keys;", all, all);
    }
    if (h->s > h->keys)
        emit_open(e, "for (int64_t s0 = 0; s0 < %s; s0 += %" PRId64 ")", keys,
                  h->keys);
    else
        emit_line(e, "const int64_t s0 = 0;");
    start_keys(k, b, &tiles, keys, keys == all && h->s % h->keys == 0);
    b->more = !blocks     ? "0"
              : h->causal ? "t0 > 0 && k0 < whole"
                          : "t0 > 0";
    if (heads)
        b->more = blocks ? arena_printf(a, "i7 > 0 || (%s)", b->more)
                         : "i7 > 0";
    emit_tile(k, b, &tiles, t0);
    for (int i = 0; i < loops + (h->s > h->keys); i++)
        emit_close(e, "");
}

/* Keys outside, with dk and dv in tiles. */
static void
emit_by_keys(Kernel *k, Backward *b, const Loops *s)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    Tiles tiles;
    Backward here = *b;
    const char *t0;
    emit_open(e, "for (int64_t s0 = 0; s0 < %" PRId64 "; s0 += %" PRId64 ")",
              h->s, h->keys);
    start_keys(k, &here, &tiles, arena_printf(a, "%" PRId64, h->s),
               h->s % h->keys == 0);
    emit_line(e, "float dk[%" PRId64 "] = {0}, dv[%" PRId64 "] = {0};",
              h->keys * h->d, h->keys * h->d);
    int loops = open_queries(k, &here, s, emit_from(k, b), &tiles, &t0);
    emit_tile(k, &here, &tiles, t0);
    for (int i = 0; i < loops; i++)
        emit_close(e, "");
    emit_open(e, "for (int64_t j = 0; j < %s; j++)", here.n);
    emit_open(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    heads_put(k, &b->dk, "s0 + j", "d",
              arena_printf(a, "dk[j * %" PRId64 " + d]", h->d));
    heads_put(k, &b->dv, "s0 + j", "d",
              arena_printf(a, "dv[j * %" PRId64 " + d]", h->d));
    emit_close(e, "");
    emit_close(e, "");
    emit_close(e, "");
}

/* A row of the loops is a group of heads. With a bias, whose gradient may be
 * one for many of them, all are one piece. */
static void
attention_grad_body(Kernel *k)
{
    const Node *n = k->node;
    Heads h = heads_of(n, 1, 6);
    Type t = *h.k;
    t.rank = h.lead + 2;
    t.dim[h.lead + 1] = 1;
    Loops s = loops_new(k, &t, 1u << (t.rank - 1));
    Backward b = backward_new(&s, n, &h);
    loops_fold(&s);
    k->comment = arena_printf(
        k->cg->arena, "gradients of attention: %s, %s, %s", n->results[0]->name,
        n->results[1]->name, n->results[2]->name);
    loops_open_rows(&s, b.dbias.access >= 0 ? INT64_MAX : 1);
    start_group(&b, &s);
    if (b.straight_keys)
        emit_by_queries(k, &b, &s);
    else
        emit_by_keys(k, &b, &s);
    loops_close(&s);
}

void
c_attention_grad(Cg *cg, const Node *n)
{
    if (cg->cuda) {
        cuda_attention_grad(cg, n);
        return;
    }
    if (n->args[0]->type.dtype == DT_f64 || n->args[0]->type.rank > 7) {
        cg_refuse(cg, n, "has no C for this type");
        return;
    }
    if (node_flag(n, "bias"))
        c_zero(cg, n, n->results[3]);
    kernel_emit(cg, n, "attention_grad", n->results[0]->name,
                attention_grad_body, NULL);
}
