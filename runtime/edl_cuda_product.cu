/* Products of a model on a CUDA device, by cuBLASLt. */
#include "edl_cuda_parts.cuh"

#include <stdlib.h>

static void
note_library(Context *c, cublasStatus_t s)
{
    if (s != CUBLAS_STATUS_SUCCESS)
        fail(c, "cublasLt", cublasLtGetStatusString(s));
}

/* ---- what a product is ---- */

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

static cudaDataType_t
type_of(int32_t narrow)
{
    return narrow ? CUDA_R_16BF : CUDA_R_32F;
}

static void
make_product(Context *c, const Plan *p, cublasLtMatmulDesc_t *out)
{
    const EdlProductShape *s = &p->shape;
    cublasOperation_t a = s->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = s->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    note_library(c, cublasLtMatmulDescCreate(out, CUBLAS_COMPUTE_32F,
                                             CUDA_R_32F));
    if (c->failed)
        return;
    note_library(c, cublasLtMatmulDescSetAttribute(
                        *out, CUBLASLT_MATMUL_DESC_TRANSA, &b, sizeof b));
    note_library(c, cublasLtMatmulDescSetAttribute(
                        *out, CUBLASLT_MATMUL_DESC_TRANSB, &a, sizeof a));
}

static void
describe(Context *c, Plan *p, const EdlProductShape *s)
{
    p->shape = *s;
    /* the workspace begins at the next multiple of 256 */
    p->workspace = (size_t)(s->workspace > 256 ? s->workspace - 256 : 0);
    make_product(c, p, &p->product);
    make_layout(c, &p->a, s->narrow, s->m, s->k, s->a_turned, s->lda,
                s->a_stride, s->batch);
    make_layout(c, &p->b, s->narrow, s->k, s->n, s->b_turned, s->ldb,
                s->b_stride, s->batch);
    make_layout(c, &p->c, s->c_narrow, s->m, s->n, 0, s->ldc, s->c_stride,
                s->batch);
}

/* ---- an algorithm that the schedule states ---- */

/* As ir/algorithm.def has them. */
static const cublasLtMatmulAlgoConfigAttributes_t settings[] = {
    CUBLASLT_ALGO_CONFIG_TILE_ID,          CUBLASLT_ALGO_CONFIG_STAGES_ID,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM,       CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
    CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,   CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
};

enum { SETTINGS = sizeof settings / sizeof *settings };

