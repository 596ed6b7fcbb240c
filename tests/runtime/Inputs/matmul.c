/* Every kernel that this machine can run, for odd sizes and all ways a matrix
 * may lie, gives the bits of the plain chain; what is not asked for stays. */
#include "edl_matmul.c"

#include <stdio.h>
#include <stdlib.h>

enum { M = 395, N = 211, K = 262, PAD = 3 };

static float left[(M + PAD) * (K + PAD) * 2], right[(K + PAD) * (N + PAD) * 2];
static float want[M * (N + PAD)], have[M * (N + PAD)];

static float
draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1.0f;
}

static void
fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = draw(&seed);
}

static void
chain(const EdlProduct *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
      int add)
{
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
            float sum = add ? want[i * s->c_row + j] : 0;
            for (int64_t p = 0; p < s->k; p++)
                sum = fmaf(left[i * s->a_row + p * s->a_col],
                           right[p * s->b_row + j * s->b_col], sum);
            want[i * s->c_row + j] = sum;
        }
}

static void
one(const Kernel *kernel, const EdlProduct *s, const int64_t *r, int add)
{
    fill(want, M * (N + PAD), 7);
    fill(have, M * (N + PAD), 7);
    chain(s, r[0], r[1], r[2], r[3], add);
    product(kernel, s, left, right, have, r[0], r[1], r[2], r[3], add);
    if (memcmp(want, have, sizeof want) == 0)
        return;
    printf("%s: rows %d to %d, columns %d to %d, k %d, a %d %d, b %d %d\n",
           kernel->name, (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)s->k,
           (int)s->a_row, (int)s->a_col, (int)s->b_row, (int)s->b_col);
    exit(1);
}

static void
forms(const Kernel *kernel, int64_t m, int64_t n, int64_t k)
{
    const int64_t far = k < 200 ? 1024 : m + PAD; /* on one place of a cache */
    const int64_t a[4][2] = {
        {k + PAD, 1}, {1, m + PAD}, {2 * k, 2}, {1, far}};
    const int64_t b[3][2] = {{n + PAD, 1}, {1, k + PAD}, {2 * n, 2}};
    const int64_t all[4] = {0, m, 0, n};
    const int64_t part[4] = {m / 3, m - m / 4, n / 3, n - n / 4};
    for (int i = 0; i < 12; i++) {
        EdlProduct s = {k,           a[i / 3][0], a[i / 3][1],
                        b[i % 3][0], b[i % 3][1], N + PAD};
        one(kernel, &s, all, 0);
        one(kernel, &s, all, 1);
        one(kernel, &s, part, 1);
    }
}

static void
turn(int64_t rows, int64_t columns)
{
    fill(have, M * (N + PAD), 7);
    edl_turn(have, rows + PAD, left, columns + PAD, rows, columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (have[j * (rows + PAD) + i] != left[i * (columns + PAD) + j]) {
                printf("turn: %d of %d, %d of %d\n", (int)i, (int)rows,
                       (int)j, (int)columns);
                exit(1);
            }
}

int
main(void)
{
    const int64_t sizes[][3] = {{1, 1, 1},   {3, 50, 5},   {8, 48, 8},
                                {17, 16, 9}, {40, 97, 33}, {M, 23, 16},
                                {9, N, K},   {M, N, 3}, {66, 50, K},
                                {5, 20, 0}};
    const Kernel *end = kernels + sizeof kernels / sizeof *kernels;
    fill(left, sizeof left / sizeof *left, 1);
    fill(right, sizeof right / sizeof *right, 2);
    for (const Kernel *kernel = choose(); kernel < end; kernel++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            forms(kernel, sizes[i][0], sizes[i][1], sizes[i][2]);
    turn(64, 128);
    turn(37, 19);
    turn(1, 5);
    printf("all right\n");
    return 0;
}
