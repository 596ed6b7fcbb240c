/* Memory and the captured step of a model on a CUDA device. */
#include "edl_cuda_parts.cuh"

#include "edl_tensor.h"

#include <stdlib.h>

void
edl_cuda_note(const EdlInstance *m, cudaError_t e)
{
    if (e != cudaSuccess)
        fail(context(m), "cuda", cudaGetErrorString(e));
}

EdlStatus
edl_cuda_status(EdlInstance *m)
{
    Context *c = context(m);
    if (!c->failed)
        return EDL_OK;
    return edl_fail(m, EDL_EDEVICE, "%s", c->text);
}

/* ---- memory ---- */

static int
is_host(const EdlInstance *m, const void *at)
{
    const unsigned char *host = m->region[EDL_HOST];
    const unsigned char *x = (const unsigned char *)at;
    return host && x >= host && x < host + m->model->regions.bytes[EDL_HOST];
}

void
edl_cuda_get(const EdlInstance *m, void *dst, const void *region, size_t n)
{
    Context *c = context(m);
    if (is_host(m, region)) {
        edl_cuda_note(m, cudaStreamSynchronize(c->stream));
        memcpy(dst, region, n);
        return;
    }
    edl_cuda_note(m, cudaMemcpyAsync(dst, region, n, cudaMemcpyDeviceToHost,
                                     c->stream));
    edl_cuda_note(m, cudaStreamSynchronize(c->stream));
}

void
edl_cuda_put(const EdlInstance *m, void *region, const void *src, size_t n)
{
    Context *c = context(m);
    if (is_host(m, region)) {
        edl_cuda_note(m, cudaStreamSynchronize(c->stream));
        memcpy(region, src, n);
        return;
    }
    edl_cuda_note(m, cudaMemcpyAsync(region, src, n, cudaMemcpyHostToDevice,
                                     c->stream));
    edl_cuda_note(m, cudaStreamSynchronize(c->stream));
}

void
edl_cuda_zero(const EdlInstance *m, void *region, size_t n)
{
    if (is_host(m, region)) {
        edl_cuda_note(m, cudaStreamSynchronize(context(m)->stream));
        memset(region, 0, n);
        return;
    }
    edl_cuda_note(m, cudaMemsetAsync(region, 0, n, context(m)->stream));
    edl_cuda_note(m, cudaStreamSynchronize(context(m)->stream));
}

void *
edl_cuda_alloc(uint64_t bytes)
{
    void *p = NULL;
    return cudaMalloc(&p, (size_t)bytes) == cudaSuccess ? p : NULL;
}

void
edl_cuda_release(void *memory)
{
    (void)cudaFree(memory);
}

void *
edl_cuda_alloc_host(uint64_t bytes)
{
    void *p = NULL;
    return cudaMallocHost(&p, (size_t)bytes) == cudaSuccess ? p : NULL;
}

void
edl_cuda_release_host(void *memory)
{
    (void)cudaFreeHost(memory);
}

EdlStatus
edl_cuda_why(const char **text)
{
    cudaError_t e = cudaGetLastError();
    *text = cudaGetErrorString(e);
    return e == cudaErrorMemoryAllocation ? EDL_ENOMEM : EDL_EDEVICE;
}

/* ---- a step ---- */

static __global__ void
set_microbatch(EdlControl *control, int64_t mb)
{
    control->microbatch = control->first + (uint64_t)mb;
}

static __global__ void
set_rate(const EdlControl *control, float *rate)
{
    *rate = control->lr;
}

void
edl_set_microbatch(EdlInstance *m, int64_t mb)
{
    edl_launch(m, set_microbatch, 1, 1, edl_control(m), mb);
}

void
edl_set_rate(EdlInstance *m, float *rate)
{
    edl_launch(m, set_rate, 1, 1, edl_control(m), rate);
}

#ifndef EDL_PROFILE
/* Relaxed: what is queued first here may load its kernel, and another thread
 * of the program may allocate meanwhile. */
static void
capture_step(EdlInstance *m)
{
    Context *c = context(m);
    cudaGraph_t graph = NULL;
    edl_cuda_note(m, cudaStreamBeginCapture(c->stream,
                                            cudaStreamCaptureModeRelaxed));
    if (c->failed)
        return;
    c->queue(m);
    edl_cuda_note(m, cudaStreamEndCapture(c->stream, &graph));
    if (c->failed)
        return;
    edl_cuda_note(m, cudaGraphInstantiate(&c->step, graph, 0));
    edl_cuda_note(m, cudaGraphDestroy(graph));
}
#endif

