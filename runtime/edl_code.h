/* edl_code.h: the state of an optimizer in 8 bits an element.
 *
 * A block of 256 elements has a scale, the largest |x| in it, and a code for
 * each: a sign, and 7 bits that count the floats with 3 bits of fraction up to
 * 1, times the scale. Code 0 is 0, code 1 is 1.25 * 2^-16, so x keeps an
 * eighth of itself over 16 powers of two (blocks: Dettmers et al., "8-bit
 * Optimizers via Block-wise Quantization", 2022).
 *
 * Rounding is random, with the mean x: an average that changes by a
 * thousandth a step would never move otherwise. The random bits are a hash of
 * tensor, element and number of the update: the same in every plan.
 *
 * A second moment is stored as its root, which has no sign but 4 bits of
 * fraction, and never as 0 unless it is 0: the update divides by it. */
#ifndef EDL_CODE_H
#define EDL_CODE_H

#include "edl_kernel.h"

enum { EDL_CODES = 256 }; /* elements of a block */

/* What codes count: bits of a float's fraction that they have not, and the
 * code of 1. */
enum {
    EDL_CODE_CUT = 20,
    EDL_CODE_TOP = 127,
    EDL_ROOT_CUT = 19,
    EDL_ROOT_TOP = 255
};

/* Of a tensor in an update. path: edl_hash64 of the parameter's. */
EDL_INLINE uint32_t
edl_code_key(uint64_t path, int64_t update)
{
    uint64_t x = path ^ (uint64_t)update * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

/* 32 random bits; the mixing is C. Wellons' lowbias32. */
EDL_INLINE uint32_t
edl_code_noise(uint32_t key, uint32_t element)
{
    uint32_t x = element * 0x9e3779b9u + key;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* 0 to 1, as a part of the scale */
EDL_INLINE float
edl_code_part(uint32_t code, int cut, uint32_t top)
{
    const uint32_t one = 127u << (23 - cut);
    const float part = edl_float((code + one - top) << cut);
    return code ? part : 0.0f;
}

/* add: less than 2^cut, of which a half rounds to the nearest. */
EDL_INLINE uint32_t
edl_part_code(float part, uint32_t add, int cut, int32_t top)
{
    const int32_t one = 127 << (23 - cut);
    int32_t c = (int32_t)((edl_bits(part) + add) >> cut) - (one - top);
    c = c < 0 ? 0 : c;
    return (uint32_t)(c > top ? top : c);
}

EDL_INLINE float
edl_code_value(uint8_t code, float scale)
{
    const float x =
        edl_code_part(code & 127u, EDL_CODE_CUT, EDL_CODE_TOP) * scale;
    return code & 128u ? -x : x;
}

EDL_INLINE float
edl_root_value(uint8_t code, float scale)
{
    return edl_code_part(code, EDL_ROOT_CUT, EDL_ROOT_TOP) * scale;
}

/* by: the scale, or 1 where that is 0. */
EDL_INLINE uint8_t
edl_code_of(float x, float by, uint32_t add)
{
    const uint32_t bits = edl_bits(x), sign = bits >> 31 << 7;
    const float part = edl_float(bits & 0x7fffffffu) / by;
    return (uint8_t)(edl_part_code(part, add, EDL_CODE_CUT, EDL_CODE_TOP) |
                     sign);
}

EDL_INLINE uint8_t
edl_root_of(float root, float by, uint32_t add)
{
    const uint32_t c =
        edl_part_code(root / by, add, EDL_ROOT_CUT, EDL_ROOT_TOP);
    return (uint8_t)(c + (c == 0 && root > 0.0f));
}

/* The largest size, a NaN if there is one: floats count as their bits do. */
EDL_INLINE float
edl_codes_scale(const float *x, int n)
{
    uint32_t most = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t size = edl_bits(x[i]) & 0x7fffffffu;
        most = size > most ? size : most;
    }
    return edl_float(most);
}

/* n <= EDL_CODES elements of a block. */
EDL_INLINE void
edl_codes_get(float *EDL_RESTRICT to, const uint8_t *EDL_RESTRICT codes,
              float scale, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = edl_code_value(codes[i], scale);
}

EDL_INLINE void
edl_codes_get_squares(float *EDL_RESTRICT to,
                      const uint8_t *EDL_RESTRICT codes, float scale, int n)
{
    for (int i = 0; i < n; i++) {
        const float root = edl_root_value(codes[i], scale);
        to[i] = edl_normalf(root * root);
    }
}

/* Answers the scale. first: the number of element 0 in its tensor. */
EDL_INLINE float
edl_codes_put(uint8_t *EDL_RESTRICT codes, const float *EDL_RESTRICT from,
              int n, uint32_t key, int64_t first)
{
    const float scale = edl_codes_scale(from, n);
    const float by = scale > 0.0f ? scale : 1.0f;
    const uint32_t start = (uint32_t)first;
    for (int i = 0; i < n; i++) {
        const uint32_t noise = edl_code_noise(key, start + (uint32_t)i);
        codes[i] = edl_code_of(from[i], by, (noise & 0xffffu) << 4);
    }
    return scale;
}

/* Roots of second moments, with the other bits of the same noise. */
EDL_INLINE float
edl_codes_put_roots(uint8_t *EDL_RESTRICT codes,
                    const float *EDL_RESTRICT from, int n, uint32_t key,
                    int64_t first)
{
    const float scale = edl_sqrtf(edl_codes_scale(from, n));
    const float by = scale > 0.0f ? scale : 1.0f;
    const uint32_t start = (uint32_t)first;
    for (int i = 0; i < n; i++) {
        const uint32_t noise = edl_code_noise(key, start + (uint32_t)i);
        codes[i] = edl_root_of(edl_sqrtf(from[i]), by, noise >> 16 << 3);
    }
    return scale;
}

#endif
