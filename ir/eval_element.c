/* Elementwise ops, constants and casts. Integers are computed in 64 bits and
 * wrap to the width of their type. */
#include <math.h>

#include "ir/eval_kernel.h"

static bool
is_int(const Array *a)
{
    return dtype_info[a->type.dtype].kind == KIND_INT;
}

bool
eval_element1(Job *j, EvalFn1 *f, EvalInt1 *i)
{
    const Array *x = &j->in[0];
    Array *y = &j->out[0];
    int64_t n = type_elements(&y->type);
    bool as_int = i && is_int(x);
    for (int64_t k = 0; k < n; k++)
        y->at[k] = as_int ? (double)eval_wrap(y->type.dtype,
                                              i((uint64_t)(int64_t)x->at[k]))
                          : f(x->at[k]);
    return true;
}

bool
eval_element2(Job *j, EvalFn2 *f, EvalInt2 *i)
{
    const double *a = j->in[0].at, *b = j->in[1].at;
    Array *y = &j->out[0];
    bool as_int = i && is_int(&j->in[0]);
    Walk w = walk(&y->type);
    walk_broadcast(&w, &j->in[0].type);
    walk_broadcast(&w, &j->in[1].type);
    for (; w.left; walk_next(&w)) {
        double p = a[w.at[0]], q = b[w.at[1]];
        if (as_int)
            p = (double)eval_wrap(y->type.dtype,
                                  (uint64_t)i((int64_t)p, (int64_t)q));
        else
            p = f(p, q);
        y->at[w.done] = p;
    }
    return true;
}

bool
eval_element3(Job *j, EvalFn3 *f)
{
    Walk w = walk(&j->out[0].type);
    for (int k = 0; k < 3; k++)
        walk_broadcast(&w, &j->in[k].type);
    for (; w.left; walk_next(&w))
        j->out[0].at[w.done] =
            f(j->in[0].at[w.at[0]], j->in[1].at[w.at[1]], j->in[2].at[w.at[2]]);
    return true;
}

bool
eval_clamp(Job *j)
{
    double lo = node_float(j->node, "lo", -INFINITY);
    double hi = node_float(j->node, "hi", INFINITY);
    int64_t n = type_elements(&j->out[0].type);
    for (int64_t k = 0; k < n; k++) {
        double x = j->in[0].at[k];
        j->out[0].at[k] = x < lo ? lo : x > hi ? hi : x;
    }
    return true;
}

/* Towards zero, to the nearest end where it does not fit; NaN gives 0. */
static double
float_to_int(Dtype d, double x)
{
    int bits = dtype_info[d].bits;
    double hi = d == DT_u8 ? 255 : ldexp(1, bits - 1) - 1;
    double lo = d == DT_u8 ? 0 : -ldexp(1, bits - 1);
    if (isnan(x))
        return 0;
    x = trunc(x);
    return x < lo ? lo : x > hi ? hi : x;
}

bool
eval_cast(Job *j)
{
    Dtype to = j->out[0].type.dtype;
    bool to_int = dtype_info[to].kind == KIND_INT;
    bool from_float = type_is_float(&j->in[0].type);
    int64_t n = type_elements(&j->out[0].type);
    for (int64_t k = 0; k < n; k++) {
        double x = j->in[0].at[k];
        if (to_int && from_float)
            x = float_to_int(to, x);
        else if (to_int)
            x = (double)eval_wrap(to, (uint64_t)(int64_t)x);
        j->out[0].at[k] = x;
    }
    return true;
}

bool
eval_const(Job *j)
{
    const Attr *whole = node_attr(j->node, "int");
    double v = whole ? (double)whole->i : node_float(j->node, "value", 0);
    int64_t n = type_elements(&j->out[0].type);
    for (int64_t k = 0; k < n; k++)
        j->out[0].at[k] = v;
    return true;
}

bool
eval_iota(Job *j)
{
    int axis = (int)node_int(j->node, "axis", 0);
    for (Walk w = walk(&j->out[0].type); w.left; walk_next(&w))
        j->out[0].at[w.done] = (double)w.index[axis];
    return true;
}

bool
eval_copy(Job *j)
{
    int64_t n = type_elements(&j->out[0].type);
    if (type_elements(&j->in[0].type) != n)
        return eval_fail(j, "%s on more than one rank is not evaluable",
                         op_info[j->node->op].name);
    memcpy(j->out[0].at, j->in[0].at, sizeof(double) * (size_t)n);
    return true;
}
