/* The functions of edl_kernel.h against libm in double: the largest error in
 * units of the result's last place, and a hash of all results, over every
 * float whose bits are a multiple of argument 1, and at zeros, denormals,
 * infinities and NaN. Argument 2: there is no fma in hardware. Exit 1 when an
 * error is above its bound. */
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
MANY(weightf)
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
    {"weight", many_weightf, exp, 1.5, 0, -87, 88},
    {"sin", many_sinf, sin, 0.51, 0, -INFINITY, INFINITY},
    {"cos", many_cosf, cos, 0.51, 0, -INFINITY, INFINITY},
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

/* The functions that are right wherever libm is, zeros' signs included. */
static int
at_ends(const Fn *f)
{
    static const char *const whole[] = {"exp", "log", "log1p", "tanh",
                                        "erf", "sin", "cos"};
    static const float ends[] = {
        0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f,
        0x1p-126f, -0x1p-126f, 1.0f, -1.0f, 0x1.fffffep+127f,
        -0x1.fffffep+127f, 88.7f, 88.8f, -87.4f, -103.9f, -104.1f};
    enum { ENDS = sizeof ends / sizeof *ends };
    static float x[LOOP], y[LOOP];
    int bad = 0, counts = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        counts |= strcmp(f->name, whole[i]) == 0;
    for (int i = 0; i < LOOP; i++)
        x[i] = ends[i % ENDS];
    f->many(x, y);
    for (int i = 0; counts && i < LOOP; i++) {
        double right = f->right(x[i]);
        int same = right != 0 || !signbit(right) == !signbit(y[i]);
        if (same && error(right, y[i], 0) <= 2)
            continue;
        printf("%s(%g) is %g, not %g\n", f->name, x[i], y[i], right);
        bad = 1;
    }
    return bad;
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

static void
many_powf(const float *x, const float *y, float *z)
{
    for (int i = 0; i < LOOP; i++)
        z[i] = edl_powf(x[i], y[i]);
}

static uint32_t
draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* Any float, a small multiple of 1/4, or one that is special. */
static float
draw_float(uint64_t *state)
{
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY,
                                    -INFINITY, NAN, 0x1p-149f, -0x1p-149f,
                                    16777215.0f, -16777215.0f, 16777216.0f,
                                    0.99999994f, 1.0000001f, 0.5f, 3.0f};
    uint32_t kind = draw(state) >> 28, u = draw(state);
    if (kind < 4)
        return special[u >> 28];
    return kind < 8 ? edl_float(u) : (float)((int32_t)u >> 24) * 0.25f;
}

static int
measure_pow(void)
{
    static float x[LOOP], y[LOOP], z[LOOP];
    uint64_t state = 1, hash = 0;
    double worst = 0;
    float at[2] = {0, 0};
    for (int n = 0; n < 100; n++) {
        for (int i = 0; i < LOOP; i++) {
            x[i] = draw_float(&state);
            y[i] = draw_float(&state);
        }
        many_powf(x, y, z);
        for (int i = 0; i < LOOP; i++) {
            hash = hash * 0x100000001b3u + edl_bits(z[i] == z[i] ? z[i] : 0);
            double right = pow(x[i], y[i]);
            double e = error(right, z[i], 0);
            if (right == 0 && !signbit(right) != !signbit(z[i]))
                e = 1e9;
            if (e > worst) {
                worst = e;
                at[0] = x[i];
                at[1] = y[i];
            }
        }
    }
    printf("%-16s %7.3f ulp at %.9g, %.9g, hash %016llx%s\n", "pow", worst,
           at[0], at[1], (unsigned long long)hash,
           worst > 0.51 ? "  TOO MUCH" : "");
    return worst > 0.51;
}

int
main(int argc, char **argv)
{
    uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10007;
    int bad = 0;
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        bad |= measure(&fns[i], stride, argc > 2 ? 2 : 1);
        bad |= at_ends(&fns[i]);
    }
    return bad | measure_pow();
}
