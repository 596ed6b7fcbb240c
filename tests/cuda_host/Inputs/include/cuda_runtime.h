/* A stand-in for the CUDA runtime that runs emitted kernels on the CPU, one
 * thread of the device after the other, so that errors show:
 *  - the threads of a block are fibers; their order and that of the blocks
 *    follow EDL_HOST_SEED, so a missing barrier or a race changes bits
 *  - threads that wait for each other at different barriers end the program
 *  - a stream is a queue that runs when somebody waits for it, or earlier, as
 *    the seed says: a missing wait reads what is not there yet
 *  - device memory begins as NaNs and can be reached only while the queue
 *    runs: a host access faults, and so does one beyond the end
 * tests/cuda_host only. */
#ifndef EDL_HOST_CUDA_RUNTIME_H
#define EDL_HOST_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
/* All shared variables of a program lie in one section, so that a block can
 * begin with NaNs in them. */
#define __shared__ static __attribute__((section("edl_shared")))

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

struct alignas(16) float4 {
    float x, y, z, w;
};

typedef enum cudaError { cudaSuccess, cudaErrorInvalidValue = 1,
                         cudaErrorMemoryAllocation = 2 } cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice,
                      cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal,
                             cudaStreamCaptureModeThreadLocal };

extern "C" char __start_edl_shared[] __attribute__((weak));
extern "C" char __stop_edl_shared[] __attribute__((weak));

