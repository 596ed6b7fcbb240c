#include "codegen/attention.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of n queries or keys in as few tiles as they need, about alike; 16 m. */
static int64_t
tile_of(int64_t n, int64_t d)
{
    int64_t most = d <= ATTENTION_TILE ? ATTENTION_TILE : ATTENTION_TILE / 2;
    int64_t tiles = (n + most - 1) / most;
    return ((n + tiles - 1) / tiles + 15) / 16 * 16;
}

Heads
heads_of(const Node *n, int q_at, int extra)
{
    const Type *q = &n->args[q_at]->type, *k = &n->args[q_at + 1]->type;
    int r = q->rank;
    Heads h = {.node = n,
               .q = q,
               .k = k,
               .lead = r - 3,
               .g = k->dim[r - 3],
               .r = q->dim[r - 3] / k->dim[r - 3],
               .t = q->dim[r - 2],
               .s = k->dim[r - 2],
               .d = q->dim[r - 1],
               .q_at = q_at,
               .mask_at = -1,
               .bias_at = -1};
    h.queries = tile_of(h.t, h.d);
    h.keys = tile_of(h.s, h.d);
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

/* ---- operands ---- */

/* lead: strides before the heads; then those of G, R and a block. */
static Operand
operand_at(Loops *s, const Heads *h, int param, Dtype dtype,
           const int64_t *lead, int64_t group, Operand o)
{
    int64_t stride[MAX_RANK] = {0};
    for (int i = 0; i < h->lead; i++)
        stride[i] = lead[i];
    stride[h->lead] = group;
    if (s->rank > h->lead + 2) {
        stride[h->lead + 1] = o.head;
        stride[h->lead + 2] = o.row * h->queries;
    }
    o.dtype = dtype;
    o.access = loops_strided(s, param, dtype, stride);
    return o;
}

static Operand
operand(Loops *s, const Heads *h, const Value *v, bool write,
        const int64_t *lead, int64_t group, Operand o)
{
    return operand_at(s, h, kernel_value(s->k, v, 0, write), v->type.dtype,
                      lead, group, o);
}

Operand
heads_rows(Loops *s, const Heads *h, const Type *t, int param)
{
    Layout l = layout_dense(t);
    Operand o = {.head = l.stride[h->lead], .row = l.stride[h->lead + 1]};
    return operand_at(s, h, param, t->dtype, l.stride, o.head * h->r, o);
}

Operand
heads_query(Loops *s, const Heads *h, const Value *v, bool write)
{
    const int64_t *l = v->layout.stride;
    Operand o = {.head = l[h->lead], .row = l[h->lead + 1]};
    if (v->type.rank > h->lead + 2)
        o.col = l[h->lead + 2];
    return operand(s, h, v, write, l, l[h->lead] * h->r, o);
}

Operand
heads_key(Loops *s, const Heads *h, const Value *v, bool write)
{
    const int64_t *l = v->layout.stride;
    Operand o = operand(s, h, v, write, l, l[h->lead], (Operand){0});
    o.row = l[h->lead + 1];
    o.col = l[h->lead + 2];
    return o;
}

Operand
heads_score(Loops *s, const Heads *h, const Value *v, bool write)
{
    int64_t full[MAX_RANK] = {0};
    int shift = h->lead + 3 - v->type.rank;
    for (int i = 0; i < v->type.rank; i++)
        full[i + shift] = v->type.dim[i] == 1 ? 0 : v->layout.stride[i];
    const int64_t *l = full + h->lead;
    Operand o = {.head = l[0], .row = l[1], .col = l[2]};
    return operand(s, h, v, write, full, l[0] * h->r, o);
}

const char *
heads_start(const Loops *s, const Operand *o)
{
    return s->access.at[o->access].base;
}

/* ---- text ---- */

const char *
heads_step(Arena *a, const char *index, int64_t stride)
{
    if (stride == 0 || strcmp(index, "0") == 0)
        return "";
    bool sum = strchr(index, ' ') && stride != 1;
    index = arena_printf(a, sum ? " + (%s)" : " + %s", index);
    if (stride == 1)
        return index;
    return arena_printf(a, stride < 0 ? "%s * (%" PRId64 ")" : "%s * %" PRId64,
                        index, stride);
}

static const char *
element(Kernel *k, const Operand *o, const char *row, const char *col)
{
    Arena *a = k->cg->arena;
    const char *index = arena_printf(a, "%s%s", heads_step(a, row, o->row),
                                     heads_step(a, col, o->col));
    return arena_printf(a, "%s[%s]", o->at, index[0] ? index + 3 : "0");
}

const char *
heads_load(Kernel *k, const Operand *o, const char *row, const char *col)
{
    return c_load(k->cg->arena, o->dtype, element(k, o, row, col));
}

void
heads_put(Kernel *k, const Operand *o, const char *row, const char *col,
          const char *value)
{
    emit_line(&k->out, "%s = %s;", element(k, o, row, col),
              c_store(k->cg->arena, o->dtype, value));
}

Operand
heads_floats(Kernel *k, const Heads *h, const Operand *o, const char *name,
             const char *first, const char *rows, int64_t most)
{
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    Operand f = *o;
    f.at = arena_printf(a, "%s%s", o->at, heads_step(a, first, o->row));
    if (o->dtype == DT_f32)
        return f;
    emit_line(e, "float %s[%" PRId64 "];", name, most * h->d);
    emit_open(e, "for (int64_t i = 0; i < %s; i++)", rows);
    emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
    const char *row =
        strcmp(first, "0") == 0 ? "i" : arena_printf(a, "%s + i", first);
    emit_line(e, "    %s[i * %" PRId64 " + d] = %s;", name, h->d,
              heads_load(k, o, row, "d"));
    emit_close(e, "");
    return (Operand){-1, DT_f32, 0, h->d, 1, name};
}

Operand
heads_across(Kernel *k, const Heads *h, const Operand *o, const char *name,
             const char *rows)
{
    Arena *a = k->cg->arena;
    Emit *e = &k->out;
    Operand floats = heads_floats(k, h, o, arena_printf(a, "%s_rows", name),
                                  "0", rows, h->queries);
    o = &floats;
    emit_line(e, "float %s[%" PRId64 "]%s;", name, h->d * h->queries,
              h->t % h->queries ? " = {0}" : "");
    if (o->col == 1) {
        const char *items[] = {
            name, arena_printf(a, "%" PRId64, h->queries), o->at,
            arena_printf(a, "%" PRId64, o->row), rows,
            arena_printf(a, "%" PRId64, h->d)};
        emit_list(e, "edl_turn(", items, 6, ");");
    } else {
        emit_open(e, "for (int64_t i = 0; i < %s; i++)", rows);
        emit_line(e, "for (int64_t d = 0; d < %" PRId64 "; d++)", h->d);
        emit_line(e, "    %s[d * %" PRId64 " + i] = %s;", name, h->queries,
                  heads_load(k, o, "i", "d"));
        emit_close(e, "");
    }
    return (Operand){-1, DT_f32, 0, 1, h->queries, name};
}

static bool
is_number(const char *text)
{
    return strspn(text, "0123456789") == strlen(text);
}

void
heads_product(Kernel *k, const TileProduct *p)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    const char *shape = arena_printf(
        a,
        "{%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "}",
        p->k, p->a_row, p->a_col, p->b_row, p->b_col, p->c_row);
    emit_list(e,
              arena_printf(a, "%sconst EdlProduct %s = ",
                           is_number(p->k) ? "static " : "", p->name),
              &shape, 1, ";");
    const char *items[] = {arena_printf(a, "&%s", p->name),
                           p->a,
                           p->b,
                           p->c,
                           p->m0,
                           p->m1,
                           p->n0,
                           p->n1,
                           p->add};
    emit_list(e, "edl_matmul(", items, 9, ");");
}

