/* edl_tiles.h: what the products of all types are made with: inside
 * edl_matmul*.c only, before edl_tile.h. */
#ifndef EDL_TILES_H
#define EDL_TILES_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define EDL_X86 1
#else
#define EDL_X86 0
#endif
#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#define EDL_NEON 1
#else
#define EDL_NEON 0
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
#define EDL_ALWAYS static inline __attribute__((always_inline))
#define EDL_APART __attribute__((noinline))
#else
#define EDL_PREFETCH(p, write) ((void)(p))
#define EDL_LINES
#define EDL_ALWAYS static inline
#define EDL_APART
#endif

enum {
    K_BLOCK = 256,   /* rows of a packed panel of B */
    ROW_BLOCK = 384, /* rows of A that are packed, for the second cache */
    ROWS_AHEAD = 16,  /* of A that lie across are asked for: the next line */
    MOST_VECS = 3,
    MOST_COLUMNS = 48,
    MOST_ROWS = 8
};

/* Lines of memory to ask for: `rows` of `width` bytes that lie `stride` bytes
 * apart, from `at` bytes of the first on; `rate` / 64 lines every four terms,
 * evenly: what asks for much at once is waited for. */
typedef struct Walk {
    const char *row;
    int64_t at, width, stride, rows;
    int rate, due;
} Walk;

/* What the next tiles read and write, asked for in time. */
typedef struct Ahead {
    Walk b, a;        /* a panel of B, rows of A */
    const char *tile; /* of C */
    float *keep, *band; /* where the rows of b that a tile reads are kept, and
                           those of a */
    unsigned some;    /* bit i: there is column i of the last vector */
    bool near;        /* all of them are there, and only c is asked for */
} Ahead;

EDL_ALWAYS void
ask(Walk *s)
{
    s->due += s->rate;
    for (; s->due >= 64; s->due -= 64) {
        EDL_PREFETCH(s->row + s->at, 0);
        s->at += 64;
        if (s->at < s->width)
            continue;
        s->row += s->stride;
        s->at = 0;
        if (--s->rows <= 0)
            s->rate = s->due = 0;
    }
}

typedef void TileFn(int64_t k, const float *a, int64_t a_row, int64_t a_col,
                    const float *b, int64_t b_row, float *c, int64_t c_row,
                    int add, Ahead *ahead);

static int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Of the next tile: 4 that are left are better as 2 and 2 than as 3 and 1. */
static int
vectors(int64_t columns, int width)
{
    int64_t n = (columns + width - 1) / width;
    return n == 4 ? 2 : (int)least(n, MOST_VECS);
}

#endif
