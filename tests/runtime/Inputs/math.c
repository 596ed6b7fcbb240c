/* The functions of edl_kernel.h against libm in double: the largest error in
 * units of the result's last place, and a hash of all results, over every
 * float whose bits are a multiple of argument 1. Argument 2: there is no fma
 * in hardware. Exit 1 when an error is above its bound. */
#include "edl_kernel.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOP 4096

typedef struct Fn {
    const char *name;
    void (*many)(const float *x, float *y);
    double (*right)(double x);
    double bound; /* ulp, with fma in hardware; without it twice as much */
    double floor;
    float lo, hi; /* the domain that the bound holds on */
} Fn;

#define MANY(name)                                                         \
    static void many_##name(const float *x, float *y)                      \
    {                                                                      \
        for (int i = 0; i < LOOP; i++)                                     \
            y[i] = edl_##name(x[i]);                                       \
    }
MANY(expf)
MANY(logf)
MANY(log1pf)
MANY(tanhf)
MANY(sigmoidf)
MANY(erff)
MANY(siluf)
MANY(silu_slopef)
MANY(softplusf)
MANY(gelu_erff)
MANY(gelu_erf_slopef)
MANY(gelu_tanhf)
MANY(gelu_tanh_slopef)
MANY(sinf)
MANY(cosf)

static double
sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double
silu(double x)
{
    return x * sigmoid(x);
}

static double
silu_slope(double x)
{
    return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
}

static double
softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double
normal(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static double
gelu_erf(double x)
{
    return x * normal(x);
}

static double
gelu_erf_slope(double x)
{
    return normal(x) + x * exp(-x * x / 2) * 0.39894228040143267794;
}

static double
inner(double x)
{
    return 1.5957691216057307118 * (x + 0.044715 * x * x * x);
}

static double
gelu_tanh(double x)
{
    return x * sigmoid(inner(x));
}

static double
gelu_tanh_slope(double x)
{
    double u = inner(x), du = 1.5957691216057307118 *
                              (1 + 3 * 0.044715 * x * x);
    return sigmoid(u) + x * du * sigmoid(u) * sigmoid(-u);
}

/* floor: the error is measured in places of max(|y|, floor), for
 * derivatives have roots, and the far tail of gelu_tanh is the exponential of
 * a rounded cube. */
static const Fn fns[] = {
    {"exp", many_expf, exp, 1.0, 0, -200, 200},
    {"log", many_logf, log, 1.0, 0, 0, INFINITY},
    {"log1p", many_log1pf, log1p, 1.5, 0, -1, INFINITY},
    {"tanh", many_tanhf, tanh, 1.5, 0, -INFINITY, INFINITY},
    {"sigmoid", many_sigmoidf, sigmoid, 2.0, 0, -INFINITY, INFINITY},
    {"erf", many_erff, erf, 1.5, 0, -INFINITY, INFINITY},
    {"softplus", many_softplusf, softplus, 2.0, 0, -100, 1e30f},
    {"silu", many_siluf, silu, 3.0, 0, -85, 1e30f},
    {"gelu_erf", many_gelu_erff, gelu_erf, 5.5, 0x1p-10, -14, 1e30f},
    {"gelu_tanh", many_gelu_tanhf, gelu_tanh, 4.0, 0x1p-4, -20, 1e30f},
    {"silu_slope", many_silu_slopef, silu_slope, 4.0, 0x1p-2, -200, 200},
    {"gelu_erf_slope", many_gelu_erf_slopef, gelu_erf_slope, 4.0, 0x1p-2,
     -30, 30},
    {"gelu_tanh_slope", many_gelu_tanh_slopef, gelu_tanh_slope, 4.0, 0x1p-2,
     -30, 30},
    {"sin", many_sinf, sin, 0.51, 0, -1e30f, 1e30f},
    {"cos", many_cosf, cos, 0.51, 0, -1e30f, 1e30f},
};

static double
error(double right, float got, double floor)
{
    if (right != right)
        return got != got ? 0 : 1e9;
    if (got != got)
        return 1e9;
    float nearest = (float)right;
    if (isinf(nearest) || isinf(got))
        return nearest == got ? 0 : 1e9;
    int e;
    double scale = fmax(fabs(right), floor);
    frexp(scale, &e);
    double ulp = ldexp(1, e - 24);
    if (ulp < 0x1p-149)
        ulp = 0x1p-149;
    return fabs(right - (double)got) / ulp;
}

static int
measure(const Fn *f, uint32_t stride, double factor)
{
    static float x[LOOP], y[LOOP];
    double worst = 0;
    float at = 0;
    uint64_t bits = 0, hash = 0;
    while (bits >> 32 == 0) {
        for (int i = 0; i < LOOP; i++, bits += stride) {
            x[i] = edl_float((uint32_t)bits);
            if (!(x[i] >= f->lo && x[i] <= f->hi))
                x[i] = 1;
        }
        f->many(x, y);
        for (int i = 0; i < LOOP; i++) {
            hash = hash * 0x100000001b3u + edl_bits(y[i] == y[i] ? y[i] : 0);
            double e = error(f->right(x[i]), y[i], f->floor);
            if (e > worst) {
                worst = e;
                at = x[i];
            }
        }
    }
    int bad = worst > f->bound * factor;
    printf("%-16s %7.3f ulp at %.9g, hash %016llx%s\n", f->name, worst, at,
           (unsigned long long)hash, bad ? "  TOO MUCH" : "");
    return bad;
}

int
main(int argc, char **argv)
{
    uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10007;
    int bad = 0;
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        bad |= measure(&fns[i], stride, argc > 2 ? 2 : 1);
    return bad;
}