const char *
heads_left(Kernel *k, const char *name, const char *n, int64_t each,
           const char *first, bool whole)
{
    if (whole)
        return arena_printf(k->cg->arena, "%" PRId64, each);
    if (is_number(n) && strcmp(first, "0") == 0) {
        int64_t all = strtoll(n, NULL, 10);
        emit_line(&k->out, "const int64_t %s = %" PRId64 ";", name,
                  all < each ? all : each);
        return name;
    }
    emit_line(&k->out,
              "const int64_t %s = %s - %s < %" PRId64 " ? %s - %s : %" PRId64
              ";",
              name, n, first, each, n, first, each);
    return name;
}

/* ---- the parts of a tile that are seen ---- */

/* "int64_t NAME", between lo and hi. */
static void
emit_between(Kernel *k, const char *name, const char *value, const char *lo,
             const char *hi)
{
    emit_line(&k->out, "int64_t %s = %s;", name, value);
    emit_line(&k->out, "%s = %s < %s ? %s : %s > %s ? %s : %s;", name, name, lo,
              lo, name, hi, hi, name);
}

/* " + 3", " - 3", or nothing */
static const char *
plus(Arena *a, int64_t n)
{
    if (n == 0)
        return "";
    return arena_printf(a, n < 0 ? " - %" PRId64 : " + %" PRId64,
                        n < 0 ? -n : n);
}

/* The key, counted from s0, behind which query `at` of the block sees none,
 * if that is counted from 1; and the first query that sees key `at`. */
