/* Reductions, norms, products, attention, losses. */
#include "ir/shape_rules.h"

#include <string.h>

/* ---- reductions ---- */

/* x without the axes of the attribute (or with 1 there), and how many
 * elements go into one. */
static bool
reduce(Shaper *s, const Type *x, bool keep, Type *out, int64_t *count)
{
    const Attr *axes = shape_attr(s, "axes");
    bool gone[MAX_RANK] = {false};
    for (int64_t i = 0; i < axes->i; i++) {
        int64_t at = axes->list[i];
        if (at < 0 || at >= x->rank)
            return shape_fail(s, "axis is out of range");
        if (i > 0 && at <= axes->list[i - 1])
            return shape_fail(s, "axes must ascend");
        gone[at] = true;
    }
    *out = type_scalar(x->dtype);
    *count = 1;
    for (int i = 0; i < x->rank; i++) {
        if (gone[i])
            *count *= x->dim[i];
        if (keep || !gone[i])
            out->dim[out->rank++] = gone[i] ? 1 : x->dim[i];
    }
    return true;
}

static bool
variance_count(Shaper *s, int64_t count)
{
    int64_t ddof = shape_int(s, "ddof", 0);
    if (ddof < 0 || ddof > 1)
        return shape_fail(s, "ddof is 0 or 1");
    if (count <= ddof)
        return shape_fail_at(s, "the variance of one element with ddof = 1", 0,
                             -1);
    return true;
}

bool
shape_rule_reduce(Shaper *s)
{
    Type t;
    int64_t count;
    bool real = s->op == OP_variance || s->op == OP_logsumexp;
    if (real ? !shape_is_float(s, 0) : !shape_is_number(s, 0))
        return false;
    if (!reduce(s, &s->args[0], shape_int(s, "keep", 0), &t, &count))
        return false;
    if (s->op == OP_variance && !variance_count(s, count))
        return false;
    return shape_give(s, t);
}

bool
shape_rule_reduce_i32(Shaper *s)
{
    Type t;
    int64_t count;
    if (!shape_is_number(s, 0) ||
        !reduce(s, &s->args[0], shape_int(s, "keep", 0), &t, &count))
        return false;
    if (count > INT32_MAX)
        return shape_fail_at(s, "more elements than an i32 can count", 0, -1);
    t.dtype = DT_i32;
    return shape_give(s, t);
}

/* dy, x, y: dy and y are x reduced, with axes kept. */
static bool
reduced_grad(Shaper *s)
{
    Type t;
    int64_t count;
    if (!shape_is_float(s, 1) || !reduce(s, &s->args[1], true, &t, &count))
        return false;
    return shape_has_type(s, 0, &t, "expected operand 1 reduced, axes kept") &&
           shape_has_type(s, 2, &t, "expected operand 1 reduced, axes kept");
}

/* ---- norms ---- */

bool
shape_rule_norm(Shaper *s)
{
    Type t = s->args[0];
    if (!shape_is_float(s, 0))
        return false;
    if (t.rank == 0)
        return shape_fail_at(s, "expected at least one axis", 0, -1);
    if (!(shape_float(s, "eps", 0) >= 0))
        return shape_fail(s, "eps must not be below 0");
    t.dtype = DT_f32;
    t.dim[t.rank - 1] = 1;
    return shape_give(s, s->args[0]) && shape_give(s, t) &&
           (s->op == OP_rmsnorm || shape_give(s, t));
}

/* ---- products ---- */

static bool
leading(Shaper *s, Type *out)
{
    Type a = s->args[0], b = s->args[1];
    a.rank -= 2;
    b.rank -= 2;
    if (type_broadcast(&a, &b, out))
        return true;
    int x = 1;
    while (a.dim[a.rank - x] == b.dim[b.rank - x] || a.dim[a.rank - x] == 1 ||
           b.dim[b.rank - x] == 1)
        x++;
    return shape_fail_pair(s, "leading sizes do not broadcast", 1, b.rank - x,
                           0, a.rank - x);
}

