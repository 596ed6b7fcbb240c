/* edl_tile_bf16.h: one microkernel of bf16 products, a template that
 * edl_matmul_bf16.c includes once a width and instruction set. Before it: TILE
 * (name), TILE_VECS, and until edl_tile_end.h: TILE_TARGET (attribute),
 * TILE_ROWS, V and P (vectors of floats and of pairs), V_WIDTH, V_LOAD,
 * V_STORE, V_ZERO, P_LOAD, P_SPLAT, V_DOT.
 *
 * c[TILE_ROWS][TILE_VECS * V_WIDTH] (+)= a . b over n pairs of terms; both
 * are packed: a pair of each row of a, then the next, and so the columns of
 * b. Every fourth pair asks for a line of what comes next. */
TILE_TARGET static void
TILE(int64_t n, const uint32_t *a, const uint32_t *b, float *c, int64_t c_row,
     int add, Ahead *ahead)
{
    V sum[TILE_ROWS][TILE_VECS];
    const char *line = ahead->row;
    const char *next = ahead->tile;
    int64_t at = ahead->at;
    EDL_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            sum[i][j] = add ? V_LOAD(c + i * c_row + j * V_WIDTH) : V_ZERO;
    }
    for (int64_t p = 0; p < n; p++) {
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
        P row[TILE_VECS];
        EDL_UNROLL
        for (int j = 0; j < TILE_VECS; j++)
            row[j] = P_LOAD(b + j * V_WIDTH);
        EDL_UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            P x = P_SPLAT(a[i]);
            EDL_UNROLL
            for (int j = 0; j < TILE_VECS; j++)
                sum[i][j] = V_DOT(sum[i][j], x, row[j]);
        }
        a += TILE_ROWS;
        b += TILE_VECS * V_WIDTH;
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
