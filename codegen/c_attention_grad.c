/* The gradient of attention: blocks of keys, and for each the blocks of
 * queries that see it. Weights come again from lse; dk and dv grow in tiles
 * of the stack, dq from block to block in its place. */
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
    int64_t last = (h->s - 1) / h->keys * h->keys; /* block of keys */
    b.straight_keys = b.dk.dtype == DT_f32 && b.dk.col == 1 &&
                      b.dv.dtype == DT_f32 && b.dv.col == 1 &&
                      (!h->causal || last < h->t + h->shift);
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

/* const float delta = dy . y of row i, in 16 lanes. Lane by lane, compilers
 * make vectors of it. */
static void
emit_delta(Kernel *k, const Backward *b)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    int64_t d = b->h.d, whole = d / 16 * 16;
    emit_line(e, "float lane[16]%s;", whole ? "" : " = {0}");
    if (whole) {
        emit_open(e, "for (int l = 0; l < 16; l++)");
        emit_line(e, "float sum = 0;");
        emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d += 16)", whole);
        emit_dy_times_y(k, b, "d + l", "sum");
        emit_line(e, "lane[l] = sum;");
        emit_close(e, "");
    }
    if (whole < d) {
        const char *lane =
            arena_printf(a, "lane[d - %" PRId64 "]", whole);
        emit_line(e, "for (int64_t d = %" PRId64 "; d < %" PRId64 "; d++)",
                  whole, d);
        emit_dy_times_y(k, b, "d", lane);
    }
    emit_line(e, "const float delta = edl_sum16f(lane);");
}

/* Key by key: with a mask or a bias, which exist for keys only. */
static void
emit_masked_row(Kernel *k, const Backward *b)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    const char *scale = c_number(a, DT_f32, h->scale);
    const char *score = arena_printf(a, "row[j] * %s", scale);
    emit_open(e, "for (int64_t j = 0; j < seen; j++)");
    if (h->bias_at >= 0)
        score = arena_printf(a, "%s + %s", score,
                             heads_load(k, &b->bias, "i", "s0 + j"));
    const char *weight = arena_printf(a, "edl_weightf(%s - top)", score);
    if (h->mask_at >= 0)
        weight = arena_printf(a, "%s ? %s : 0",
                              heads_load(k, &b->mask, "i", "s0 + j"), weight);
    emit_line(e, "row[j] = %s;", weight);
    emit_line(e, "slope[j] = row[j] * (slope[j] - delta);");
    if (h->bias_at >= 0)
        heads_put(k, &b->dbias, "i", "s0 + j",
                  arena_printf(a, "%s + slope[j]",
                               heads_load(k, &b->dbias, "i", "s0 + j")));
    emit_line(e, "slope[j] *= %s;", scale);
    emit_close(e, "");
    emit_line(e, "for (int64_t j = seen; j < %s; j++)", b->n);
    emit_line(e, "    row[j] = slope[j] = 0;");
}

/* 16 keys at a time, of which the last may be seen or not. */
static void
emit_plain_row(Kernel *k, const Backward *b)
{
    Emit *e = &k->out;
    const char *scale = c_number(k->cg->arena, DT_f32, b->h.scale);
    emit_line(e, "const int end = (int)(seen + 15) / 16 * 16;");
    emit_open(e, "for (int j = 0; j < end; j += 16)");
    emit_open(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "const float w = edl_weightf(row[j + l] * %s - top);", scale);
    emit_line(e, "const float d = w * (slope[j + l] - delta) * %s;", scale);
    emit_line(e, "row[j + l] = j + l < (int)seen ? w : 0;");
    emit_line(e, "slope[j + l] = j + l < (int)seen ? d : 0;");
    emit_close(e, "");
    emit_close(e, "");
    emit_line(e, "for (int j = end; j < %" PRId64 "; j++)", b->h.keys);
    emit_line(e, "    row[j] = slope[j] = 0;");
}

/* Row i of the tiles: products become weights, and gradients of products. */
static void
emit_row(Kernel *k, const Backward *b, const char *t0)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    emit_line(e, "float *const row = weight + i * %" PRId64 ";", h->keys);
    emit_line(e, "float *const slope = ds + i * %" PRId64 ";", h->keys);
    emit_line(e, "const float top = %s;", heads_load(k, &b->lse, "i", "0"));
    emit_delta(k, b);
    heads_seen(k, h, strcmp(t0, "0") ? arena_printf(a, "%s + i", t0) : "i",
               b->n);
    emit_line(e, "if (top == -INFINITY)");
    emit_line(e, "    seen = 0;");
    if (h->mask_at >= 0 || h->bias_at >= 0)
        emit_masked_row(k, b);
    else
        emit_plain_row(k, b);
}

