/* edl_cuda_mma.cuh: what has no name in CUDA C++: products of small matrices
 * by a warp, and what goes with them. This is all the PTX of emitted code.
 *
 * A fragment is a warp's share of a matrix: lane l has, for g = l / 4 and
 * c = l % 4 * 2, of a result of 16 by 8 the elements (g, c), (g, c + 1),
 * (g + 8, c), (g + 8, c + 1). Elements are bf16, two in 32 bits. Tiles lie in
 * shared memory, 16-byte aligned, as their rows do. */
#ifndef EDL_CUDA_MMA_CUH
#define EDL_CUDA_MMA_CUH

#include "edl_cuda.cuh"

#ifndef __CUDACC__
/* Of tests/cuda_host: the same functions for a CPU. */
#include "host_mma.h"
#else

/* c += a b: a of 16 by 16, b of 16 by 8 */
static __device__ __forceinline__ void
edl_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
}

static __device__ __forceinline__ void
edl_fragments(uint32_t (&x)[4], const uint16_t *at)
{
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(at);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared)
                 : "memory");
}

/* The fragment a of 16 rows, 16 columns of a tile. */
static __device__ __forceinline__ void
edl_rows16(uint32_t (&a)[4], const uint16_t *tile, int stride)
{
    const int lane = (int)threadIdx.x % 32;
    edl_fragments(a, tile + lane % 16 * stride + lane / 16 * 8);
}

/* Two fragments b whose columns are rows of the tile: columns 0 to 7 are
 * b[0], b[1], columns 8 to 15 b[2], b[3]. */
static __device__ __forceinline__ void
edl_columns16(uint32_t (&b)[4], const uint16_t *tile, int stride)
{
    const int lane = (int)threadIdx.x % 32;
    edl_fragments(b, tile + (lane / 16 * 8 + lane % 8) * stride +
                         lane / 8 % 2 * 8);
}

/* Two fragments b that lie in the tile as they are: 16 rows, 16 columns. */
static __device__ __forceinline__ void
edl_turned16(uint32_t (&b)[4], const uint16_t *tile, int stride)
{
    const int lane = (int)threadIdx.x % 32;
    const uint16_t *const at = tile + lane % 16 * stride + lane / 16 * 8;
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(at);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(shared)
                 : "memory");
}

/* 16 bytes to shared memory, both sides at multiples of 16, while the thread
 * goes on: the first `bytes` (0 to 16) from memory, zeros behind them. */
static __device__ __forceinline__ void
edl_copy16(void *shared, const void *from, int bytes)
{
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

/* The same of 4 bytes, at multiples of 4; bytes: 0 or 4. */
static __device__ __forceinline__ void
edl_copy4(void *shared, const void *from, int bytes)
{
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

/* The copies of this thread have ended; a barrier shows them to the others. */
static __device__ __forceinline__ void
edl_copies_wait(void)
{
    asm volatile("cp.async.wait_all;" : : : "memory");
}

/* The shared memory that the launch gives the block. */
static __device__ __forceinline__ float4 *
edl_shared(void)
{
    extern __shared__ float4 edl_shared_memory[];
    return edl_shared_memory;
}

/* Two floats rounded to bf16, the first in the low half. */
static __device__ __forceinline__ uint32_t
edl_pack(float low, float high)
{
    uint32_t x;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
    return x;
}

/* 2 to the x, within 2^-22 of it; 0 for -inf. */
static __device__ __forceinline__ float
edl_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif

#endif
