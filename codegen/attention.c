#include "codegen/attention.h"

#include <inttypes.h>

static int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
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
    h.queries = least(h.t, ATTENTION_TILE);
    h.keys = least((h.s + 15) / 16 * 16, ATTENTION_TILE);
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
    if (o->col != 1)
        return *o;
    emit_line(&k->out, "float %s[%" PRId64 "];", name, h->d * h->keys);
    const char *items[] = {
        name, arena_printf(a, "%" PRId64, h->keys), o->at,
        arena_printf(a, "%" PRId64, o->row), rows,
        arena_printf(a, "%" PRId64, h->d)};
    emit_list(&k->out, "edl_turn(", items, 6, ");");
    return (Operand){-1, DT_f32, 0, 1, h->keys, name};
}

void
heads_product(Kernel *k, const TileProduct *p)
{
    Emit *e = &k->out;
    bool fixed = strspn(p->k, "0123456789") == strlen(p->k);
    emit_line(e, "%sconst EdlProduct %s = {", fixed ? "static " : "", p->name);
    emit_line(e,
              "    %s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
              ", %" PRId64 "};",
              p->k, p->a_row, p->a_col, p->b_row, p->b_col, p->c_row);
    const char *items[] = {arena_printf(k->cg->arena, "&%s", p->name),
                           p->a,
                           p->b,
                           p->c,
                           p->m0,
                           p->m1,
                           "0",
                           p->n,
                           p->add};
    emit_list(e, "edl_matmul(", items, 9, ");");
}

const char *
heads_left(Kernel *k, const char *name, const char *n, int64_t each,
           const char *first, bool whole)
{
    if (whole)
        return arena_printf(k->cg->arena, "%" PRId64, each);
    emit_line(&k->out,
              "const int64_t %s = %s - %s < %" PRId64 " ? %s - %s : %" PRId64
              ";",
              name, n, first, each, n, first, each);
    return name;
}

void
heads_seen(Kernel *k, const Heads *h, const char *t, const char *n)
{
    Emit *e = &k->out;
    if (!h->causal) {
        emit_line(e, "int64_t seen = %s;", n);
        return;
    }
    emit_line(e, "int64_t seen = %s + %" PRId64 " - s0;", t, h->shift + 1);
    emit_line(e, "seen = seen < 0 ? 0 : seen > %s ? %s : seen;", n, n);
}

/* ---- the parts of a tile that are seen ---- */

/* "const int64_t NAME1 = .." */
static void
emit_end(Kernel *k, const char *name, const char *n)
{
    emit_line(&k->out,
              "const int64_t %s1 = %s0 + step < %s ? %s0 + step : %s;", name,
              name, n, name, n);
}

/* "int64_t NAME", between lo and hi. */
static void
emit_between(Kernel *k, const char *name, const char *value, const char *lo,
             const char *hi)
{
    emit_line(&k->out, "int64_t %s = %s;", name, value);
    emit_line(&k->out, "%s = %s < %s ? %s : %s > %s ? %s : %s;", name, name, lo,
              lo, name, hi, hi, name);
}

/* " + 3", or nothing */
static const char *
plus_shift(Kernel *k, int64_t shift)
{
    return shift ? arena_printf(k->cg->arena, " + %" PRId64, shift) : "";
}

Part
heads_part(Kernel *k, const Heads *h, const char *t0, const char *rows,
           const char *n)
{
    Part p = {.t0 = t0, .rows = rows, .n = n};
    if (h->causal)
        emit_line(&k->out,
                  "const int64_t step = %s + %" PRId64 " - s0 < %s ? 16 : %d;",
                  t0, h->shift + 1, n, ATTENTION_TILE);
    return p;
}

static void
open_whole(const Heads *h, Part *p)
{
    p->q0 = "0";
    p->q1 = p->rows;
    p->k0 = "0";
    p->k1 = p->n;
    p->open = h->causal;
}

/* At least one key, so that a product is written where none is seen. */
void
heads_open_queries(Kernel *k, const Heads *h, Part *p)
{
    open_whole(h, p);
    if (!h->causal)
        return;
    p->q0 = "q0";
    p->q1 = "q1";
    p->k1 = "k1";
    emit_open(&k->out, "for (int64_t q0 = 0; q0 < %s; q0 += step)", p->rows);
    emit_end(k, "q", p->rows);
    emit_between(k, "k1",
                 arena_printf(k->cg->arena, "%s + q1%s - s0", p->t0,
                              plus_shift(k, h->shift)),
                 "1", p->n);
}

void
heads_open_keys(Kernel *k, const Heads *h, Part *p)
{
    open_whole(h, p);
    if (!h->causal)
        return;
    p->q0 = "q0";
    p->k0 = "k0";
    p->k1 = "k1";
    emit_open(&k->out, "for (int64_t k0 = 0; k0 < %s; k0 += step)", p->n);
    emit_end(k, "k", p->n);
    emit_between(k, "q0",
                 arena_printf(k->cg->arena, "s0 + k0 - %s%s", p->t0,
                              plus_shift(k, -h->shift)),
                 "0", p->rows);
}

void
heads_close(Kernel *k, const Part *p)
{
    if (p->open)
        emit_close(&k->out, "");
}
