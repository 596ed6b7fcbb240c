/* A stand-in for the CUDA runtime that runs emitted kernels on the CPU, one
 * thread of the device after the other, so that errors show:
 *  - the threads of a block are fibers; their order and that of the blocks
 *    follow EDL_HOST_SEED, so a missing barrier or a race changes bits
 *  - threads that wait for each other at different barriers end the program
 *  - a stream is a queue that runs when somebody waits for it, or earlier, and
 *    streams and branches of a graph overtake each other where no event stops
 *    them, as the seed says: a missing wait reads what is not there yet
 *  - device memory begins as NaNs and can be reached only while the queue
 *    runs: a host access faults, and so does one beyond the end
 * Built with -fsanitize=thread -DEDL_HOST_THREADS, blocks run on threads of the
 * host instead, and the sanitizer sees what they share without a barrier.
 * tests/cuda_host only. */
#ifndef EDL_HOST_CUDA_RUNTIME_H
#define EDL_HOST_CUDA_RUNTIME_H

#include "host_block.h"
#include "host_stream.h"

#include <map>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
/* All shared variables of a program lie in one section, so that a block can
 * begin with NaNs in them; with EDL_HOST_THREADS every worker has its own. */
#ifdef EDL_HOST_THREADS
#define __shared__ static thread_local
#else
#define __shared__ static __attribute__((section("edl_shared")))
#endif

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

typedef enum cudaError { cudaSuccess, cudaErrorInvalidValue = 1,
                         cudaErrorMemoryAllocation = 2,
                         cudaErrorNoDevice = 100,
                         cudaErrorStreamCaptureUnjoined = 904 } cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice,
                      cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16,
                      cudaDevAttrL2CacheSize = 38,
                      cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal,
                             cudaStreamCaptureModeThreadLocal,
                             cudaStreamCaptureModeRelaxed };

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

namespace edl_host
{

inline size_t &
shared_of(void *kernel)
{
    static std::map<void *, size_t> most;
    return most[kernel];
}

template <typename... P, size_t... I>
inline std::tuple<P...>
take(void **arguments, std::index_sequence<I...>)
{
    (void)arguments;
    return std::tuple<P...>(*(P *)arguments[I]...);
}

} // namespace edl_host

#define threadIdx (edl_host::block().now->index)
#define blockIdx (edl_host::block().index)
#define blockDim (edl_host::block().size)
#define gridDim (edl_host::block().grid)

inline void
__syncthreads(void)
{
    edl_host::wait_at(edl_host::WAIT_block);
}

inline void
__syncwarp(unsigned = 0xffffffffu)
{
    edl_host::wait_at(edl_host::WAIT_warp);
}

template <typename T>
inline T
__shfl_sync(unsigned, T x, int from)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = edl_host::exchange(bits, (unsigned)from % 32);
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <typename T>
inline T
__shfl_xor_sync(unsigned mask, T x, int d)
{
    return __shfl_sync(mask, x, (int)(threadIdx.x % 32) ^ d);
}

inline unsigned
__ballot_sync(unsigned mask, int yes)
{
    unsigned all = 0;
    uint64_t bit = yes ? 1u : 0u;
    for (unsigned i = 0; i < 32; i++)
        all |= (unsigned)(__shfl_sync(mask, bit, (int)i) << i);
    return all;
}

inline int
__popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int
__ffs(unsigned x)
{
    return __builtin_ffs((int)x);
}

typedef edl_host::Stream *cudaStream_t;
typedef edl_host::Event *cudaEvent_t;
typedef edl_host::Graph *cudaGraph_t;
typedef edl_host::Graph *cudaGraphExec_t;

/* More than 48 KiB only where it was asked for; 163 KiB at most, as sm_80. */
template <typename... P>
inline cudaError_t
cudaFuncSetAttribute(void (*kernel)(P...), enum cudaFuncAttribute, int value)
{
    if (value < 0 || value > 163 << 10)
        return cudaErrorInvalidValue;
    edl_host::shared_of((void *)(uintptr_t)kernel) = (size_t)value;
    return cudaSuccess;
}

template <typename... P>
inline cudaError_t
cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 size, void **arguments,
                 size_t shared, cudaStream_t s)
{
    const size_t most = edl_host::shared_of((void *)(uintptr_t)kernel);
    if (grid.x == 0 || size.x == 0 || size.x > 1024 ||
        shared > (most > 48 << 10 ? most : 48 << 10))
        return cudaErrorInvalidValue;
    auto all =
        edl_host::take<P...>(arguments, std::index_sequence_for<P...>());
    unsigned blocks = grid.x, threads = size.x;
    edl_host::enqueue(s, [=] {
        std::function<void()> body = [&] { std::apply(kernel, all); };
        edl_host::run_grid(blocks, threads, shared, body);
    });
    return cudaSuccess;
}

inline const char *
cudaGetErrorString(cudaError_t e)
{
    return e == cudaSuccess         ? "no error"
           : e == cudaErrorNoDevice ? "no CUDA-capable device is detected"
                                    : "invalid argument";
}

/* EDL_HOST_NO_DEVICE: a machine without one. */
inline bool
edl_host_no_device(void)
{
    return getenv("EDL_HOST_NO_DEVICE") != nullptr;
}

inline cudaError_t
cudaGetLastError(void)
{
    return edl_host_no_device() ? cudaErrorNoDevice : cudaSuccess;
}

inline cudaError_t
cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

/* A device of four multiprocessors. */
inline cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int)
{
    *value = what == cudaDevAttrMultiProcessorCount ? 4
             : what == cudaDevAttrL2CacheSize       ? 1 << 20
                                                    : 1 << 16;
    return cudaSuccess;
}

