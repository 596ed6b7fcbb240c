/* A pool of threads behind EdlHooks.parallel_for.
 *
 * Pieces are handed out by an atomic counter, so the threads finish together
 * however long each piece takes. Workers spin for a moment before they sleep:
 * a training step has hundreds of kernels, and waking a thread costs more
 * than most of them. The caller never waits for a worker that has not begun:
 * a worker announces itself (active) before it looks whether the job is still
 * open, and the caller closes the job before it looks who is active. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* A kernel's tiles and packed operands lie on the stack, 0.8 MiB at most; the
 * default of a system may be less. */
enum { SPINS = 4096, SPINS_OF_THE_CALLER = 1 << 14, STACK_BYTES = 4 << 20 };

/* Lines of their own for what workers wait for, for the counter that all take
 * from, and for what the caller waits for: a write then disturbs no other. */
struct EdlPool {
    pthread_t *threads;
    int nthreads; /* beside the caller */
    int spins;    /* 0 where threads would only be in each other's way */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    /* of the running job; written by the caller while it is not open */
    EdlBody body;
    void *arg;
    int64_t n;
    int32_t busy;
    /* atomic */
    char apart[64];
    uint32_t job; /* number of the last one */
    int32_t sleepers, stop;
    char apart_2[64];
    int64_t next;
    char apart_3[64];
    int32_t open, active;
    char apart_4[64];
};

#define LOAD(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define STORE(p, v) __atomic_store_n(&(p), (v), __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add(&(p), (v), __ATOMIC_SEQ_CST)

static void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static void
work(EdlPool *p)
{
    for (;;) {
        int64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
        if (i >= p->n)
            return;
        p->body(p->arg, i);
    }
}

/* Returns when there is a job after `seen`, or the end. */
static uint32_t
wait_for_job(EdlPool *p, uint32_t seen)
{
    for (int i = 0; i < p->spins; i++) {
        uint32_t job = LOAD(p->job);
        if (job != seen)
            return job;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    ADD(p->sleepers, 1);
    while (LOAD(p->job) == seen)
        pthread_cond_wait(&p->wake, &p->mutex);
    ADD(p->sleepers, -1);
    pthread_mutex_unlock(&p->mutex);
    return LOAD(p->job);
}

static void *
worker(void *arg)
{
    EdlPool *p = (EdlPool *)arg;
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_job(p, seen);
        if (LOAD(p->stop))
            return NULL;
        ADD(p->active, 1);
        if (LOAD(p->open))
            work(p);
        ADD(p->active, -1);
    }
}

static void
announce(EdlPool *p)
{
    ADD(p->job, 1u);
    if (LOAD(p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

static void
wait_until_idle(EdlPool *p)
{
    for (int i = 0; LOAD(p->active) != 0; i++) {
        if (p->spins && i < SPINS_OF_THE_CALLER)
            relax();
        else
            sched_yield();
    }
}

/* A call from inside a body, or from a second thread, runs serially. */
void
edl_pool_for(void *pool, int64_t n, EdlBody body, void *arg)
{
    EdlPool *p = (EdlPool *)pool;
    if (n < 2 || p->nthreads == 0 ||
        __atomic_exchange_n(&p->busy, 1, __ATOMIC_SEQ_CST)) {
        for (int64_t i = 0; i < n; i++)
            body(arg, i);
        return;
    }
    p->body = body;
    p->arg = arg;
    p->n = n;
    STORE(p->next, 0);
    STORE(p->open, 1);
    announce(p);
    work(p);
    STORE(p->open, 0);
    wait_until_idle(p);
    STORE(p->busy, 0);
}

static int
start(EdlPool *p, pthread_t *thread)
{
    pthread_attr_t attr;
    size_t bytes;
    if (pthread_attr_init(&attr) != 0)
        return -1;
    if (pthread_attr_getstacksize(&attr, &bytes) == 0 && bytes < STACK_BYTES)
        (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = pthread_create(thread, &attr, worker, p);
    pthread_attr_destroy(&attr);
    return failed;
}

EdlPool *
edl_pool_new(int threads)
{
    EdlPool *p = (EdlPool *)calloc(1, sizeof *p);
    if (!p)
        return NULL;
    if (threads < 1)
        threads = 1;
    p->threads = (pthread_t *)calloc((size_t)threads, sizeof *p->threads);
    if (!p->threads) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->spins = sysconf(_SC_NPROCESSORS_ONLN) >= threads ? SPINS : 0;
    while (p->nthreads < threads - 1) {
        if (start(p, &p->threads[p->nthreads]) != 0) {
            edl_pool_free(p);
            return NULL;
        }
        p->nthreads++;
    }
    return p;
}

void
edl_pool_free(EdlPool *p)
{
    if (!p)
        return;
    STORE(p->stop, 1);
    pthread_mutex_lock(&p->mutex);
    ADD(p->job, 1u);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->nthreads; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    free(p->threads);
    free(p);
}
