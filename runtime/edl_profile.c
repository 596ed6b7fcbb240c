/* Times of kernels, while they run. A call of a kernel is timed on the thread
 * that makes it; its pieces on theirs, where each keeps one span a call. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_profile_parts.h"

#ifdef EDL_PROFILE

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Timed {
    EdlProfile *p;
    EdlBody body;
    void *arg;
} Timed;

uint64_t
edl_profile_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

EdlProfile *
edl_profile_new(void)
{
    EdlProfile *p = (EdlProfile *)calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->events = (EdlEvent *)calloc(EDL_PROFILE_EVENTS, sizeof *p->events);
    if (!p->events) {
        free(p);
        return NULL;
    }
    p->graph = -1;
    p->start = edl_profile_clock();
    pthread_mutex_init(&p->mutex, NULL);
    return p;
}

void
edl_profile_free(EdlProfile *p)
{
    if (!p)
        return;
    for (int32_t i = 0; i < p->ngraphs; i++)
        free(p->graphs[i].times);
    pthread_mutex_destroy(&p->mutex);
    free(p->events);
    free(p);
}

/* ---- calls ---- */

/* The place of a graph, made when it is met first; -1: there is none. */
static int32_t
find_graph(EdlProfile *p, const EdlProfileGraph *g)
{
    for (int32_t i = 0; i < p->ngraphs; i++) {
        if (p->graphs[i].graph == g)
            return i;
    }
    if (p->ngraphs == EDL_PROFILE_GRAPHS || g->nnodes == 0)
        return -1;
    EdlGraphTimes *new_one = &p->graphs[p->ngraphs];
    new_one->times =
        (EdlTimes *)calloc((size_t)g->nnodes, sizeof *new_one->times);
    if (!new_one->times)
        return -1;
    new_one->graph = g;
    return p->ngraphs++;
}

static void
start_node(EdlProfile *p, int32_t node)
{
    const EdlProfileGraph *g = p->graphs[p->graph].graph;
    p->node = node;
    p->spent = 0;
    p->calls_left = node < g->nnodes ? g->nodes[node].calls : 0;
}

void
edl_profile_graph(const EdlInstance *m, const EdlProfileGraph *g)
{
    EdlProfile *p = m->hooks.profile;
    if (!p)
        return;
    if (p->ngraphs == 0)
        p->first_step = m->count.step;
    p->last_step = m->count.step;
    p->graph = find_graph(p, g);
    if (p->graph >= 0)
        start_node(p, 0);
}

static void
add_event(EdlProfile *p, int32_t thread, uint64_t from, uint64_t to)
{
    if (p->nevents == EDL_PROFILE_EVENTS)
        return;
    EdlEvent *e = &p->events[p->nevents++];
    e->graph = p->graph;
    e->node = p->node;
    e->thread = thread;
    e->from = from;
    e->to = to;
}

void
edl_profile_begin(const EdlInstance *m)
{
    EdlProfile *p = m->hooks.profile;
    if (!p)
        return;
    p->call++;
    p->from = edl_profile_clock();
}

static void
add_run(EdlTimes *t, uint64_t ns)
{
    t->sample[t->runs % EDL_PROFILE_SAMPLES] = (float)ns;
    t->runs++;
    t->sum += ns;
}

void
edl_profile_end(const EdlInstance *m)
{
    EdlProfile *p = m->hooks.profile;
    if (!p || p->graph < 0 || p->calls_left == 0)
        return;
    uint64_t to = edl_profile_clock();
    int32_t n = __atomic_load_n(&p->nthreads, __ATOMIC_ACQUIRE);
    add_event(p, -1, p->from, to);
    for (int32_t i = 0; i < n; i++) {
        if (p->threads[i].call == p->call)
            add_event(p, i, p->threads[i].from, p->threads[i].to);
    }
    p->spent += to - p->from;
    if (--p->calls_left > 0)
        return;
    add_run(&p->graphs[p->graph].times[p->node], p->spent);
    start_node(p, p->node + 1);
}

/* ---- pieces ---- */

static EdlThreadSpan *
add_thread(EdlProfile *p, pthread_t id)
{
    EdlThreadSpan *t = NULL;
    pthread_mutex_lock(&p->mutex);
    if (p->nthreads < EDL_PROFILE_THREADS) {
        t = &p->threads[p->nthreads];
        t->id = id;
        __atomic_store_n(&p->nthreads, p->nthreads + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&p->mutex);
    return t;
}

static EdlThreadSpan *
this_thread(EdlProfile *p)
{
    pthread_t id = pthread_self();
    int32_t n = __atomic_load_n(&p->nthreads, __ATOMIC_ACQUIRE);
    for (int32_t i = 0; i < n; i++) {
        if (pthread_equal(p->threads[i].id, id))
            return &p->threads[i];
    }
    return add_thread(p, id);
}

static void
timed_piece(void *arg, int64_t i)
{
    Timed *t = (Timed *)arg;
    uint64_t from = edl_profile_clock();
    t->body(t->arg, i);
    EdlThreadSpan *span = this_thread(t->p);
    if (!span)
        return;
    if (span->call != t->p->call)
        span->from = from;
    span->call = t->p->call;
    span->to = edl_profile_clock();
}

void
edl_profile_parallel(const EdlInstance *m, int64_t n, EdlBody body, void *arg)
{
    Timed t = {m->hooks.profile, body, arg};
    m->hooks.parallel_for(m->hooks.user, n, timed_piece, &t);
}

#endif
