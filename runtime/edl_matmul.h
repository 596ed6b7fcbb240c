/* edl_matmul.h: the inner part of every f32 matrix product.
 *
 * C(i, j) = sum over p of A(i, p) * B(p, j), or C(i, j) += that. Each element
 * is one chain of fused multiply-adds in ascending p, which starts at 0 or at
 * the old C(i, j): the same bits from every instruction set, for every cut of
 * rows and columns, and for every block of K. Without fma in hardware, and
 * without a correct fmaf in libm, it is right within rounding. */
#ifndef EDL_MATMUL_H
#define EDL_MATMUL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are in elements and may be anything; C's columns are adjacent. */
typedef struct EdlProduct {
    int64_t k;
    int64_t a_row, a_col; /* A(i, p) = a[i * a_row + p * a_col] */
    int64_t b_row, b_col; /* B(p, j) = b[p * b_row + j * b_col] */
    int64_t c_row;        /* C(i, j) = c[i * c_row + j] */
} EdlProduct;

/* Rows i0 <= i < i1 and columns j0 <= j < j1 of the product. a, b and c point
 * to element (0, 0). add: C is added to. The more rows and columns at once,
 * the less is packed twice. Takes 512 KiB of stack. */
void edl_matmul(const EdlProduct *s, const float *a, const float *b, float *c,
                int64_t i0, int64_t i1, int64_t j0, int64_t j1, int add);

/* to[j * to_row + i] = from[i * from_row + j] for i < rows, j < columns. */
void edl_turn(float *to, int64_t to_row, const float *from, int64_t from_row,
              int64_t rows, int64_t columns);

/* "avx512", "avx2", "neon" or "c": which kernel this machine gets. */
const char *edl_matmul_path(void);

#ifdef __cplusplus
}
#endif

#endif
