/* A stand-in for what edl_cuda.cu uses of cuBLASLt: products as plain loops,
 * which spoil their workspace and check what they were promised of alignment.
 * Which algorithms a product has, in how many parts they add up and what
 * workspace they need follows from all that it was told: shape, turns, leading
 * dimensions, batch, types, alignment, workspace.
 * tests/cuda_host only. */
#ifndef EDL_HOST_CUBLASLT_H
#define EDL_HOST_CUBLASLT_H

#include "cuda_runtime.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_16BF = 14 } cudaDataType_t;
typedef enum {
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8
} cublasLtMatmulDescAttributes_t;
typedef enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_BIAS = 4
} cublasLtEpilogue_t;
typedef enum {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
} cublasLtMatmulPreferenceAttributes_t;
enum { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };
typedef enum {
    CUBLASLT_ALGO_CONFIG_ID,
    CUBLASLT_ALGO_CONFIG_TILE_ID,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
    CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_STAGES_ID,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,
    CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
    EDL_HOST_CONFIGS
} cublasLtMatmulAlgoConfigAttributes_t;

namespace edl_host
{
struct Layout {
    uint64_t rows, columns;
    int64_t lead, stride;
    int32_t batch;
    cudaDataType_t type;
};

inline uint64_t
bytes_of(const Layout &l)
{
    return l.type == CUDA_R_16BF ? 2 : 4;
}

inline float
load(const void *x, const Layout &l, uint64_t i)
{
    uint32_t bits;
    float f;
    if (l.type == CUDA_R_32F)
        return ((const float *)x)[i];
    bits = (uint32_t)((const uint16_t *)x)[i] << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

inline void
store(void *x, const Layout &l, uint64_t i, float f)
{
    uint32_t bits;
    if (l.type == CUDA_R_32F) {
        ((float *)x)[i] = f;
        return;
    }
    memcpy(&bits, &f, sizeof f);
    bits = f != f ? bits | 0x400000u
                  : bits + 0x7fffu + (bits >> 16 & 1u);
    ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
}
struct Product {
    cublasOperation_t turned[2];
    cublasLtEpilogue_t epilogue;
    const float *bias;
};
struct Preference {
    uint64_t value[6];
};
/* ids 3 and 4: 4 adds up in as many parts as its split says, and takes twice
 * as long. */
struct Algorithm {
    uint32_t config[9];
    uint32_t align[3]; /* of a, b, c, as was promised; 0: nothing was */
};

inline uint64_t
elements(const Layout &l)
{
    return l.rows * l.columns * (uint64_t)l.batch;
}

/* Parts of a sum lie in the workspace. */
inline uint64_t
workspace_of(const Algorithm &x, const Layout &c)
{
    uint32_t split = x.config[CUBLASLT_ALGO_CONFIG_SPLITK_NUM];
    return split > 1 ? 4 * split * elements(c) : 0;
}

inline float
at(const void *x, const Layout &l, cublasOperation_t t, uint64_t row,
   uint64_t column)
{
    uint64_t lead = (uint64_t)l.lead;
    return load(x, l,
                t == CUBLAS_OP_N ? row + column * lead : column + row * lead);
}

inline void
multiply(const Product &p, uint64_t parts, float alpha, const void *a,
         const Layout &la, const void *b, const Layout &lb, float beta,
         const void *c, void *out, const Layout &lc)
{
    uint64_t k = p.turned[0] == CUBLAS_OP_N ? la.columns : la.rows;
    std::vector<float> sum(lc.rows), part(lc.rows);
    for (uint64_t j = 0; j < lc.columns; j++) {
        uint64_t to = j * (uint64_t)lc.lead;
        for (uint64_t i = 0; i < lc.rows; i++)
            sum[i] = 0.0f;
        for (uint64_t l = 0, n = 1; n <= parts; n++) {
            part.assign(lc.rows, 0.0f);
            for (; l < k * n / parts; l++) {
                const float y = alpha * at(b, lb, p.turned[1], l, j);
                for (uint64_t i = 0; i < lc.rows; i++)
                    part[i] += at(a, la, p.turned[0], i, l) * y;
            }
            for (uint64_t i = 0; i < lc.rows; i++)
                sum[i] += part[i];
        }
        for (uint64_t i = 0; i < lc.rows; i++) {
            float x = sum[i];
            if (beta != 0.0f)
                x += beta * load(c, lc, to + i);
            if (p.epilogue == CUBLASLT_EPILOGUE_BIAS)
                x += p.bias[i];
            store(out, lc, to + i, x);
        }
    }
}

inline void
check(const void *p, const Layout &l, uint64_t align)
{
    uint64_t bytes = bytes_of(l);
    align = align ? align : bytes;
    if ((uintptr_t)p % align || (uint64_t)l.lead * bytes % align ||
        (l.batch > 1 && (uint64_t)l.stride * bytes % align))
        stop("a matrix is not aligned as it was said");
    if ((uint64_t)l.lead < l.rows)
        stop("a leading dimension is too small");
}

inline void *
matrix(const void *p, const Layout &l, int32_t i)
{
    return (unsigned char *)(uintptr_t)p + i * l.stride * (int64_t)bytes_of(l);
}
} // namespace edl_host

typedef int *cublasLtHandle_t;
typedef edl_host::Product *cublasLtMatmulDesc_t;
typedef edl_host::Layout *cublasLtMatrixLayout_t;
typedef edl_host::Preference *cublasLtMatmulPreference_t;
typedef edl_host::Algorithm cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
} cublasLtMatmulHeuristicResult_t;

