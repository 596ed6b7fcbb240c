/* edl_kernel.h: what emitted kernels call. C11 and C++17.
 *
 * Everything is static inline, free of branches that depend on data and of
 * calls into libm, so a compiler turns a loop over it into vectors; an
 * element's bits do not depend on its place. Compile with -ffp-contract=off.
 * docs/api.md has their errors. */
#ifndef EDL_KERNEL_H
#define EDL_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) ||                                                  \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "edl: fast-math changes results; compile without it"
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "edl: files and packed weights are little-endian"
#endif

#if defined(__cplusplus) || defined(__GNUC__)
#define EDL_RESTRICT __restrict
#else
#define EDL_RESTRICT restrict
#endif

#if defined(__CUDACC__)
#define EDL_INLINE                                                             \
    static inline __attribute__((always_inline, unused)) __host__ __device__
#elif defined(__GNUC__)
#define EDL_INLINE static inline __attribute__((always_inline, unused))
#else
#define EDL_INLINE static inline
#endif

/* Loops in whole vectors, as products are computed: gcc would halve them. */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) &&        \
    !defined(__CUDACC__)
#pragma GCC target("prefer-vector-width=512")
#endif

/* Asks for the line of memory at p, which need not be there; to write it: of a
 * line that another processor has read, it is told then. */
#if defined(__GNUC__)
#define EDL_AHEAD(p) __builtin_prefetch((p), 0, 1)
#define EDL_TO_WRITE(p) __builtin_prefetch((p), 1, 3)
#else
#define EDL_AHEAD(p) ((void)(p))
#define EDL_TO_WRITE(p) ((void)(p))
#endif

/* Before a loop over lanes, none of which writes what another reads: gcc makes
 * vectors of it. Unrolled first, it would become shuffles of them, five times
 * as slow; of many arrays gcc would not ask whether they lie apart. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define EDL_LANES _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#else
#define EDL_LANES
#endif

/* ---- bits and atomics ---- */

EDL_INLINE uint32_t
edl_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

EDL_INLINE float
edl_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Notes from any thread that a kernel met a bad index. */
EDL_INLINE void
edl_set_fault(int32_t *fault)
{
#if defined(__CUDA_ARCH__)
    *(volatile int32_t *)fault = 1;
#else
    __atomic_store_n(fault, 1, __ATOMIC_RELAXED);
#endif
}

/* i if it is in [0, n), else the nearest that is, and the fault is noted. */
EDL_INLINE int64_t
edl_index(int64_t i, int64_t n, int32_t *fault)
{
    if (i >= 0 && i < n)
        return i;
    edl_set_fault(fault);
    return i < 0 ? 0 : n - 1;
}

/* ---- single operations ---- */

/* One rounding where the machine has it (the caller's function may say so
 * with a target attribute and EDL_HAS_FMA), else two. */
#if defined(__FMA__) || defined(__aarch64__) || defined(EDL_HAS_FMA) ||        \
    defined(__CUDACC__)
#define edl_fmaf(a, b, c) __builtin_fmaf((a), (b), (c))
#else
EDL_INLINE float
edl_fmaf(float a, float b, float c)
{
    return a * b + c;
}
#endif

EDL_INLINE float
edl_absf(float x)
{
    return __builtin_fabsf(x);
}

EDL_INLINE float
edl_signf(float x)
{
    float s = x > 0.0f ? 1.0f : x;
    return s < 0.0f ? -1.0f : s;
}

EDL_INLINE float
edl_floorf(float x)
{
    return __builtin_floorf(x);
}

EDL_INLINE float
edl_sqrtf(float x)
{
    return __builtin_sqrtf(x);
}

/* x, or 0 for a denormal number, which slows processors down. */
EDL_INLINE float
edl_normalf(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? 0.0f : x;
}

