/* Tables and changes of shape. */
#include "ir/shape_rules.h"

/* ---- tables ---- */

bool
shape_rule_embedding(Shaper *s)
{
    Type t = s->args[1];
    if (s->args[0].rank != 2)
        return shape_fail_at(s, "expected a table [V, C]", 0, -1);
    if (!shape_is_float(s, 0) || !shape_is_int(s, 1))
        return false;
    if (t.rank == MAX_RANK)
        return shape_fail(s, "more than 8 axes");
    t.dtype = s->args[0].dtype;
    t.dim[t.rank++] = s->args[0].dim[1];
    return shape_give(s, t);
}

/* Axis `axis` of x replaced by the axes of index, as numpy.take. */
static bool
taken(Shaper *s, const Type *x, const Type *index, Type *out)
{
    int axis;
    if (!shape_is_int(s, 1) || !shape_axis(s, x->rank, &axis))
        return false;
    if (x->rank - 1 + index->rank > MAX_RANK)
        return shape_fail(s, "more than 8 axes");
    *out = type_scalar(x->dtype);
    for (int i = 0; i < axis; i++)
        out->dim[out->rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        out->dim[out->rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        out->dim[out->rank++] = x->dim[i];
    return true;
}

bool
shape_rule_take(Shaper *s)
{
    Type t;
    return taken(s, &s->args[0], &s->args[1], &t) && shape_give(s, t);
}

/* index has x's axes, none but `axis` longer, as torch.gather. */
static bool
taken_along(Shaper *s, const Type *x, Type *out)
{
    const Type *index = &s->args[1];
    int axis;
    if (!shape_is_int(s, 1) || !shape_axis(s, x->rank, &axis))
        return false;
    if (index->rank != x->rank)
        return shape_fail_pair(s, "numbers of axes differ", 1, -1, 0, -1);
    for (int i = 0; i < x->rank; i++)
        if (i != axis && index->dim[i] > x->dim[i])
            return shape_fail_pair(s, "the index is longer", 1, i, 0, i);
    *out = *index;
    out->dtype = x->dtype;
    return true;
}

bool
shape_rule_take_along(Shaper *s)
{
    Type t;
    return taken_along(s, &s->args[0], &t) && shape_give(s, t);
}

/* ---- shapes ---- */

static bool
listed(Shaper *s, const char *key, Type *out)
{
    const Attr *a = shape_attr(s, key);
    *out = type_scalar(s->args[0].dtype);
    if (a->i > MAX_RANK)
        return shape_fail(s, "more than 8 axes");
    for (int i = 0; i < a->i; i++)
        out->dim[out->rank++] = a->list[i];
    return shape_give(s, *out);
}

bool
shape_rule_reshape(Shaper *s)
{
    Type t;
    if (!listed(s, "shape", &t))
        return false;
    return type_elements(&t) == type_elements(&s->args[0]) ||
           shape_fail_at(s, "another number of elements", 0, -1);
}

bool
shape_rule_transpose(Shaper *s)
{
    const Attr *perm = shape_attr(s, "perm");
    const Type *x = &s->args[0];
    Type t = *x;
    bool seen[MAX_RANK] = {false};
    if (perm->i != x->rank)
        return shape_fail_at(s, "perm must name each axis once", 0, -1);
    for (int i = 0; i < x->rank; i++) {
        int64_t at = perm->list[i];
        if (at < 0 || at >= x->rank || seen[at])
            return shape_fail_at(s, "perm must name each axis once", 0, -1);
        seen[at] = true;
        t.dim[i] = x->dim[at];
    }
    return shape_give(s, t);
}

bool
shape_rule_broadcast_to(Shaper *s)
{
    const Type *x = &s->args[0];
    Type t;
    if (!listed(s, "shape", &t))
        return false;
    if (x->rank > t.rank)
        return shape_fail_at(s, "fewer axes than it has", 0, -1);
    for (int i = 1; i <= x->rank; i++) {
        int64_t from = x->dim[x->rank - i];
        if (from != 1 && from != t.dim[t.rank - i])
            return shape_fail_at(s, "does not broadcast to the shape", 0,
                                 x->rank - i);
    }
    return true;
}

/* Elements from start towards stop, which is not reached; -1: the end of a
 * walk down. 0: not a legal slice of dim elements. */
static int64_t
slice_count(int64_t start, int64_t stop, int64_t step, int64_t dim)
{
    if (start < 0 || start >= dim || stop < -1 || stop > dim)
        return 0;
    if (step > 0 && stop > start)
        return (stop - start - 1) / step + 1;
    if (step < 0 && stop < start)
        return step < -dim ? 1 : (start - stop - 1) / -step + 1;
    return 0;
}

static bool
sliced(Shaper *s, const Type *x, Type *out)
{
    const Attr *start = shape_attr(s, "start"), *stop = shape_attr(s, "stop");
    const Attr *step = shape_attr(s, "step");
    if (start->i != x->rank || stop->i != x->rank || step->i != x->rank)
        return shape_fail(s, "start, stop and step need one entry an axis");
    *out = *x;
    for (int i = 0; i < x->rank; i++) {
        out->dim[i] = slice_count(start->list[i], stop->list[i], step->list[i],
                                  x->dim[i]);
        if (out->dim[i] == 0)
            return shape_fail_at(s, "the slice is empty or out of range", 0, i);
    }
    return true;
}

bool
shape_rule_slice(Shaper *s)
{
    Type t;
    return sliced(s, &s->args[0], &t) && shape_give(s, t);
}

static bool
sliced_at(Shaper *s, const Type *x, Type *out)
{
    int axis;
    int64_t size = shape_int(s, "size", 0);
    if (!shape_is_scalar(s, 1, DT_i32) || !shape_axis(s, x->rank, &axis))
        return false;
    if (size < 1 || size > x->dim[axis])
        return shape_fail_at(s, "the slice is empty or out of range", 0, axis);
    *out = *x;
    out->dim[axis] = size;
    return true;
}

bool
shape_rule_slice_at(Shaper *s)
{
    Type t;
    return sliced_at(s, &s->args[0], &t) && shape_give(s, t);
}

bool
shape_rule_split(Shaper *s)
{
    const Attr *sizes = shape_attr(s, "sizes");
    Type t = s->args[0];
    int axis;
    if (!shape_axis(s, t.rank, &axis))
        return false;
    int64_t rest = t.dim[axis];
    for (int64_t i = 0; i < sizes->i; i++) {
        if (sizes->list[i] < 1 || sizes->list[i] > rest)
            return shape_fail_at(s, "sizes do not add up to the axis", 0, axis);
        rest -= sizes->list[i];
        t.dim[axis] = sizes->list[i];
        if (!shape_give(s, t))
            return false;
    }
    return rest == 0 ||
           shape_fail_at(s, "sizes do not add up to the axis", 0, axis);
}

bool
shape_rule_concat(Shaper *s)
{
    Type t = s->args[0];
    int axis;
    if (!shape_axis(s, t.rank, &axis))
        return false;
    for (int i = 1; i < s->n_args; i++) {
        const Type *x = &s->args[i];
        if (!shape_same_dtype(s, i, 0))
            return false;
        if (x->rank != t.rank)
            return shape_fail_pair(s, "numbers of axes differ", i, -1, 0, -1);
        for (int k = 0; k < t.rank; k++)
            if (k != axis && x->dim[k] != t.dim[k])
                return shape_fail_pair(s, "sizes differ", i, k, 0, k);
        if (x->dim[axis] > INT64_MAX - t.dim[axis])
            return shape_fail(s, "more than 2^63 bytes");
        t.dim[axis] += x->dim[axis];
    }
    return shape_give(s, t);
}

bool
shape_rule_pad(Shaper *s)
{
    const Attr *before = shape_attr(s, "before");
    const Attr *after = shape_attr(s, "after");
    Type t = s->args[0];
    if (dtype_info[t.dtype].kind == KIND_STORAGE)
        return shape_fail_at(s, "only dequantize reads storage types", 0, -1);
    if (before->i != t.rank || after->i != t.rank)
        return shape_fail(s, "before and after need one entry an axis");
    for (int i = 0; i < t.rank; i++) {
        int64_t b = before->list[i], a = after->list[i];
        if (b < 0 || a < 0)
            return shape_fail_at(s, "padding must not be below 0", 0, i);
        if (b > INT64_MAX - t.dim[i] || a > INT64_MAX - t.dim[i] - b)
            return shape_fail(s, "more than 2^63 bytes");
        t.dim[i] += b + a;
    }
    return shape_give(s, t);
}

/* ---- gradients of the above: the result, x's type, is given ---- */

static bool
gradient_fits(Shaper *s, const Type *dy)
{
    return type_equal(&s->args[0], dy) ||
           shape_fail_at(s, "not the gradient of such a result", 0, -1);
}

bool
shape_given_table(Shaper *s)
{
    Type t = s->args[1];
    const Type *table = &s->results[0];
    if (!shape_is_float(s, 0) || !shape_is_int(s, 1))
        return false;
    if (table->rank != 2)
        return shape_fail(s, "expected a table [V, C]");
    if (t.rank == MAX_RANK)
        return shape_fail(s, "more than 8 axes");
    t.dtype = table->dtype;
    t.dim[t.rank++] = table->dim[1];
    return gradient_fits(s, &t);
}

bool
shape_given_grad(Shaper *s)
{
    Type t;
    const Type *x = &s->results[0];
    if (!shape_is_float(s, 0))
        return false;
    bool ok = s->op == OP_take_grad         ? taken(s, x, &s->args[1], &t)
              : s->op == OP_take_along_grad ? taken_along(s, x, &t)
              : s->op == OP_slice_at_grad   ? sliced_at(s, x, &t)
                                            : sliced(s, x, &t);
    return ok && gradient_fits(s, &t);
}
