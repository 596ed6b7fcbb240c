/* A pool of threads behind EdlHooks.parallel_for.
 *
 * Each thread has a share of the pieces, neighbours, and the same one whenever
 * the same kernel runs: what it wrote is in its caches. Who has done his own
 * takes from the others, piece by piece, so the threads finish together
 * however long each piece takes. Workers spin for a moment before they sleep:
 * a training step has hundreds of kernels, and waking a thread costs more than
 * most of them.
 *
 * All that a worker waits for and then reads is in one line of memory, its
 * share, whose word `work` says which job it is and how many of its pieces
 * nobody has taken. Whoever takes one by exchanging that word knows that the
 * job is not over before this piece is; a worker that comes too late takes
 * nothing, and nobody waits for it. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A kernel's tiles and packed operands lie on the stack, 1 MiB at most; the
 * default of a system may be less. */
enum { SPINS = 4096, SPINS_OF_THE_CALLER = 1 << 14, STACK_BYTES = 4 << 20 };

/* What no write of another thread disturbs; neighbours are fetched together. */
enum { LINES = 128 };

typedef struct Share {
    uint64_t work; /* atomic: number of the job << 32 | pieces left */
    EdlBody body;
    void *arg;
    int64_t end; /* the piece after its last */
    char apart[LINES - 8 - 2 * sizeof(void *) - 8];
} Share;

typedef struct Worker {
    struct EdlPool *pool;
    int number; /* of its share; the caller has 0 */
    pthread_t thread;
} Worker;

struct EdlPool {
    Worker *workers;
    Share *shares;
    int nthreads; /* with the caller */
    int started;  /* beside the caller */
    int spins;    /* 0 where threads would only be in each other's way */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int32_t busy;  /* atomic */
    uint32_t jobs; /* the number of the last one */
    int64_t given; /* pieces of all jobs that workers took */
    char apart[LINES];
    int32_t sleepers, stop; /* atomic */
    char apart_2[LINES];
    int64_t done; /* atomic: pieces of all jobs that workers ran */
    char apart_3[LINES];
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

static uint32_t
job_of(uint64_t work)
{
    return (uint32_t)(work >> 32);
}

/* Runs what is left of a share; answers how many pieces. */
static int64_t
run_share(Share *s)
{
    int64_t ran = 0;
    uint64_t work = LOAD(s->work);
    while ((uint32_t)work != 0) {
        if (!__atomic_compare_exchange_n(&s->work, &work, work - 1, 0,
                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        s->body(s->arg, s->end - (int64_t)(uint32_t)work);
        ran++;
        work = LOAD(s->work);
    }
    return ran;
}

/* Its own share, then those of the others. */
static int64_t
run_pieces(EdlPool *p, int number)
{
    int64_t ran = 0;
    for (int i = 0; i < p->nthreads; i++)
        ran += run_share(&p->shares[(number + i) % p->nthreads]);
    return ran;
}

/* Returns when there is a job after `seen`, or the end. */
static uint32_t
wait_for_job(EdlPool *p, const Share *s, uint32_t seen)
{
    for (int i = 0; i < p->spins; i++) {
        uint32_t job = job_of(LOAD(s->work));
        if (job != seen)
            return job;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    ADD(p->sleepers, 1);
    while (job_of(LOAD(s->work)) == seen)
        pthread_cond_wait(&p->wake, &p->mutex);
    ADD(p->sleepers, -1);
    pthread_mutex_unlock(&p->mutex);
    return job_of(LOAD(s->work));
}

static void *
worker(void *arg)
{
    const Worker *w = (const Worker *)arg;
    EdlPool *p = w->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_job(p, &p->shares[w->number], seen);
        if (LOAD(p->stop))
            return NULL;
        int64_t ran = run_pieces(p, w->number);
        if (ran)
            ADD(p->done, ran);
    }
}

/* The caller's own share is the last that is told: it is there already. */
static void
announce(EdlPool *p, int64_t n, EdlBody body, void *arg)
{
    p->jobs++;
    for (int i = p->nthreads - 1; i >= 0; i--) {
        Share *s = &p->shares[i];
        int64_t from = (n * i + p->nthreads - 1) / p->nthreads;
        s->end = (n * (i + 1) + p->nthreads - 1) / p->nthreads;
        s->body = body;
        s->arg = arg;
        STORE(s->work, (uint64_t)p->jobs << 32 | (uint32_t)(s->end - from));
    }
    if (LOAD(p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

static void
wait_until_done(EdlPool *p)
{
    for (int i = 0; LOAD(p->done) != p->given; i++) {
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
    if (n < 2 || n > UINT32_MAX || p->started == 0 ||
        __atomic_exchange_n(&p->busy, 1, __ATOMIC_SEQ_CST)) {
        for (int64_t i = 0; i < n; i++)
            body(arg, i);
        return;
    }
    announce(p, n, body, arg);
    p->given += n - run_pieces(p, 0);
    wait_until_done(p);
    STORE(p->busy, 0);
}

static int
start(EdlPool *p, Worker *w)
{
    pthread_attr_t attr;
    size_t bytes;
    if (pthread_attr_init(&attr) != 0)
        return -1;
    if (pthread_attr_getstacksize(&attr, &bytes) == 0 && bytes < STACK_BYTES)
        (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    w->pool = p;
    w->number = p->started + 1;
    int failed = pthread_create(&w->thread, &attr, worker, w);
    pthread_attr_destroy(&attr);
    return failed;
}

EdlPool *
edl_pool_new(int threads)
{
    EdlPool *p = (EdlPool *)calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->nthreads = threads < 1 ? 1 : threads;
    size_t n = (size_t)p->nthreads;
    p->workers = (Worker *)calloc(n, sizeof *p->workers);
    p->shares = (Share *)aligned_alloc(LINES, n * sizeof *p->shares);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (!p->workers || !p->shares) {
        edl_pool_free(p);
        return NULL;
    }
    memset(p->shares, 0, n * sizeof *p->shares);
    p->spins = sysconf(_SC_NPROCESSORS_ONLN) >= p->nthreads ? SPINS : 0;
    while (p->started < p->nthreads - 1) {
        if (start(p, &p->workers[p->started]) != 0) {
            edl_pool_free(p);
            return NULL;
        }
        p->started++;
    }
    return p;
}

void
edl_pool_free(EdlPool *p)
{
    if (!p)
        return;
    STORE(p->stop, 1);
    if (p->started > 0)
        announce(p, 0, NULL, NULL);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    free(p->workers);
    free(p->shares);
    free(p);
}
