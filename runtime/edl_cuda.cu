/* Memory, products and the captured step of a model on a CUDA device. */
#include "edl_cuda_parts.cuh"

#include "edl_tensor.h"

#include <stdlib.h>

void
edl_cuda_note(const EdlInstance *m, cudaError_t e)
{
    if (e != cudaSuccess)
        fail(context(m), "cuda", cudaGetErrorString(e));
}

static void
note_library(Context *c, cublasStatus_t s)
{
    if (s != CUBLAS_STATUS_SUCCESS)
        fail(c, "cublasLt", cublasLtGetStatusString(s));
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

/* ---- products ---- */

/* cuBLASLt stores by columns: c of [m, n] by rows is its transpose there, and
 * so the product is b' a'. */
static void
make_layout(Context *c, cublasLtMatrixLayout_t *out, int32_t narrow,
            int64_t rows, int64_t columns, int32_t turned, int64_t lead,
            int64_t stride, int64_t batch)
{
    cudaDataType_t type = narrow ? CUDA_R_16BF : CUDA_R_32F;
    int32_t count = (int32_t)batch;
    note_library(c, cublasLtMatrixLayoutCreate(
                        out, type, (uint64_t)(turned ? rows : columns),
                        (uint64_t)(turned ? columns : rows), lead));
    if (batch == 1)
        return;
    note_library(c, cublasLtMatrixLayoutSetAttribute(
                        *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                        sizeof count));
    note_library(c, cublasLtMatrixLayoutSetAttribute(
                        *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                        &stride, sizeof stride));
}

static void
set_preference(Context *c, cublasLtMatmulPreference_t p,
               cublasLtMatmulPreferenceAttributes_t what, uint64_t value,
               size_t size)
{
    uint32_t narrow = (uint32_t)value;
    note_library(c, cublasLtMatmulPreferenceSetAttribute(
                        p, what, size == 4 ? (void *)&narrow : (void *)&value,
                        size));
}

/* The first algorithm that fits; none adds up parts in an order that varies. */
static void
choose_algorithm(Context *c, Plan *p)
{
    cublasLtMatmulPreference_t want;
    cublasLtMatmulHeuristicResult_t found;
    int n = 0;
    memset(&found, 0, sizeof found);
    note_library(c, cublasLtMatmulPreferenceCreate(&want));
    if (c->failed)
        return;
    set_preference(c, want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                   p->workspace, 8);
    set_preference(c, want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 4);
    set_preference(c, want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                   (uint64_t)p->shape.b_align, 4);
    set_preference(c, want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                   (uint64_t)p->shape.a_align, 4);
    set_preference(c, want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                   (uint64_t)p->shape.c_align, 4);
    set_preference(c, want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                   (uint64_t)p->shape.c_align, 4);
    note_library(c, cublasLtMatmulAlgoGetHeuristic(c->library, p->product,
                                                   p->b, p->a, p->c, p->c, want,
                                                   1, &found, &n));
    note_library(c, cublasLtMatmulPreferenceDestroy(want));
    if (n < 1)
        fail(c, "cublasLt", "no algorithm for a product");
    p->algo = found.algo;
}

static void
make_plan(Context *c, Plan *p, const EdlProductShape *s)
{
    cublasOperation_t a = s->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = s->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    p->shape = *s;
#ifdef EDL_PROFILE
    snprintf(p->name, sizeof p->name, "product %s %lld x %lld x %lld, batch %lld",
             s->narrow ? "bf16" : "f32", (long long)s->m, (long long)s->n, (long long)s->k,
             (long long)s->batch);
#endif
    /* the workspace begins at the next multiple of 256 */
    p->workspace = (size_t)(s->workspace > 256 ? s->workspace - 256 : 0);
    note_library(c, cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F,
                                             CUDA_R_32F));
    note_library(c, cublasLtMatmulDescSetAttribute(
                        p->product, CUBLASLT_MATMUL_DESC_TRANSA, &b, sizeof b));
    note_library(c, cublasLtMatmulDescSetAttribute(
                        p->product, CUBLASLT_MATMUL_DESC_TRANSB, &a, sizeof a));
    make_layout(c, &p->a, s->narrow, s->m, s->k, s->a_turned, s->lda,
                s->a_stride, s->batch);
    make_layout(c, &p->b, s->narrow, s->k, s->n, s->b_turned, s->ldb,
                s->b_stride, s->batch);
    make_layout(c, &p->c, s->c_narrow, s->m, s->n, 0, s->ldc, s->c_stride,
                s->batch);
    if (!c->failed)
        choose_algorithm(c, p);
}

void
edl_product(EdlInstance *m, int32_t index, const void *a, const void *b,
            void *c, int add, void *workspace)
{
    Context *x = context(m);
    const Plan *p = &x->plans[index];
    const float one = 1.0f, keep = add ? 1.0f : 0.0f;
    uintptr_t at = ((uintptr_t)workspace + 255) / 256 * 256;
#ifdef EDL_PROFILE
    edl_cuda_mark(m, p->name);
#endif
    note_library(x, cublasLtMatmul(x->library, p->product, &one, b, p->b, a,
                                   p->a, &keep, c, p->c, c, p->c, &p->algo,
                                   (void *)at, p->workspace, x->stream));
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
static void
capture_step(EdlInstance *m)
{
    Context *c = context(m);
    cudaGraph_t graph = NULL;
    edl_cuda_note(m, cudaStreamBeginCapture(c->stream,
                                            cudaStreamCaptureModeThreadLocal));
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
    if (!c->failed && n > 0)
        note_library(c, cublasLtCreate(&c->library));
    c->plans = (Plan *)calloc((size_t)n + 1, sizeof *c->plans);
    if (!c->plans)
        fail(c, "init", "out of memory");
    for (; !c->failed && c->nplans < n; c->nplans++)
        make_plan(c, &c->plans[c->nplans], &products[c->nplans]);
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
    for (int32_t i = 0; i < c->nplans; i++) {
        (void)cublasLtMatrixLayoutDestroy(c->plans[i].a);
        (void)cublasLtMatrixLayoutDestroy(c->plans[i].b);
        (void)cublasLtMatrixLayoutDestroy(c->plans[i].c);
        (void)cublasLtMatmulDescDestroy(c->plans[i].product);
    }
#ifdef EDL_PROFILE
    if (c->profile)
        edl_cuda_profile_end(c->profile);
#endif
    if (c->step)
        (void)cudaGraphExecDestroy(c->step);
    if (c->library)
        (void)cublasLtDestroy(c->library);
    if (c->own_stream && c->stream)
        (void)cudaStreamDestroy(c->stream);
    edl_cuda_copies_end(m);
    free(c->plans);
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
