/* edl_cuda.cuh: what emitted CUDA code calls on the host, and the parts of
 * its kernels that are the same for every model. docs/cuda.md.
 *
 * Everything of an instance goes through one stream, in order, but copies off
 * the device and back. A step is a CUDA graph that `init` captures; what changes from step to step lies in
 * device memory (EdlControl). No kernel uses a float atomic: sums have a fixed
 * order. */
#ifndef EDL_CUDA_CUH
#define EDL_CUDA_CUH

#include <cuda_runtime.h>

#include "edl.h"
#include "edl_kernel.h"

/* The last EDL_ALIGN bytes of the io region. */
typedef struct EdlControl {
    uint64_t seed;
    uint64_t first;      /* the microbatch since step 0 that a step begins */
    uint64_t microbatch; /* and the one that runs */
    float lr;
    int32_t fault; /* set by a kernel that met a bad index */
} EdlControl;

/* A product c = a @ b (+ c), row-major with leading dimensions; a turned one
 * lies in memory by columns. A batch of them, strides in elements. */
typedef struct EdlProductShape {
    const char *name;
    int64_t m, n, k;
    int32_t a_turned, b_turned;
    int64_t lda, ldb, ldc;
    int64_t batch, a_stride, b_stride, c_stride;
    int32_t a_align, b_align, c_align; /* bytes */
    int32_t narrow, c_narrow;          /* bf16: a and b; c. Else f32 */
    int64_t workspace;                 /* bytes, from a multiple of 64 on */
    int32_t bias;                      /* to some, a row is added to all rows */
    /* Of cuBLASLt: its number and settings, as ir/algorithm.def has them; -1:
     * the first that its heuristics find. */
    int32_t algorithm[9];
} EdlProductShape;

typedef void (*EdlQueue)(EdlInstance *m);

#ifdef __cplusplus
extern "C" {
#endif

/* Of EdlDevice; step: queues all of a step, or NULL. */
EdlStatus edl_cuda_open(EdlInstance *m, const EdlProductShape *products,
                        int32_t n, EdlQueue step);
void edl_cuda_close(EdlInstance *m);
EdlStatus edl_cuda_status(EdlInstance *m);
void edl_cuda_get(const EdlInstance *m, void *dst, const void *region,
                  size_t n);
void edl_cuda_put(const EdlInstance *m, void *region, const void *src,
                  size_t n);
void edl_cuda_zero(const EdlInstance *m, void *region, size_t n);
void *edl_cuda_alloc(uint64_t bytes);
void edl_cuda_release(void *memory);
void *edl_cuda_alloc_host(uint64_t bytes);
void edl_cuda_release_host(void *memory);
EdlStatus edl_cuda_why(const char **text);

/* Another stream than the one that `init` made; it stays the caller's. */
EdlStatus edl_cuda_set_stream(EdlInstance *m, cudaStream_t stream);
cudaStream_t edl_cuda_stream(const EdlInstance *m);

/* Around an action: copies `microbatches` of every input (in: NULL: none) and
 * the control in; waits, and sets m->fault. */
void edl_begin(EdlInstance *m, const void *const *in, int64_t microbatches,
               double lr);
EdlStatus edl_end(EdlInstance *m);
/* Queued in a step: the microbatch that follows; the rate of the update. */
void edl_set_microbatch(EdlInstance *m, int64_t mb);
void edl_set_rate(EdlInstance *m, float *rate);
/* The captured step. */
void edl_replay(EdlInstance *m);
/* Product `index` of the model's table; add: to what c holds. */
void edl_product(EdlInstance *m, int32_t index, const void *a, const void *b,
                 void *c, int add, void *workspace);
/* c = a @ b + bias + plus: bias a row for all rows, plus as c, which it may be;
 * either may be NULL. The bits are those of sums by a kernel behind the product. */
void edl_product_sum(EdlInstance *m, int32_t index, const void *a,
                     const void *b, const float *bias, const float *plus,
                     float *c, void *workspace);
/* Copies to and from region HOST, pinned memory, each way on a stream of its
 * own. They begin after what was queued before them, in their order each way;
 * what is queued after the wait of one runs after it. */
EdlTicket edl_cuda_offload(EdlInstance *m, EdlRegion to, int64_t at,
                           const void *from, int64_t bytes);
EdlTicket edl_cuda_fetch(EdlInstance *m, void *to, EdlRegion from, int64_t at,
                         int64_t bytes);
void edl_cuda_wait(EdlInstance *m, EdlTicket t);
/* Keeps the first failure. */
void edl_cuda_note(const EdlInstance *m, cudaError_t e);
#ifdef EDL_PROFILE
/* What is queued from here on is `what`, a constant. */
void edl_cuda_mark(const EdlInstance *m, const char *what);
#endif

#ifdef __cplusplus
}
#endif

