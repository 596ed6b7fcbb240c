/* Elementwise operations, reductions, rows. */
#include "frontend/low.h"

static Val
emit(Site *s, Op op, const char *name, Value *const *args, int n,
     const Attr *attrs, int n_attrs)
{
    return low_emit(s->l, s->at, op, name, args, n, attrs, n_attrs);
}

Val
make_unary(Site *s)
{
    Value *x = site_value(s, 0);
    return emit(s, s->row->op, s->name, &x, 1, NULL, 0);
}

/* Argument i as a value; a number takes the type of argument `other`. */
static Value *
meet(Site *s, int i, int other)
{
    if (low_is_value(&s->arg[i]))
        return site_value(s, i);
    Dtype d =
        low_is_value(&s->arg[other]) ? site_type(s, other)->dtype : DT_f32;
    return low_splat(s->l, &s->arg[i], d, site_name(s, "const"),
                     site_span(s, i));
}

Val
make_binary(Site *s)
{
    Value *args[] = {meet(s, 0, 1), NULL};
    args[1] = meet(s, 1, 0);
    return emit(s, s->row->op, s->name, args, 2, NULL, 0);
}

Val
make_where(Site *s)
{
    Value *args[] = {site_value(s, 0), meet(s, 1, 2), NULL};
    args[2] = meet(s, 2, 1);
    return emit(s, OP_where, s->name, args, 3, NULL, 0);
}

/* A bound that is left out is the far end of the type. */
Val
make_clamp(Site *s)
{
    Value *x = site_value(s, 0);
    double most = x->type.dtype == DT_f64   ? 1.7976931348623157e308
                  : x->type.dtype == DT_f16 ? 65504
                                            : 3.4028234663852886e38;
    if (!site_has(s, 1) && !site_has(s, 2)) {
        low_error(s->l, s->at, "`clamp` needs lo, hi or both");
        return low_poison();
    }
    if (!type_is_float(&x->type) && !(site_has(s, 1) && site_has(s, 2))) {
        low_error(s->l, s->at, "`clamp` of integers needs lo and hi");
        return low_poison();
    }
    Attr a[] = {attr_float("lo", site_number(s, 1, -most)),
                attr_float("hi", site_number(s, 2, most))};
    return emit(s, OP_clamp, s->name, &x, 1, a, 2);
}

Val
make_cast(Site *s)
{
    Value *x = site_value(s, 0);
    Attr a = attr_word("to", s->arg[1].s);
    if (s->arg[1].dtype == DT_COUNT) {
        low_error(s->l, site_span(s, 1), "there is no cast to %s", s->arg[1].s);
        return low_poison();
    }
    return emit(s, OP_cast, s->name, &x, 1, &a, 1);
}

Val
make_dropout(Site *s)
{
    double p = site_number(s, 1, 0);
    if (!(p >= 0 && p <= 1)) {
        low_error(s->l, site_span(s, 1), "p is a probability, from 0 to 1");
        return low_poison();
    }
    if (!type_is_float(site_type(s, 0))) {
        low_error(s->l, site_span(s, 0),
                  "`dropout` needs a floating tensor, "
                  "found %s",
                  low_describe(s->l, &s->arg[0]));
        return low_poison();
    }
    if (!s->l->train_mode || p == 0)
        return s->arg[0];
    Value *x = site_value(s, 0);
    Attr a[] = {attr_float("p", p), attr_str("key", s->name)};
    return emit(s, OP_dropout, s->name, &x, 1, a, 2);
}

/* ---- reductions: x, axis, keep ---- */

static bool
reduction(Site *s, Attr *attrs)
{
    int64_t *axes = ARENA_ARRAY(s->l->arena, int64_t, MAX_RANK);
    int n = site_axes(s, 1, site_type(s, 0)->rank, axes);
    attrs[0] = attr_ints("axes", axes, n);
    attrs[1] = attr_bool("keep", site_flag(s, 2));
    return n >= 0;
}

Val
make_reduce(Site *s)
{
    Attr a[2];
    Value *x = site_value(s, 0);
    if (!reduction(s, a))
        return low_poison();
    return emit(s, s->row->op, s->name, &x, 1, a, 2);
}

Val
make_variance(Site *s)
{
    Attr a[3];
    Value *x = site_value(s, 0);
    if (!reduction(s, a))
        return low_poison();
    a[2] = attr_int("ddof", s->arg[3].i);
    return emit(s, OP_variance, s->name, &x, 1, a, 3);
}

