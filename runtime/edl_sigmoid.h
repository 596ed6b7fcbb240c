/* edl_sigmoid.h: sigmoids and the functions of the normal distribution: a part
 * of edl_kernel.h. */
#ifndef EDL_SIGMOID_H
#define EDL_SIGMOID_H

/* ---- sigmoids ---- */

EDL_INLINE float
edl_tanhf(float x)
{
    float a = edl_absf(x), z = a * a;
    float p = 0x1.1a3d9ap-9f;
    p = edl_fmaf(p, z, -0x1.0c6332p-7f);
    p = edl_fmaf(p, z, 0x1.63a5e2p-6f);
    p = edl_fmaf(p, z, -0x1.b9f18ep-5f);
    p = edl_fmaf(p, z, 0x1.11107ap-3f);
    p = edl_fmaf(p, z, -0x1.555554p-2f);
    float small = edl_fmaf(p * z, a, a);
    float large = 1.0f - 2.0f / (edl_expf(2.0f * a) + 1.0f);
    float y = a < 0.625f ? small : large;
    return __builtin_copysignf(y, x);
}

/* 1 / (1 + e^-(x + lo)); the other side of the sum 1 in *rest. */
EDL_INLINE float
edl_sigmoid_parts(float x, float lo, float *rest)
{
    float sign = x < 0.0f ? -1.0f : 1.0f;
    float e = edl_exp_parts(-edl_absf(x), -sign * lo);
    float d = 1.0f + e, big = 1.0f / d, small = e * big;
    /* one step towards e / (1 + e), with what 1 + e lost */
    float left = edl_fmaf(-small, d, e);
    left = edl_fmaf(-small, e - (d - 1.0f), left);
    small = edl_fmaf(left, big, small);
    *rest = x < 0.0f ? big : small;
    return x < 0.0f ? small : big;
}

EDL_INLINE float
edl_sigmoidf(float x)
{
    float rest;
    return edl_sigmoid_parts(x, 0.0f, &rest);
}

/* A factor that may meet a 0: -inf * 0 is 0 here, the limit. */
EDL_INLINE float
edl_finite_below(float x)
{
    return x < -0x1p+120f ? -0x1p+120f : x;
}

EDL_INLINE float
edl_siluf(float x)
{
    return edl_finite_below(x) * edl_sigmoidf(x);
}

EDL_INLINE float
edl_silu_slopef(float x)
{
    float rest, s = edl_sigmoid_parts(x, 0.0f, &rest);
    return edl_fmaf(s * rest, edl_clampf(x, -200.0f, 200.0f), s);
}

/* ln(1 + e^x) */
EDL_INLINE float
edl_softplusf(float x)
{
    return edl_maxf(x, 0.0f) + edl_log1pf(edl_expf(-edl_absf(x)));
}

/* ---- the normal distribution ---- */

EDL_INLINE float
edl_erff(float x)
{
    float a = edl_absf(x), z = a * a;
    float p = -0x1.217f0ap-19f;
    p = edl_fmaf(p, z, 0x1.6981f6p-14f);
    p = edl_fmaf(p, z, -0x1.a99294p-11f);
    p = edl_fmaf(p, z, 0x1.5482ap-8f);
    p = edl_fmaf(p, z, -0x1.b8044ap-6f);
    p = edl_fmaf(p, z, 0x1.ce2d74p-4f);
    p = edl_fmaf(p, z, -0x1.81274p-2f);
    p = edl_fmaf(p, z, 0x1.06eba8p-3f);
    float t = 1.0f / edl_fmaf(a, 0.5f, 1.0f);
    float q = 0x1.c9b84cp-4f;
    q = edl_fmaf(q, t, -0x1.c2c5bep-2f);
    q = edl_fmaf(q, t, 0x1.04cfa6p-1f);
    q = edl_fmaf(q, t, -0x1.a8eb4cp-5f);
    q = edl_fmaf(q, t, 0x1.45c8eep-2f);
    q = edl_fmaf(q, t, 0x1.144dbp-2f);
    q = edl_fmaf(q, t, 0x1.21c9fep-2f);
    float large = 1.0f - q * t * edl_expf(-z);
    float y = a < 1.0f ? edl_fmaf(a, p, a) : large;
    return __builtin_copysignf(y, x);
}

/* The distribution function at x, e^(-x^2/2) in *bell. Both tails keep their
 * digits: the square's rounding error goes into the exponential. */