/* The result is of the operands' dtype, or as wide as their sums. */
static bool
summed_dtype(Shaper *s, Dtype *d)
{
    const char *to = shape_word(s, "to");
    if (!*to)
        return true;
    if (strcmp(to, "f32") != 0 || dtype_info[*d].bits != 16)
        return shape_fail(s, "to is f32, for operands of 16 bits");
    *d = DT_f32;
    return true;
}

bool
shape_rule_matmul(Shaper *s)
{
    const Type *a = &s->args[0], *b = &s->args[1];
    bool ta = shape_int(s, "ta", 0), tb = shape_int(s, "tb", 0);
    if (!shape_is_float(s, 0) || !shape_is_float(s, 1) ||
        !shape_same_dtype(s, 1, 0))
        return false;
    for (int i = 0; i < 2; i++)
        if (s->args[i].rank < 2)
            return shape_fail_at(s, "expected at least two axes", i, -1);
    int m = a->rank - (ta ? 1 : 2), k = a->rank - (ta ? 2 : 1);
    int n = b->rank - (tb ? 2 : 1), kb = b->rank - (tb ? 1 : 2);
    if (a->dim[k] != b->dim[kb])
        return shape_fail_pair(s, "inner sizes differ", 1, kb, 0, k);
    Type t;
    if (!leading(s, &t))
        return false;
    t.dim[t.rank++] = a->dim[m];
    t.dim[t.rank++] = b->dim[n];
    return summed_dtype(s, &t.dtype) && shape_give(s, t);
}

/* ---- attention ---- */

/* Operand i broadcasts to [.., H, T, S] of q and k. */
static bool
scores(Shaper *s, int i, int q, int k)
{
    Type t = s->args[q], out;
    const Type *m = &s->args[i];
    t.dim[t.rank - 1] = s->args[k].dim[t.rank - 2];
    if (m->rank <= t.rank && type_broadcast(&t, m, &out) &&
        shape_same_dims(&(Shaper){.args = (Type[]){t, out}, .err = s->err}, 0,
                        1))
        return true;
    return shape_fail_at(s, "does not broadcast to [.., H, T, S]", i, -1);
}

static bool
heads(Shaper *s, int q, int k)
{
    const Type *a = &s->args[q], *b = &s->args[k];
    int r = a->rank;
    if (r < 3)
        return shape_fail_at(s, "expected at least [H, T, D]", q, -1);
    if (b->rank != r)
        return shape_fail_pair(s, "numbers of axes differ", k, -1, q, -1);
    for (int i = 0; i < r - 3; i++)
        if (a->dim[i] != b->dim[i])
            return shape_fail_pair(s, "sizes differ", k, i, q, i);
    if (a->dim[r - 3] % b->dim[r - 3])
        return shape_fail_pair(s, "heads are no multiple of the groups", q,
                               r - 3, k, r - 3);
    if (a->dim[r - 1] != b->dim[r - 1])
        return shape_fail_pair(s, "sizes differ", k, r - 1, q, r - 1);
    return true;
}

static bool
align(Shaper *s, const Type *q, const Type *k)
{
    const char *at = shape_word(s, "align");
    if (*at && strcmp(at, "start") != 0 && strcmp(at, "end") != 0)
        return shape_fail(s, "align is start or end");
    if (shape_int(s, "causal", 0) && !*at &&
        q->dim[q->rank - 2] != k->dim[k->rank - 2])
        return shape_fail(s, "causal with T and S that differ needs "
                             "align = start or align = end");
    return true;
}

