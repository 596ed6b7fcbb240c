/* Short rows, 16 at a time: what is computed of each one by itself, bit for
 * bit, for any number and length of them. */
#include "edl_kernel.h"
#include "unit.h"

enum { MOST_ROWS = 40, STEP = 19 };

static float
lse_of(const float *x, int n)
{
    float top = -(float)INFINITY, sum[16] = {0};
    for (int c = 0; c < n; c++)
        top = edl_maxf(top, x[c]);
    const float shift = top == -(float)INFINITY ? 0.0f : top;
    for (int c = 0; c < n; c++)
        sum[c] = edl_weightf(x[c] - shift);
    return top - top == 0.0f ? top + edl_logf(edl_sum16f(sum)) : top;
}

static int32_t
place_of(const float *x, int n)
{
    int32_t at = 0;
    for (int32_t c = 1; c < n; c++)
        if (x[at] == x[at] && !(x[c] <= x[at]))
            at = c;
    return at;
}

/* Numbers with ties and, in some rows, nothing but -inf, inf or NaN. */
static void
fill(float *x, int rows)
{
    const float odd[] = {-(float)INFINITY, (float)INFINITY, (float)NAN};
    for (int i = 0; i < rows * STEP; i++) {
        x[i] = 9 * edl_uniform_at(7, i, 0) - 4;
        if (i % 3 == 0)
            x[i] = (float)(int)x[i];
        if (i / STEP % 5 == 1 && i % 4 == 0)
            x[i] = odd[i / STEP / 5 % 3];
        if (i / STEP == 7)
            x[i] = -(float)INFINITY;
    }
}

int
unit_rows(void)
{
    static float x[MOST_ROWS * STEP];
    int failed = 0;
    fill(x, MOST_ROWS);
    for (int n = 2; n <= EDL_SHORT_ROW; n++)
        for (int rows = 1; rows < MOST_ROWS; rows++) {
            float lse[MOST_ROWS] = {0};
            int32_t at[MOST_ROWS] = {0};
            edl_lse_rows(lse, x, rows, STEP, n);
            edl_argmax_rows(at, x, rows, STEP, n);
            for (int r = 0; r < rows; r++) {
                const float own = lse_of(x + r * STEP, n);
                CHECK(own != own ? lse[r] != lse[r]
                                 : edl_bits(own) == edl_bits(lse[r]));
                CHECK(at[r] == place_of(x + r * STEP, n));
            }
            CHECK(lse[rows] == 0 && at[rows] == 0);
        }
    return failed;
}
