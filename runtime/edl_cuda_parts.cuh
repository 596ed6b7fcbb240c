/* edl_cuda_parts.cuh: what the files of the CUDA runtime share. */
#ifndef EDL_CUDA_PARTS_CUH
#define EDL_CUDA_PARTS_CUH

#include "edl_cuda.cuh"

#include <cublasLt.h>

#include <stdio.h>
#include <string.h>

typedef struct Plan {
    EdlProductShape shape;
    cublasLtMatmulDesc_t product;
    /* The same with a row that is added; NULL: a kernel adds it. */
    cublasLtMatmulDesc_t with_bias;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
#ifdef EDL_PROFILE
    char name[96];
#endif
} Plan;

#ifdef EDL_PROFILE
enum { MARKS = 1 << 14, NAMES = 1 << 10 };

/* The time from each mark to the next, by name. */
typedef struct Profile {
    cudaEvent_t event[MARKS];
    const char *what[MARKS];
    int marks, made;
    const char *name[NAMES];
    double ms[NAMES];
    long long times[NAMES];
    int names;
    long long steps;
} Profile;
#endif

/* Copies out or in: a stream, and an event for each copy that may be under
 * way. */
enum { AHEAD = 256 };

typedef struct Copies {
    cudaStream_t stream;
    cudaEvent_t done[AHEAD];
    uint64_t begun;
} Copies;

/* What `init` makes; m->device[0] points to it. m->device[1] is the hash of its
 * plans. */
typedef struct Context {
    cudaStream_t stream;
    int own_stream;
    cublasLtHandle_t library;
    Plan *plans;
    int32_t nplans;
    cudaGraphExec_t step;
    EdlQueue queue;
    EdlControl control; /* what was read last */
    Copies copies[2];   /* out, in; without streams where nothing is moved */
    cudaEvent_t here;   /* how far the first stream is */
    int failed;
    char text[400];
#ifdef EDL_PROFILE
    Profile *profile;
#endif
} Context;

static inline Context *
context(const EdlInstance *m)
{
    return (Context *)(uintptr_t)m->device[0];
}

static inline void
fail(Context *c, const char *who, const char *why)
{
    if (!c->failed)
        snprintf(c->text, sizeof c->text, "%s: %s", who, why);
    c->failed = 1;
}

/* A plan for a shape, and its end; the library is there. Failures are noted. */
void edl_cuda_plan(Context *c, Plan *p, const EdlProductShape *s);
void edl_cuda_plan_end(Plan *p);
/* Algorithms that fit, the best first as the library thinks; 0: none. */
int edl_cuda_candidates(Context *c, const Plan *p,
                        cublasLtMatmulHeuristicResult_t *found, int most);
/* As EdlProductShape.algorithm has it. */
void edl_cuda_read_algorithm(const cublasLtMatmulAlgo_t *algo, int32_t *out);
/* The library, and a plan for each product. */
void edl_cuda_plans_begin(Context *c, const EdlProductShape *products,
                          int32_t n);
/* Of what they run, in any order: with another, bits differ. */
uint64_t edl_cuda_plans_hash(const Context *c);
void edl_cuda_plans_end(Context *c);
/* Streams and events for what is moved off the device, and their end. */
void edl_cuda_copies_begin(EdlInstance *m);
void edl_cuda_copies_end(EdlInstance *m);
#ifdef EDL_PROFILE
/* After the stream has been waited for: the times since the last call. */
void edl_cuda_profile_add(const EdlInstance *m);
/* Prints and frees. */
void edl_cuda_profile_end(Profile *p);
#endif

#endif