static inline EdlControl *
edl_control(const EdlInstance *m)
{
    return (EdlControl *)(void *)(m->region[EDL_IO] +
                                  m->model->regions.bytes[EDL_IO] - EDL_ALIGN);
}

static inline int32_t *
edl_fault(const EdlInstance *m)
{
    return &edl_control(m)->fault;
}

template <typename T>
static inline T
edl_read(const EdlInstance *m, const T *at)
{
    T x;
    edl_cuda_get(m, &x, at, sizeof x);
    return x;
}

template <typename... P>
static inline void
edl_launch_exact(EdlInstance *m, void (*kernel)(P...), int64_t blocks,
                 int threads, size_t shared, P... a)
{
    void *list[] = {(void *)&a..., NULL};
    edl_cuda_note(m, cudaLaunchKernel(kernel, dim3((unsigned)blocks),
                                      dim3((unsigned)threads), list, shared,
                                      edl_cuda_stream(m)));
}

/* A kernel on the instance's stream; arguments become its parameters' types. */
template <typename... P, typename... A>
static inline void
edl_launch(EdlInstance *m, void (*kernel)(P...), int64_t blocks, int threads,
           A... a)
{
    edl_launch_exact<P...>(m, kernel, blocks, threads, 0, (P)a...);
}

/* One that takes its shared memory with edl_shared: more than 48 KiB, which a
 * kernel has only where it was asked for. */
template <typename... P, typename... A>
static inline void
edl_launch_shared(EdlInstance *m, void (*kernel)(P...), int64_t blocks,
                  int threads, int shared, A... a)
{
    edl_cuda_note(m, cudaFuncSetAttribute(
                         kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         shared));
    edl_launch_exact<P...>(m, kernel, blocks, threads, (size_t)shared, (P)a...);
}

/* Built with EDL_PROFILE, a step is no graph, and every kernel is timed:
 * `close` prints them. */