/* The end of the memory is a page that nobody may touch. */
inline cudaError_t
cudaMalloc(void **p, size_t bytes)
{
    size_t room = (bytes + 255) / 256 * 256, pages = (room + 4095) / 4096;
    size_t mapped = (pages + 2) * 4096;
    if (edl_host_no_device())
        return cudaErrorNoDevice;
    void *m = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    edl_host::Allocation a;
    a.map = (unsigned char *)m;
    a.at = a.map + 4096 + pages * 4096 - room;
    a.bytes = bytes;
    a.mapped = mapped;
    memset(a.map, 0xff, mapped);
    mprotect(a.map, mapped, PROT_NONE);
    edl_host::allocations().push_back(a);
    *p = a.at;
    return cudaSuccess;
}

inline cudaError_t
cudaFree(void *p)
{
    std::vector<edl_host::Allocation> &all = edl_host::allocations();
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].at != p)
            continue;
        edl_host::protect(PROT_READ | PROT_WRITE);
        for (unsigned char *x = all[i].map + 4096;
             x < all[i].map + all[i].mapped - 4096; x++)
            if ((x < all[i].at || x >= all[i].at + all[i].bytes) && *x != 0xff)
                edl_host::stop("written beside device memory");
        edl_host::protect(PROT_NONE);
        munmap(all[i].map, all[i].mapped);
        all.erase(all.begin() + (ptrdiff_t)i);
        return cudaSuccess;
    }
    return p ? cudaErrorInvalidValue : cudaSuccess;
}

inline cudaError_t
cudaMallocHost(void **p, size_t bytes)
{
    *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*p)
        return cudaErrorMemoryAllocation;
    memset(*p, 0xff, bytes);
    edl_host::pinned().push_back({(unsigned char *)*p, bytes});
    return cudaSuccess;
}

inline cudaError_t
cudaFreeHost(void *p)
{
    auto &all = edl_host::pinned();
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].first != p)
            continue;
        all.erase(all.begin() + (ptrdiff_t)i);
        free(p);
        return cudaSuccess;
    }
    return p ? cudaErrorInvalidValue : cudaSuccess;
}

inline cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    *s = new edl_host::Stream();
    edl_host::streams().push_back(*s);
    return cudaSuccess;
}

inline cudaError_t
cudaStreamSynchronize(cudaStream_t s)
{
    edl_host::run(s, 0);
    return cudaSuccess;
}

inline cudaError_t
cudaStreamDestroy(cudaStream_t s)
{
    auto &all = edl_host::streams();
    cudaStreamSynchronize(s);
    for (size_t i = 0; i < all.size(); i++)
        if (all[i] == s) {
            all.erase(all.begin() + (ptrdiff_t)i);
            break;
        }
    delete s;
    return cudaSuccess;
}

inline cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    *e = new edl_host::Event();
    (*e)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

inline cudaError_t
cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, 0);
}

inline cudaError_t
cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}

inline cudaError_t
cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    if (s->capture) {
        e->capture = s->capture;
        e->node = edl_host::capture_node(s, nullptr);
        return cudaSuccess;
    }
    e->capture = nullptr;
    s->queue.push_back({nullptr, nullptr, e, ++e->issued});
    return cudaSuccess;
}

/* An event of a capture takes the stream into the capture. */
inline cudaError_t
cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    if (e->capture) {
        if (s->capture && s->capture != e->capture)
            return cudaErrorInvalidValue;
        s->capture = e->capture;
        s->after.push_back(e->node);
        return cudaSuccess;
    }
    s->queue.push_back({nullptr, e, nullptr, e->issued});
    return cudaSuccess;
}

inline cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from->timed || !to->timed || from->done < from->issued ||
        to->done < to->issued)
        return cudaErrorInvalidValue;
    *ms = (float)(to->ms - from->ms);
    return cudaSuccess;
}

/* Pageable host memory is read at once, pinned memory when the copy runs. */
inline cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind,
                cudaStream_t s)
{
    if (kind == cudaMemcpyHostToDevice && !edl_host::is_pinned(from)) {
        const unsigned char *x = (const unsigned char *)from;
        std::vector<unsigned char> staged(x, x + n);
        edl_host::enqueue(s, [=] {
            if (n)
                memcpy(to, staged.data(), n);
        });
        return cudaSuccess;
    }
    edl_host::enqueue(s, [=] { memcpy(to, from, n); });
    return cudaSuccess;
}

inline cudaError_t
cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t s)
{
    edl_host::enqueue(s, [=] { memset(to, value, n); });
    return cudaSuccess;
}

inline cudaError_t
cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    s->capture = new edl_host::Capture();
    s->origin = true;
    s->after.clear();
    return cudaSuccess;
}

inline cudaError_t
cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    edl_host::Capture *c = s->capture;
    if (!s->origin || !edl_host::is_joined(s))
        return cudaErrorStreamCaptureUnjoined;
    *g = new edl_host::Graph{std::move(c->nodes)};
    for (edl_host::Stream *x : edl_host::streams())
        if (x->capture == c) {
            x->capture = nullptr;
            x->after.clear();
        }
    s->origin = false;
    delete c;
    return cudaSuccess;
}

inline cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long)
{
    *x = new edl_host::Graph(*g);
    return cudaSuccess;
}

inline cudaError_t
cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
    edl_host::enqueue(s, [=] { edl_host::run_graph(x->nodes); });
    return cudaSuccess;
}

inline cudaError_t
cudaGraphDestroy(cudaGraph_t g)
{
    delete g;
    return cudaSuccess;
}

inline cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t x)
{
    delete x;
    return cudaSuccess;
}

#endif
