/* Scalar functions of the evaluator, in forms that neither overflow nor
 * cancel. NaN goes through all of them. */
#include <math.h>

#include "ir/eval_kernel.h"

double
eval_neg(double x)
{
    return -x;
}

double
eval_sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

double
eval_rsqrt(double x)
{
    return 1 / sqrt(x);
}

double
eval_sigmoid(double x)
{
    if (x >= 0)
        return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

double
eval_softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

double
eval_relu(double x)
{
    return x <= 0 ? 0 : x;
}

/* x * s, where s is 0 in the far tail and x may be infinite there. */
static double
gated(double x, double s)
{
    return s == 0 ? 0 : x * s;
}

double
eval_silu(double x)
{
    return gated(x, eval_sigmoid(x));
}

double
eval_silu_slope(double x)
{
    double s = eval_sigmoid(x);
    return s + gated(x, s * eval_sigmoid(-x));
}

/* (1 + tanh u) / 2 = sigmoid(2u), with u = sqrt(2/pi) (x + 0.044715 x^3). */
static const double gelu_c = 0.79788456080286535588; /* sqrt(2/pi) */
static const double gelu_a = 0.044715;

static double
gelu_2u(double x)
{
    return 2 * gelu_c * x * (1 + gelu_a * x * x);
}

double
eval_gelu_tanh(double x)
{
    return gated(x, eval_sigmoid(gelu_2u(x)));
}

double
eval_gelu_tanh_slope(double x)
{
    double s = eval_sigmoid(gelu_2u(x));
    double ds = s * eval_sigmoid(-gelu_2u(x));
    return s + gated(2 * gelu_c * x * (1 + 3 * gelu_a * x * x), ds);
}

/* The normal distribution's cumulative and density. */
static double
normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

double
eval_gelu_erf(double x)
{
    return gated(x, normal_cdf(x));
}

double
eval_gelu_erf_slope(double x)
{
    double density = 0.39894228040143267794 * exp(-0.5 * x * x);
    return normal_cdf(x) + gated(x, density);
}

double
eval_not(double x)
{
    return x == 0;
}

double
eval_isfinite(double x)
{
    return isfinite(x) != 0;
}

double
eval_add(double a, double b)
{
    return a + b;
}

double
eval_sub(double a, double b)
{
    return a - b;
}

double
eval_mul(double a, double b)
{
    return a * b;
}

double
eval_div(double a, double b)
{
    return a / b;
}

double
eval_max(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

double
eval_min(double a, double b)
{
    return isnan(a) || a <= b ? a : b;
}

/* Binary cross entropy of the logit z against y. */
double
eval_bce(double z, double y)
{
    return (z > 0 ? z : 0) - z * y + log1p(exp(-fabs(z)));
}

double
eval_lt(double a, double b)
{
    return a < b;
}

double
eval_le(double a, double b)
{
    return a <= b;
}

double
eval_gt(double a, double b)
{
    return a > b;
}

double
eval_ge(double a, double b)
{
    return a >= b;
}

double
eval_eq(double a, double b)
{
    return a == b;
}

double
eval_ne(double a, double b)
{
    return a != b;
}

double
eval_and(double a, double b)
{
    return a != 0 && b != 0;
}

double
eval_or(double a, double b)
{
    return a != 0 || b != 0;
}

double
eval_where(double c, double a, double b)
{
    return c != 0 ? a : b;
}

/* d/da a^b; 0 for b = 0, also where a^-1 is infinite. */
double
eval_pow_grad_base(double dy, double a, double b)
{
    return b == 0 ? 0 : dy * b * pow(a, b - 1);
}

/* d/db a^b; the logarithm is needed for a > 0 only, elsewhere it is 0. */
double
eval_pow_grad_exp(double dy, double a, double b)
{
    return a <= 0 ? 0 : dy * pow(a, b) * log(a);
}

uint64_t
eval_int_neg(uint64_t x)
{
    return 0 - x;
}

uint64_t
eval_int_abs(uint64_t x)
{
    return (int64_t)x < 0 ? 0 - x : x;
}

uint64_t
eval_int_sign(uint64_t x)
{
    return (int64_t)x < 0 ? UINT64_MAX : x > 0;
}

uint64_t
eval_int_same(uint64_t x)
{
    return x;
}

uint64_t
eval_int_relu(uint64_t x)
{
    return (int64_t)x < 0 ? 0 : x;
}

int64_t
eval_int_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

int64_t
eval_int_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

int64_t
eval_int_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Towards zero as in C; by zero gives 0, which C leaves open. */
int64_t
eval_int_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

int64_t
eval_int_pow(int64_t a, int64_t b)
{
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t r = 1, x = (uint64_t)a;
    for (; b > 0; b /= 2, x *= x)
        if (b % 2)
            r *= x;
    return (int64_t)r;
}
