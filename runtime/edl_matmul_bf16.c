#include "edl_matmul_bf16.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "edl_kernel.h"
#include "edl_tiles.h"

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

#include "edl_pack_bf16.h"

EDL_APART static float
add_pair(float c, uint32_t x, uint32_t y)
{
    c = add_term(flush(c), edl_float(x & 0xffff0000u),
                 edl_float(y & 0xffff0000u));
    return add_term(c, edl_float(x << 16), edl_float(y << 16));
}

/* ---- microkernels ---- */

/* Of packed words, one after the other along K: pairs of bf16 as the bits of
 * a float, or floats, which come in the order of the terms. */
#define TILES_PACKED
#if EDL_X86
#define TILE_TARGET __attribute__((target("avx512f,avx512bf16")))
#define V_FMA(x, y, z) _mm512_dpbf16_ps(z, (__m512bh)(x), (__m512bh)(y))
#define VECTORS 512
#include "edl_vectors.h"
#define TILE pairs_avx512_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE pairs_avx512_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE pairs_avx512_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"

#define VECTORS 512
#include "edl_vectors.h"
#define TILE floats_avx512_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE floats_avx512_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE floats_avx512_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"

#define VECTORS 256
#include "edl_vectors.h"
#define TILE floats_avx2_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE floats_avx2_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE floats_avx2_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"
#endif

#if EDL_NEON
static inline float32x4_t
flush4(float32x4_t x)
{
    uint32x4_t small = vcaltq_f32(x, vdupq_n_f32(0x1p-126f));
    uint32x4_t gone = vandq_u32(small, vdupq_n_u32(0x7fffffffu));
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), gone));
}

/* add_term of four. */
static inline float32x4_t
add_terms4(float32x4_t c, float32x4_t x, float32x4_t y)
{
    float32x4_t r = vfmaq_f32(c, x, y);
    uint32x4_t edge = vceqq_f32(vabsq_f32(r), vdupq_n_f32(0x1p-126f));
    if (__builtin_expect(vmaxvq_u32(edge) != 0, 0)) {
        float to[4], by[4], with[4];
        vst1q_f32(to, c);
        vst1q_f32(by, x);
        vst1q_f32(with, y);
        for (int i = 0; i < 4; i++)
            to[i] = add_term(to[i], by[i], with[i]);
        r = vld1q_f32(to);
    }
    return flush4(r);
}

#define V_LOAD(p) flush4(vld1q_f32(p))
#define V_FMA(x, y, z) add_terms4(z, x, y)
#define VECTORS 128
#include "edl_vectors.h"
#define TILE floats_neon_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE floats_neon_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE floats_neon_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"
#endif

#define V_FMA(x, y, z) add_pair(z, edl_bits(x), edl_bits(y))
#define VECTORS 32
#include "edl_vectors.h"
#define TILE pairs_c_1
#define TILE_VECS 1
#include "edl_tile.h"
#define TILE pairs_c_2
#define TILE_VECS 2
#include "edl_tile.h"
#define TILE pairs_c_3
#define TILE_VECS 3
#include "edl_tile.h"
#include "edl_tile_end.h"

typedef struct Kernel {
    const char *name;
    TileFn *run[MOST_VECS]; /* tiles of 1, 2, .. vectors in a row */
    int rows, width;        /* of a tile, of a vector */
    bool some;              /* the last vector may be a part of one */
    Packing packing;
    bool flushes; /* by MXCSR */
} Kernel;

#define RUNS(name) {name##_1, name##_2, name##_3}

static const Kernel kernels[] = {
#if EDL_X86
    {"avx512_bf16", RUNS(pairs_avx512), 8, 16, true, {true, true, true}, false},
    {"avx512", RUNS(floats_avx512), 8, 16, true, {false, true, true}, true},
    {"avx512", RUNS(floats_avx512), 8, 16, true, {false, true, false}, true},
    {"avx2", RUNS(floats_avx2), 4, 8, false, {false, false, false}, true},
#elif EDL_NEON
    {"neon", RUNS(floats_neon), 8, 4, false, {false, false, false}, false},
#endif
    {"c", RUNS(pairs_c), 4, 1, false, {true, false, false}, false},
};

#if EDL_X86
/* What this machine can run: bit i for kernel i. */
static unsigned
usable(void)
{
    bool wide = __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
    bool fma = __builtin_cpu_supports("fma");
    bool bf16 = wide && __builtin_cpu_supports("avx512bf16");
    return (bf16 ? 1u : 0u) | (bf16 && fma ? 2u : 0u) |
           (wide && fma ? 4u : 0u) |
           (fma && __builtin_cpu_supports("avx2") ? 8u : 0u) | 16u;
}
#else
static unsigned
usable(void)
{
    return EDL_NEON ? 3u : 1u;
}
#endif

/* Intel's cores start a vdpbf16ps every second cycle (Emerald Rapids, 8 to
 * finish), but two fma a cycle: there these are twice as fast. */
static const Kernel *
choose(void)
{
    unsigned can = usable();
    int i = 0;
#if EDL_X86
    i = __builtin_cpu_is("intel") ? 1 : 0;
#endif
    while (!(can >> i & 1u))
        i++;
    return &kernels[i];
}

const char *
edl_matmul_bf16_path(void)
{
    return choose()->name;
}

/* ---- blocks ---- */