/* The library has two of them in 16 bits. */
static size_t
setting_bytes(int i)
{
    int narrow = settings[i] == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ||
                  settings[i] == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
    return narrow ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* What is 0 stays as the library has it. */
static cublasStatus_t
set_up(Context *c, Plan *p, const int32_t *given)
{
    cudaDataType_t in = type_of(p->shape.narrow);
    cudaDataType_t out = type_of(p->shape.c_narrow);
    cublasStatus_t s =
        cublasLtMatmulAlgoInit(c->library, CUBLAS_COMPUTE_32F, CUDA_R_32F, in,
                               in, out, out, given[0], &p->algo);
    for (int i = 0; i < SETTINGS && s == CUBLAS_STATUS_SUCCESS; i++) {
        uint32_t wide = (uint32_t)given[i + 1];
        uint16_t narrow = (uint16_t)wide;
        size_t n = setting_bytes(i);
        if (wide)
            s = cublasLtMatmulAlgoConfigSetAttribute(
                &p->algo, settings[i], n == 2 ? (void *)&narrow : (void *)&wide,
                n);
    }
    return s;
}

static void
take_algorithm(Context *c, Plan *p)
{
    cublasLtMatmulHeuristicResult_t found;
    char text[160];
    memset(&found, 0, sizeof found);
    cublasStatus_t s = set_up(c, p, p->shape.algorithm);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = cublasLtMatmulAlgoCheck(c->library, p->product, p->b, p->a, p->c,
                                    p->c, &p->algo, &found);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = found.state;
    if (s != CUBLAS_STATUS_SUCCESS)
        snprintf(text, sizeof text,
                 "algorithm %d of the schedule is none for it on this device",
                 (int)p->shape.algorithm[0]);
    else if (found.workspaceSize > p->workspace)
        snprintf(text, sizeof text,
                 "algorithm %d of the schedule needs %llu bytes of workspace, "
                 "%llu are planned",
                 (int)p->shape.algorithm[0],
                 (unsigned long long)found.workspaceSize,
                 (unsigned long long)p->workspace);
    else
        return;
    fail(c, p->shape.name, text);
}

/* ---- one that the library finds ---- */

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

/* None adds up parts in an order that varies. */
int
edl_cuda_candidates(Context *c, const Plan *p,
                    cublasLtMatmulHeuristicResult_t *found, int most)
{
    cublasLtMatmulPreference_t want;
    int n = 0;
    memset(found, 0, (size_t)most * sizeof *found);
    note_library(c, cublasLtMatmulPreferenceCreate(&want));
    if (c->failed)
        return 0;
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
    cublasStatus_t s = cublasLtMatmulAlgoGetHeuristic(
        c->library, p->product, p->b, p->a, p->c, p->c, want, most, found, &n);
    if (s != CUBLAS_STATUS_NOT_SUPPORTED)
        note_library(c, s);
    note_library(c, cublasLtMatmulPreferenceDestroy(want));
    return c->failed || s != CUBLAS_STATUS_SUCCESS ? 0 : n;
}

/* The number of it, and its settings. */
void
edl_cuda_read_algorithm(const cublasLtMatmulAlgo_t *algo, int32_t *out)
{
    size_t n;
    int32_t id = 0;
    (void)cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_ID,
                                               &id, sizeof id, &n);
    out[0] = id;
    for (int i = 0; i < SETTINGS; i++) {
        uint32_t wide = 0;
        uint16_t narrow = 0;
        size_t bytes = setting_bytes(i);
        (void)cublasLtMatmulAlgoConfigGetAttribute(
            algo, settings[i], bytes == 2 ? (void *)&narrow : (void *)&wide,
            bytes, &n);
        out[i + 1] = (int32_t)(bytes == 2 ? narrow : wide);
    }
}

/* ---- plans ---- */

static void
find_algorithm(Context *c, Plan *p)
{
    enum { MOST = 8 };
    cublasLtMatmulHeuristicResult_t found[MOST];
    int n = edl_cuda_candidates(c, p, found, MOST);
    for (int i = 0; i < n; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS) {
            p->algo = found[i].algo;
            return;
        }
    fail(c, p->shape.name, "cublasLt has no algorithm for it");
}

static void
set_bias(Context *c, const Plan *p, const void *bias)
{
    note_library(c, cublasLtMatmulDescSetAttribute(
                        p->with_bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                        sizeof bias));
}

/* Where the algorithm of the product can add a row to it, it does; another one
 * would have other bits than the product without the row. */
static void
find_bias(Context *c, Plan *p)
{
    const cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulHeuristicResult_t found;
    memset(&found, 0, sizeof found);
    make_product(c, p, &p->with_bias);
    if (c->failed)
        return;
    note_library(c, cublasLtMatmulDescSetAttribute(
                        p->with_bias, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias,
                        sizeof bias));
    set_bias(c, p, (const void *)(uintptr_t)4096); /* any of its alignment */
    cublasStatus_t s =
        cublasLtMatmulAlgoCheck(c->library, p->with_bias, p->b, p->a, p->c,
                                p->c, &p->algo, &found);
    if (s == CUBLAS_STATUS_SUCCESS && found.workspaceSize <= p->workspace)
        return;
    (void)cublasLtMatmulDescDestroy(p->with_bias);
    p->with_bias = NULL;
}

void
edl_cuda_plan(Context *c, Plan *p, const EdlProductShape *s)
{
#ifdef EDL_PROFILE
    snprintf(p->name, sizeof p->name, "product %s %lld x %lld x %lld, batch %lld",
             s->narrow ? "bf16" : "f32", (long long)s->m, (long long)s->n, (long long)s->k,
             (long long)s->batch);
#endif
    describe(c, p, s);
    if (c->failed)
        return;
    if (s->algorithm[0] >= 0)
        take_algorithm(c, p);
    else
        find_algorithm(c, p);
    if (s->bias && !c->failed)
        find_bias(c, p);
}

