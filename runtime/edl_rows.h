/* edl_rows.h: short rows, 16 of them at a time, a lane each: a part of
 * edl_kernel.h. A row of 10 classes fills no vector, and what is summed across
 * one, or has a logarithm, is done for one row at a time. */
#ifndef EDL_ROWS_H
#define EDL_ROWS_H

enum { EDL_SHORT_ROW = 16 }; /* numbers, at most */

/* x[r][c] of up to 16 rows, which begin `step` apart, as to[c][r]. */
EDL_INLINE void
edl_turn_rows(float to[EDL_SHORT_ROW][16], const float *x, int64_t rows,
              int64_t step, int n)
{
    if (rows < 16) {
        for (int c = 0; c < n; c++)
            for (int l = 0; l < 16; l++)
                to[c][l] = l < rows ? x[l * step + c] : 0.0f;
        return;
    }
    for (int c = 0; c < n; c++) {
        EDL_LANES
        for (int l = 0; l < 16; l++)
            to[c][l] = x[l * step + c];
    }
}

/* log(sum(exp(x))) of 16 rows of n numbers, turned; they are lost. The sum is
 * that of edl_sum16f. */
EDL_INLINE void
edl_lse_turned(float lse[16], float x[EDL_SHORT_ROW][16], int n)
{
    float top[16];
    for (int l = 0; l < 16; l++)
        top[l] = -(float)INFINITY;
    for (int c = 0; c < n; c++) {
        EDL_LANES
        for (int l = 0; l < 16; l++)
            top[l] = edl_maxf(top[l], x[c][l]);
    }
    for (int c = 0; c < EDL_SHORT_ROW; c++) {
        EDL_LANES
        for (int l = 0; l < 16; l++) {
            const float shift = top[l] == -(float)INFINITY ? 0.0f : top[l];
            x[c][l] = c < n ? edl_weightf(x[c][l] - shift) : 0.0f;
        }
    }
    for (int half = EDL_SHORT_ROW / 2; half > 0; half /= 2)
        for (int c = 0; c < half; c++) {
            EDL_LANES
            for (int l = 0; l < 16; l++)
                x[c][l] += x[c + half][l];
        }
    EDL_LANES
    for (int l = 0; l < 16; l++)
        lse[l] = top[l] - top[l] == 0.0f ? top[l] + edl_logf(x[0][l]) : top[l];
}

/* The first place of the largest of each of 16 rows of n numbers, turned; a
 * NaN is larger than all. */
EDL_INLINE void
edl_argmax_turned(int32_t at[16], float x[EDL_SHORT_ROW][16], int n)
{
    float best[16];
    EDL_LANES
    for (int l = 0; l < 16; l++) {
        best[l] = x[0][l];
        at[l] = 0;
    }
    for (int c = 1; c < n; c++) {
        EDL_LANES
        for (int l = 0; l < 16; l++) {
            const int32_t next = x[c][l] <= best[l] ? at[l] : c;
            at[l] = best[l] == best[l] ? next : at[l];
        }
        EDL_LANES
        for (int l = 0; l < 16; l++)
            best[l] = edl_maxf(best[l], x[c][l]);
    }
}

/* Of rows of n numbers, 2 to 16, that begin `step` apart. */
EDL_INLINE void
edl_lse_rows(float *lse, const float *x, int64_t rows, int64_t step, int n)
{
    float turned[EDL_SHORT_ROW][16], own[16];
    int64_t r = 0;
    for (; r + 16 <= rows; r += 16) {
        edl_turn_rows(turned, x + r * step, 16, step, n);
        edl_lse_turned(own, turned, n);
        memcpy(lse + r, own, sizeof own);
    }
    if (r == rows)
        return;
    edl_turn_rows(turned, x + r * step, rows - r, step, n);
    edl_lse_turned(own, turned, n);
    memcpy(lse + r, own, (size_t)(rows - r) * sizeof *own);
}

EDL_INLINE void
edl_argmax_rows(int32_t *at, const float *x, int64_t rows, int64_t step, int n)
{
    float turned[EDL_SHORT_ROW][16];
    int32_t own[16];
    int64_t r = 0;
    for (; r + 16 <= rows; r += 16) {
        edl_turn_rows(turned, x + r * step, 16, step, n);
        edl_argmax_turned(own, turned, n);
        memcpy(at + r, own, sizeof own);
    }
    if (r == rows)
        return;
    edl_turn_rows(turned, x + r * step, rows - r, step, n);
    edl_argmax_turned(own, turned, n);
    memcpy(at + r, own, (size_t)(rows - r) * sizeof *own);
}

#endif