/* dq (+)= ds @ k */
static void
emit_dq(Kernel *k, const Backward *b, const Operand *key, const char *t0)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool one = h->s <= h->keys; /* block of keys */
    const char *d = arena_printf(a, "%" PRId64, h->d);
    Part q = {.t0 = t0, .rows = b->rows, .n = b->n};
    if (!b->straight)
        emit_line(e, "float part[%" PRId64 "];", h->queries * h->d);
    heads_open_queries(k, h, &q);
    TileProduct p = {"to_query",
                     q.q0,
                     q.q1,
                     d,
                     q.k1,
                     "ds",
                     key->at,
                     b->dq.at,
                     h->keys,
                     1,
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
    heads_close(k, &q);
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

/* Keys as what products read by rows, and both by columns. */
typedef struct Keys {
    Operand key, key_across, value_across;
} Keys;

/* The weights of the tile, and dy @ v. */
static void
emit_weights(Kernel *k, const Backward *b, const Operand *q, const Operand *dy,
             const Keys *s, Part *p)
{
    const Heads *h = &b->h;
    const Operand *key = &s->key_across, *value = &s->value_across;
    const char *d = arena_printf(k->cg->arena, "%" PRId64, h->d);
    heads_open_queries(k, h, p);
    heads_product(k, &(TileProduct){"by_key", p->q0, p->q1, p->k1, d, q->at,
                                    key->at, "weight", q->row, q->col, key->col,
                                    key->row, h->keys, "0"});
    heads_product(k, &(TileProduct){"by_value", p->q0, p->q1, p->k1, d, dy->at,
                                    value->at, "ds", dy->row, dy->col,
                                    value->col, value->row, h->keys, "0"});
    heads_close(k, p);
    emit_open(&k->out, "for (int64_t i = 0; i < %s; i++)", b->rows);
    emit_row(k, b, p->t0);
    emit_close(&k->out, "");
}

/* to (+)= from' @ rows, of the keys and queries of p */
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
        .n = arena_printf(a, "%" PRId64, h->d),
        .k = all ? p->rows : arena_printf(a, "%s - q0", p->rows),
        .a = arena_printf(a, "%s%s", from, heads_step(a, p->q0, h->keys)),
        .b = arena_printf(a, "%s%s", rows->at, heads_step(a, p->q0, rows->row)),
        .c = tile,
        .a_row = 1,
        .a_col = h->keys,
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

/* dv (+)= weights' @ dy, dk (+)= ds' @ q */
static void
emit_dkv(Kernel *k, const Backward *b, const Operand *q, const Operand *dy,
         Part *p)
{
    heads_open_keys(k, &b->h, p);
    emit_to_keys(k, b, p, "to_value", "weight", dy, &b->dv, "dv");
    emit_to_keys(k, b, p, "to_key", "ds", q, &b->dk, "dk");
    heads_close(k, p);
}

static void
emit_tile(Kernel *k, const Backward *b, const Keys *keys, const char *t0)
{
    const Heads *h = &b->h;
    Operand q = heads_floats(k, h, &b->q, "query", "0", b->rows, h->queries);
    Operand dy = heads_floats(k, h, &b->dy, "given", "0", b->rows, h->queries);
    emit_line(&k->out, "float weight[%" PRId64 "], ds[%" PRId64 "];",
              h->queries * h->keys, h->queries * h->keys);
    Part p = heads_part(k, h, t0, b->rows, b->n);
    emit_weights(k, b, &q, &dy, keys, &p);
    emit_dkv(k, b, &q, &dy, &p);
    emit_dq(k, b, &keys->key, t0);
}

/* The blocks of queries of all heads of the group. */
static void
emit_queries(Kernel *k, Backward *b, const Loops *s, const Keys *keys)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    bool heads = h->r > 1, blocks = h->t > h->queries;
    const char *from = "0";
    if (blocks && h->causal && h->s > h->keys) {
        from = "from";
        emit_line(
            e, "int64_t from = (s0 - %" PRId64 ") / %" PRId64 " * %" PRId64 ";",
            h->shift, h->queries, h->queries);
        emit_line(e, "from = s0 == 0 || from < 0 ? 0 : from;");
    }
    if (heads)
        emit_open(e, "for (int64_t i7 = 0; i7 < %" PRId64 "; i7++)", h->r);
    if (blocks)
        emit_open(e,
                  "for (int64_t t0 = %s; t0 < %" PRId64 "; t0 += %" PRId64 ")",
                  from, h->t, h->queries);
    Backward here = *b;
    const char *t0 = blocks ? "t0" : "0";
    here.more = arena_printf(a, "%s%s%s%s", heads ? "i7 > 0" : "",
                             heads && blocks ? " || " : "",
                             blocks ? "t0 > " : "", blocks ? from : "");
    if (!here.more[0])
        here.more = "0";
    here.rows = heads_left(k, "rows", arena_printf(a, "%" PRId64, h->t),
                           h->queries, t0, h->t % h->queries == 0);
    start_block(k, &here, s, heads ? "i7" : "0", t0);
    emit_tile(k, &here, keys, t0);
    if (blocks)
        emit_close(e, "");
    if (heads)
        emit_close(e, "");
}

static void
emit_keys(Kernel *k, Backward *b, const Loops *s)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const Heads *h = &b->h;
    b->n = heads_left(k, "n", arena_printf(a, "%" PRId64, h->s), h->keys, "s0",
                      h->s % h->keys == 0);
    if (!b->straight_keys)
        emit_line(e, "float dk[%" PRId64 "] = {0}, dv[%" PRId64 "] = {0};",
                  h->keys * h->d, h->keys * h->d);
    Operand value = heads_floats(k, h, &b->v, "value", "s0", b->n, h->keys);
    Keys keys = {.key = heads_floats(k, h, &b->k, "key", "s0", b->n, h->keys)};
    keys.key_across = heads_across(k, h, &keys.key, "key_across", b->n);
    keys.value_across = heads_across(k, h, &value, "value_across", b->n);
    emit_queries(k, b, s, &keys);
    if (b->straight_keys)
        return;
    emit_open(e, "for (int64_t j = 0; j < %s; j++)", b->n);
    emit_open(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    heads_put(k, &b->dk, "s0 + j", "d",
              arena_printf(a, "dk[j * %" PRId64 " + d]", h->d));
    heads_put(k, &b->dv, "s0 + j", "d",
              arena_printf(a, "dv[j * %" PRId64 " + d]", h->d));
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
    emit_open(&k->out,
              "for (int64_t s0 = 0; s0 < %" PRId64 "; s0 += %" PRId64 ")", h.s,
              h.keys);
    emit_keys(k, &b, &s);
    emit_close(&k->out, "");
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
