/* edl_pack.h: operands of products, copied to where a tile reads them: inside
 * edl_matmul.c only.
 *
 * A panel is k rows of `wide` columns of B; a band is k columns of `tall`
 * rows of A: the same with the roles of rows and columns exchanged. What does
 * not exist is 0. */

#if EDL_X86
/* to[p * wide + j] = b[p + j * b_col] for 8 by 8 elements. */
__attribute__((target("avx"))) static void
transpose8(float *to, int64_t wide, const float *b, int64_t b_col)
{
    for (int p = 0; p < 8; p += 4, b += 4, to += 4 * wide) {
        __m256 r[4], t[4];
        for (int j = 0; j < 4; j++)
            r[j] = _mm256_insertf128_ps(
                _mm256_castps128_ps256(_mm_loadu_ps(b + j * b_col)),
                _mm_loadu_ps(b + (j + 4) * b_col), 1);
        t[0] = _mm256_unpacklo_ps(r[0], r[1]);
        t[1] = _mm256_unpackhi_ps(r[0], r[1]);
        t[2] = _mm256_unpacklo_ps(r[2], r[3]);
        t[3] = _mm256_unpackhi_ps(r[2], r[3]);
        for (int h = 0; h < 2; h++) {
            _mm256_storeu_ps(to + 2 * h * wide,
                             _mm256_shuffle_ps(t[h], t[h + 2], 0x44));
            _mm256_storeu_ps(to + (2 * h + 1) * wide,
                             _mm256_shuffle_ps(t[h], t[h + 2], 0xEE));
        }
    }
}
#define HAVE_TRANSPOSE8() __builtin_cpu_supports("avx")
#else
static void
transpose8(float *to, int64_t wide, const float *b, int64_t b_col)
{
    for (int j = 0; j < 8; j++)
        for (int p = 0; p < 8; p++)
            to[p * wide + j] = b[p + j * b_col];
}
#define HAVE_TRANSPOSE8() 1
#endif

/* Columns of B that lie the other way, where b_row is 1. A part of k at a
 * time: what is written stays in the first cache, and a line is read once. */
static void
pack_across(float *to, const float *b, int64_t b_col, int64_t k, int n,
            int wide)
{
    enum { PART = 64 };
    int64_t k8 = HAVE_TRANSPOSE8() ? k / 8 * 8 : 0;
    int n8 = n / 8 * 8;
    for (int64_t p0 = 0; p0 < k8; p0 += PART)
        for (int j = 0; j < n8; j += 8)
            for (int64_t p = p0; p < k8 && p < p0 + PART; p += 8)
                transpose8(to + p * wide + j, wide, b + p + j * b_col, b_col);
    for (int j = 0; j < n; j++)
        for (int64_t p = j < n8 ? k8 : 0; p < k; p++)
            to[p * wide + j] = b[p + j * b_col];
}

/* n < 64 floats: a copy of unknown size costs more than these. */
EDL_ALWAYS void
copy_few(float *to, const float *from, int n)
{
    for (; n >= 16; n -= 16, to += 16, from += 16)
        memcpy(to, from, sizeof *to * 16);
    if (n & 8) {
        memcpy(to, from, sizeof *to * 8);
        to += 8;
        from += 8;
    }
    if (n & 4) {
        memcpy(to, from, sizeof *to * 4);
        to += 4;
        from += 4;
    }
    if (n & 2) {
        memcpy(to, from, sizeof *to * 2);
        to += 2;
        from += 2;
    }
    if (n & 1)
        *to = *from;
}

/* Rows of B whose columns are adjacent. */
static void
pack_along(float *to, const float *b, int64_t b_row, int64_t k, int n, int wide)
{
    if (n == 48)
        for (int64_t p = 0; p < k; p++)
            memcpy(to + p * wide, b + p * b_row, sizeof *b * 48);
    else
        for (int64_t p = 0; p < k; p++)
            copy_few(to + p * wide, b + p * b_row, n);
}

static void
pack(float *to, const float *b, int64_t b_row, int64_t b_col, int64_t k, int n,
     int wide)
{
    if (n < wide)
        memset(to, 0, sizeof *to * (size_t)(k * wide));
    if (b_col == 1)
        pack_along(to, b, b_row, k, n, wide);
    else if (b_row == 1)
        pack_across(to, b, b_col, k, n, wide);
    else
        for (int64_t p = 0; p < k; p++)
            for (int j = 0; j < n; j++)
                to[p * wide + j] = b[p * b_row + j * b_col];
}

/* Bands of 8 adjacent rows of A where a_row is 1: some terms of all of them
 * at a time, so that memory is read along its lines. */
static void
pack_bands_along(float *to, const float *a, int64_t a_col, int64_t k,
                 int64_t bands)
{
    enum { PART = 16 };
    for (int64_t p0 = 0; p0 < k; p0 += PART) {
        int64_t p1 = least(p0 + PART, k);
        for (int64_t i = 0; i < bands; i += 2) {
            float *t = to + i * 8 * k;
            const float *from = a + i * 8 + p0 * a_col;
            for (int64_t p = p0; p < p1; p++, from += a_col) {
                EDL_PREFETCH(from + PART * a_col, 0);
                memcpy(t + 8 * p, from, sizeof *a * 8);
                memcpy(t + 8 * (p + k), from + 8, sizeof *a * 8);
            }
        }
    }
}

/* Bands of `tall` rows, one after the other. */
static void
pack_bands(float *to, const float *a, int64_t a_row, int64_t a_col, int64_t k,
           int64_t rows, int tall)
{
    int64_t i = 0;
    if (a_row == 1 && tall == 8) {
        i = rows / 16 * 16;
        pack_bands_along(to, a, a_col, k, i / 8);
    }
    for (; i < rows; i += tall)
        pack(to + i * k, a + i * a_row, a_col, a_row, k,
             (int)least(rows - i, tall), tall);
}
