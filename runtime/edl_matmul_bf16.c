#include "edl_matmul_bf16.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "edl_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define EDL_X86 1
#else
#define EDL_X86 0
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
    PAIR_BLOCK = 256, /* pairs along K of a packed panel of B */
    ROW_BLOCK = 384,  /* rows of A that are packed, for the second cache */
    MOST_VECS = 3,
    MOST_COLUMNS = 48,
    MOST_ROWS = 8
};

/* What the next tiles read and write, asked for in time: lines of rows of
 * `width` bytes that lie `stride` bytes apart, and a tile of C. */
typedef struct Ahead {
    const char *row;
    int64_t at, width, stride;
    const char *tile;
} Ahead;

static int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* ---- one term, as AVX512_BF16 defines it ---- */

static float
flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/* c + x * y. A sum is below the smallest normal number when it is so before
 * its exponent is bounded: of those that fmaf rounds up to that number, the
 * ones further away than half a place of 24 bits are. */
static float
add_term(float c, float x, float y)
{
    float r = fmaf(x, y, c);
    if (fabsf(r) == 0x1p-126f &&
        fabs((double)x * (double)y + (double)c) < 0x1.ffffffp-127)
        r = 0.0f * r;
    return flush(r);
}

/* The second operand is flushed when it is packed; so is the first. */
static float
add_pair(float c, uint32_t x, uint32_t y)
{
    c = add_term(flush(c), edl_float(x & 0xffff0000u),
                 edl_float(y & 0xffff0000u));
    return add_term(c, edl_float(x << 16), edl_float(y << 16));
}

/* ---- microkernels ---- */

#if EDL_X86
#define TILE_TARGET __attribute__((target("avx512f,avx512bf16")))
#define TILE_ROWS 8
#define V __m512
#define P __m512i
#define V_WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_ZERO _mm512_setzero_ps()
#define P_LOAD(p) _mm512_loadu_si512(p)
#define P_SPLAT(x) _mm512_set1_epi32((int)(x))
#define V_DOT(c, x, y) _mm512_dpbf16_ps(c, (__m512bh)(x), (__m512bh)(y))
#define TILE bf16_avx512_1
#define TILE_VECS 1
#include "edl_tile_bf16.h"
#define TILE bf16_avx512_2
#define TILE_VECS 2
#include "edl_tile_bf16.h"
#define TILE bf16_avx512_3
#define TILE_VECS 3
#include "edl_tile_bf16.h"
#include "edl_tile_end.h"

/* Denormals are zeros while MXCSR says so. */
__attribute__((target("avx2,fma"))) static inline __m256
dot_avx2(__m256 c, __m256i x, __m256i y)
{
    const __m256i odd = _mm256_set1_epi32((int)0xffff0000u);
    c = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_and_si256(x, odd)),
                        _mm256_castsi256_ps(_mm256_and_si256(y, odd)), c);
    return _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
                           _mm256_castsi256_ps(_mm256_slli_epi32(y, 16)), c);
}

#define TILE_TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 4
#define V __m256
#define P __m256i
#define V_WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_ZERO _mm256_setzero_ps()
#define P_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define P_SPLAT(x) _mm256_set1_epi32((int)(x))
#define V_DOT(c, x, y) dot_avx2(c, x, y)
#define TILE bf16_avx2_1
#define TILE_VECS 1
#include "edl_tile_bf16.h"
#define TILE bf16_avx2_2
#define TILE_VECS 2
#include "edl_tile_bf16.h"
#define TILE bf16_avx2_3
#define TILE_VECS 3
#include "edl_tile_bf16.h"
#include "edl_tile_end.h"
#endif

#define TILE_TARGET
#define TILE_ROWS 4
#define V float
#define P uint32_t
#define V_WIDTH 1
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_ZERO 0.0f
#define P_LOAD(p) (*(p))
#define P_SPLAT(x) (x)
#define V_DOT(c, x, y) add_pair(c, x, y)
#define TILE bf16_c_1
#define TILE_VECS 1
#include "edl_tile_bf16.h"
#define TILE bf16_c_2
#define TILE_VECS 2
#include "edl_tile_bf16.h"
#define TILE bf16_c_3
#define TILE_VECS 3
#include "edl_tile_bf16.h"
#include "edl_tile_end.h"

typedef void TileFn(int64_t n, const uint32_t *a, const uint32_t *b, float *c,
                    int64_t c_row, int add, Ahead *ahead);