/* Packed rows of A times a packed panel of B. */
typedef struct Block {
    const Kernel *kernel;
    int64_t words, k, rows;
    float *a;         /* packed, */
    const Lines *from; /* or from these for the first panel; else NULL */
    const float *b;
    float *c;
    int64_t c_row;
    int vecs, wide; /* of the panel: vectors, and columns in them */
    int columns;    /* that there are */
    int add;
} Block;

/* What is packed next, k elements of some lines: to be asked for while
 * `terms` of tiles run. */
static Walk
walk_of(const Lines *s, int64_t k, int64_t lines, int64_t terms)
{
    const int64_t item = s->wide ? 4 : 2;
    const bool beside = s->across == 1;
    Walk w = {(const char *)s->at, 0, 0, 0, 0, 0, 0};
    w.width = item * (beside ? lines : k);
    w.stride = item * (beside ? s->along : s->across);
    w.rows = beside ? k : lines;
    if (k > 0 && lines > 0)
        w.rate = (int)least(1 + w.rows * ((w.width + 63) / 64 * 256) / terms,
                            128);
    return w;
}

/* A tile of which only `rows` rows and some columns exist: through a whole
 * one on the stack. */
static void
edge(const Block *s, const float *a, float *c, int rows, Ahead *ahead)
{
    EDL_LINES float tile[MOST_ROWS * MOST_COLUMNS];
    size_t bytes = sizeof *c * (size_t)s->columns;
    memset(tile, 0, sizeof tile);
    for (int i = 0; s->add && i < rows; i++)
        memcpy(tile + i * s->wide, c + i * s->c_row, bytes);
    s->kernel->run[s->vecs - 1](s->words, a, 1, s->kernel->rows, s->b, s->wide,
                                tile, s->wide, s->add, ahead);
    for (int i = 0; i < rows; i++)
        memcpy(c + i * s->c_row, tile + i * s->wide, bytes);
}

/* Rows of A from i on that the first panel packs, and asks for the next. */
static void
pack_rows(const Block *s, int64_t i, Ahead *ahead)
{
    int tall = s->kernel->rows;
    int64_t some = s->from->across == 1 ? 4 * tall : tall;
    if (i % some != 0)
        return;
    Lines now = lines_at(s->from, 0, i), next = lines_at(&now, 0, some);
    pack_bands(&s->kernel->packing, s->a + i * s->words, &now, s->k,
               least(s->rows - i, some), tall, s->words);
    ahead->a = walk_of(&next, s->k, least(s->rows - i - some, some),
                       s->words * (some / tall));
}

static void
block_run(const Block *s, Ahead *ahead)
{
    TileFn *const run = s->kernel->run[s->vecs - 1];
    int tall = s->kernel->rows;
    for (int64_t i = 0; i < s->rows; i += tall) {
        int rows = (int)least(s->rows - i, tall);
        float *a = s->a + i * s->words;
        if (s->from)
            pack_rows(s, i, ahead);
        float *c = s->c + i * s->c_row;
        bool last = s->rows - i <= tall;
        ahead->tile =
            (const char *)(last ? s->c + s->wide : c + tall * s->c_row);
        if (rows == tall && (s->columns == s->wide || s->kernel->some))
            run(s->words, a, 1, tall, s->b, s->wide, c, s->c_row, s->add,
                ahead);
        else
            edge(s, a, c, rows, ahead);
    }
}

/* n columns of B and of c; behind these terms come `later` more. */
static void
panels(Block *block, const Lines *b, float *c, int64_t n, int64_t later)
{
    EDL_LINES float panel[K_BLOCK * MOST_COLUMNS];
    int width = block->kernel->width, tall = block->kernel->rows;
    for (int64_t j = 0; j < n; j += block->wide) {
        Lines from = lines_at(b, 0, j);
        block->vecs = vectors(n - j, width);
        block->wide = block->vecs * width;
        int64_t left = least(n - j, block->wide);
        block->columns = (int)left;
        block->c = c + j;
        block->b = panel;
        const bool more = n - j > left;
        Lines next = more ? lines_at(&from, 0, left) : lines_at(b, block->k, 0);
        Ahead ahead;
        memset(&ahead, 0, sizeof ahead);
        ahead.b = walk_of(&next, more ? block->k : least(later, block->k),
                          least(more ? n - j - left : n, MOST_VECS * width),
                          block->words * ((block->rows + tall - 1) / tall));
        ahead.some = (1u << (left - (block->wide - width))) - 1u;
        pack(&block->kernel->packing, panel, &from, block->k, left,
             block->wide);
        block_run(block, &ahead);
        block->from = NULL;
    }
}

static void
product_rows(const Kernel *kernel, const EdlProductBf16 *s, const Lines *a,
             const Lines *b, float *c, int64_t rows, int64_t n, int add)
{
    EDL_LINES float left[K_BLOCK * ROW_BLOCK];
    int64_t most = kernel->packing.pairs ? 2 * K_BLOCK : K_BLOCK;
    for (int64_t p = 0; p < s->at.k; p += most) {
        int64_t k = least(s->at.k - p, most);
        Block block;
        block.kernel = kernel;
        block.words = kernel->packing.pairs ? (k + 1) / 2 : (k + 1) / 2 * 2;
        block.rows = rows;
        block.a = left;
        block.c_row = s->at.c_row;
        block.add = add || p;
        Lines rows_from = lines_at(a, p, 0), from = lines_at(b, p, 0);
        block.k = k;
        block.from = &rows_from;
        panels(&block, &from, c, n, s->at.k - p - k);
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