namespace edl_host
{

/* ---- what the seed decides ---- */

inline uint64_t
random_state(bool set = false, uint64_t to = 0)
{
    static uint64_t state = [] {
        const char *s = getenv("EDL_HOST_SEED");
        return s ? strtoull(s, nullptr, 10) : 0u;
    }();
    if (set)
        state = to;
    return state;
}

/* 0 <= x < n; always 0 where the seed is 0. */
inline uint64_t
choose(uint64_t n)
{
    uint64_t x = random_state();
    if (x == 0)
        return 0;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    random_state(true, x);
    return (x >> 11) % n;
}

inline std::vector<int>
order_of(int n)
{
    std::vector<int> order((size_t)n);
    for (int i = 0; i < n; i++)
        order[(size_t)i] = i;
    for (int i = n - 1; i > 0 && random_state(); i--)
        std::swap(order[(size_t)i], order[(size_t)choose((uint64_t)i + 1)]);
    return order;
}

[[noreturn]] inline void
stop(const char *what)
{
    fprintf(stderr, "cuda_host: %s\n", what);
    exit(99);
}

/* ---- fibers ---- */

struct Fiber {
    void *at; /* its stack pointer while it does not run */
};

#if !defined(__x86_64__)
#error "the fibers of tests/cuda_host are written for x86-64"
#endif
extern "C" void edl_host_switch(void **from, void *to);
__asm__(".pushsection .text.edl_host_switch,\"axG\",@progbits,"
        "edl_host_switch,comdat\n"
        ".weak edl_host_switch\n"
        ".type edl_host_switch,@function\n"
        "edl_host_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\n"
        "mov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
        "ret\n"
        ".popsection\n");

enum { STACK = 256 << 10 };
enum Wait { WAIT_none, WAIT_block, WAIT_warp };

struct Index {
    unsigned x, y, z;
};

struct Thread {
    Index index;
    Fiber *fiber;
    Wait wait;
    bool done;
    unsigned shuffles; /* so far */
};

/* The block that runs. */
struct Block {
    Index index, size, grid;
    std::vector<Thread> threads;
    std::vector<uint64_t> slots; /* what threads show each other: two each */
    std::vector<int> order;
    size_t started;
    std::vector<Thread *> ready;
    std::vector<Fiber *> idle;
    Fiber *running;
    Thread *now;
    void *scheduler;
    const std::function<void()> *body;
};

inline Block &
block(void)
{
    static Block b;
    return b;
}

inline void
leave(void)
{
    edl_host_switch(&block().running->at, block().scheduler);
}

/* A fiber runs thread after thread; while one waits, others get another. */
inline void
fiber_main(void)
{
    Block &b = block();
    for (;;) {
        while (b.started < b.order.size()) {
            Thread *t = &b.threads[(size_t)b.order[b.started++]];
            b.now = t;
            (*b.body)();
            t->done = true;
        }
        b.idle.push_back(b.running);
        leave();
    }
}

inline Fiber *
new_fiber(void)
{
    void *m = mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        stop("no memory for a stack");
    void **top = (void **)(void *)((unsigned char *)m + STACK);
    *--top = nullptr; /* fiber_main does not return */
    *--top = (void *)(uintptr_t)&fiber_main;
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    Fiber *f = new Fiber;
    f->at = (void *)top;
    return f;
}

inline void
resume(Fiber *f)
{
    Block &b = block();
    b.running = f;
    edl_host_switch(&b.scheduler, f->at);
}

inline void
wait_at(Wait w)
{
    Thread *t = block().now;
    t->wait = w;
    t->fiber = block().running;
    leave();
}

/* Threads [lo, hi) go on if all that are left of them wait at w. */
inline bool
release(Wait w, size_t lo, size_t hi)
{
    Block &b = block();
    size_t left = 0, waiting = 0;
    for (size_t i = lo; i < hi; i++) {
        left += !b.threads[i].done;
        waiting += !b.threads[i].done && b.threads[i].wait == w;
    }
    if (left == 0 || waiting < left)
        return false;
    for (int i : b.order) {
        Thread *t = &b.threads[(size_t)i];
        if ((size_t)i < lo || (size_t)i >= hi || t->done)
            continue;
        t->wait = WAIT_none;
        b.ready.push_back(t);
    }
    return true;
}

/* False: all threads are done. */
inline bool
release_some(void)
{
    Block &b = block();
    bool any = false, left = false;
    for (const Thread &t : b.threads)
        left |= !t.done;
    if (!left)
        return false;
    for (size_t w = 0; w < b.threads.size(); w += 32)
        any |= release(WAIT_warp, w, w + 32 < b.threads.size()
                                         ? w + 32
                                         : b.threads.size());
    if (!any && !release(WAIT_block, 0, b.threads.size()))
        stop("threads of a block wait at different barriers");
    return true;
}

inline void
run_block(unsigned index)
{
    Block &b = block();
    size_t n = b.size.x;
    if (random_state() && __start_edl_shared)
        memset(__start_edl_shared, 0xff,
               (size_t)(__stop_edl_shared - __start_edl_shared));
    b.index = {index, 0, 0};
    b.threads.assign(n, Thread());
    for (size_t i = 0; i < n; i++)
        b.threads[i].index = {(unsigned)i, 0, 0};
    b.slots.resize(2 * n);
    b.order = order_of((int)n);
    b.started = 0;
    do {
        while (b.started < n || !b.ready.empty()) {
            if (b.started < n) {
                if (b.idle.empty())
                    b.idle.push_back(new_fiber());
                Fiber *f = b.idle.back();
                b.idle.pop_back();
                resume(f);
                continue;
            }
            b.now = b.ready.back();
            b.ready.pop_back();
            resume(b.now->fiber);
        }
    } while (release_some());
}

inline void
run_grid(unsigned blocks, unsigned threads, const std::function<void()> &body)
{
    Block &b = block();
    b.body = &body;
    b.size = {threads, 1, 1};
    b.grid = {blocks, 1, 1};
    for (int i : order_of((int)blocks))
        run_block((unsigned)i);
}

/* What every lane of the warp has shown. */
inline uint64_t
exchange(uint64_t mine, unsigned from)
{
    Block &b = block();
    Thread *t = b.now;
    size_t n = b.threads.size(), half = t->shuffles++ % 2 * n;
    size_t warp = t->index.x / 32 * 32;
    b.slots[half + t->index.x] = mine;
    wait_at(WAIT_warp);
    return warp + from < n ? b.slots[half + warp + from] : 0;
}

/* ---- memory and streams ---- */

struct Allocation {
    unsigned char *at, *map;
    size_t bytes, mapped;
};

inline std::vector<Allocation> &
allocations(void)
{
    static std::vector<Allocation> a;
    return a;
}

inline void
protect(int how)
{
    for (const Allocation &a : allocations())
        mprotect(a.map + 4096, a.mapped - 2 * 4096, how);
}

typedef std::function<void()> Work;

struct Stream {
    std::vector<Work> queue, captured;
    bool capturing;
};

inline void
run(Stream *s, size_t n)
{
    if (n == 0)
        return;
    protect(PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < n; i++)
        s->queue[i]();
    s->queue.erase(s->queue.begin(), s->queue.begin() + (ptrdiff_t)n);
    protect(PROT_NONE);
}

inline void
enqueue(Stream *s, Work w)
{
    if (s->capturing) {
        s->captured.push_back(std::move(w));
        return;
    }
    s->queue.push_back(std::move(w));
    if (choose(8) == 1)
        run(s, choose(s->queue.size() + 1));
}

struct Graph {
    std::vector<Work> work;
};

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
typedef edl_host::Graph *cudaGraph_t;
typedef edl_host::Graph *cudaGraphExec_t;

template <typename... P>
inline cudaError_t
cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 size, void **arguments,
                 size_t, cudaStream_t s)
{
    if (grid.x == 0 || size.x == 0 || size.x > 1024)
        return cudaErrorInvalidValue;
    auto all =
        edl_host::take<P...>(arguments, std::index_sequence_for<P...>());
    unsigned blocks = grid.x, threads = size.x;
    edl_host::enqueue(s, [=] {
        std::function<void()> body = [&] { std::apply(kernel, all); };
        edl_host::run_grid(blocks, threads, body);
    });
    return cudaSuccess;
}

inline const char *
cudaGetErrorString(cudaError_t e)
{
    return e == cudaSuccess ? "no error" : "invalid argument";
}

inline cudaError_t
cudaGetLastError(void)
{
    return cudaSuccess;
}

/* The end of the memory is a page that nobody may touch. */
inline cudaError_t
cudaMalloc(void **p, size_t bytes)
{
    size_t room = (bytes + 255) / 256 * 256, pages = (room + 4095) / 4096;
    size_t mapped = (pages + 2) * 4096;
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
cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    *s = new edl_host::Stream();
    return cudaSuccess;
}

inline cudaError_t
cudaStreamSynchronize(cudaStream_t s)
{
    edl_host::run(s, s->queue.size());
    return cudaSuccess;
}

inline cudaError_t
cudaStreamDestroy(cudaStream_t s)
{
    cudaStreamSynchronize(s);
    delete s;
    return cudaSuccess;
}

/* Pageable host memory is read at once. */
inline cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind,
                cudaStream_t s)
{
    if (kind == cudaMemcpyHostToDevice) {
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
    s->capturing = true;
    return cudaSuccess;
}

inline cudaError_t
cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    s->capturing = false;
    *g = new edl_host::Graph{std::move(s->captured)};
    s->captured.clear();
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
    for (const edl_host::Work &w : x->work)
        edl_host::enqueue(s, w);
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
