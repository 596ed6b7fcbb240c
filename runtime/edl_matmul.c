#include "edl_matmul.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define EDL_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define EDL_UNROLL _Pragma("GCC unroll 16")
#else
#define EDL_UNROLL
#endif

enum {
    K_BLOCK = 256,   /* rows of a packed panel of B */
    ROW_BLOCK = 512, /* rows of A that stay in the second cache */
    MAX_COLUMNS = 48,
    MAX_ROWS = 8
};

#if defined(__x86_64__) && defined(__GNUC__)
#define TILE tile_avx512
#define TILE_TARGET __attribute__((target("avx512f,fma")))
#define TILE_ROWS 8
#define TILE_VECS 3
#define V __m512
#define V_WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_SPLAT(x) _mm512_set1_ps(x)
#define V_FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#include "edl_tile.h"

#define TILE tile_avx2
#define TILE_TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 6
#define TILE_VECS 2
#define V __m256
#define V_WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_SPLAT(x) _mm256_set1_ps(x)
#define V_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#include "edl_tile.h"
#elif defined(__aarch64__)
#define TILE tile_neon
#define TILE_TARGET
#define TILE_ROWS 8
#define TILE_VECS 3
#define V float32x4_t
#define V_WIDTH 4
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, v) vst1q_f32(p, v)
#define V_SPLAT(x) vdupq_n_f32(x)
#define V_FMA(x, y, z) vfmaq_f32(z, x, y)
#include "edl_tile.h"
#endif

#define TILE tile_c
#define TILE_TARGET
#define TILE_ROWS 4
#define TILE_VECS 4
#define V float
#define V_WIDTH 1
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_SPLAT(x) (x)
#define V_FMA(x, y, z) fmaf(x, y, z)
#include "edl_tile.h"

static int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

typedef void TileFn(int64_t k, const float *a, int64_t a_row, int64_t a_col,
                    const float *b, float *c, int64_t c_row, int add);

typedef struct Kernel {
    const char *name;
    TileFn *run;
    int rows, columns;
} Kernel;

static Kernel
choose(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    static const Kernel avx512 = {"avx512", tile_avx512, 8, 48};
    static const Kernel avx2 = {"avx2", tile_avx2, 6, 16};
    if (__builtin_cpu_supports("avx512f"))
        return avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2;
#elif defined(__aarch64__)
    static const Kernel neon = {"neon", tile_neon, 8, 12};
    return neon;
#endif
    static const Kernel c = {"c", tile_c, 4, 4};
    return c;
}

const char *
edl_matmul_path(void)
{
    return choose().name;
}

