/* Tables, attention, rotary embedding, cross-entropy. */
#include "frontend/low.h"

#include <math.h>

Val
make_embedding(Site *s)
{
    Value *args[] = {site_value(s, 0), site_value(s, 1)};
    return low_emit(s->l, s->at, OP_embedding, s->name, args, 2, NULL, 0);
}

Val
make_take(Site *s)
{
    int64_t axis;
    Value *args[] = {site_value(s, 0), site_value(s, 1)};
    if (!site_axis(s, 2, args[0]->type.rank, &axis))
        return low_poison();
    Attr a = attr_int("axis", axis);
    return low_emit(s->l, s->at, s->row->op, s->name, args, 2, &a, 1);
}

enum { AT_q, AT_k, AT_v, AT_causal, AT_mask, AT_bias, AT_scale, AT_align };

static bool
alignment(Site *s, Attr *attrs, int *n)
{
    const Type *q = site_type(s, AT_q), *k = site_type(s, AT_k);
    bool causal = site_flag(s, AT_causal);
    bool square = q->rank >= 2 && k->rank >= 2 &&
                  q->dim[q->rank - 2] == k->dim[k->rank - 2];
    if (site_has(s, AT_align) && !causal) {
        low_error(s->l, site_span(s, AT_align),
                  "align says where a causal mask lies; causal is false");
        return false;
    }
    if (site_has(s, AT_align))
        attrs[(*n)++] = attr_word("align", s->arg[AT_align].s);
    else if (causal && !square) {
        if (low_error(s->l, s->at,
                      "causal attention of %s to %s: the numbers "
                      "of queries and keys differ, so it must "
                      "say align",
                      low_describe(s->l, &s->arg[AT_q]),
                      low_describe(s->l, &s->arg[AT_k])))
            low_note(s->l, (Span){0},
                     "align = start: query t sees keys 0 to t; align = end: "
                     "the last query sees all keys");
        return false;
    }
    return true;
}

/* A mask is bool and a bias is no mask: the one may be meant by the other. */
static bool
extras_fit(Site *s)
{
    static const struct {
        int arg;
        DtypeKind kind;
        const char *what;
    } extras[] = {{AT_mask, KIND_BOOL, "bool, true where a query may attend"},
                  {AT_bias, KIND_FLOAT, "floating, added to the scores"}};
    for (int i = 0; i < 2; i++) {
        const Val *v = &s->arg[extras[i].arg];
        if (!site_has(s, extras[i].arg) ||
            dtype_info[low_type(v)->dtype].kind == extras[i].kind)
            continue;
        low_error(s->l, site_span(s, extras[i].arg),
                  "a %s of attend is %s; found %s", i ? "bias" : "mask",
                  extras[i].what, low_describe(s->l, v));
        return false;
    }
    return true;
}

Val
make_attend(Site *s)
{
    Value *args[5] = {site_value(s, AT_q), site_value(s, AT_k),
                      site_value(s, AT_v)};
    int n = 3, n_attrs = 0;
    if (site_has(s, AT_mask))
        args[n++] = site_value(s, AT_mask);
    if (site_has(s, AT_bias))
        args[n++] = site_value(s, AT_bias);
    const Type *q = &args[0]->type;
    double depth = q->rank ? (double)q->dim[q->rank - 1] : 1;
    Attr attrs[5];
    attrs[n_attrs++] = attr_bool("causal", site_flag(s, AT_causal));
    if (!extras_fit(s) || !alignment(s, attrs, &n_attrs))
        return low_poison();
    attrs[n_attrs++] =
        attr_float("scale", site_number(s, AT_scale, 1 / sqrt(depth)));
    attrs[n_attrs++] = attr_bool("mask", site_has(s, AT_mask));
    attrs[n_attrs++] = attr_bool("bias", site_has(s, AT_bias));
    return low_emit(s->l, s->at, OP_attention, s->name, args, n, attrs,
                    n_attrs);
}

Val
make_rope(Site *s)
{
    Value *args[] = {site_value(s, 0), NULL};
    if (site_has(s, 2))
        args[1] = site_value(s, 2);
    bool half = strcmp(s->row->name, "rope_half") == 0;
    Attr a[] = {attr_word("style", half ? "half" : "interleaved"),
                attr_float("base", site_number(s, 1, 10000))};
    return low_emit(s->l, s->at, OP_rope, s->name, args, args[1] ? 2 : 1, a, 2);
}

/* Which axes do not fit, in the words of a loss. */
static bool
targets_fit(Site *s)
{
    const Type *x = site_type(s, 0), *t = site_type(s, 1);
    bool fit = x->rank == t->rank + 1;
    for (int i = 0; fit && i < t->rank; i++)
        fit = x->dim[i] == t->dim[i];
    if (fit)
        return true;
    low_error(s->l, s->at,
              "cross_entropy needs logits [.., V] and targets "
              "[..], found %s and %s",
              low_describe(s->l, &s->arg[0]), low_describe(s->l, &s->arg[1]));
    return false;
}

Val
make_cross_entropy(Site *s)
{
    Value *args[] = {site_value(s, 0), site_value(s, 1)};
    Attr a[3];
    int n = 0;
    if (!targets_fit(s))
        return low_poison();
    a[n++] = attr_word("reduction", site_word(s, 3, "mean"));
    if (site_has(s, 2))
        a[n++] = attr_int("ignore", s->arg[2].i);
    double e = site_number(s, 4, 0);
    if (!(e >= 0 && e <= 1)) {
        low_error(s->l, site_span(s, 4), "smoothing is from 0 to 1");
        return low_poison();
    }
    if (e > 0)
        a[n++] = attr_float("smoothing", e);
    return low_emit(s->l, s->at, OP_cross_entropy, s->name, args, 2, a, n);
}