inline const char *
cublasLtGetStatusString(cublasStatus_t)
{
    return "a failure";
}

inline cublasStatus_t
cublasLtCreate(cublasLtHandle_t *h)
{
    *h = new int(0);
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtDestroy(cublasLtHandle_t h)
{
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t,
                         cudaDataType_t)
{
    *d = new edl_host::Product();
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                               cublasLtMatmulDescAttributes_t what,
                               const void *value, size_t n)
{
    if (what == CUBLASLT_MATMUL_DESC_EPILOGUE)
        memcpy(&d->epilogue, value, n);
    else if (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        memcpy(&d->bias, value, n);
    else
        memcpy(&d->turned[what], value, n);
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    delete d;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType_t type,
                           uint64_t rows, uint64_t columns, int64_t lead)
{
    *l = new edl_host::Layout{rows, columns, lead, 0, 1, type};
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                 cublasLtMatrixLayoutAttribute_t what,
                                 const void *value, size_t n)
{
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        memcpy(&l->batch, value, n);
    else
        memcpy(&l->stride, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    delete l;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    *p = new edl_host::Preference{{0, 0, 256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                     cublasLtMatmulPreferenceAttributes_t what,
                                     const void *value, size_t n)
{
    p->value[what] = 0;
    memcpy(&p->value[what], value, n);
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                       cudaDataType_t, cudaDataType_t, cudaDataType_t,
                       cudaDataType_t, int id, cublasLtMatmulAlgo_t *algo)
{
    *algo = edl_host::Algorithm();
    algo->config[CUBLASLT_ALGO_CONFIG_ID] = (uint32_t)id;
    algo->config[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = 1;
    return id == 3 || id == 4 ? CUBLAS_STATUS_SUCCESS
                              : CUBLAS_STATUS_INVALID_VALUE;
}

/* The library has two of them in 16 bits. */
inline size_t
edl_host_bytes(cublasLtMatmulAlgoConfigAttributes_t what)
{
    return what >= CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 2 : 4;
}

inline cublasStatus_t
cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                     cublasLtMatmulAlgoConfigAttributes_t what,
                                     const void *value, size_t n)
{
    if (what == CUBLASLT_ALGO_CONFIG_ID || n != edl_host_bytes(what))
        return CUBLAS_STATUS_INVALID_VALUE;
    algo->config[what] = 0;
    memcpy(&algo->config[what], value, n);
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t
cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                     cublasLtMatmulAlgoConfigAttributes_t what,
                                     void *value, size_t n, size_t *written)
{
    if (n != edl_host_bytes(what))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, &algo->config[what], n);
    *written = n;
    return CUBLAS_STATUS_SUCCESS;
}

/* Tiles above 20 are none here; only algorithm 4 cuts the sum; none adds to
 * rows of odd length. */
inline cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t d,
                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                        const cublasLtMatmulAlgo_t *algo,
                        cublasLtMatmulHeuristicResult_t *result)
{
    const uint32_t *x = algo->config;
    uint32_t split = x[CUBLASLT_ALGO_CONFIG_SPLITK_NUM];
    bool right = x[CUBLASLT_ALGO_CONFIG_TILE_ID] <= 20 && split >= 1 &&
                 (split == 1 || x[CUBLASLT_ALGO_CONFIG_ID] == 4) &&
                 !(d->epilogue == CUBLASLT_EPILOGUE_BIAS && c->rows % 2);
    result->workspaceSize = edl_host::workspace_of(*algo, *c);
    result->state = right ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    return result->state;
}

/* Some number of all that a choice may follow from. */
inline uint32_t
edl_host_mix(const edl_host::Product *d, const edl_host::Layout *const l[3],
             const edl_host::Preference *p)
{
    uint64_t h = 7;
    auto add = [&](uint64_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u >> 7; };
    add(d->turned[0] * 2 + d->turned[1]);
    add((uint64_t)d->epilogue);
    for (int i = 0; i < 3; i++) {
        add(l[i]->rows);
        add(l[i]->columns);
        add((uint64_t)l[i]->lead);
        add((uint64_t)l[i]->stride);
        add((uint64_t)l[i]->batch);
        add((uint64_t)l[i]->type);
    }
    for (int i = 0; i < 6; i++)
        add(p->value[i]);
    return (uint32_t)h;
}

/* 4 in up to three parts, then 3. */
inline cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d,
                               cublasLtMatrixLayout_t a,
                               cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                               cublasLtMatmulPreference_t p, int most,
                               cublasLtMatmulHeuristicResult_t *found, int *n)
{
    const edl_host::Layout *const all[3] = {a, b, c};
    *n = 0;
    for (uint32_t id = 4; id >= 3 && *n < most; id--) {
        edl_host::Algorithm x = {};
        uint32_t split = id == 4 ? 1 + edl_host_mix(d, all, p) % 3 : 1;
        x.config[CUBLASLT_ALGO_CONFIG_ID] = id;
        x.config[CUBLASLT_ALGO_CONFIG_TILE_ID] = 20;
        x.config[CUBLASLT_ALGO_CONFIG_STAGES_ID] = 7;
        x.config[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = split;
        x.config[CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME] = split > 1 ? 2 : 0;
        for (int i = 0; i < 3; i++)
            x.align[i] = (uint32_t)p->value[i + 2];
        size_t bytes = edl_host::workspace_of(x, *c);
        if (bytes <= p->value[0])
            found[(*n)++] = {x, bytes, CUBLAS_STATUS_SUCCESS, 1.0f};
    }
    return *n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

inline cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t d, const void *alpha,
               const void *a, cublasLtMatrixLayout_t la, const void *b,
               cublasLtMatrixLayout_t lb, const void *beta, const void *c,
               cublasLtMatrixLayout_t, void *to, cublasLtMatrixLayout_t lc,
               const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
               cudaStream_t s)
{
    const float by = *(const float *)alpha, keep = *(const float *)beta;
    const edl_host::Product p = *d;
    const edl_host::Layout x = *la, y = *lb, z = *lc;
    const uint64_t parts = algo->config[CUBLASLT_ALGO_CONFIG_SPLITK_NUM];
    edl_host::check(a, x, algo->align[0]);
    edl_host::check(b, y, algo->align[1]);
    edl_host::check(to, z, algo->align[2]);
    edl_host::check(c, z, algo->align[2]);
    if (bytes < edl_host::workspace_of(*algo, z) ||
        (uintptr_t)workspace % 256)
        return CUBLAS_STATUS_INVALID_VALUE;
    const double ms = algo->config[CUBLASLT_ALGO_CONFIG_ID] == 4 ? 2.0 : 1.0;
    edl_host::enqueue(s, [=] {
        edl_host::clock() += ms;
        if (bytes)
            memset(workspace, 0xff, bytes);
        for (int32_t i = 0; i < z.batch; i++)
            edl_host::multiply(p, parts, by, edl_host::matrix(a, x, i), x,
                               edl_host::matrix(b, y, i), y, keep,
                               edl_host::matrix(c, z, i),
                               edl_host::matrix(to, z, i), z);
        if (bytes)
            memset(workspace, 0xff, bytes);
    });
    return CUBLAS_STATUS_SUCCESS;
}

#endif
