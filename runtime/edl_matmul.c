#include "edl_matmul.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "edl_tiles.h"

enum {
    FEW_ROWS = 64,      /* not worth a packed panel, */
    SOME_COLUMNS = 128, /* not worth packed bands of rows */
    NEAR = 1 << 15,     /* floats of operands that stay in a near cache */
    FAR_ROWS = 256,     /* rows of B further apart share its lines */
};

#if EDL_X86
#define VECTORS 512
#include "edl_vectors.h"
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

#define VECTORS 256
#include "edl_vectors.h"
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
#elif EDL_NEON
#define VECTORS 128
#include "edl_vectors.h"
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

#define VECTORS 32
#include "edl_vectors.h"
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

typedef struct Kernel {
    const char *name;
    TileFn *run[MOST_VECS]; /* tiles of 1, 2, .. vectors in a row */
    int rows, width;        /* of a tile, of a vector */
    bool some;              /* the last vector may be a part of one */
} Kernel;

/* The best first. */
static const Kernel kernels[] = {
#if EDL_X86
    {"avx512", {tile_avx512_1, tile_avx512_2, tile_avx512_3}, 8, 16, true},
    {"avx2", {tile_avx2_1, tile_avx2_2, tile_avx2_3}, 4, 8, false},
#elif EDL_NEON
    {"neon", {tile_neon_1, tile_neon_2, tile_neon_3}, 8, 4, false},
#endif
    {"c", {tile_c_1, tile_c_2, tile_c_3}, 4, 1, false},
};

/* The first of them that this machine can run, with vectors of EDL_MOST bits:
 * for tests, CPPFLAGS=-DEDL_MOST=256. */
#ifndef EDL_MOST
#define EDL_MOST 512
#endif

static const Kernel *
choose(void)
{
#if EDL_X86
    if (__builtin_cpu_supports("avx512f") && EDL_MOST >= 512)
        return &kernels[0];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        EDL_MOST >= 256)
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

#include "edl_pack.h"

/* Rows of A times a panel of B. */
typedef struct Block {
    const Kernel *kernel;
    int64_t k, rows;
    const float *a;               /* row i of it at a + i * a_step */
    int64_t a_step, a_row, a_col; /* in a tile */
    const float *b;
    int64_t b_row;
    float *c;
    int64_t c_row;
    int vecs, wide; /* of the panel: vectors, and columns in them */
    int columns;    /* that there are */
    int add;
    float *bands;   /* packed rows of A; NULL: where they lie, terms adjacent */
    bool packed;    /* or they are packed while the first panel is read */
    Walk now, then; /* rows of A that the first panel reads, the next block */
} Block;

/* A tile of which only `rows` rows and some columns exist: through a whole
 * one on the stack. */
static void
edge(const Block *s, const float *a, float *c, int rows, Ahead *ahead)
{
    EDL_LINES float tile[MOST_ROWS * MOST_COLUMNS];
    EDL_LINES float left[MOST_ROWS * K_BLOCK];
    int wide = s->wide, tall = s->kernel->rows;
    int64_t a_row = s->a_row, a_col = s->a_col;
    if (rows < tall && !s->packed) {
        float *to = ahead->band ? ahead->band : left;
        pack(to, a, a_col, a_row, s->k, rows, tall);
        ahead->band = NULL;
        a = to;
        a_row = 1;
        a_col = tall;
    }
    if (s->add)
        memset(tile, 0, sizeof tile);
    for (int i = 0; s->add && i < rows; i++)
        copy_few(tile + i * wide, c + i * s->c_row, s->columns);
    s->kernel->run[s->vecs - 1](s->k, a, a_row, a_col, s->b, s->b_row, tile,
                                wide, s->add, ahead);
    for (int i = 0; i < rows; i++)
        copy_few(c + i * s->c_row, tile + i * wide, s->columns);
}

