/* edl_matmul_bf16.h: the inner part of every bf16 matrix product.
 *
 * C(i, j) = sum over p of A(i, p) * B(p, j), or C(i, j) += that, in f32. The
 * terms of an element are added in pairs along p, ascending; in a pair the
 * term of the odd p comes first. Each is one fused multiply-add that rounds to
 * nearest even and takes and gives denormals as zeros of their sign; an odd K
 * is filled up with a zero. This is what AVX512_BF16 does in one instruction,
 * and what every other path computes: the same bits from all of them, for
 * every cut of rows, columns and K (of a NaN the payload may differ). */
#ifndef EDL_MATMUL_BF16_H
#define EDL_MATMUL_BF16_H

#include "edl_matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

/* wide: the operand lies in memory as f32, and is rounded to bf16 (nearest
 * even, as edl_f32_to_bf16; a denormal is 0 before that) while it is packed. */
typedef struct EdlProductBf16 {
    EdlProduct at;
    int a_wide, b_wide;
} EdlProductBf16;

/* As edl_matmul; a and b point to uint16_t, or float where they are wide. */
void edl_matmul_bf16(const EdlProductBf16 *s, const void *a, const void *b,
                     float *c, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                     int add);

/* "avx512_bf16", "avx512", "avx2", "neon" or "c": which kernel this machine
 * gets. */
const char *edl_matmul_bf16_path(void);

#ifdef __cplusplus
}
#endif

#endif
