/* edl_pack_bf16.h: a part of edl_matmul_bf16.c, how operands are packed:
 * `wide` lines (rows of A, columns of B) side by side, word by word along K. A
 * word is a pair of bf16, the even one in the lower half, or a float; of two
 * floats the odd one comes first, as terms are added. */

/* Lines 0 <= j of an operand, each a run of n elements along K; strides are in
 * elements. wide: of f32. */
typedef struct Lines {
    const void *at;
    bool wide;
    int64_t along, across;
} Lines;

/* What a kernel wants. */
typedef struct Packing {
    bool pairs;
    bool vectors; /* with AVX-512, */
    bool rounds;  /* and what of AVX512_BF16 converts */
} Packing;

static Lines
lines_at(const Lines *s, int64_t p, int64_t j)
{
    Lines r = *s;
    int64_t i = p * s->along + j * s->across;
    r.at = s->wide ? (const void *)((const float *)s->at + i)
                   : (const void *)((const uint16_t *)s->at + i);
    return r;
}

/* The element, and 0 for a denormal. */
static uint32_t
element(const Lines *s, int64_t p, int64_t j)
{
    int64_t i = p * s->along + j * s->across;
    uint32_t h = s->wide ? edl_f32_to_bf16(flush(((const float *)s->at)[i]))
                         : ((const uint16_t *)s->at)[i];
    return h & 0x7f80u ? h : h & 0x8000u;
}

static void
pack_plain(float *to, const Lines *s, bool pairs, int64_t n, int64_t lines,
           int wide)
{
    for (int64_t p = 0; p < n; p += 2)
        for (int64_t j = 0; j < wide; j++) {
            uint32_t even = j < lines ? element(s, p, j) : 0;
            uint32_t odd = j < lines && p + 1 < n ? element(s, p + 1, j) : 0;
            if (pairs) {
                to[p / 2 * wide + j] = edl_float(even | odd << 16);
                continue;
            }
            to[p * wide + j] = edl_float(odd << 16);
            to[(p + 1) * wide + j] = edl_float(even << 16);
        }
}

#if EDL_X86
/* Forms with a mask that is full: gcc warns of those without. */
#define PACK_TARGET                                                            \
    __attribute__((                                                            \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define ALL16 ((__mmask16)0xffff)
#define ALL32 ((__mmask32)0xffffffffu)

static uint32_t
first_of(int64_t n)
{
    return n >= 32 ? 0xffffffffu : n > 0 ? ((uint32_t)1 << n) - 1 : 0;
}

/* 16 floats as bf16: nearest even, a NaN stays one, a denormal is 0. */
PACK_TARGET static inline __m256i
round16(__m512 x)
{
    __m512i u = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(ALL16, u, 16),
                                   _mm512_set1_epi32(1));
    __m512i r = _mm512_add_epi32(_mm512_add_epi32(u, odd),
                                 _mm512_set1_epi32(0x7fff));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __mmask16 small = _mm512_testn_epi32_mask(u, _mm512_set1_epi32(0x7f800000));
    r = _mm512_mask_or_epi32(r, nan, u, _mm512_set1_epi32(0x400000));
    r = _mm512_mask_and_epi32(r, small, u, _mm512_set1_epi32((int)0x80000000u));
    return _mm512_maskz_cvtepi32_epi16(
        ALL16, _mm512_maskz_srli_epi32(ALL16, r, 16));
}

PACK_TARGET static inline __m512i
join(__m256i low, __m256i high)
{
    return _mm512_maskz_inserti64x4(
        (__mmask8)0xff, _mm512_castsi256_si512(low), high, 1);
}

PACK_TARGET static inline __m512i
round32(__m512 low, __m512 high, bool rounds)
{
    return rounds ? (__m512i)_mm512_cvtne2ps_pbh(high, low)
                  : join(round16(low), round16(high));
}

/* 16 elements at `low`, and 16 at `high`, those of the masks. */
PACK_TARGET static inline __m512i
load32(const Lines *s, int64_t low, uint32_t low_mask, int64_t high,
       uint32_t high_mask, bool rounds)
{
    const __mmask16 m = (__mmask16)low_mask, k = (__mmask16)high_mask;
    const float *f = (const float *)s->at;
    const uint16_t *h = (const uint16_t *)s->at;
    if (s->wide)
        return round32(_mm512_maskz_loadu_ps(m, f + low),
                       _mm512_maskz_loadu_ps(k, f + high), rounds);
    return join(_mm256_maskz_loadu_epi16(m, h + low),
                _mm256_maskz_loadu_epi16(k, h + high));
}

PACK_TARGET static inline __m512
odd_of(__m512i pairs)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u)));
}

PACK_TARGET static inline __m512
even_of(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(ALL16, pairs, 16));
}