static const char *
key_of(Kernel *k, const Heads *h, const char *t0, const char *at)
{
    Arena *a = k->cg->arena;
    const char *t = strcmp(t0, "0") == 0 ? at
                    : strcmp(at, "0") == 0
                        ? t0
                        : arena_printf(a, "%s + %s", t0, at);
    if (strcmp(t, "0") == 0 && h->shift == 0)
        return "-s0";
    return arena_printf(a, "%s%s - s0", t, plus(a, h->shift));
}

static const char *
query_of(Kernel *k, const Heads *h, const char *t0, const char *at)
{
    Arena *a = k->cg->arena;
    const char *t = strcmp(t0, "0") == 0 ? "" : arena_printf(a, " - %s", t0);
    return arena_printf(a, "s0 + %s%s%s", at, t, plus(a, -h->shift));
}

Part
heads_part(Kernel *k, const Heads *h, const char *t0, const char *rows,
           const char *n)
{
    Part p = {.t0 = t0, .rows = rows, .n = n};
    if (h->causal)
        emit_between(k, "whole", key_of(k, h, t0, "0"), "0", n);
    return p;
}

static void
open_all(const Heads *h, Part *p)
{
    p->q0 = "0";
    p->q1 = p->rows;
    p->k0 = "0";
    p->k1 = p->n;
    p->open = h->causal;
}

void
heads_open_queries(Kernel *k, const Heads *h, Part *p)
{
    Emit *e = &k->out;
    open_all(h, p);
    if (!h->causal)
        return;
    p->q0 = "q0";
    p->q1 = "q1";
    p->k1 = "k1";
    emit_open(e, "for (int64_t q0 = 0, q1; q0 < %s; q0 = q1)", p->rows);
    emit_line(e, "q1 = whole < %s && %s - q0 > 16 ? q0 + 16 : %s;", p->n,
              p->rows, p->rows);
    emit_between(k, "k1", key_of(k, h, p->t0, "q1"), "0", p->n);
}

void
heads_open_keys(Kernel *k, const Heads *h, Part *p)
{
    Emit *e = &k->out;
    open_all(h, p);
    if (!h->causal)
        return;
    p->q0 = "q0";
    p->k0 = "k0";
    p->k1 = "k1";
    emit_open(e, "for (int64_t k0 = 0, k1; k0 < %s; k0 = k1)", p->n);
    emit_line(e, "k1 = k0 < whole ? whole : %s - k0 > 16 ? k0 + 16 : %s;",
              p->n, p->n);
    emit_between(k, "q0", query_of(k, h, p->t0, "k0"), "0", p->rows);
    emit_line(e, "q0 -= q0 %% 16;");
}

void
heads_close(Kernel *k, const Part *p)
{
    if (p->open)
        emit_close(&k->out, "");
}

/* ---- the rows of a tile ---- */

void
heads_open_row(Kernel *k, const Heads *h, const Part *p, const char *tile)
{
    Emit *e = &k->out;
    emit_open(e, "for (int64_t j = %s; j < %s; j++)", p->k0, p->k1);
    emit_line(e, "float *const row = %s + j * %" PRId64 ";", tile, h->queries);
}

void
heads_first(Kernel *k, const Heads *h, const Part *p)
{
    if (h->causal)
        emit_line(&k->out, "const int first = (int)(%s);",
                  query_of(k, h, p->t0, "j"));
}

void
heads_open_columns(Kernel *k, const Heads *h, const Part *p, bool all)
{
    Arena *a = k->cg->arena;
    const char *end = all ? arena_printf(a, "%" PRId64, h->queries) : p->rows;
    emit_open(&k->out, "for (int i = %s%s; i < %s; i++)",
              p->open ? "(int)" : "", p->q0, end);
}

const char *
heads_hidden(Kernel *k, const Heads *h, const char *hidden, const char *x)
{
    if (!h->causal)
        return x;
    return arena_printf(k->cg->arena, "i < first ? %s : %s", hidden, x);
}

/* Both exist for keys and queries only. */
const char *
heads_masked(Kernel *k, const Heads *h, const Part *p, const Operand *mask,
             const Operand *bias)
{
    Arena *a = k->cg->arena;
    const char *score = arena_printf(a, "row[i] * %s",
                                     c_number(a, DT_f32, h->scale));
    if (h->mask_at < 0 && h->bias_at < 0)
        return score;
    if (h->bias_at >= 0)
        score = arena_printf(a, "%s + %s", score,
                             heads_load(k, bias, "i", "s0 + j"));
    if (h->mask_at >= 0)
        score = arena_printf(a, "%s ? %s : -INFINITY",
                             heads_load(k, mask, "i", "s0 + j"), score);
    heads_open_columns(k, h, p, false);
    emit_line(&k->out, "row[i] = %s;", score);
    emit_close(&k->out, "");
    return "row[i]";
}