#ifdef EDL_PROFILE
#define edl_launch(m, kernel, ...)                                             \
    (edl_cuda_mark(m, #kernel), (edl_launch)(m, kernel, __VA_ARGS__))
#define edl_launch_shared(m, kernel, ...)                                      \
    (edl_cuda_mark(m, #kernel), (edl_launch_shared)(m, kernel, __VA_ARGS__))
#endif

/* ---- in kernels ---- */

static __device__ __forceinline__ int64_t
edl_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* 16 bytes at once, at a multiple of 16. */
static __device__ __forceinline__ void
edl_load4(float (&x)[4], const float *from)
{
    const float4 v = *(const float4 *)(const void *)from;
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
}

static __device__ __forceinline__ void
edl_store4(float *to, const float (&x)[4])
{
    float4 v;
    v.x = x[0];
    v.y = x[1];
    v.z = x[2];
    v.w = x[3];
    *(float4 *)(void *)to = v;
}

static __device__ __forceinline__ void
edl_load8(float (&x)[8], const float *from)
{
    float low[4], high[4];
    edl_load4(low, from);
    edl_load4(high, from + 4);
    for (int i = 0; i < 4; i++) {
        x[i] = low[i];
        x[i + 4] = high[i];
    }
}

static __device__ __forceinline__ void
edl_store8(float *to, const float (&x)[8])
{
    const float low[4] = {x[0], x[1], x[2], x[3]};
    const float high[4] = {x[4], x[5], x[6], x[7]};
    edl_store4(to, low);
    edl_store4(to + 4, high);
}

/* The low half of each lies first. */
static __device__ __forceinline__ void
edl_load8(uint16_t (&x)[8], const uint16_t *from)
{
    const uint4 v = *(const uint4 *)(const void *)from;
    const uint32_t pair[4] = {v.x, v.y, v.z, v.w};
    for (int i = 0; i < 8; i++)
        x[i] = (uint16_t)(pair[i / 2] >> 16 * (i % 2));
}

static __device__ __forceinline__ void
edl_store8(uint16_t *to, const uint16_t (&x)[8])
{
    uint4 v;
    v.x = x[0] | (uint32_t)x[1] << 16;
    v.y = x[2] | (uint32_t)x[3] << 16;
    v.z = x[4] | (uint32_t)x[5] << 16;
    v.w = x[6] | (uint32_t)x[7] << 16;
    *(uint4 *)(void *)to = v;
}

struct EdlSum {
    __device__ __forceinline__ float
    operator()(float a, float b) const
    {
        return a + b;
    }
    __device__ __forceinline__ double
    operator()(double a, double b) const
    {
        return a + b;
    }
    /* integers wrap */
    template <typename T>
    __device__ __forceinline__ T
    operator()(T a, T b) const
    {
        return (T)((uint64_t)a + (uint64_t)b);
    }
};

struct EdlMax {
    __device__ __forceinline__ float
    operator()(float a, float b) const
    {
        return edl_maxf(a, b);
    }
    __device__ __forceinline__ double
    operator()(double a, double b) const
    {
        return edl_max(a, b);
    }
    template <typename T>
    __device__ __forceinline__ T
    operator()(T a, T b) const
    {
        return b > a ? b : a;
    }
};

struct EdlMin {
    __device__ __forceinline__ float
    operator()(float a, float b) const
    {
        return edl_minf(a, b);
    }
    __device__ __forceinline__ double
    operator()(double a, double b) const
    {
        return edl_min(a, b);
    }
    template <typename T>
    __device__ __forceinline__ T
    operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};

/* One number a thread to one of the block, for all threads: a tree over each
 * warp, then the warps in order. memory: shared, 32 numbers. Blocks are whole
 * warps, and all threads call. */
template <typename T, typename F>
static __device__ __forceinline__ T
edl_block_fold(T x, void *memory, F f)
{
    T *const part = (T *)memory;
    const int warps = (int)blockDim.x / 32;
    for (int d = 16; d > 0; d /= 2)
        x = f(x, (T)__shfl_xor_sync(0xffffffffu, x, d));
    __syncthreads(); /* all have read the parts of the fold before */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    T all = part[0];
    for (int i = 1; i < warps; i++)
        all = f(all, part[i]);
    return all;
}

template <typename T>
static __device__ __forceinline__ T
edl_block_sum(T x, void *memory)
{
    return edl_block_fold(x, memory, EdlSum());
}

template <typename T>
static __device__ __forceinline__ T
edl_block_max(T x, void *memory)
{
    return edl_block_fold(x, memory, EdlMax());
}

template <typename T>
static __device__ __forceinline__ T
edl_block_min(T x, void *memory)
{
    return edl_block_fold(x, memory, EdlMin());
}

/* x[0] + x[step] + ..: n numbers, in order. */
template <typename T>
static __device__ __forceinline__ T
edl_sum_parts(const T *x, int64_t step, int n)
{
    T sum = x[0];
    for (int i = 1; i < n; i++)
        sum += x[i * step];
    return sum;
}

/* ---- the gradient of a table ---- */

#define EDL_TABLE_ROWS 8
#define EDL_TABLE_INTS (2 * 256 + 8)

/* Adds rows[i] to row index[i] of the table, i ascending; zeroes it before,
 * unless add. A block of 256 threads does EDL_TABLE_ROWS rows of the table: it
 * looks through the index for them, and thread t adds columns t, t + 256, ...
 * of what it finds, so every element is one chain of sums. */
template <typename I>
static __device__ __forceinline__ void
edl_table_grad(float *table, int64_t entries, int64_t stride, int64_t columns,
               const I *index, int64_t n, const float *rows, int add,
               int32_t *fault, int32_t *memory)
{
    const int64_t first = (int64_t)blockIdx.x * EDL_TABLE_ROWS;
    const int t = (int)threadIdx.x, warp = t / 32;
    int32_t *const found = memory, *const row = memory + 256;
    int32_t *const counts = memory + 512;
    for (int64_t i = first; !add && i < first + EDL_TABLE_ROWS && i < entries;
         i++)
        for (int64_t c = t; c < columns; c += 256)
            table[i * stride + c] = 0.0f;
    for (int64_t from = 0; from < n; from += 256) {
        int64_t id = -1;
        if (from + t < n)
            id = edl_index(index[from + t], entries, fault) - first;
        const bool mine = id >= 0 && id < EDL_TABLE_ROWS;
        const unsigned all = __ballot_sync(0xffffffffu, mine);
        if (t % 32 == 0)
            counts[warp] = __popc(all);
        __syncthreads();
        int at = __popc(all & ((1u << t % 32) - 1u)), total = 0;
        for (int w = 0; w < 8; w++) {
            at += w < warp ? counts[w] : 0;
            total += counts[w];
        }
        if (mine) {
            found[at] = t;
            row[at] = (int32_t)id;
        }
        __syncthreads();
        for (int i = 0; i < total; i++) {
            const float *x = rows + (from + found[i]) * columns;
            float *to = table + (first + row[i]) * stride;
            for (int64_t c = t; c < columns; c += 256)
                to[c] += x[c];
        }
        __syncthreads(); /* all have read what was found */
    }
}

#endif
