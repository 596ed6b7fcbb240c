/* edl_profile.h: times of the kernels of a program that is built with
 * -DEDL_PROFILE. Other builds hold none of this. docs/api.md tells its use. */
#ifndef EDL_PROFILE_H
#define EDL_PROFILE_H

#include "edl.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A node of the schedule; counted by edlc. */
typedef struct EdlProfileNode {
    const char *name;
    const char *kernel; /* the function that its first call is of */
    int64_t calls;      /* of kernels, in one run of the graph */
    double operations, bytes;
} EdlProfileNode;

typedef struct EdlProfileGraph {
    const char *name;
    const EdlProfileNode *nodes; /* in the order of their calls */
    int32_t nnodes;
} EdlProfileGraph;

/* Of edl_profile_new, for EdlHooks.profile; of one model. NULL: no memory.
 * Unlike all else it takes memory while a model runs. */
EdlProfile *edl_profile_new(void);
void edl_profile_free(EdlProfile *p);

/* What the machine can do at most with the hooks of m, measured now, in a
 * quarter of a second and 128 MiB: GFLOP/s of fused multiply-adds in f32,
 * GB/s read and written. 0: not measured. */
typedef struct EdlPeaks {
    double gflops, gbytes;
} EdlPeaks;
EdlPeaks edl_profile_peaks(const EdlInstance *m);

/* A line for each kernel, the slowest first. */
void edl_profile_print(const EdlProfile *p, EdlPeaks peaks, FILE *to);
/* For Perfetto or chrome://tracing: a track of calls and one for each thread,
 * of the first steps. */
EdlStatus edl_profile_trace(const EdlProfile *p, const char *path);
/* The median time of every node, for `edlc --profile`. */
EdlStatus edl_profile_save(const EdlProfile *p, EdlPeaks peaks,
                           const char *path);

/* For the emitted code. ------------------------------------------------ */

void edl_profile_graph(const EdlInstance *m, const EdlProfileGraph *g);
void edl_profile_begin(const EdlInstance *m);
void edl_profile_end(const EdlInstance *m);
void edl_profile_parallel(const EdlInstance *m, int64_t n, EdlBody body,
                          void *arg);

#ifdef __cplusplus
}
#endif

#endif