void
edl_cuda_plan_end(Plan *p)
{
    if (p->with_bias)
        (void)cublasLtMatmulDescDestroy(p->with_bias);
    (void)cublasLtMatrixLayoutDestroy(p->a);
    (void)cublasLtMatrixLayoutDestroy(p->b);
    (void)cublasLtMatrixLayoutDestroy(p->c);
    (void)cublasLtMatmulDescDestroy(p->product);
}

/* FNV-1a */
static uint64_t
hash_bytes(uint64_t h, const void *at, size_t n)
{
    const unsigned char *x = (const unsigned char *)at;
    for (size_t i = 0; i < n; i++)
        h = (h ^ x[i]) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t
edl_cuda_plans_hash(const Context *c)
{
    uint64_t sum = 0;
    int32_t x[1 + SETTINGS];
    for (int32_t i = 0; i < c->nplans; i++) {
        const char *name = c->plans[i].shape.name;
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        edl_cuda_read_algorithm(&c->plans[i].algo, x);
        h = hash_bytes(h, name, strlen(name));
        sum += hash_bytes(h, x, sizeof x);
    }
    return sum;
}

void
edl_cuda_plans_begin(Context *c, const EdlProductShape *products, int32_t n)
{
    if (n > 0)
        note_library(c, cublasLtCreate(&c->library));
    c->plans = (Plan *)calloc((size_t)n + 1, sizeof *c->plans);
    if (!c->plans)
        fail(c, "init", "out of memory");
    for (; !c->failed && c->nplans < n; c->nplans++)
        edl_cuda_plan(c, &c->plans[c->nplans], &products[c->nplans]);
}

void
edl_cuda_plans_end(Context *c)
{
    for (int32_t i = 0; i < c->nplans; i++)
        edl_cuda_plan_end(&c->plans[i]);
    if (c->library)
        (void)cublasLtDestroy(c->library);
    free(c->plans);
}

static void
run(EdlInstance *m, const Plan *p, cublasLtMatmulDesc_t product, const void *a,
    const void *b, float keep, const void *from, void *c, void *workspace)
{
    Context *x = context(m);
    const float one = 1.0f;
    uintptr_t at = ((uintptr_t)workspace + 255) / 256 * 256;
#ifdef EDL_PROFILE
    edl_cuda_mark(m, p->name);
#endif
    note_library(x, cublasLtMatmul(x->library, product, &one, b, p->b, a, p->a,
                                   &keep, from, p->c, c, p->c, &p->algo,
                                   (void *)at, p->workspace, x->stream));
}

static __global__ void
add_row(float *c, int64_t lead, const float *bias, int64_t n, int64_t columns)
{
    const int64_t i = edl_thread();
    if (i < n)
        c[i / columns * lead + i % columns] += bias[i % columns];
}

static void
add_behind(Context *x, const EdlProductShape *s, float *c, const float *bias)
{
    int64_t lead = s->ldc, columns = s->n, n = s->m * s->n;
    void *list[] = {&c, &lead, &bias, &n, &columns, NULL};
    cudaError_t e = cudaLaunchKernel(add_row, dim3((unsigned)((n + 255) / 256)),
                                     dim3(256), list, 0, x->stream);
    if (e != cudaSuccess)
        fail(x, "cuda", cudaGetErrorString(e));
}

void
edl_product(EdlInstance *m, int32_t index, const void *a, const void *b,
            void *c, int add, void *workspace)
{
    const Plan *p = &context(m)->plans[index];
    run(m, p, p->product, a, b, add ? 1.0f : 0.0f, c, c, workspace);
}

void
edl_product_sum(EdlInstance *m, int32_t index, const void *a, const void *b,
                const float *bias, const float *plus, float *c, void *workspace)
{
    const Plan *p = &context(m)->plans[index];
    const bool fused = bias && p->with_bias;
    if (fused)
        set_bias(context(m), p, bias);
    run(m, p, fused ? p->with_bias : p->product, a, b, plus ? 1.0f : 0.0f,
        plus ? plus : c, c, workspace);
    if (bias && !fused)
        add_behind(context(m), &p->shape, c, bias);
}
