/* Blocks of the stand-in: threads as fibers, in an order that the seed gives. */
#ifndef EDL_HOST_BLOCK_H
#define EDL_HOST_BLOCK_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef EDL_HOST_THREADS
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

#include <functional>
#include <utility>
#include <vector>

extern "C" char __start_edl_shared[] __attribute__((weak));
extern "C" char __stop_edl_shared[] __attribute__((weak));

namespace edl_host
{

/* ---- what the seed decides ---- */

inline uint64_t
random_state(bool set = false, uint64_t to = 0)
{
#ifdef EDL_HOST_THREADS
    (void)set, (void)to;
    return 0;
#else
    static uint64_t state = [] {
        const char *s = getenv("EDL_HOST_SEED");
        return s ? strtoull(s, nullptr, 10) : 0u;
    }();
    if (set)
        state = to;
    return state;
#endif
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
    void *at;        /* its stack pointer while it does not run */
    void *sanitizer; /* what this takes it for */
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

/* What a thread shows to its warp. */
struct Shown {
    uint64_t word[3];
};

struct alignas(16) Chunk {
    unsigned char byte[16];
};

/* The block that runs. */
struct Block {
    Index index, size, grid;
    std::vector<Thread> threads;
    std::vector<Shown> slots; /* two for each thread */
    std::vector<int> order;
    size_t started;
    std::vector<Thread *> ready;
    std::vector<Fiber *> idle;
    Fiber *running;
    Thread *now;
    void *scheduler, *worker;
    const std::function<void()> *body;
    std::vector<Chunk> shared; /* what the launch gives, and a guard */
    size_t shared_bytes;
};

inline Block &
block(void)
{
#ifdef EDL_HOST_THREADS
    static thread_local Block b;
#else
    static Block b;
#endif
    return b;
}

#ifdef EDL_HOST_THREADS
extern "C" void *__tsan_create_fiber(unsigned flags);
extern "C" void *__tsan_get_current_fiber(void);
extern "C" void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
inline void *
__tsan_create_fiber(unsigned)
{
    return nullptr;
}
inline void *
__tsan_get_current_fiber(void)
{
    return nullptr;
}
inline void
__tsan_switch_to_fiber(void *, unsigned)
{
}
#endif

inline void
leave(void)
{
    __tsan_switch_to_fiber(block().worker, 0);
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
    f->sanitizer = __tsan_create_fiber(0);
    return f;
}

inline void
resume(Fiber *f)
{
    Block &b = block();
    b.running = f;
    b.worker = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->sanitizer, 0);
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
    b.shared.resize(b.shared_bytes / 16 + 2);
    memset(b.shared.data(), 0xff, b.shared.size() * 16);
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
    const unsigned char *s = b.shared[0].byte;
    for (size_t i = b.shared_bytes; i < b.shared.size() * 16; i++)
        if (s[i] != 0xff)
            stop("written beyond shared memory");
}

/* Blocks first, first + step, ... */
inline void
run_blocks(unsigned blocks, unsigned threads, size_t shared,
           const std::function<void()> &body, unsigned first, unsigned step)
{
    Block &b = block();
    b.shared_bytes = shared;
    b.body = &body;
    b.size = {threads, 1, 1};
    b.grid = {blocks, 1, 1};
    std::vector<int> order = order_of((int)blocks);
    for (size_t i = first; i < order.size(); i += step)
        run_block((unsigned)order[i]);
}

#ifdef EDL_HOST_THREADS
/* Workers that live as long as the program: neighbouring blocks are done by
 * different ones. */
struct Workers {
    enum { N = 4 };
    std::mutex mutex;
    std::condition_variable work, done;
    std::function<void(unsigned)> task;
    uint64_t number = 0;
    std::atomic<uint64_t> ready{0};
    unsigned left = 0;

    Workers()
    {
        for (unsigned i = 0; i < N; i++)
            std::thread([this, i] { serve(i); }).detach();
    }
    void serve(unsigned i)
    {
        for (uint64_t seen = 1;; seen++) {
            std::unique_lock<std::mutex> lock(mutex);
            work.wait(lock, [&] { return number >= seen; });
            lock.unlock();
            /* nobody takes the lock between here and its end, as that would
             * order what two do */
            ready.fetch_add(1, std::memory_order_relaxed);
            while (ready.load(std::memory_order_relaxed) < N * seen)
                std::this_thread::yield();
            task(i);
            lock.lock();
            if (--left == 0)
                done.notify_one();
        }
    }
    void run(std::function<void(unsigned)> f)
    {
        std::unique_lock<std::mutex> lock(mutex);
        task = std::move(f);
        left = N;
        number++;
        work.notify_all();
        done.wait(lock, [&] { return left == 0; });
    }
};
#endif

inline void
run_grid(unsigned blocks, unsigned threads, size_t shared,
         const std::function<void()> &body)
{
#ifdef EDL_HOST_THREADS
    static Workers &workers = *new Workers;
    workers.run([&](unsigned i) {
        run_blocks(blocks, threads, shared, body, i, Workers::N);
    });
#else
    run_blocks(blocks, threads, shared, body, 0, 1);
#endif
}

/* What all lanes of the warp show at once. */
inline const Shown *
show(const uint64_t (&mine)[3])
{
    Block &b = block();
    Thread *t = b.now;
    size_t half = t->shuffles++ % 2 * b.threads.size();
    for (int i = 0; i < 3; i++)
        b.slots[half + t->index.x].word[i] = mine[i];
    wait_at(WAIT_warp);
    return &b.slots[half + t->index.x / 32 * 32];
}

inline uint64_t
exchange(uint64_t mine, unsigned from)
{
    const unsigned lanes = (unsigned)block().threads.size();
    const unsigned warp = block().now->index.x / 32 * 32;
    const uint64_t words[3] = {mine, 0, 0};
    const Shown *all = show(words);
    return warp + from < lanes ? all[from].word[0] : 0;
}

} // namespace edl_host

#endif