static void
copy_inputs(EdlInstance *m, const void *const *in, int64_t microbatches)
{
    for (int32_t i = 0; in && i < m->model->ninputs; i++) {
        const EdlTensor *t = &m->model->inputs[i];
        size_t n = (size_t)edl_tensor_bytes(t) * (size_t)microbatches;
        edl_cuda_note(m, cudaMemcpyAsync(edl_address(m, t), in[i], n,
                                         cudaMemcpyHostToDevice,
                                         context(m)->stream));
    }
}

void
edl_begin(EdlInstance *m, const void *const *in, int64_t microbatches,
          double lr)
{
    EdlControl *c = &context(m)->control;
    c->seed = m->count.seed;
    c->first = m->count.microbatch;
    c->microbatch = m->count.microbatch;
    c->lr = (float)lr;
    c->fault = 0;
    copy_inputs(m, in, microbatches);
    edl_cuda_note(m, cudaMemcpyAsync(edl_control(m), c, sizeof *c,
                                     cudaMemcpyHostToDevice,
                                     context(m)->stream));
}

void
edl_replay(EdlInstance *m)
{
    Context *c = context(m);
    if (c->failed)
        return;
#ifdef EDL_PROFILE
    c->queue(m);
    edl_cuda_mark(m, "");
#else
    edl_cuda_note(m, cudaGraphLaunch(c->step, c->stream));
#endif
}

EdlStatus
edl_end(EdlInstance *m)
{
    Context *c = context(m);
    edl_cuda_note(m, cudaGetLastError());
    edl_cuda_get(m, &c->control, edl_control(m), sizeof c->control);
    m->fault = c->control.fault;
#ifdef EDL_PROFILE
    edl_cuda_profile_add(m);
#endif
    return edl_cuda_status(m);
}

/* ---- init and close ---- */

EdlStatus
edl_cuda_open(EdlInstance *m, const EdlProductShape *products, int32_t n,
              EdlQueue step)
{
    Context *c = (Context *)calloc(1, sizeof *c);
    if (!c)
        return edl_fail(m, EDL_ENOMEM, "out of memory");
    m->device[0] = (uint64_t)(uintptr_t)c;
    c->own_stream = 1;
    c->queue = step;
    edl_cuda_note(m, cudaStreamCreateWithFlags(&c->stream,
                                               cudaStreamNonBlocking));
    if (!c->failed)
        edl_cuda_plans_begin(c, products, n);
    if (!c->failed)
        m->device[1] = edl_cuda_plans_hash(c);
    if (!c->failed && m->model->offload)
        edl_cuda_copies_begin(m);
#ifdef EDL_PROFILE
    c->profile = (Profile *)calloc(1, sizeof *c->profile);
    if (!c->profile)
        fail(c, "init", "out of memory");
#else
    if (!c->failed && step)
        capture_step(m);
#endif
    EdlStatus s = edl_cuda_status(m);
    if (s != EDL_OK)
        edl_cuda_close(m);
    return s;
}

void
edl_cuda_close(EdlInstance *m)
{
    Context *c = context(m);
    if (!c)
        return;
    edl_cuda_plans_end(c);
#ifdef EDL_PROFILE
    if (c->profile)
        edl_cuda_profile_end(c->profile);
#endif
    if (c->step)
        (void)cudaGraphExecDestroy(c->step);
    if (c->own_stream && c->stream)
        (void)cudaStreamDestroy(c->stream);
    edl_cuda_copies_end(m);
    free(c);
    m->device[0] = 0;
}

cudaStream_t
edl_cuda_stream(const EdlInstance *m)
{
    return context(m)->stream;
}

EdlStatus
edl_cuda_set_stream(EdlInstance *m, cudaStream_t stream)
{
    Context *c = context(m);
    edl_cuda_note(m, cudaStreamSynchronize(c->stream));
    if (c->own_stream)
        edl_cuda_note(m, cudaStreamDestroy(c->stream));
    c->own_stream = 0;
    c->stream = stream;
    return edl_cuda_status(m);
}