/* keep: where the panel goes, of which only the first tile reads b; or NULL. */
static void
block_run(Block *s, Ahead *ahead, float *keep)
{
    TileFn *const run = s->kernel->run[s->vecs - 1];
    int tall = s->kernel->rows;
    ahead->keep = keep;
    for (int64_t i = 0; i < s->rows; i += tall) {
        int rows = (int)least(s->rows - i, tall);
        const float *a = s->a + i * s->a_step;
        float *c = s->c + i * s->c_row;
        bool last = s->rows - i <= tall;
        ahead->band = s->bands && !s->packed ? s->bands + i * s->k : NULL;
        ahead->tile =
            (const char *)(last ? s->c + s->wide : c + tall * s->c_row);
        if (rows == tall && (s->columns == s->wide || s->kernel->some))
            run(s->k, a, s->a_row, s->a_col, s->b, s->b_row, c, s->c_row,
                s->add, ahead);
        else
            edge(s, a, c, rows, ahead);
        if (ahead->keep) {
            ahead->keep = NULL;
            s->b = keep;
            s->b_row = s->wide;
        }
    }
}

/* `rows` rows of n elements, to be asked for while `terms` of tiles run. */
static Walk
walk_of(const float *at, int64_t row, int64_t col, int64_t rows, int64_t n,
        int64_t terms)
{
    bool across = col != 1;
    Walk s = {(const char *)at, 0, 0, 0, 0, 0, 0};
    s.width = (int64_t)sizeof *at * (across ? rows : n);
    s.stride = (int64_t)sizeof *at * (across ? col : row);
    s.rows = across ? n : rows;
    if (rows > 0 && n > 0)
        s.rate = (int)least(1 + s.rows * s.width * 4 / terms, 128);
    return s;
}

/* A as it is packed. */
static void
use_bands(Block *block)
{
    block->packed = true;
    block->a = block->bands;
    block->a_step = block->k;
    block->a_row = 1;
    block->a_col = block->kernel->rows;
}

/* Columns j0 <= j < j1 of a block that has its rows of A already. next: where
 * the panel starts that follows them. */
static void
panels(const EdlProduct *s, Block *block, const float *b, const float *next,
       float *c, int64_t j0, int64_t j1)
{
    EDL_LINES float panel[K_BLOCK * MOST_COLUMNS];
    int width = block->kernel->width, tall = block->kernel->rows;
    Ahead ahead;
    ahead.near = false;
    ahead.a = block->now;
    for (int64_t j = j0; j < j1; j += block->wide) {
        const float *from = b + j * s->b_col;
        float *keep = NULL;
        block->vecs = vectors(j1 - j, width);
        block->wide = block->vecs * width;
        int64_t left = least(j1 - j, block->wide);
        block->columns = (int)left;
        ahead.some = (1u << (left - (block->wide - width))) - 1u;
        block->c = c + j;
        block->b = from;
        block->b_row = s->b_row;
        bool more = j1 - j > left;
        int64_t work = block->k * ((block->rows + tall - 1) / tall);
        ahead.b = walk_of(more ? from + left * s->b_col : next, s->b_row,
                          s->b_col, more || next ? block->k : 0, block->wide,
                          work);
        bool whole = left == block->wide;
        if (s->b_col == 1 && (whole || block->kernel->some)) {
            /* what tiles of packed rows and of parts need, too */
            if (block->rows > FEW_ROWS || block->rows % tall ||
                block->bands || !whole)
                keep = panel;
        } else {
            pack(panel, from, s->b_row, s->b_col, block->k, (int)left,
                 block->wide);
            block->b = panel;
            block->b_row = block->wide;
        }
        block_run(block, &ahead, keep);
        if (j > j0)
            continue;
        ahead.a = block->then;
        if (block->bands)
            use_bands(block);
    }
}

/* Rows of A that lie across are packed while the first panel reads them,
 * unless all their lines fall on one place of the first cache. */
static bool
packs_later(const EdlProduct *s)
{
    return s->a_row == 1 && s->a_col % 1024 != 0;
}

/* Terms p0 on of a block of rows; a and c: where its first row starts. */
static void
terms(Block *block, const EdlProduct *s, int64_t p0, const float *a,
      const float *b, float *c, int64_t j0, int64_t j1)
{
    int tall = block->kernel->rows;
    block->k = least(s->k - p0, K_BLOCK);
    block->packed = false;
    block->a = a += p0 * s->a_col;
    block->a_step = block->a_row = s->a_row;
    block->a_col = s->a_col;
    if (block->bands && !packs_later(s)) {
        pack_bands(block->bands, a, s->a_row, s->a_col, block->k, block->rows,
                   tall);
        use_bands(block);
    }
    int64_t panel = block->k * ((block->rows + tall - 1) / tall);
    block->now = walk_of(block->a + tall * block->a_step, s->a_row, s->a_col,
                         block->bands ? 0 : block->rows - tall, block->k,
                         panel);
    block->then = walk_of(a + K_BLOCK * s->a_col, s->a_row, s->a_col,
                          block->rows, least(s->k - p0 - K_BLOCK, K_BLOCK),
                          panel * ((j1 - j0) / MOST_COLUMNS + 1));
    b += p0 * s->b_row;
    const float *next = NULL;
    if (p0 + K_BLOCK < s->k)
        next = b + j0 * s->b_col + K_BLOCK * s->b_row;
    panels(s, block, b, next, c, j0, j1);
}

