/* edl_double.h: functions of floats that are computed in double and rounded
 * once: a part of edl_kernel.h. No fma, so the bits are the same on every
 * machine; no libm and no branches, so loops over them become vectors. */
#ifndef EDL_DOUBLE_H
#define EDL_DOUBLE_H

EDL_INLINE uint64_t
edl_bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

EDL_INLINE double
edl_double(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- sine and cosine ---- */

/* The bits of 2/pi from bit i on, of which bit 1 is worth 1/2: 64 of them and
 * in *more the next 32; -31 <= i <= 103. */
EDL_INLINE uint64_t
edl_bits_of_2_pi(int32_t i, uint32_t *more)
{
    const uint64_t w0 = UINT64_C(0x00000000a2f9836e), w1 = UINT64_C(0x4e441529fc2757d1);
    const uint64_t w2 = UINT64_C(0xf534ddc0db629599), w3 = UINT64_C(0x3c439041fe5163ab);
    uint64_t a = i < 33 ? w0 : i < 97 ? w1 : w2;
    uint64_t b = i < 33 ? w1 : i < 97 ? w2 : w3;
    uint64_t c = i < 33 ? w2 : w3;
    uint64_t shift = (uint64_t)(uint32_t)(i + 31) & 63u;
    *more = (uint32_t)((b << shift | c >> 1 >> (63u - shift)) >> 32);
    return a << shift | b >> 1 >> (63u - shift);
}

/* |x| = *n pi/2 + the result, at most pi/4 in size, *n of an unknown multiple
 * of 4 less; x is finite.
 *
 * |x| = m 2^e for an m of 24 bits, so |x| 2/pi is a sum of m 2^(e - i) over
 * the bits i of 2/pi. Those that make multiples of 4 are left out, and 96 of
 * the others kept: the sum is a 64-bit number whose first two bits are *n. */
EDL_INLINE double
edl_quarters(float x, uint32_t *n)
{
    uint32_t u = edl_bits(x) & 0x7fffffffu;
    uint32_t e = u >> 23 < 126u ? 126u : u >> 23 > 254u ? 254u : u >> 23;
    uint32_t more, m = (u & 0x7fffffu) | 0x800000u;
    uint64_t w = edl_bits_of_2_pi((int32_t)e - 151, &more);
    uint64_t sum = ((uint64_t)m * (uint32_t)(w >> 32) << 32) +
                   (uint64_t)m * (uint32_t)w + ((uint64_t)m * more >> 32);
    uint32_t turns = (uint32_t)(sum >> 61) + 1u; /* in eighths, to nearest */
    sum -= (uint64_t)(turns >> 1) << 62;
    double high = (double)(int32_t)(uint32_t)(sum >> 32);
    double low = (double)(int32_t)((uint32_t)sum >> 1);
    int near = u < 0x3f400000u; /* 3/4: x itself, down to the denormals */
    *n = near ? 0u : turns >> 1;
    /* pi/2 2^-30 */
    return near ? (double)edl_float(u)
                : (high + low * 0x1p-31) * 0x1.921fb54442d18p-30;
}

/* sin(n pi/2 + r) by the series of both, which end below 2^-36. */
EDL_INLINE float
edl_turned(double r, uint32_t n)
{
    double z = r * r;
    double s = 1.0 / 362880 - z * (1.0 / 39916800);
    s = -1.0 / 5040 + z * s;
    s = 1.0 / 120 + z * s;
    s = -1.0 / 6 + z * s;
    s = r + r * z * s;
    double c = -1.0 / 3628800 + z * (1.0 / 479001600);
    c = 1.0 / 40320 + z * c;
    c = -1.0 / 720 + z * c;
    c = 1.0 / 24 + z * c;
    c = -1.0 / 2 + z * c;
    c = 1.0 + z * c;
    double y = n & 1u ? c : s;
    return (float)(n & 2u ? -y : y);
}

/* Of any finite x; NaN of others. */
EDL_INLINE float
edl_sinf(float x)
{
    uint32_t n;
    double r = edl_quarters(x, &n);
    float y = edl_turned(r, n);
    y = edl_bits(x) >> 31 ? -y : y;
    return x - x == 0.0f ? y : x - x;
}

EDL_INLINE float
edl_cosf(float x)
{
    uint32_t n;
    double r = edl_quarters(x, &n);
    float y = edl_turned(r, n + 1u);
    return x - x == 0.0f ? y : x - x;
}

/* ---- powers ---- */

/* ln a of a finite a > 0. */
EDL_INLINE double
edl_log_double(double a)
{
    uint64_t u = edl_bits64(a);
    /* a = m 2^k, 1/2 <= m^2 < 2 */
    int32_t k = (int32_t)((uint32_t)(u >> 32) - 0x3fe6a09eu) >> 20;
    double m = edl_double(u - ((uint64_t)(uint32_t)k << 52));
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    /* ln m = 2 (s + s^3/3 + ..) */
    double p = 2.0 / 15;
    p = 2.0 / 13 + z * p;
    p = 2.0 / 11 + z * p;
    p = 2.0 / 9 + z * p;
    p = 2.0 / 7 + z * p;
    p = 2.0 / 5 + z * p;
    p = 2.0 / 3 + z * p;
    return (double)k * 0x1.62e42fefa39efp-1 + (2.0 * s + s * z * p);
}

/* e^x of |x| <= 700 */
EDL_INLINE double
edl_exp_double(double x)
{
    double t = x * 0x1.71547652b82fep+0 + 0x1.8p+52; /* round(x / ln 2) */
    double r = x - (t - 0x1.8p+52) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 362880;
    p = 1.0 / 40320 + r * p;
    p = 1.0 / 5040 + r * p;
    p = 1.0 / 720 + r * p;
    p = 1.0 / 120 + r * p;
    p = 1.0 / 24 + r * p;
    p = 1.0 / 6 + r * p;
    p = 1.0 / 2 + r * p;
    p = 1.0 + r * p;
    p = 1.0 + r * p;
    return edl_double(edl_bits64(p) + (edl_bits64(t) << 52));
}

/* a^b with C's rules for zeros, infinities and NaN. */
EDL_INLINE float
edl_powf(float a, float b)
{
    float size = edl_absf(a), half = b * 0.5f;
    int whole = edl_floorf(b) == b, odd = whole & (edl_floorf(half) != half);
    double l = edl_log_double((double)size);
    l = size == 0.0f ? -(double)INFINITY : l;
    l = size > 0x1.fffffep+127f ? (double)INFINITY : l;
    double x = size == 1.0f ? 0.0 : l * (double)b;
    x = x < -200.0 ? -200.0 : x > 200.0 ? 200.0 : x;
    float y = (float)edl_exp_double(x);
    y = edl_float(edl_bits(y) ^ (edl_bits(a) & (uint32_t)odd << 31));
    int none = (a < 0.0f) & (size <= 0x1.fffffep+127f) & !whole;
    none |= (a != a) | (b != b);
    int one = (b == 0.0f) | (a == 1.0f);
    y = none ? (float)NAN : y;
    return one ? 1.0f : y;
}

#endif
