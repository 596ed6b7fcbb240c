/* edl_profile_parts.h: what recording and writing of times share. */
#ifndef EDL_PROFILE_PARTS_H
#define EDL_PROFILE_PARTS_H

#include "edl_profile.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EDL_PROFILE_GRAPHS = 16,
    EDL_PROFILE_THREADS = 64,
    EDL_PROFILE_SAMPLES = 63, /* the last ones of each node */
    EDL_PROFILE_EVENTS = 1 << 17
};

/* Nanoseconds; of one node. */
typedef struct EdlTimes {
    uint64_t sum;
    int64_t runs;
    float sample[EDL_PROFILE_SAMPLES]; /* ring of the last ones */
} EdlTimes;

typedef struct EdlGraphTimes {
    const EdlProfileGraph *graph;
    EdlTimes *times; /* by node */
} EdlGraphTimes;

/* thread: -1 for the call of a kernel, else whose pieces these are. */
typedef struct EdlEvent {
    int32_t graph, node, thread;
    uint64_t from, to;
} EdlEvent;

/* The pieces of the running call that a thread has done. */
typedef struct EdlThreadSpan {
    pthread_t id;
    uint64_t call, from, to;
} EdlThreadSpan;

struct EdlProfile {
    EdlGraphTimes graphs[EDL_PROFILE_GRAPHS];
    int32_t ngraphs, graph; /* graph: the one that runs, or -1 */
    int32_t node;           /* whose calls come next */
    int64_t calls_left;     /* of it */
    uint64_t spent;         /* in those that are done */
    uint64_t from;          /* of the running call */
    uint64_t call;          /* its number */
    uint64_t start;         /* of all */
    uint64_t first_step, last_step;
    EdlThreadSpan threads[EDL_PROFILE_THREADS];
    int32_t nthreads; /* atomic */
    pthread_mutex_t mutex;
    EdlEvent *events;
    int64_t nevents;
};

uint64_t edl_profile_clock(void);

#ifdef __cplusplus
}
#endif

#endif