#if defined(__x86_64__) && defined(__GNUC__)
/* to[p * wide + j] = b[p + j * b_col] for 8 by 8 elements. */
__attribute__((target("avx"))) static void
transpose8(float *to, int64_t wide, const float *b, int64_t b_col)
{
    __m256 r[8], t[8];
    for (int j = 0; j < 8; j++)
        r[j] = _mm256_loadu_ps(b + j * b_col);
    for (int j = 0; j < 8; j += 2) {
        t[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
        t[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
    }
    for (int j = 0; j < 8; j += 4)
        for (int h = 0; h < 2; h++) {
            r[j + 2 * h] = _mm256_shuffle_ps(t[j + h], t[j + 2 + h], 0x44);
            r[j + 2 * h + 1] = _mm256_shuffle_ps(t[j + h], t[j + 2 + h], 0xEE);
        }
    for (int p = 0; p < 4; p++) {
        _mm256_storeu_ps(to + p * wide,
                         _mm256_permute2f128_ps(r[p], r[p + 4], 0x20));
        _mm256_storeu_ps(to + (p + 4) * wide,
                         _mm256_permute2f128_ps(r[p], r[p + 4], 0x31));
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

/* Columns j0.. of B that lie the other way, where b_row is 1. */
static void
pack_across(float *to, const float *b, int64_t b_col, int64_t k, int n,
            int wide)
{
    int64_t k8 = HAVE_TRANSPOSE8() ? k / 8 * 8 : 0;
    int n8 = n / 8 * 8;
    for (int64_t p = 0; p < k8; p += 8)
        for (int j = 0; j < n8; j += 8)
            transpose8(to + p * wide + j, wide, b + p + j * b_col, b_col);
    for (int j = 0; j < n; j++)
        for (int64_t p = j < n8 ? k8 : 0; p < k; p++)
            to[p * wide + j] = b[p + j * b_col];
}

/* k rows of `wide` columns of B, of which `n` exist, one after the other. */
static void
pack(float *to, const float *b, int64_t b_row, int64_t b_col, int64_t k, int n,
     int wide)
{
    if (b_col == 1)
        for (int64_t p = 0; p < k; p++)
            memcpy(to + p * wide, b + p * b_row, sizeof *b * (size_t)n);
    else if (b_row == 1)
        pack_across(to, b, b_col, k, n, wide);
    else
        for (int64_t p = 0; p < k; p++)
            for (int j = 0; j < n; j++)
                to[p * wide + j] = b[p * b_row + j * b_col];
    for (int64_t p = 0; n < wide && p < k; p++)
        memset(to + p * wide + n, 0, sizeof *b * (size_t)(wide - n));
}

/* A tile of which only `rows` rows and `columns` columns exist: through a
 * whole one on the stack; rows that do not exist repeat the last. */
static void
edge(const Kernel *kernel, int64_t k, const float *a, int64_t a_row,
     int64_t a_col, const float *b, float *c, int64_t c_row, int add, int rows,
     int columns)
{
    float tile[MAX_ROWS * MAX_COLUMNS];
    float left[MAX_ROWS * K_BLOCK];
    int wide = kernel->columns;
    for (int i = 0; i < kernel->rows; i++) {
        const float *from = a + (i < rows ? i : rows - 1) * a_row;
        for (int64_t p = 0; p < k; p++)
            left[p * kernel->rows + i] = from[p * a_col];
    }
    memset(tile, 0, sizeof tile);
    for (int i = 0; add && i < rows; i++)
        memcpy(tile + i * wide, c + i * c_row, sizeof *c * (size_t)columns);
    kernel->run(k, left, 1, kernel->rows, b, tile, wide, add);
    for (int i = 0; i < rows; i++)
        memcpy(c + i * c_row, tile + i * wide, sizeof *c * (size_t)columns);
}

/* One packed panel against the next `rows` rows of A. */
static void
panel_rows(const Kernel *kernel, const EdlProduct *s, int64_t k,
           const float *a, const float *panel, float *c, int64_t rows, int n,
           int add)
{
    for (int64_t i = 0; i < rows; i += kernel->rows) {
        int m = (int)least(rows - i, kernel->rows);
        const float *left = a + i * s->a_row;
        float *to = c + i * s->c_row;
        if (m == kernel->rows && n == kernel->columns)
            kernel->run(k, left, s->a_row, s->a_col, panel, to, s->c_row, add);
        else
            edge(kernel, k, left, s->a_row, s->a_col, panel, to, s->c_row, add,
                 m, n);
    }
}

void
edl_matmul(const EdlProduct *s, const float *a, const float *b, float *c,
           int64_t i0, int64_t i1, int64_t j0, int64_t j1, int add)
{
    const Kernel kernel = choose();
    float panel[K_BLOCK * MAX_COLUMNS];
    for (int64_t i = i0; i < i1; i += ROW_BLOCK)
        for (int64_t p = 0; p < s->k; p += K_BLOCK)
            for (int64_t j = j0; j < j1; j += kernel.columns) {
                int64_t k = least(s->k - p, K_BLOCK);
                int64_t rows = least(i1 - i, ROW_BLOCK);
                int n = (int)least(j1 - j, kernel.columns);
                pack(panel, b + p * s->b_row + j * s->b_col, s->b_row,
                     s->b_col, k, n, kernel.columns);
                panel_rows(&kernel, s, k, a + i * s->a_row + p * s->a_col,
                           panel, c + i * s->c_row + j, rows, n, add || p);
            }
}
