/* edl_tile.h: one microkernel, a template that edl_matmul.c includes once a
 * width and instruction set. Before it: TILE (name), TILE_VECS, and until
 * edl_tile_end.h: TILE_TARGET (attribute), TILE_ROWS, V (vector type),
 * V_WIDTH, V_LOAD, V_STORE, V_LOAD_SOME, V_STORE_SOME, V_SPLAT, V_FMA.
 *
 * c[TILE_ROWS][TILE_VECS * V_WIDTH] (+)= a . b over k terms. Element (i, p) of
 * a is at i * a_row + p * a_col, one of which is 1; row p of b at p * b_row.
 * Forms of one loop: strides that the compiler knows leave it with nothing
 * but loads and products. TILES_PACKED: only that of packed operands. */
#define TILE_WIDE (TILE_VECS * V_WIDTH)
#define TILE_JOIN_(a, b) a##b
#define TILE_JOIN(a, b) TILE_JOIN_(a, b)
#define TILE_TERM TILE_JOIN(TILE, _term)
#define TILE_SUM TILE_JOIN(TILE, _sum)
#define TILE_TERMS TILE_JOIN(TILE, _terms)
#define TILE_LINES TILE_JOIN(TILE, _lines)
#define TILE_NEAR TILE_JOIN(TILE, _near)

TILE_TARGET EDL_ALWAYS void
TILE_TERM(V sum[TILE_ROWS][TILE_VECS], const float *a, const float *half,
          int64_t a_row, const float *b, unsigned some, float *keep,
          float *band)
{
    enum { LAST = TILE_VECS - 1 };
    V row[TILE_VECS];
    EDL_UNROLL
    for (int j = 0; j < TILE_VECS; j++)
        row[j] = keep && j == LAST ? V_LOAD_SOME(b + j * V_WIDTH, some)
                                   : V_LOAD(b + j * V_WIDTH);
    if (keep) {
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            V_STORE(keep + j * V_WIDTH, row[j]);
    }
    if (band)
        memcpy(band, a, sizeof *a * TILE_ROWS);
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        const float *at = i < TILE_ROWS / 2 ? a : half;
        V x = V_SPLAT(at[i % (TILE_ROWS / 2) * a_row]);
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            sum[i][j] = V_FMA(x, row[j], sum[i][j]);
    }
}

/* Four terms at a time; each four ask for a line of what is read next and for
 * one of the tile of C that comes next: more at once would be waited for. */
TILE_TARGET EDL_ALWAYS void
TILE_SUM(int64_t k, const float *a, int64_t a_row, int64_t a_col,
         const float *b, int64_t b_row, float *c, int64_t c_row, int add,
         float *keep, float *band, bool near, Ahead *ahead)
{
    enum { LAST = TILE_VECS - 1 };
    V sum[TILE_ROWS][TILE_VECS];
    const unsigned some = near ? ~0u : ahead->some;
    const char *next = ahead->tile;
    int64_t next_at = 0, p = 0;
    const float *half = a + TILE_ROWS / 2 * a_row;
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        EDL_UNROLL
        for (int j = 0; j < LAST; j++)
            sum[i][j] =
                add ? V_LOAD(c + i * c_row + j * V_WIDTH) : V_SPLAT(0.0f);
        sum[i][LAST] = add ? V_LOAD_SOME(c + i * c_row + LAST * V_WIDTH, some)
                           : V_SPLAT(0.0f);
    }
    for (; p + 4 <= k; p += 4) {
        if (!near) {
            ask(&ahead->b);
            ask(&ahead->a);
        }
        if (p < 4 * TILE_ROWS * (TILE_WIDE / 16 + 1)) {
            EDL_PREFETCH(next + next_at, 1);
            next_at += 64;
            if (next_at > TILE_WIDE * (int64_t)sizeof *c) {
                next += c_row * (int64_t)sizeof *c;
                next_at = 0;
            }
        }
        EDL_UNROLL
        for (int u = 0; u < 4; u++) {
            if (band)
                EDL_PREFETCH(a + u * a_col + ROWS_AHEAD, 0);
            TILE_TERM(sum, a + u * a_col, half + u * a_col, a_row,
                      b + u * b_row, some, keep ? keep + u * TILE_WIDE : keep,
                      band ? band + u * TILE_ROWS : band);
        }
        a += 4 * a_col;
        half += 4 * a_col;
        b += 4 * b_row;
        keep = keep ? keep + 4 * TILE_WIDE : keep;
        band = band ? band + 4 * TILE_ROWS : band;
    }
    for (; p < k; p++) {
        TILE_TERM(sum, a, half, a_row, b, some, keep, band);
        a += a_col;
        half += a_col;
        b += b_row;
        keep = keep ? keep + TILE_WIDE : keep;
        band = band ? band + TILE_ROWS : band;
    }
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        EDL_UNROLL
        for (int j = 0; j < LAST; j++)
            V_STORE(c + i * c_row + j * V_WIDTH, sum[i][j]);
        V_STORE_SOME(c + i * c_row + LAST * V_WIDTH, some, sum[i][LAST]);
    }
}