/* A stays where it is unless that makes its tiles slow, rows of which many
 * fall on the same lines of a cache, or terms that lie far apart, and there
 * are columns enough to make up for copying it. */
static bool
needs_bands(const EdlProduct *s, int64_t rows, int64_t columns)
{
    if (s->a_col == 1 && s->a_row != 1)
        return s->a_row % 1024 == 0 && rows > FEW_ROWS &&
               columns > SOME_COLUMNS;
    return true;
}

static void
product(const Kernel *kernel, const EdlProduct *s, const float *a,
        const float *b, float *c, int64_t i0, int64_t i1, int64_t j0,
        int64_t j1, int add)
{
    EDL_LINES float left[K_BLOCK * ROW_BLOCK];
    Block block;
    block.kernel = kernel;
    block.c_row = s->c_row;
    block.bands = needs_bands(s, i1 - i0, j1 - j0) ? left : NULL;
    for (int64_t i = i0; i < i1; i += ROW_BLOCK) {
        block.rows = least(i1 - i, ROW_BLOCK);
        int64_t p = 0;
        do { /* also without a term */
            block.add = add || p;
            terms(&block, s, p, a + i * s->a_row, b, c + i * s->c_row, j0, j1);
            p += K_BLOCK;
        } while (p < s->k);
    }
}

/* Can tiles read the operands where they lie, and are these near once they
 * were read? */
static bool
is_near(const Kernel *kernel, const EdlProduct *s, int64_t rows,
        int64_t columns)
{
    return (s->a_row == 1 || s->a_col == 1) && s->b_col == 1 &&
           columns % kernel->width == 0 &&
           (rows + columns) * s->k + rows * columns <= NEAR;
}

/* A small product: nothing is asked for, and only a panel that many rows read
 * is copied. The whole tiles; where the rows are that are left. */
static int64_t
product_near(const Kernel *kernel, const EdlProduct *s, const float *a,
             const float *b, float *c, int64_t i0, int64_t i1, int64_t j0,
             int64_t j1, int add)
{
    EDL_LINES float panel[K_BLOCK * MOST_COLUMNS];
    Ahead ahead;
    ahead.near = true;
    int tall = kernel->rows;
    int64_t end = i1 - (i1 - i0) % tall;
    bool copy = i1 - i0 > FEW_ROWS && s->b_row > FAR_ROWS && s->k <= K_BLOCK;
    for (int64_t j = j0; j < j1;) {
        int vecs = vectors(j1 - j, kernel->width), wide = vecs * kernel->width;
        const float *from = b + j;
        int64_t b_row = s->b_row;
        if (copy) {
            pack_along(panel, from, b_row, s->k, wide, wide);
            from = panel;
            b_row = wide;
        }
        for (int64_t i = i0; i < end; i += tall) {
            float *to = c + i * s->c_row + j;
            ahead.tile = (const char *)(to + tall * s->c_row);
            kernel->run[vecs - 1](s->k, a + i * s->a_row, s->a_row, s->a_col,
                                  from, b_row, to, s->c_row, add, &ahead);
        }
        j += wide;
    }
    return end;
}

void
edl_matmul(const EdlProduct *s, const float *a, const float *b, float *c,
           int64_t i0, int64_t i1, int64_t j0, int64_t j1, int add)
{
    const Kernel *kernel = choose();
    if (is_near(kernel, s, i1 - i0, j1 - j0))
        i0 = product_near(kernel, s, a, b, c, i0, i1, j0, j1, add);
    product(kernel, s, a, b, c, i0, i1, j0, j1, add);
}

void
edl_turn(float *to, int64_t to_row, const float *from, int64_t from_row,
         int64_t rows, int64_t columns)
{
    pack_across(to, from, from_row, columns, (int)rows, (int)to_row);
}
