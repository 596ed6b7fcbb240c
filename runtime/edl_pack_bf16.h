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

/* What a loop reads and makes, for the compiler to know: operands of f32 or
 * bf16, what converts them, pairs or floats. */
typedef struct Form {
    bool wide, rounds, pairs;
} Form;

EDL_ALWAYS Form
form(bool wide, bool rounds, bool pairs)
{
    Form f = {wide, rounds, pairs};
    return f;
}

/* 16 floats as bf16: nearest even, a NaN stays one, a denormal is 0. */
PACK_TARGET EDL_ALWAYS __m256i
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

PACK_TARGET EDL_ALWAYS __m512i
join(__m256i low, __m256i high)
{
    return _mm512_maskz_inserti64x4(
        (__mmask8)0xff, _mm512_castsi256_si512(low), high, 1);
}

PACK_TARGET EDL_ALWAYS __m512i
round32(__m512 low, __m512 high, bool rounds)
{
    return rounds ? (__m512i)_mm512_cvtne2ps_pbh(high, low)
                  : join(round16(low), round16(high));
}

/* n of 32 elements along a line. */
PACK_TARGET EDL_ALWAYS __m512i
load32(const Lines *s, int64_t at, int64_t n, Form how)
{
    const uint32_t mask = first_of(n);
    if (how.wide) {
        const float *f = (const float *)s->at + at;
        return round32(_mm512_maskz_loadu_ps((__mmask16)mask, f),
                       _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), f + 16),
                       how.rounds);
    }
    return _mm512_maskz_loadu_epi16(mask, (const uint16_t *)s->at + at);
}

/* n of 16 elements that lie side by side, as floats. */
PACK_TARGET EDL_ALWAYS __m512
load16(const Lines *s, int64_t at, int64_t n, Form how)
{
    const __mmask16 mask = (__mmask16)first_of(n);
    __m256i h;
    if (!how.wide) {
        h = _mm256_maskz_loadu_epi16(mask, (const uint16_t *)s->at + at);
    } else {
        __m512 f = _mm512_maskz_loadu_ps(mask, (const float *)s->at + at);
        h = how.rounds ? (__m256i)_mm512_maskz_cvtneps_pbh(ALL16, f)
                       : round16(f);
    }
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(
        ALL16, _mm512_maskz_cvtepu16_epi32(ALL16, h), 16));
}

/* n of 16 elements of each of two rows, as pairs. */
PACK_TARGET EDL_ALWAYS __m512i
load_pairs(const Lines *s, int64_t even, int64_t odd, int64_t n, int64_t n_odd,
           Form how)
{
    static const uint16_t order[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __mmask16 m = (__mmask16)first_of(n), k = (__mmask16)first_of(n_odd);
    const float *f = (const float *)s->at;
    const uint16_t *h = (const uint16_t *)s->at;
    __m512i x = how.wide ? round32(_mm512_maskz_loadu_ps(m, f + even),
                                   _mm512_maskz_loadu_ps(k, f + odd),
                                   how.rounds)
                         : join(_mm256_maskz_loadu_epi16(m, h + even),
                                _mm256_maskz_loadu_epi16(k, h + odd));
    return _mm512_maskz_permutexvar_epi16(ALL32, _mm512_loadu_si512(order), x);
}

PACK_TARGET EDL_ALWAYS __m512
odd_of(__m512i pairs)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u)));
}

PACK_TARGET EDL_ALWAYS __m512
even_of(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(ALL16, pairs, 16));
}

/* Lines that lie side by side, as floats: a row of memory makes one of them. */
PACK_TARGET EDL_ALWAYS void
across_floats(float *to, const Lines *s, int64_t n, int64_t lines, int wide,
              Form how)
{
    if (n % 2)
        memset(to + (n - 1) * wide, 0, sizeof *to * (size_t)wide);
    for (int64_t p = 0; p < n; p++) {
        float *row = to + (p ^ 1) * wide;
        for (int j = 0; j < wide; j += 16)
            _mm512_mask_storeu_ps(row + j, (__mmask16)first_of(wide - j),
                                  load16(s, p * s->along + j, lines - j, how));
    }
}

/* As pairs: two rows of memory make one. */
PACK_TARGET EDL_ALWAYS void
across_pairs(float *to, const Lines *s, int64_t n, int64_t lines, int wide,
             Form how)
{
    for (int64_t p = 0; p < n; p += 2) {
        int64_t even = p * s->along, odd = p + 1 < n ? even + s->along : even;
        for (int j = 0; j < wide; j += 16) {
            __m512i x = load_pairs(s, even + j, odd + j, lines - j,
                                   p + 1 < n ? lines - j : 0, how);
            _mm512_mask_storeu_ps(to + p / 2 * wide + j,
                                  (__mmask16)first_of(wide - j),
                                  _mm512_castsi512_ps(x));
        }
    }
}

/* The common widths with loops that the compiler knows. */
PACK_TARGET EDL_ALWAYS void
across(float *to, const Lines *s, int64_t n, int64_t lines, int wide, Form how)
{
    if (how.pairs)
        across_pairs(to, s, n, lines, wide, how);
    else if (lines == 48 && wide == 48)
        across_floats(to, s, n, 48, 48, how);
    else if (lines == 32 && wide == 32)
        across_floats(to, s, n, 32, 32, how);
    else
        across_floats(to, s, n, lines, wide, how);
}

