#include "edl_matmul.h"

#include <math.h>
#include <stdbool.h>
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

#if defined(__GNUC__)
#define EDL_PREFETCH(p, write) __builtin_prefetch((p), (write), 2)
#define EDL_LINES __attribute__((aligned(64)))
#else
#define EDL_PREFETCH(p, write) ((void)(p))
#define EDL_LINES
#endif

enum {
    K_BLOCK = 256,   /* rows of a packed panel of B */
    ROW_BLOCK = 384, /* rows of A that are packed, for the second cache */
    MOST_VECS = 3,
    MOST_COLUMNS = 48,
    MOST_ROWS = 8,
    FEW_ROWS = 16,    /* not worth a packed panel */
    FEW_COLUMNS = 192 /* not worth packed rows */
};

/* What the next tiles read and write, asked for in time: lines of rows of
 * `width` bytes that lie `stride` bytes apart, and a tile of C. */
typedef struct Ahead {
    const char *row;
    int64_t at, width, stride;
    const char *tile;
} Ahead;

#if defined(__x86_64__) && defined(__GNUC__)
#define TILE_TARGET __attribute__((target("avx512f,fma")))
#define TILE_ROWS 8
#define V __m512
#define V_WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_SPLAT(x) _mm512_set1_ps(x)
#define V_FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define TILE tile_avx512_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE tile_avx512_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE tile_avx512_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"

#define TILE_TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 4
#define V __m256
#define V_WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_SPLAT(x) _mm256_set1_ps(x)
#define V_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define TILE tile_avx2_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE tile_avx2_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE tile_avx2_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"
#elif defined(__aarch64__)
#define TILE_TARGET
#define TILE_ROWS 8
#define V float32x4_t
#define V_WIDTH 4
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, v) vst1q_f32(p, v)
#define V_SPLAT(x) vdupq_n_f32(x)
#define V_FMA(x, y, z) vfmaq_f32(z, x, y)
#define TILE tile_neon_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE tile_neon_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE tile_neon_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"
#endif

#define TILE_TARGET
#define TILE_ROWS 4
#define V float
#define V_WIDTH 1
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_SPLAT(x) (x)
#define V_FMA(x, y, z) fmaf(x, y, z)
#define TILE tile_c_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE tile_c_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE tile_c_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"

static int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

typedef void TileFn(int64_t k, const float *a, int64_t a_row, int64_t a_col,
                    const float *b, int64_t b_row, float *c, int64_t c_row,
                    int add, Ahead *ahead);

typedef struct Kernel {
    const char *name;
    TileFn *run[MOST_VECS]; /* tiles of 1, 2, .. vectors in a row */
    int rows, width;        /* of a tile, of a vector */
} Kernel;

/* The best first. */
static const Kernel kernels[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", {tile_avx512_1, tile_avx512_2, tile_avx512_3}, 8, 16},
    {"avx2", {tile_avx2_1, tile_avx2_2, tile_avx2_3}, 4, 8},
#elif defined(__aarch64__)
    {"neon", {tile_neon_1, tile_neon_2, tile_neon_3}, 8, 4},
#endif
    {"c", {tile_c_1, tile_c_2, tile_c_3}, 4, 1},
};

/* The first of them that this machine can run. */
static const Kernel *
choose(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f"))
        return &kernels[0];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels[1];
    return &kernels[2];
#else
    return &kernels[0];
#endif
}