/* Lines that lie side by side: two rows of memory make one of pairs. */
PACK_TARGET static void
pack_across(float *to, const Lines *s, const Packing *how, int64_t n,
            int64_t lines, int wide)
{
    static const uint16_t order[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i turn = _mm512_loadu_si512(order);
    for (int64_t p = 0; p < n; p += 2) {
        float *row = to + (how->pairs ? p / 2 : p) * wide;
        int64_t even = p * s->along, odd = p + 1 < n ? even + s->along : even;
        for (int64_t j = 0; j < wide; j += 16) {
            uint32_t mask = first_of(lines - j);
            const __mmask16 room = (__mmask16)first_of(wide - j);
            __m512i x = load32(s, even + j, mask, odd + j,
                               p + 1 < n ? mask : 0, how->rounds);
            x = _mm512_maskz_permutexvar_epi16(ALL32, turn, x);
            if (how->pairs) {
                _mm512_mask_storeu_ps(row + j, room, _mm512_castsi512_ps(x));
                continue;
            }
            _mm512_mask_storeu_ps(row + j, room, odd_of(x));
            _mm512_mask_storeu_ps(row + wide + j, room, even_of(x));
        }
    }
}

/* Words of 8 lines: the lower half of x at `to`, the upper one `step` on. */
PACK_TARGET static inline void
put_two(float *to, int64_t step, __m512 x)
{
    const __mmask8 all = 0xff;
    _mm256_storeu_ps(to, _mm512_maskz_extractf32x8_ps(all, x, 0));
    _mm256_storeu_ps(to + step, _mm512_maskz_extractf32x8_ps(all, x, 1));
}

/* u[k] = words 4 i + k of four lines, in its part i. */
PACK_TARGET static inline void
turn4(const __m512i r[4], __m512i u[4])
{
    const __mmask8 all = 0xff;
    __m512i a = _mm512_maskz_unpacklo_epi32(ALL16, r[0], r[1]);
    __m512i b = _mm512_maskz_unpackhi_epi32(ALL16, r[0], r[1]);
    __m512i c = _mm512_maskz_unpacklo_epi32(ALL16, r[2], r[3]);
    __m512i d = _mm512_maskz_unpackhi_epi32(ALL16, r[2], r[3]);
    u[0] = _mm512_maskz_unpacklo_epi64(all, a, c);
    u[1] = _mm512_maskz_unpackhi_epi64(all, a, c);
    u[2] = _mm512_maskz_unpacklo_epi64(all, b, d);
    u[3] = _mm512_maskz_unpackhi_epi64(all, b, d);
}

/* 8 lines of 16 pairs, as rows of words `wide` apart. */
PACK_TARGET static void
put_turned(float *to, int wide, const __m512i r[8], bool pairs)
{
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    int64_t row = pairs ? wide : 2 * wide;
    __m512i u[4], v[4];
    turn4(r, u);
    turn4(r + 4, v);
    for (int k = 0; k < 8; k++) {
        __m512i x = _mm512_permutex2var_epi64(u[k & 3], k < 4 ? low : high,
                                              v[k & 3]);
        float *at = to + (k < 4 ? k : k + 4) * row;
        if (pairs) {
            put_two(at, 4 * row, _mm512_castsi512_ps(x));
            continue;
        }
        put_two(at, 4 * row, odd_of(x));
        put_two(at + wide, 4 * row, even_of(x));
    }
}

/* Lines whose elements lie together. wide is a multiple of 8. */
PACK_TARGET static void
pack_along(float *to, const Lines *s, const Packing *how, int64_t n,
           int64_t lines, int wide)
{
    EDL_LINES float part[32 * 8];
    for (int64_t p = 0; p < n; p += 32) {
        const uint32_t mask = first_of(n - p), high = mask >> 16;
        int64_t words = how->pairs ? (n - p + 1) / 2 : (n - p + 1) / 2 * 2;
        float *row = to + (how->pairs ? p / 2 : p) * wide;
        for (int64_t j = 0; j < wide; j += 8) {
            __m512i r[8];
            for (int i = 0; i < 8; i++) {
                const bool there = j + i < lines;
                int64_t at = there ? (j + i) * s->across + p : 0;
                r[i] = load32(s, at, there ? mask : 0, high ? at + 16 : at,
                              there ? high : 0, how->rounds);
            }
            if (n - p >= 32) {
                put_turned(row + j, wide, r, how->pairs);
                continue;
            }
            put_turned(part, 8, r, how->pairs);
            for (int64_t w = 0; w < words; w++)
                memcpy(row + w * wide + j, part + 8 * w, sizeof *to * 8);
        }
    }
}
#endif

/* n elements of `lines` lines; those up to `wide` are 0. */
static void
pack(const Packing *how, float *to, const Lines *s, int64_t n, int64_t lines,
     int wide)
{
#if EDL_X86
    if (how->vectors && s->across == 1)
        pack_across(to, s, how, n, lines, wide);
    else if (how->vectors && s->along == 1)
        pack_along(to, s, how, n, lines, wide);
    else
        pack_plain(to, s, how->pairs, n, lines, wide);
#else
    pack_plain(to, s, how->pairs, n, lines, wide);
#endif
}