#ifdef TILES_PACKED
TILE_TARGET static void
TILE(int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
     int64_t b_row, float *c, int64_t c_row, int add, Ahead *ahead)
{
    (void)a_row;
    (void)a_col;
    (void)b_row;
    TILE_SUM(k, a, 1, TILE_ROWS, b, TILE_WIDE, c, c_row, add, NULL, NULL, false,
             ahead);
}
#else
/* Rows of a with their terms adjacent, */
TILE_TARGET static void
TILE_LINES(int64_t k, const float *a, int64_t a_row, const float *b,
           int64_t b_row, float *c, int64_t c_row, int add, Ahead *ahead)
{
    float *keep = ahead->keep;
    if (keep)
        TILE_SUM(k, a, a_row, 1, b, b_row, c, c_row, add, keep, NULL, false,
                 ahead);
    else if (b_row == TILE_WIDE)
        TILE_SUM(k, a, a_row, 1, b, TILE_WIDE, c, c_row, add, NULL, NULL, false,
                 ahead);
    else
        TILE_SUM(k, a, a_row, 1, b, b_row, c, c_row, add, NULL, NULL, false,
                 ahead);
}

/* or the rows of a term: of a band that is kept while it is read, or was. */
TILE_TARGET static void
TILE_TERMS(int64_t k, const float *a, int64_t a_col, const float *b,
           int64_t b_row, float *c, int64_t c_row, int add, Ahead *ahead)
{
    float *keep = ahead->keep, *band = ahead->band;
    if (keep && band)
        TILE_SUM(k, a, 1, a_col, b, b_row, c, c_row, add, keep, band, false,
                 ahead);
    else if (band)
        TILE_SUM(k, a, 1, a_col, b, TILE_WIDE, c, c_row, add, NULL, band, false,
                 ahead);
    else if (keep)
        TILE_SUM(k, a, 1, TILE_ROWS, b, b_row, c, c_row, add, keep, NULL, false,
                 ahead);
    else
        TILE_SUM(k, a, 1, TILE_ROWS, b, TILE_WIDE, c, c_row, add, NULL, NULL,
                 false, ahead);
}

/* Either, and b, where they lie. */
TILE_TARGET static void
TILE_NEAR(int64_t k, const float *a, int64_t a_row, int64_t a_col,
          const float *b, int64_t b_row, float *c, int64_t c_row, int add,
          Ahead *ahead)
{
    if (a_row == 1)
        TILE_SUM(k, a, 1, a_col, b, b_row, c, c_row, add, NULL, NULL, true,
                 ahead);
    else
        TILE_SUM(k, a, a_row, 1, b, b_row, c, c_row, add, NULL, NULL, true,
                 ahead);
}

static void
TILE(int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
     int64_t b_row, float *c, int64_t c_row, int add, Ahead *ahead)
{
    if (ahead->near)
        TILE_NEAR(k, a, a_row, a_col, b, b_row, c, c_row, add, ahead);
    else if (a_row == 1)
        TILE_TERMS(k, a, a_col, b, b_row, c, c_row, add, ahead);
    else
        TILE_LINES(k, a, a_row, b, b_row, c, c_row, add, ahead);
}
#endif

#undef TILE
#undef TILE_VECS
#undef TILE_WIDE
#undef TILE_JOIN
#undef TILE_JOIN_
#undef TILE_TERM
#undef TILE_SUM
#undef TILE_TERMS
#undef TILE_LINES
#undef TILE_NEAR