/* The sum over axes, divided by the count of what was added. */
static Val
mean_over(Site *s, Value *x, const Attr *a)
{
    if (!type_is_float(&x->type)) {
        low_error(s->l, site_span(s, 0), "a mean needs a floating tensor, found %s",
                  low_describe(s->l, &s->arg[0]));
        return low_poison();
    }
    double count = 1;
    for (int i = 0; i < a[0].i; i++)
        count *= (double)x->type.dim[a[0].list[i]];
    Val sum = emit(s, OP_reduce_sum, site_name(s, "sum"), &x, 1, a, 2);
    Val n = low_float(s->at, count);
    Value *args[] = {sum.value, NULL};
    args[1] = low_splat(s->l, &n, x->type.dtype, site_name(s, "const"), s->at);
    return emit(s, OP_div, s->name, args, 2, NULL, 0);
}

Val
make_mean(Site *s)
{
    Attr a[2];
    Value *x = site_value(s, 0);
    return reduction(s, a) ? mean_over(s, x, a) : low_poison();
}

/* ---- losses: a, b, reduction ---- */

static Val
reduce_loss(Site *s, Value *each)
{
    const char *how = site_word(s, 2, "mean");
    if (!each || strcmp(how, "none") == 0)
        return each ? low_val(each, s->at) : low_poison();
    int64_t *axes = ARENA_ARRAY(s->l->arena, int64_t, MAX_RANK);
    for (int i = 0; i < each->type.rank; i++)
        axes[i] = i;
    Attr a[] = {attr_ints("axes", axes, each->type.rank),
                attr_bool("keep", false)};
    if (strcmp(how, "mean") == 0)
        return mean_over(s, each, a);
    return emit(s, OP_reduce_sum, s->name, &each, 1, a, 2);
}

/* mse and bce_with_logits: shapes must be equal, since a [B, 1] against a
 * [B] is a mistake that broadcasting would hide. */
Val
make_loss(Site *s)
{
    Value *args[] = {site_value(s, 0), site_value(s, 1)};
    if (!type_equal(&args[0]->type, &args[1]->type)) {
        low_error(s->l, s->at,
                  "`%s` needs two tensors of one type and shape, "
                  "found %s and %s",
                  s->row->name, low_describe(s->l, &s->arg[0]),
                  low_describe(s->l, &s->arg[1]));
        return low_poison();
    }
    bool whole = strcmp(site_word(s, 2, "mean"), "none") != 0;
    bool square = s->row->op == OP_sub;
    const char *own = whole ? site_name(s, square ? "mul" : "each") : s->name;
    Val v = emit(s, s->row->op, square ? site_name(s, "sub") : own, args, 2,
                 NULL, 0);
    if (square) {
        Value *twice[] = {v.value, v.value};
        v = emit(s, OP_mul, own, twice, 2, NULL, 0);
    }
    return reduce_loss(s, v.value);
}

/* ---- rows ---- */

/* Another axis than the last is moved there and back. */
static Value *
swap_axes(Site *s, Value *x, int64_t axis, const char *name)
{
    int rank = x->type.rank;
    int64_t *perm = ARENA_ARRAY(s->l->arena, int64_t, rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    Attr a = attr_ints("perm", perm, rank);
    return emit(s, OP_transpose, name, &x, 1, &a, 1).value;
}

Val
make_softmax(Site *s)
{
    int64_t axis;
    Value *x = site_value(s, 0);
    int rank = x->type.rank;
    if (!site_axis(s, 1, rank, &axis))
        return low_poison();
    bool wrong = !type_is_float(&x->type); /* said of x as it is written */
    bool last = axis == rank - 1 || wrong;
    if (!last)
        x = swap_axes(s, x, axis, site_name(s, "in"));
    Attr a = attr_int("axis", rank - 1);
    Val v = emit(s, s->row->op, last ? s->name : site_name(s, "rows"), &x, 1,
                 &a, 1);
    if (last || !v.value)
        return v;
    return low_val(swap_axes(s, v.value, axis, s->name), s->at);
}

Val
make_norm(Site *s)
{
    Value *x = site_value(s, 0);
    Attr a = attr_float("eps", site_number(s, 1, 1e-5));
    return emit(s, s->row->op, s->name, &x, 1, &a, 1);
}