/* q, k and v from operand `q` on, mask and bias from operand `extra` on. */
static bool
attention(Shaper *s, int q, int extra)
{
    bool mask = shape_int(s, "mask", 0), bias = shape_int(s, "bias", 0);
    if (s->n_args != extra + mask + bias)
        return shape_fail(s, "mask and bias do not tell the operands");
    if (!shape_is_float(s, q) || !shape_same_dtype(s, q + 1, q) ||
        !shape_same_dtype(s, q + 2, q) || !heads(s, q, q + 1) ||
        !shape_same_dims(s, q + 2, q + 1) ||
        !align(s, &s->args[q], &s->args[q + 1]))
        return false;
    if (mask && (!shape_is_bool(s, extra) || !scores(s, extra, q, q + 1)))
        return false;
    int b = extra + mask;
    return !bias || (shape_is_float(s, b) && scores(s, b, q, q + 1));
}

static Type
row_numbers(const Type *q)
{
    Type t = *q;
    t.dtype = DT_f32;
    t.rank--;
    return t;
}

bool
shape_rule_attention(Shaper *s)
{
    return attention(s, 0, 3) && shape_give(s, s->args[0]) &&
           shape_give(s, row_numbers(&s->args[0]));
}

bool
shape_rule_attention_grad(Shaper *s)
{
    if (!attention(s, 1, 6))
        return false;
    Type lse = row_numbers(&s->args[1]);
    if (!shape_same_type(s, 0, 1) || !shape_same_type(s, 4, 1) ||
        !shape_has_type(s, 5, &lse, "expected lse, f32 [.., H, T]"))
        return false;
    for (int i = 1; i < 4; i++)
        if (!shape_give(s, s->args[i]))
            return false;
    return !shape_int(s, "bias", 0) || shape_give(s, s->args[s->n_args - 1]);
}

/* ---- losses ---- */

/* Logits in operand x, targets in x + 1. */
static bool
classes(Shaper *s, int x)
{
    Type rows = s->args[x];
    const Type *t = &s->args[x + 1];
    const char *how = shape_word(s, "reduction");
    double e = shape_float(s, "smoothing", 0);
    if (strcmp(how, "mean") && strcmp(how, "sum") && strcmp(how, "none"))
        return shape_fail(s, "reduction is mean, sum or none");
    if (!(e >= 0 && e <= 1))
        return shape_fail(s, "smoothing must be from 0 to 1");
    if (!shape_is_float(s, x) || !shape_is_int(s, x + 1))
        return false;
    if (rows.rank == 0)
        return shape_fail_at(s, "expected logits [.., V]", x, -1);
    rows.rank--;
    if (t->rank != rows.rank)
        return shape_fail_pair(s,
                               "expected one target for each row of the "
                               "logits",
                               x + 1, -1, x, -1);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != rows.dim[i])
            return shape_fail_pair(s, "sizes differ", x + 1, i, x, i);
    return true;
}

/* A loss is f32, or f64 where the logits are. */
static Type
loss_type(const Shaper *s, int x)
{
    Type t = row_numbers(&s->args[x]);
    if (strcmp(shape_word(s, "reduction"), "none") != 0)
        t = type_scalar(DT_f32);
    if (s->args[x].dtype == DT_f64)
        t.dtype = DT_f64;
    return t;
}

bool
shape_rule_cross_entropy(Shaper *s)
{
    return classes(s, 0) && shape_give(s, loss_type(s, 0)) &&
           shape_give(s, row_numbers(&s->args[0])) &&
           shape_give(s, type_scalar(DT_i32));
}

/* dloss, logits, targets, lse, valid */
static bool
cross_entropy_grad(Shaper *s)
{
    if (!classes(s, 1))
        return false;
    Type loss = loss_type(s, 1), lse = row_numbers(&s->args[1]);
    return shape_has_type(s, 0, &loss, "expected the loss's type") &&
           shape_has_type(s, 3, &lse, "expected lse, f32, one for each row") &&
           shape_is_scalar(s, 4, DT_i32);
}

bool
shape_rule_arg1(Shaper *s)
{
    bool ok = s->op == OP_cross_entropy_grad ? cross_entropy_grad(s)
                                             : reduced_grad(s);
    return ok && shape_give(s, s->args[1]);
}
