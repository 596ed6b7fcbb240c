/* edl_tile.h: one microkernel, a template that edl_matmul.c includes once a
 * width and instruction set. Before it: TILE (name), TILE_VECS, and until
 * edl_tile_end.h: TILE_TARGET (attribute), TILE_ROWS, V (vector type),
 * V_WIDTH, V_LOAD, V_STORE, V_SPLAT, V_FMA.
 *
 * c[TILE_ROWS][TILE_VECS * V_WIDTH] (+)= a . b over k terms; row p of b lies
 * at b + p * b_row. Every fourth term asks for a line of what comes next. */
TILE_TARGET static void
TILE(int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b,
     int64_t b_row, float *c, int64_t c_row, int add, Ahead *ahead)
{
    V sum[TILE_ROWS][TILE_VECS];
    const char *line = ahead->row;
    const char *next = ahead->tile;
    int64_t at = ahead->at;
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            sum[i][j] =
                add ? V_LOAD(c + i * c_row + j * V_WIDTH) : V_SPLAT(0.0f);
    }
    for (int64_t p = 0; p < k; p++) {
        if (p % 4 == 0) {
            EDL_PREFETCH(line + at, 0);
            at += 64;
            line += at < ahead->width ? 0 : ahead->stride;
            at = at < ahead->width ? at : 0;
            if (p < 4 * TILE_ROWS) {
                EDL_UNROLL
                for (int j = 0; j <= TILE_VECS * V_WIDTH / 16; j++)
                    EDL_PREFETCH(next + 64 * j, 1);
                next += c_row * (int64_t)sizeof *c;
            }
        }
        V row[TILE_VECS];
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            row[j] = V_LOAD(b + j * V_WIDTH);
        EDL_UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            V x = V_SPLAT(a[i * a_row]);
            EDL_UNROLL
            for (int j = 0; j < TILE_VECS; j++)
                sum[i][j] = V_FMA(x, row[j], sum[i][j]);
        }
        a += a_col;
        b += b_row;
    }
    ahead->row = line;
    ahead->at = at;
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            V_STORE(c + i * c_row + j * V_WIDTH, sum[i][j]);
    }
}

#undef TILE
#undef TILE_VECS
