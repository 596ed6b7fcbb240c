/* What edl_cuda_mma.cuh says in PTX, for the stand-in. */
#ifndef EDL_HOST_MMA_H
#define EDL_HOST_MMA_H

#include "host_copy.h"

namespace edl_host
{
inline float
bf16(uint32_t pair, int high)
{
    uint32_t bits = high ? pair & 0xffff0000u : pair << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline uint32_t
pair_of(uint16_t low, uint16_t high)
{
    return low | (uint32_t)high << 16;
}

inline uint32_t
pair_at(const uint16_t *x)
{
    if ((uintptr_t)x % 4)
        stop("a fragment is not aligned");
    return pair_of(x[0], x[1]);
}

inline int
lane(void)
{
    return (int)(threadIdx.x % 32);
}

inline void
check_tile(const uint16_t *tile, int stride)
{
    if ((uintptr_t)tile % 16 || stride % 8)
        stop("a tile is not aligned");
}
} // namespace edl_host

static inline void
edl_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const uint64_t mine[3] = {a[0] | (uint64_t)a[1] << 32,
                              a[2] | (uint64_t)a[3] << 32,
                              b0 | (uint64_t)b1 << 32};
    const int g = edl_host::lane() / 4, column = edl_host::lane() % 4 * 2;
    const edl_host::Shown *all = edl_host::show(mine);
    for (int i = 0; i < 4; i++) {
        float sum = c[i];
        for (int k = 0; k < 16; k++) {
            const uint64_t *x = all[g * 4 + k % 8 / 2].word;
            const uint64_t *y =
                all[(column + i % 2) * 4 + k % 8 / 2].word;
            uint32_t left = (uint32_t)(x[k / 8] >> i / 2 * 32);
            uint32_t right = (uint32_t)(y[2] >> k / 8 * 32);
            sum += edl_host::bf16(left, k % 2) * edl_host::bf16(right, k % 2);
        }
        c[i] = sum;
    }
}

static inline void
edl_rows16(uint32_t (&a)[4], const uint16_t *tile, int stride)
{
    const int g = edl_host::lane() / 4, c = edl_host::lane() % 4 * 2;
    edl_host::check_tile(tile, stride);
    for (int i = 0; i < 4; i++)
        a[i] = edl_host::pair_at(tile + (g + i % 2 * 8) * stride + c +
                                 i / 2 * 8);
}

static inline void
edl_columns16(uint32_t (&b)[4], const uint16_t *tile, int stride)
{
    const int g = edl_host::lane() / 4, c = edl_host::lane() % 4 * 2;
    edl_host::check_tile(tile, stride);
    for (int i = 0; i < 4; i++)
        b[i] = edl_host::pair_at(tile + (g + i / 2 * 8) * stride + c +
                                 i % 2 * 8);
}

static inline void
edl_turned16(uint32_t (&b)[4], const uint16_t *tile, int stride)
{
    const int g = edl_host::lane() / 4, c = edl_host::lane() % 4 * 2;
    edl_host::check_tile(tile, stride);
    for (int i = 0; i < 4; i++) {
        const uint16_t *at = tile + (c + i % 2 * 8) * stride + g + i / 2 * 8;
        b[i] = edl_host::pair_of(at[0], at[stride]);
    }
}

static inline uint32_t
edl_pack(float low, float high)
{
    return edl_host::pair_of(edl_f32_to_bf16(low), edl_f32_to_bf16(high));
}

static inline float
edl_exp2(float x)
{
    return exp2f(x);
}

#endif