/* Words of 8 lines: the lower half of x at `to`, the upper one `step` on. */
PACK_TARGET EDL_ALWAYS void
put_two(float *to, int64_t step, __m512 x)
{
    const __mmask8 all = 0xff;
    _mm256_storeu_ps(to, _mm512_maskz_extractf32x8_ps(all, x, 0));
    _mm256_storeu_ps(to + step, _mm512_maskz_extractf32x8_ps(all, x, 1));
}

/* u[k] = words 4 i + k of four lines, in its part i. */
PACK_TARGET EDL_ALWAYS void
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
PACK_TARGET EDL_ALWAYS void
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

/* n <= 32 elements of some of 8 lines. */
PACK_TARGET EDL_ALWAYS void
turn(float *to, int wide, const Lines *s, int64_t at, int64_t n, int64_t lines,
     Form how)
{
    __m512i r[8];
    EDL_UNROLL
    for (int i = 0; i < 8; i++)
        r[i] = load32(s, i < lines ? at + i * s->across : 0, i < lines ? n : 0,
                      how);
    put_turned(to, wide, r, how.pairs);
}

/* Lines whose elements lie together. wide is a multiple of 8. */
PACK_TARGET EDL_ALWAYS void
along(float *to, const Lines *s, int64_t n, int64_t lines, int wide, Form how)
{
    EDL_LINES float part[32 * 8];
    for (int64_t p = 0; p < n; p += 32) {
        int64_t words = how.pairs ? (n - p + 1) / 2 : (n - p + 1) / 2 * 2;
        float *row = to + (how.pairs ? p / 2 : p) * wide;
        for (int64_t j = 0; j < wide; j += 8) {
            int64_t at = j * s->across + p;
            if (n - p >= 32 && lines - j >= 8) {
                turn(row + j, wide, s, at, 32, 8, how);
                continue;
            }
            turn(part, 8, s, at, n - p, lines - j, how);
            for (int64_t w = 0; w < least(words, how.pairs ? 16 : 32); w++)
                memcpy(row + w * wide + j, part + 8 * w, sizeof *to * 8);
        }
    }
}

/* Bands of 8 lines that lie side by side, four at a time, as floats; a part of
 * n at a time of all of them: memory is read along its lines. */
PACK_TARGET EDL_ALWAYS void
bands(float *to, const Lines *s, int64_t n, int64_t lines, Form how)
{
    enum { PART = 32 };
    const int64_t words = (n + 1) / 2 * 2;
    for (int64_t p0 = 0; p0 < n; p0 += PART)
        for (int64_t i = 0; i < lines; i += 32) {
            float *band = to + i * words;
            for (int64_t p = p0; p < least(p0 + PART, n); p++) {
                int64_t at = p * s->along + i, word = (p ^ 1) * 8;
                put_two(band + word, 8 * words, load16(s, at, 16, how));
                put_two(band + 16 * words + word, 8 * words,
                        load16(s, at + 16, 16, how));
            }
        }
    for (int64_t i = 0; n % 2 && i < lines; i += 8)
        memset(to + i * words + (n - 1) * 8, 0, sizeof *to * 8);
}

/* A loop for each form that there is. */
#define PACK_FORMS(loop, how, wide, ...)                                       \
    do {                                                                       \
        if ((how)->pairs && (wide))                                            \
            loop(__VA_ARGS__, form(true, true, true));                         \
        else if ((how)->pairs)                                                 \
            loop(__VA_ARGS__, form(false, true, true));                        \
        else if (!(wide))                                                      \
            loop(__VA_ARGS__, form(false, true, false));                       \
        else if ((how)->rounds)                                                \
            loop(__VA_ARGS__, form(true, true, false));                        \
        else                                                                   \
            loop(__VA_ARGS__, form(true, false, false));                       \
    } while (0)

PACK_TARGET static void
pack_across(float *to, const Lines *s, const Packing *how, int64_t n,
            int64_t lines, int wide)
{
    PACK_FORMS(across, how, s->wide, to, s, n, lines, wide);
}

PACK_TARGET static void
pack_along(float *to, const Lines *s, const Packing *how, int64_t n,
           int64_t lines, int wide)
{
    PACK_FORMS(along, how, s->wide, to, s, n, lines, wide);
}

PACK_TARGET static void
pack_bands_across(float *to, const Lines *s, const Packing *how, int64_t n,
                  int64_t lines)
{
    if (!s->wide)
        bands(to, s, n, lines, form(false, true, false));
    else if (how->rounds)
        bands(to, s, n, lines, form(true, true, false));
    else
        bands(to, s, n, lines, form(true, false, false));
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

/* Bands of `tall` lines, one after the other, each of `words` words. */
static void
pack_bands(const Packing *how, float *to, const Lines *s, int64_t n,
           int64_t lines, int tall, int64_t words)
{
    int64_t i = 0;
#if EDL_X86
    if (how->vectors && !how->pairs && s->across == 1 && tall == 8) {
        i = lines / 32 * 32;
        pack_bands_across(to, s, how, n, i);
    }
#endif
    for (; i < lines; i += tall) {
        Lines from = lines_at(s, 0, i);
        pack(how, to + i * words, &from, n, least(lines - i, tall), tall);
    }
}
