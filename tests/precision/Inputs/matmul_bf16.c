/* bf16 products: every kernel that this machine runs gives the bits of the
 * definition in edl_matmul_bf16.h, written down here once more, plainly; on
 * whole and broken tiles, odd K, all layouts, and on what goes wrong:
 * denormals, sums that end just above or below them, infinities, NaN. */
#include "edl_matmul_bf16.c"

#include <stdio.h>
#include <stdlib.h>

enum { M = 70, N = 110, K = 1100, KINDS = 4 };

static uint64_t state = 88172645463325252u;

static uint32_t
draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* 0: near 1; 1: any bits; 2: products near 2^-126; 3: just around it. */
static uint16_t
number(int kind)
{
    static const unsigned least[] = {125, 0, 62, 51}, range[] = {5, 255, 4, 2};
    uint32_t bits = draw();
    if (kind == 1)
        return (uint16_t)bits;
    return (uint16_t)((bits & 0x807fu) |
                      ((least[kind] + draw() % range[kind]) << 7));
}

/* A sum to add to: of its kind, or the smallest numbers. */
static float
start(int kind)
{
    if (kind < 2)
        return edl_float((uint32_t)number(kind) << 16 | (draw() & 0xffffu));
    if (kind == 3)
        return edl_float((draw() & 0x80000000u) | (0x00800000u + draw() % 3));
    return edl_float((draw() & 0x807fffffu) | (draw() % 3) << 23);
}

static float a_wide[M * K], b_wide[K * N], first[M * N], c[M * N], want[M * N];
static uint16_t a_low[M * K], b_low[K * N];

static float
value(uint16_t h)
{
    return flush(edl_bf16_to_f32(h));
}

/* Of the 24 bits and any exponent that a*b + c rounds to: is it below 2^-126?
 * Long double holds all of the sum where it matters. */
static float
term(float sum, uint16_t x, uint16_t y)
{
    float r = fmaf(value(x), value(y), sum);
    long double exact = (long double)value(x) * value(y) + sum;
    if (fabsf(r) <= 0x1p-126f && fabsl(exact) < 0x1.ffffffp-127L)
        return copysignf(0.0f, r);
    return r;
}

static void
define(const EdlProductBf16 *s, int m, int n, int add)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = add ? flush(first[i * N + j]) : 0.0f;
            for (int64_t p = 0; p < s->at.k; p += 2)
                for (int64_t q = p + 1; q >= p; q--) {
                    bool there = q < s->at.k;
                    int64_t at = i * s->at.a_row + q * s->at.a_col;
                    int64_t bt = q * s->at.b_row + j * s->at.b_col;
                    sum = term(sum, there ? a_low[at] : 0,
                               there ? b_low[bt] : 0);
                }
            want[i * N + j] = sum;
        }
}

static int
differs(const char *kernel, int m, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float x = want[i * N + j], y = c[i * N + j];
            if ((isnan(x) && isnan(y)) || edl_bits(x) == edl_bits(y))
                continue;
            printf("%s [%d, %d]: %a, want %a\n", kernel, i, j, (double)y,
                   (double)x);
            return 1;
        }
    return 0;
}

static void
run(const Kernel *kernel, const EdlProductBf16 *s, int m, int n, int add)
{
    memcpy(c, first, sizeof c);
    run_kernel(kernel, s, s->a_wide ? (void *)a_wide : (void *)a_low,
               s->b_wide ? (void *)b_wide : (void *)b_low, c, 0, m / 2, 0, n,
               add);
    run_kernel(kernel, s, s->a_wide ? (void *)a_wide : (void *)a_low,
               s->b_wide ? (void *)b_wide : (void *)b_low, c, m / 2, m, 0, n,
               add);
}

static void
fill(int kind)
{
    for (int i = 0; i < M * K; i++) {
        a_wide[i] = edl_float((uint32_t)number(kind) << 16 | (draw() & 0xffff));
        a_low[i] = edl_f32_to_bf16(flush(a_wide[i]));
    }
    for (int i = 0; i < K * N; i++) {
        b_wide[i] = edl_float((uint32_t)number(kind) << 16 | (draw() & 0xffff));
        b_low[i] = edl_f32_to_bf16(flush(b_wide[i]));
    }
    for (int i = 0; i < M * N; i++)
        first[i] = start(kind);
}

static int
check(int kind, int m, int k, int n)
{
    int bad = 0, add = (int)(draw() & 1);
    bool ta = draw() & 1, tb = draw() & 1;
    EdlProductBf16 s = {{k, ta ? 1 : K, ta ? M : 1, tb ? 1 : N, tb ? K : 1, N},
                        (int)(draw() & 1),
                        (int)(draw() & 1)};
    fill(kind);
    define(&s, m, n, add);
    for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (!(usable() >> i & 1u))
            continue;
        run(&kernels[i], &s, m, n, add);
        bad += differs(kernels[i].name, m, n);
    }
    return bad;
}

int
main(void)
{
    int bad = 0;
    for (int i = 0; i < 60; i++)
        bad += check(i % KINDS, 1 + (int)(draw() % M),
                     i % 4 == 0 ? K : 1 + (int)(draw() % 40),
                     1 + (int)(draw() % N));
    printf(bad ? "%d wrong\n" : "all right\n", bad);
    return bad != 0;
}
