/* Walking over elements, and rounding to a type. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "ir/eval_kernel.h"

bool
eval_fail(Job *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->why, EVAL_WHY_BYTES, fmt, ap);
    va_end(ap);
    return false;
}

void
eval_strides(const Type *t, int64_t *stride)
{
    int64_t s = 1;
    for (int k = t->rank - 1; k >= 0; k--) {
        stride[k] = s;
        s *= t->dim[k];
    }
}

Walk
walk(const Type *shape)
{
    Walk w = {.rank = shape->rank, .left = type_elements(shape)};
    for (int k = 0; k < shape->rank; k++)
        w.dim[k] = shape->dim[k];
    return w;
}

void
walk_add(Walk *w, const int64_t *stride)
{
    for (int k = 0; k < w->rank; k++)
        w->stride[w->n][k] = stride[k];
    w->n++;
}

void
walk_broadcast(Walk *w, const Type *operand)
{
    int64_t dense[MAX_RANK], stride[MAX_RANK] = {0};
    int shift = w->rank - operand->rank;
    eval_strides(operand, dense);
    for (int k = 0; k < operand->rank; k++)
        stride[shift + k] = operand->dim[k] == 1 ? 0 : dense[k];
    walk_add(w, stride);
}

void
walk_next(Walk *w)
{
    w->left--;
    w->done++;
    for (int k = w->rank - 1; k >= 0; k--) {
        bool carry = ++w->index[k] == w->dim[k];
        for (int i = 0; i < w->n; i++)
            w->at[i] +=
                carry ? -w->stride[i][k] * (w->dim[k] - 1) : w->stride[i][k];
        if (!carry)
            return;
        w->index[k] = 0;
    }
}

unsigned
eval_axes(const Node *n, const char *key)
{
    const Attr *a = node_attr(n, key);
    unsigned mask = 0;
    for (int64_t i = 0; a && i < a->i; i++)
        mask |= 1u << a->list[i];
    return mask;
}

Around
eval_around(const Type *t, int axis)
{
    Around a = {1, t->dim[axis], 1};
    for (int k = 0; k < axis; k++)
        a.outer *= t->dim[k];
    for (int k = axis + 1; k < t->rank; k++)
        a.inner *= t->dim[k];
    return a;
}

int64_t
eval_wrap(Dtype d, uint64_t bits)
{
    int width = dtype_info[d].bits;
    if (width == 64)
        return (int64_t)bits;
    uint64_t low = bits & (((uint64_t)1 << width) - 1);
    bool negative = d != DT_u8 && low >> (width - 1);
    return (int64_t)low - (negative ? (int64_t)1 << width : 0);
}

/* To `precision` bits, none below 2^least, infinite from 2^most on. */
static double
round_bits(double x, int precision, int least, int most)
{
    if (x == 0 || !isfinite(x))
        return x;
    int e;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    int unit = e - precision < least ? least : e - precision;
    double r = ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(r) >= ldexp(1, most) ? copysign(INFINITY, x) : r;
}

double
eval_round_to(Dtype d, double x)
{
    switch (d) {
    case DT_f32:
    case DT_f64:
        return x;
    case DT_f16:
        return round_bits(x, 11, -24, 16);
    case DT_bf16:
        return round_bits(x, 8, -133, 128);
    case DT_bool:
        return x != 0;
    case DT_i32:
    case DT_i64:
    case DT_u8:
    case DT_i8:
    case DT_i4:
    case DT_fp8:
    case DT_COUNT:
        break;
    }
    return x;
}

void
eval_round(Array *a)
{
    if (a->type.dtype == DT_f32 || a->type.dtype == DT_f64)
        return;
    int64_t n = type_elements(&a->type);
    for (int64_t i = 0; i < n; i++)
        a->at[i] = eval_round_to(a->type.dtype, a->at[i]);
}