EDL_INLINE float
edl_rsqrtf(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

/* NaN of either operand is kept; a tie gives the first. */
EDL_INLINE float
edl_maxf(float a, float b)
{
    float m = b > a ? b : a;
    return b != b ? b : m;
}

EDL_INLINE float
edl_minf(float a, float b)
{
    float m = b < a ? b : a;
    return b != b ? b : m;
}

EDL_INLINE float
edl_clampf(float x, float lo, float hi)
{
    float y = x < lo ? lo : x;
    return y > hi ? hi : y;
}

EDL_INLINE float
edl_reluf(float x)
{
    return x < 0.0f ? 0.0f : x;
}

/* ---- exponential and logarithm ---- */

/* 2^n for n of two's complement in -126 .. 127. */
EDL_INLINE float
edl_pow2i(uint32_t n)
{
    return edl_float((n + 127u) << 23);
}

/* (e^r - 1 - r) / r^2 of |r| <= ln(2)/2 */
EDL_INLINE float
edl_exp_series(float r)
{
    float p = 0x1.9df7f8p-13f;
    p = edl_fmaf(p, r, 0x1.6d4cdap-10f);
    p = edl_fmaf(p, r, 0x1.11131p-7f);
    p = edl_fmaf(p, r, 0x1.5554e8p-5f);
    p = edl_fmaf(p, r, 0x1.555554p-3f);
    return edl_fmaf(p, r, 0.5f);
}

/* e^(x + lo) for a small lo: what is left of an argument after rounding. */
EDL_INLINE float
edl_exp_parts(float x, float lo)
{
    float c = edl_clampf(x, -104.0f, 89.0f);
    float t = edl_fmaf(c, 0x1.715476p+0f, 0x1.8p+23f); /* round(c / ln 2) */
    uint32_t n = edl_bits(t) - 0x4b400000u;
    float k = t - 0x1.8p+23f;
    float high = edl_fmaf(k, -0x1.62e4p-1f, c); /* exact */
    float rest = edl_fmaf(k, -0x1.7f7d1cp-20f, lo);
    float r = high + rest;
    float p = edl_exp_series(r);
    /* what r and 1 + r lost in rounding goes into the small summand */
    float one = 1.0f + r;
    float low = (r - (one - 1.0f)) + (rest - (r - high));
    p = one + edl_fmaf(p, r * r, low);
    /* two factors: 2^n itself may overflow, or lose the bits of a denormal */
    uint32_t half = (uint32_t)((int32_t)n >> 1);
    return p * edl_pow2i(half) * edl_pow2i(n - half);
}

EDL_INLINE float
edl_expf(float x)
{
    return edl_exp_parts(x, 0.0f);
}

/* e^(x + lo) of |x| <= 88 for a small lo, so no denormals: what 1 + r loses
 * in rounding is not given back. */
EDL_INLINE float
edl_exp_short(float x, float lo)
{
    float t = edl_fmaf(x, 0x1.715476p+0f, 0x1.8p+23f); /* round(x / ln 2) */
    float k = t - 0x1.8p+23f;
    float high = edl_fmaf(k, -0x1.62e4p-1f, x); /* exact */
    float r = high + edl_fmaf(k, -0x1.7f7d1cp-20f, lo);
    float p = edl_exp_series(r);
    return (1.0f + edl_fmaf(p, r * r, r)) *
           edl_pow2i(edl_bits(t) - 0x4b400000u);
}

/* e^x of a weight next to which that of x = 0 stands: 0 where the result
 * would be a denormal, which many processors are slow to compute. */
EDL_INLINE float
edl_weightf(float x)
{
    float c = x < -87.0f ? -88.0f : x; /* n = -127, whose factor is 0 */
    /* n = round(c / ln 2), and 127 more in the last bits of t */
    float t = edl_fmaf(c, 0x1.715476p+0f, 0x1.8000fep+23f);
    float n = t - 0x1.8000fep+23f;
    float r = edl_fmaf(n, -0x1.62e4p-1f, c); /* exact */
    r = edl_fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6a5234p-10f;
    p = edl_fmaf(p, r, 0x1.12396cp-7f);
    p = edl_fmaf(p, r, 0x1.5558aap-5f);
    p = edl_fmaf(p, r, 0x1.555492p-3f);
    p = edl_fmaf(p, r, 0x1.fffffcp-2f);
    p = edl_fmaf(p, r, 0x1p+0f);
    p = edl_fmaf(p, r, 1.0f);
    return p * edl_float(edl_bits(t) << 23);
}

/* ln(x) of a positive, finite x, denormals included. */
EDL_INLINE float
edl_log_positive(float x)
{
    float scaled = x < 0x1p-126f ? x * 0x1p+23f : x;
    float base = x < 0x1p-126f ? -23.0f : 0.0f;
    uint32_t u = edl_bits(scaled) - 0x3f3504f3u; /* sqrt(1/2) */
    float k = base + (float)((int32_t)u >> 23);
    float f = edl_float((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
    float r = 0x1.f1412cp-3f;
    r = edl_fmaf(r, z, 0x1.23d3cep-2f);
    r = edl_fmaf(r, z, 0x1.999c26p-2f);
    r = edl_fmaf(r, z, 0x1.555554p-1f);
    r = r * z;
    /* k ln 2 + f - (f^2/2 - s (f^2/2 + r)) */
    float low = edl_fmaf(k, 0x1.7f7d1cp-20f, s * (half + r));
    return edl_fmaf(k, 0x1.62e4p-1f, f - (half - low));
}

EDL_INLINE float
edl_logf(float x)
{
    float y = edl_log_positive(x);
    y = x > 0x1.fffffep+127f ? x : y;
    y = x == 0.0f ? -(float)INFINITY : y;
    return x >= 0.0f ? y : (float)NAN;
}

EDL_INLINE float
edl_log1pf(float x)
{
    float u = 1.0f + x;
    float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    float y = edl_log_positive(u) + lost / u;
    y = u > 0x1.fffffep+127f ? u : y;
    y = u == 0.0f ? -(float)INFINITY : y;
    y = edl_absf(x) < 0x1p-24f ? x : y;
    return u >= 0.0f ? y : (float)NAN;
}

#include "edl_sigmoid.h"
#include "edl_double.h"

/* ---- 16-bit floats ---- */

EDL_INLINE float
edl_bf16_to_f32(uint16_t h)
{
    return edl_float((uint32_t)h << 16);
}

EDL_INLINE uint16_t
edl_f32_to_bf16(float x)
{
    uint32_t u = edl_bits(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t nan = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* Of a number that bf16 holds. */
EDL_INLINE uint16_t
edl_bf16_bits(float x)
{
    return (uint16_t)(edl_bits(x) >> 16);
}

EDL_INLINE float
edl_f16_to_f32(uint16_t h)
{
    uint32_t m = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t finite = edl_bits(edl_float(m) * 0x1p+112f);
    uint32_t u = m >= 0x0f800000u ? m | 0x7f800000u : finite;
    return edl_float(u | (uint32_t)(h & 0x8000u) << 16);
}

EDL_INLINE uint16_t
edl_f32_to_f16(float x)
{
    uint32_t u = edl_bits(x), a = u & 0x7fffffffu;
    uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
    /* adding 1/2 rounds at 2^-24, the last place of a denormal f16 */
    uint32_t tiny = edl_bits(edl_float(a) + 0.5f) - 0x3f000000u;
    uint32_t h = a < 0x38800000u ? tiny : normal;
    h = a >= 0x47800000u ? 0x7c00u : h;
    h = a > 0x7f800000u ? 0x7e00u : h;
    return (uint16_t)(h | (u >> 16 & 0x8000u));
}

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011) ---- */

EDL_INLINE void
edl_philox(uint64_t key, uint64_t block, uint64_t microbatch, uint32_t w[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)microbatch, c3 = (uint32_t)(microbatch >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c0;
        uint64_t b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
}

/* FNV-1a over the bytes of a path; a node's key is seed ^ edl_hash64(path). */
EDL_INLINE uint64_t
edl_hash64(const char *path)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 0x100000001b3u;
    return h;
}

/* 0 <= u < 1, a multiple of 2^-24 */
EDL_INLINE float
edl_unitf(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* u of one element: word element % 4 of block element / 4 */
EDL_INLINE float
edl_uniform_at(uint64_t key, int64_t element, uint64_t microbatch)
{
    uint32_t w[4];
    edl_philox(key, (uint64_t)element >> 2, microbatch, w);
    uint32_t even = element & 2 ? w[2] : w[0];
    uint32_t odd = element & 2 ? w[3] : w[1];
    return edl_unitf(element & 1 ? odd : even);
}

/* Floats of an array in which edl_uniforms has n numbers. */
#define EDL_UNIFORMS(n) (((n) + 66) / 64 * 64)

/* u of n elements from `first` on, four from each block: where they begin in
 * `to`. */
EDL_INLINE const float *
edl_uniforms(float *to, uint64_t key, int64_t first, uint64_t microbatch,
             int64_t n)
{
    const int64_t skip = first & 3;
    const uint64_t block = (uint64_t)first >> 2;
    for (int64_t i = 0; i < skip + n; i += 64) {
        uint32_t w[4][16];
        EDL_LANES
        for (int l = 0; l < 16; l++) {
            uint32_t own[4];
            edl_philox(key, block + (uint64_t)(i / 4 + l), microbatch, own);
            w[0][l] = own[0];
            w[1][l] = own[1];
            w[2][l] = own[2];
            w[3][l] = own[3];
        }
        EDL_LANES
        for (int l = 0; l < 16; l++) {
            to[i + 4 * l] = edl_unitf(w[0][l]);
            to[i + 4 * l + 1] = edl_unitf(w[1][l]);
            to[i + 4 * l + 2] = edl_unitf(w[2][l]);
            to[i + 4 * l + 3] = edl_unitf(w[3][l]);
        }
    }
    return to + skip;
}

/* ---- sums of rows: 16 lanes, added as a fixed tree ---- */

EDL_INLINE float
edl_sum16f(const float s[16])
{
    float t[8];
    EDL_LANES
    for (int i = 0; i < 8; i++)
        t[i] = s[i] + s[i + 8];
    EDL_LANES
    for (int i = 0; i < 4; i++)
        t[i] += t[i + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
}

EDL_INLINE double
edl_sum16(const double s[16])
{
    double t[8];
    EDL_LANES
    for (int i = 0; i < 8; i++)
        t[i] = s[i] + s[i + 8];
    EDL_LANES
    for (int i = 0; i < 4; i++)
        t[i] += t[i + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
}

/* The largest of 16 lanes; a NaN may be lost. */
EDL_INLINE float
edl_top16f(const float s[16])
{
    float t[8];
    EDL_LANES
    for (int i = 0; i < 8; i++)
        t[i] = s[i] > s[i + 8] ? s[i] : s[i + 8];
    EDL_LANES
    for (int i = 0; i < 4; i++)
        t[i] = t[i] > t[i + 4] ? t[i] : t[i + 4];
    t[0] = t[0] > t[2] ? t[0] : t[2];
    t[1] = t[1] > t[3] ? t[1] : t[3];
    return t[0] > t[1] ? t[0] : t[1];
}

/* The same with a NaN of any lane kept. */
EDL_INLINE float
edl_max16f(const float s[16])
{
    float t[8];
    EDL_LANES
    for (int i = 0; i < 8; i++)
        t[i] = edl_maxf(s[i], s[i + 8]);
    EDL_LANES
    for (int i = 0; i < 4; i++)
        t[i] = edl_maxf(t[i], t[i + 4]);
    return edl_maxf(edl_maxf(t[0], t[2]), edl_maxf(t[1], t[3]));
}

/* ---- doubles and integers ---- */

EDL_INLINE double
edl_max(double a, double b)
{
    double m = b > a ? b : a;
    return b != b ? b : m;
}

EDL_INLINE double
edl_min(double a, double b)
{
    double m = b < a ? b : a;
    return b != b ? b : m;
}

/* Towards zero; 0 where b is 0; the smallest by -1 wraps. */
EDL_INLINE int64_t
edl_div_int(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

EDL_INLINE int64_t
edl_pow_int(int64_t a, int64_t b)
{
    uint64_t r = 1, x = (uint64_t)a;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b /= 2, x *= x)
        if (b % 2)
            r *= x;
    return (int64_t)r;
}

/* Towards zero, the nearest end where it does not fit, 0 for NaN. */
EDL_INLINE double
edl_to_int(double x, double lo, double hi)
{
    double y = x < lo ? lo : x > hi ? hi : x;
    return x != x ? 0.0 : y;
}

EDL_INLINE int64_t
edl_to_i64(double x)
{
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN
                                      : (int64_t)edl_to_int(x, x, x);
}

#include "edl_rows.h"

#endif