const char *
edl_matmul_path(void)
{
    return choose()->name;
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
    if (b_col == 1 && n == 48)
        for (int64_t p = 0; p < k; p++)
            memcpy(to + p * wide, b + p * b_row, sizeof *b * 48);
    else if (b_col == 1)
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

/* Two bands of 8 adjacent rows of A where a_row is 1: a line is read once. */
static void
pack_two_bands(float *to, const float *a, int64_t a_col, int64_t k)
{
    float *second = to + 8 * k;
    for (int64_t p = 0; p < k; p++) {
        memcpy(to + 8 * p, a + p * a_col, sizeof *a * 8);
        memcpy(second + 8 * p, a + p * a_col + 8, sizeof *a * 8);
    }
}

/* Bands of `tall` rows of A, each as k columns one after the other; rows that
 * do not exist are 0. */
static void
pack_bands(float *to, const float *a, int64_t a_row, int64_t a_col, int64_t k,
           int64_t rows, int tall)
{
    for (int64_t i = 0; i < rows; i += tall) {
        const float *from = a + i * a_row;
        if (a_row == 1 && tall == 8 && rows - i >= 16) {
            pack_two_bands(to + i * k, from, a_col, k);
            i += tall;
        } else {
            pack(to + i * k, from, a_col, a_row, k, (int)least(rows - i, tall),
                 tall);
        }
    }
}

/* Rows of A times a panel of B. */
typedef struct Block {
    const Kernel *kernel;
    int64_t k, rows;
    const float *a; /* row i of it at a + i * a_step */
    int64_t a_step, a_row, a_col;
    const float *b;
    int64_t b_row;
    float *c;
    int64_t c_row;
    int vecs, wide; /* of the panel: vectors, and columns in them */
    int columns;    /* that there are */
    int add;
    bool bands; /* a is packed */
} Block;

/* A tile of which only `rows` rows and some columns exist: through a whole
 * one on the stack. */
static void
edge(const Block *s, const float *a, float *c, int rows, Ahead *ahead)
{
    EDL_LINES float tile[MOST_ROWS * MOST_COLUMNS];
    EDL_LINES float left[MOST_ROWS * K_BLOCK];
    int wide = s->wide, tall = s->kernel->rows;
    size_t bytes = sizeof *c * (size_t)s->columns;
    if (!s->bands) {
        pack(left, a, s->a_col, s->a_row, s->k, rows, tall);
        a = left;
    }
    memset(tile, 0, sizeof tile);
    for (int i = 0; s->add && i < rows; i++)
        memcpy(tile + i * wide, c + i * s->c_row, bytes);
    s->kernel->run[s->vecs - 1](s->k, a, 1, tall, s->b, s->b_row, tile, wide,
                                s->add, ahead);
    for (int i = 0; i < rows; i++)
        memcpy(c + i * s->c_row, tile + i * wide, bytes);
}

static void
block_run(const Block *s, Ahead *ahead)
{
    TileFn *const run = s->kernel->run[s->vecs - 1];
    int tall = s->kernel->rows;
    for (int64_t i = 0; i < s->rows; i += tall) {
        int rows = (int)least(s->rows - i, tall);
        const float *a = s->a + i * s->a_step;
        float *c = s->c + i * s->c_row;
        bool last = s->rows - i <= tall;
        ahead->tile =
            (const char *)(last ? s->c + s->wide : c + tall * s->c_row);
        if (rows == tall && s->columns == s->wide)
            run(s->k, a, s->a_row, s->a_col, s->b, s->b_row, c, s->c_row,
                s->add, ahead);
        else
            edge(s, a, c, rows, ahead);
    }
}

/* The lines of a panel of B that starts at b. */
static Ahead
ahead_of(const EdlProduct *s, const float *b, int64_t k, int columns)
{
    Ahead h = {(const char *)b, 0, 0, 0, (const char *)b};
    bool across = s->b_col != 1;
    h.width = (int64_t)sizeof *b * (across ? k : columns);
    h.stride = (int64_t)sizeof *b * (across ? s->b_col : s->b_row);
    return h;
}

/* Columns j0 <= j < j1 of a block that has its rows of A already. */
static void
panels(const EdlProduct *s, Block *block, const float *b, float *c, int64_t j0,
       int64_t j1)
{
    EDL_LINES float panel[K_BLOCK * MOST_COLUMNS];
    int width = block->kernel->width;
    for (int64_t j = j0; j < j1; j += block->wide) {
        const float *from = b + j * s->b_col;
        int64_t left = least(j1 - j, MOST_VECS * width);
        block->vecs = (int)((left + width - 1) / width);
        block->wide = block->vecs * width;
        block->columns = (int)left;
        block->c = c + j;
        bool more = j1 - j > left;
        Ahead ahead = ahead_of(s, from + (more ? left * s->b_col : 0), block->k,
                               block->wide);
        if (s->b_col == 1 && left == block->wide && block->rows <= FEW_ROWS) {
            block->b = from;
            block->b_row = s->b_row;
        } else {
            pack(panel, from, s->b_row, s->b_col, block->k, (int)left,
                 block->wide);
            block->b = panel;
            block->b_row = block->wide;
        }
        block_run(block, &ahead);
    }
}

/* The same with A as it lies. */
static void
product_plain(const Kernel *kernel, const EdlProduct *s, const float *a,
              const float *b, float *c, int64_t rows, int64_t j0, int64_t j1,
              int add)
{
    for (int64_t p = 0; p < s->k; p += K_BLOCK) {
        Block block;
        block.kernel = kernel;
        block.k = least(s->k - p, K_BLOCK);
        block.rows = rows;
        block.a = a + p * s->a_col;
        block.a_step = block.a_row = s->a_row;
        block.a_col = s->a_col;
        block.c_row = s->c_row;
        block.add = add || p;
        block.bands = false;
        panels(s, &block, b + p * s->b_row, c, j0, j1);
    }
}

static void
product_bands(const Kernel *kernel, const EdlProduct *s, const float *a,
              const float *b, float *c, int64_t rows, int64_t j0, int64_t j1,
              int add)
{
    EDL_LINES float left[K_BLOCK * ROW_BLOCK];
    for (int64_t p = 0; p < s->k; p += K_BLOCK) {
        Block block;
        block.kernel = kernel;
        block.k = least(s->k - p, K_BLOCK);
        block.rows = rows;
        block.a = left;
        block.a_step = block.k;
        block.a_row = 1;
        block.a_col = kernel->rows;
        block.c_row = s->c_row;
        block.add = add || p;
        block.bands = true;
        pack_bands(left, a + p * s->a_col, s->a_row, s->a_col, block.k, rows,
                   kernel->rows);
        panels(s, &block, b + p * s->b_row, c, j0, j1);
    }
}

static void
product(const Kernel *kernel, const EdlProduct *s, const float *a,
        const float *b, float *c, int64_t i0, int64_t i1, int64_t j0,
        int64_t j1, int add)
{
    bool bands = j1 - j0 >= FEW_COLUMNS || (s->a_col != 1 && i1 - i0 > 8);
    for (int64_t i = i0; i < i1; i += ROW_BLOCK)
        (bands ? product_bands : product_plain)(
            kernel, s, a + i * s->a_row, b, c + i * s->c_row,
            least(i1 - i, ROW_BLOCK), j0, j1, add);
}

void
edl_matmul(const EdlProduct *s, const float *a, const float *b, float *c,
           int64_t i0, int64_t i1, int64_t j0, int64_t j1, int add)
{
    product(choose(), s, a, b, c, i0, i1, j0, j1, add);
}
