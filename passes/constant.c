#include "passes/constant.h"

#include <math.h>

bool
constant_value(const Value *v, double *x)
{
    const Node *n = v->def;
    if (n->op != OP_const)
        return false;
    const Attr *whole = node_attr(n, "int");
    const int64_t most = (int64_t)1 << 53;
    if (whole && (whole->i > most || whole->i < -most))
        return false;
    *x = whole ? (double)whole->i : node_float(n, "value", 0);
    return true;
}

/* By bits, so that -0 is not 0. */
bool
constant_is(const Value *v, double x)
{
    double y;
    return constant_value(v, &y) && y == x && signbit(y) == signbit(x);
}

/* To `digits` binary digits, the last one not below 2^low. */
static double
round_binary(double x, int digits, int low, double overflow)
{
    if (x == 0 || !isfinite(x))
        return x;
    int e;
    frexp(x, &e);
    int last = e - digits > low ? e - digits : low;
    double y = ldexp(nearbyint(ldexp(x, -last)), last);
    return fabs(y) >= overflow ? copysign(INFINITY, x) : y;
}

static bool
round_int(double x, double lo, double hi)
{
    return x >= lo && x <= hi && x == floor(x);
}

bool
constant_round(Dtype d, double *x)
{
    switch (d) {
    case DT_f64:
        return true;
    case DT_f32:
        *x = (float)*x;
        return true;
    case DT_bf16:
        *x = round_binary((float)*x, 8, -133, 0x1p128);
        return true;
    case DT_f16:
        *x = round_binary((float)*x, 11, -24, 0x1p16);
        return true;
    case DT_i32:
        return round_int(*x, -0x1p31, 0x1p31 - 1);
    case DT_i64:
        return round_int(*x, -0x1p53, 0x1p53);
    case DT_u8:
        return round_int(*x, 0, 255);
    case DT_bool:
        return round_int(*x, 0, 1);
    case DT_i8:
    case DT_i4:
    case DT_fp8:
    case DT_COUNT:
        return false;
    }
    bug("dtype %d", (int)d);
}

void
constant_become(Node *n, double x)
{
    Attr a = type_is_float(&n->results[0]->type)
                 ? attr_float("value", x)
                 : attr_int("int", (int64_t)x);
    node_become(n, OP_const, NULL, 0, &a, 1);
}