EDL_INLINE float
edl_normal_parts(float x, float *bell)
{
    float a = edl_absf(edl_clampf(x, -15.0f, 15.0f)), z = a * a;
    float lost = edl_fmaf(a, a, -z);
    float e = edl_exp_parts(-0.5f * z, -0.5f * lost);
    float t = 1.0f / edl_fmaf(a, 0.3f, 1.0f);
    float q = -0x1.51ec8ap-6f;
    q = edl_fmaf(q, t, 0x1.cc92eep-4f);
    q = edl_fmaf(q, t, -0x1.d36c7p-3f);
    q = edl_fmaf(q, t, 0x1.88d3fp-3f);
    q = edl_fmaf(q, t, -0x1.4566d4p-4f);
    q = edl_fmaf(q, t, 0x1.89e66p-4f);
    q = edl_fmaf(q, t, 0x1.41121ep-4f);
    q = edl_fmaf(q, t, 0x1.c386e2p-4f);
    q = edl_fmaf(q, t, 0x1.e9c41p-4f);
    q = edl_fmaf(q, t, 0x1.ea3c98p-4f);
    float tail = q * t * e;
    float outer = x < 0.0f ? tail : 1.0f - tail;
    float p = -0x1.29db7ep-17f;
    p = edl_fmaf(p, z, 0x1.e9f9b2p-14f);
    p = edl_fmaf(p, z, -0x1.37da3ap-10f);
    p = edl_fmaf(p, z, 0x1.46da2cp-7f);
    p = edl_fmaf(p, z, -0x1.105874p-4f);
    p = edl_fmaf(p, z, 0x1.988454p-2f);
    *bell = e;
    return a < 1.0f ? edl_fmaf(x, p, 0.5f) : outer;
}

EDL_INLINE float
edl_gelu_erff(float x)
{
    float bell;
    return edl_finite_below(x) * edl_normal_parts(x, &bell);
}

EDL_INLINE float
edl_gelu_erf_slopef(float x)
{
    float bell, p = edl_normal_parts(x, &bell);
    float c = edl_clampf(x, -15.0f, 15.0f);
    return edl_fmaf(c * 0x1.988454p-2f, bell, p); /* 1/sqrt(2 pi) */
}

/* What lies behind it is 0 or x, and e^-u is a normal number before. */
#define EDL_GELU_END 9.9f

/* e^-u for u = 2 sqrt(2/pi) (x + 0.044715 x^3) of |x| <= EDL_GELU_END, as 2^v:
 * what v loses in rounding would be many last places of the result, so that
 * its fraction is made from the two factors. */
EDL_INLINE float
edl_gelu_exp(float x)
{
    float p = edl_fmaf(x * x, -0x1.a5a7dp-4f, -0x1.26aec2p+1f);
    float t = edl_fmaf(x, p, 0x1.8p+23f); /* round(v) */
    float f = edl_fmaf(x, p, -(t - 0x1.8p+23f));
    float y = 0x1.417a68p-13f; /* 2^f of |f| <= 1/2 */
    y = edl_fmaf(y, f, 0x1.5f0948p-10f);
    y = edl_fmaf(y, f, 0x1.3b2dd2p-7f);
    y = edl_fmaf(y, f, 0x1.c6af7ap-5f);
    y = edl_fmaf(y, f, 0x1.ebfbdcp-3f);
    y = edl_fmaf(y, f, 0x1.62e43p-1f);
    y = edl_fmaf(y, f, 1.0f);
    return edl_float(edl_bits(y) + (edl_bits(t) << 23));
}

/* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-u) */
EDL_INLINE float
edl_gelu_tanhf(float x)
{
    float c = edl_clampf(x, -EDL_GELU_END, EDL_GELU_END);
    float y = x / (1.0f + edl_gelu_exp(c));
    return x < -EDL_GELU_END ? 0.0f : y;
}

EDL_INLINE float
edl_gelu_tanh_slopef(float x)
{
    float c = edl_clampf(x, -EDL_GELU_END, EDL_GELU_END);
    float e = edl_gelu_exp(c), s = 1.0f / (1.0f + e);
    float du = edl_fmaf(c * c, 0x1.b6676cp-3f, 0x1.988454p+0f);
    float y = edl_fmaf(c * du, s * (e * s), s);
    return x < -EDL_GELU_END ? 0.0f : y;
}

#endif
