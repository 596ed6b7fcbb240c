/* What the machine can do at most: the roof over a kernel's time. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_profile_parts.h"

#ifdef EDL_PROFILE

#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

enum {
    PIECES = 64,
    CHAINS = 12,
    ROUNDS = 20000,
    TRIES = 3,
    FLOATS = 1 << 24, /* in each of two arrays */
    PART = FLOATS / PIECES
};

typedef double (*Multiply)(float *out);

/* Floating operations done. The sums go to out, so that they are made. */
static double
multiply_c(float *out)
{
    float s[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        s[i] = (float)i;
    for (int n = 0; n < ROUNDS; n++) {
        for (int i = 0; i < CHAINS; i++)
            s[i] = fmaf(s[i], 0.999f, 0.001f);
    }
    for (int i = 0; i < CHAINS; i++)
        *out += s[i];
    return 2.0 * CHAINS * ROUNDS;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f"))) static double
multiply_avx512(float *out)
{
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
    __m512 s[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        s[i] = _mm512_set1_ps((float)i);
    for (int n = 0; n < ROUNDS; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            s[i] = _mm512_fmadd_ps(s[i], x, y);
    }
    for (int i = 0; i < CHAINS; i++)
        *out += _mm512_reduce_add_ps(s[i]);
    return 2.0 * 16 * CHAINS * ROUNDS;
}

__attribute__((target("avx2,fma"))) static double
multiply_avx2(float *out)
{
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    __m256 s[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        s[i] = _mm256_set1_ps((float)i);
    for (int n = 0; n < ROUNDS; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            s[i] = _mm256_fmadd_ps(s[i], x, y);
    }
    for (int i = 0; i < CHAINS; i++)
        *out += _mm256_cvtss_f32(s[i]);
    return 2.0 * 8 * CHAINS * ROUNDS;
}
#endif

static Multiply
choose(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f"))
        return multiply_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return multiply_avx2;
#endif
    return multiply_c;
}

typedef struct Probe {
    Multiply multiply;
    double operations[PIECES];
    float sink[PIECES];
    float *x, *y;
} Probe;

static void
multiply_piece(void *arg, int64_t i)
{
    Probe *p = (Probe *)arg;
    p->operations[i] = p->multiply(&p->sink[i]);
}

static void
stream_piece(void *arg, int64_t i)
{
    Probe *p = (Probe *)arg;
    float *x = p->x + i * PART;
    const float *y = p->y + i * PART;
    for (int64_t k = 0; k < PART; k++)
        x[k] = x[k] * 0.5f + y[k];
}

/* The best of some tries, in nanoseconds; the first is not counted. */
static double
best(const EdlInstance *m, EdlBody body, Probe *p)
{
    double least = 0;
    for (int i = 0; i <= TRIES; i++) {
        uint64_t from = edl_profile_clock();
        edl_parallel(m, PIECES, body, p);
        double ns = (double)(edl_profile_clock() - from);
        if (i == 1 || (i > 1 && ns < least))
            least = ns;
    }
    return least;
}

EdlPeaks
edl_profile_peaks(const EdlInstance *m)
{
    EdlPeaks peaks = {0, 0};
    Probe *p = (Probe *)calloc(1, sizeof *p);
    if (!p)
        return peaks;
    p->multiply = choose();
    p->x = (float *)calloc(FLOATS, sizeof(float));
    p->y = (float *)calloc(FLOATS, sizeof(float));
    double ns = best(m, multiply_piece, p), all = 0;
    for (int i = 0; i < PIECES; i++)
        all += p->operations[i];
    peaks.gflops = all / ns;
    if (p->x && p->y) {
        ns = best(m, stream_piece, p);
        peaks.gbytes = 3.0 * sizeof(float) * FLOATS / ns;
    }
    free(p->x);
    free(p->y);
    free(p);
    return peaks;
}

#endif