typedef struct Kernel {
    const char *name;
    TileFn *run[MOST_VECS]; /* tiles of 1, 2, .. vectors in a row */
    int rows, width;        /* of a tile, of a vector */
    bool flushes;           /* by MXCSR */
    bool packs;             /* with AVX-512 */
} Kernel;

/* The best first. */
static const Kernel kernels[] = {
#if EDL_X86
    {"avx512_bf16",
     {bf16_avx512_1, bf16_avx512_2, bf16_avx512_3}, 8, 16, false, true},
    {"avx2", {bf16_avx2_1, bf16_avx2_2, bf16_avx2_3}, 4, 8, true, false},
#endif
    {"c", {bf16_c_1, bf16_c_2, bf16_c_3}, 4, 1, false, false},
};

/* The first of them that this machine can run. */
static const Kernel *
choose(void)
{
#if EDL_X86
    if (__builtin_cpu_supports("avx512bf16") &&
        __builtin_cpu_supports("avx512bw"))
        return &kernels[0];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels[1];
    return &kernels[2];
#else
    return &kernels[0];
#endif
}

const char *
edl_matmul_bf16_path(void)
{
    return choose()->name;
}

/* ---- packing ---- */

/* Lines 0 <= j of an operand (rows of A, columns of B), each a run of n
 * elements along K; strides are in elements. */
typedef struct Lines {
    const void *at;
    bool wide;
    int64_t along, across;
} Lines;

/* The element, and 0 for a denormal. */
static uint32_t
element(const Lines *s, int64_t p, int64_t j)
{
    int64_t i = p * s->along + j * s->across;
    uint32_t h = s->wide ? edl_f32_to_bf16(((const float *)s->at)[i])
                         : ((const uint16_t *)s->at)[i];
    return h & 0x7f80u ? h : h & 0x8000u;
}

/* Pairs p0 <= p of lines j0 <= j < j1, to[p * wide + j]. */
static void
pack_plain(uint32_t *to, const Lines *s, int64_t n, int64_t p0, int64_t j0,
           int64_t j1, int wide)
{
    for (int64_t p = p0; 2 * p < n; p++)
        for (int64_t j = j0; j < j1; j++) {
            uint32_t odd = 2 * p + 1 < n ? element(s, 2 * p + 1, j) : 0;
            to[p * wide + j] = element(s, 2 * p, j) | odd << 16;
        }
}

/* `lines` of them as pairs, `wide` to a row; those that do not exist are 0. */
static void
pack(const Kernel *kernel, uint32_t *to, const Lines *s, int64_t n,
     int64_t lines, int wide)
{
    (void)kernel;
    pack_plain(to, s, n, 0, 0, lines, wide);
    for (int64_t p = 0; lines < wide && 2 * p < n; p++)
        memset(to + p * wide + lines, 0,
               sizeof *to * (size_t)(wide - lines));
}

static Lines
lines_at(const Lines *s, int64_t p, int64_t j)
{
    Lines r = *s;
    int64_t i = p * s->along + j * s->across;
    r.at = s->wide ? (const void *)((const float *)s->at + i)
                   : (const void *)((const uint16_t *)s->at + i);
    return r;
}

/* ---- blocks ---- */

/* Packed rows of A times a packed panel of B. */
typedef struct Block {
    const Kernel *kernel;
    int64_t pairs, rows;
    const uint32_t *a, *b;
    float *c;
    int64_t c_row;
    int vecs, wide; /* of the panel: vectors, and columns in them */
    int columns;    /* that there are */
    int add;
} Block;

/* A tile of which only `rows` rows and some columns exist: through a whole
 * one on the stack. */
static void
edge(const Block *s, const uint32_t *a, float *c, int rows, Ahead *ahead)
{
    EDL_LINES float tile[MOST_ROWS * MOST_COLUMNS];
    size_t bytes = sizeof *c * (size_t)s->columns;
    memset(tile, 0, sizeof tile);
    for (int i = 0; s->add && i < rows; i++)
        memcpy(tile + i * s->wide, c + i * s->c_row, bytes);
    s->kernel->run[s->vecs - 1](s->pairs, a, s->b, tile, s->wide, s->add,
                                ahead);
    for (int i = 0; i < rows; i++)
        memcpy(c + i * s->c_row, tile + i * s->wide, bytes);
}

static void
block_run(const Block *s, Ahead *ahead)
{
    TileFn *const run = s->kernel->run[s->vecs - 1];
    int tall = s->kernel->rows;
    for (int64_t i = 0; i < s->rows; i += tall) {
        int rows = (int)least(s->rows - i, tall);
        const uint32_t *a = s->a + i * s->pairs;
        float *c = s->c + i * s->c_row;
        bool last = s->rows - i <= tall;
        ahead->tile =
            (const char *)(last ? s->c + s->wide : c + tall * s->c_row);
        if (rows == tall && s->columns == s->wide)
            run(s->pairs, a, s->b, c, s->c_row, s->add, ahead);
        else
            edge(s, a, c, rows, ahead);
    }
}

/* The lines of a panel of B. */
static Ahead
ahead_of(const Lines *b, int64_t k, int columns)
{
    int64_t bytes = b->wide ? 4 : 2;
    Ahead h = {(const char *)b->at, 0, 0, 0, (const char *)b->at};
    bool across = b->across != 1;
    h.width = bytes * (across ? k : columns);
    h.stride = bytes * (across ? b->across : b->along);
    return h;
}

/* n columns of B, of which k rows count, and of c. */
static void
panels(Block *block, const Lines *b, float *c, int64_t k, int64_t n)
{
    EDL_LINES uint32_t panel[PAIR_BLOCK * MOST_COLUMNS];
    int width = block->kernel->width;
    for (int64_t j = 0; j < n; j += block->wide) {
        Lines from = lines_at(b, 0, j);
        int64_t left = least(n - j, MOST_VECS * width);
        block->vecs = (int)((left + width - 1) / width);
        block->wide = block->vecs * width;
        block->columns = (int)left;
        block->c = c + j;
        block->b = panel;
        Lines after = lines_at(&from, 0, n - j > left ? left : 0);
        Ahead ahead = ahead_of(&after, k, block->wide);
        pack(block->kernel, panel, &from, k, left, block->wide);
        block_run(block, &ahead);
    }
}

static void
product_rows(const Kernel *kernel, const EdlProductBf16 *s, const Lines *a,
             const Lines *b, float *c, int64_t rows, int64_t n, int add)
{
    EDL_LINES uint32_t left[PAIR_BLOCK * ROW_BLOCK];
    for (int64_t p = 0; p < s->at.k; p += 2 * PAIR_BLOCK) {
        int64_t k = least(s->at.k - p, 2 * PAIR_BLOCK);
        int tall = kernel->rows;
        Block block;
        block.kernel = kernel;
        block.pairs = (k + 1) / 2;
        block.rows = rows;
        block.a = left;
        block.c_row = s->at.c_row;
        block.add = add || p;
        for (int64_t i = 0; i < rows; i += tall) {
            Lines from = lines_at(a, p, i);
            pack(kernel, left + i * block.pairs, &from, k,
                 least(rows - i, tall), tall);
        }
        Lines from = lines_at(b, p, 0);
        panels(&block, &from, c, k, n);
    }
}

static void
product(const Kernel *kernel, const EdlProductBf16 *s, const void *a,
        const void *b, float *c, int64_t i0, int64_t i1, int64_t j0,
        int64_t j1, int add)
{
    Lines left = {a, s->a_wide != 0, s->at.a_col, s->at.a_row};
    Lines right = {b, s->b_wide != 0, s->at.b_row, s->at.b_col};
    right = lines_at(&right, 0, j0);
    for (int64_t i = i0; i < i1; i += ROW_BLOCK) {
        Lines rows = lines_at(&left, 0, i);
        product_rows(kernel, s, &rows, &right, c + i * s->at.c_row + j0,
                     least(i1 - i, ROW_BLOCK), j1 - j0, add);
    }
}

/* With denormals taken for zeros where that is not the kernel's own way. */
static void
run_kernel(const Kernel *kernel, const EdlProductBf16 *s, const void *a,
           const void *b, float *c, int64_t i0, int64_t i1, int64_t j0,
           int64_t j1, int add)
{
#if EDL_X86
    unsigned old = _mm_getcsr();
    if (kernel->flushes)
        _mm_setcsr(old | 0x8040u);
#endif
    product(kernel, s, a, b, c, i0, i1, j0, j1, add);
#if EDL_X86
    if (kernel->flushes)
        _mm_setcsr(old);
#endif
}

void
edl_matmul_bf16(const EdlProductBf16 *s, const void *a, const void *b,
                float *c, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                int add)
{
    run_kernel(choose(), s, a, b, c, i0, i1, j0, j1, add);
}
