/* edl_cuda_attention.cuh: attention without the matrix of scores, computed in
 * f32 from operands of any width and head (edl_cuda_attention_mma.cuh: bf16 on
 * the units for matrices). A block of 256 threads does a tile of queries (or of keys) of one head: both
 * products of a tile come from shared memory, scores are made again in the
 * backward pass. Every sum is added by one thread in a fixed order. */
#ifndef EDL_CUDA_ATTENTION_CUH
#define EDL_CUDA_ATTENTION_CUH

#include "edl_cuda_mma.cuh"

/* What is the same for all heads: query heads that share keys, queries, keys;
 * query t sees keys up to t + shift. */
typedef struct EdlHeads {
    int64_t r, t, s, shift;
    float scale;
} EdlHeads;

/* Rows of a group of heads: head h, row i, column d at strides; at: NULL where
 * the operand is not there. */
template <typename T> struct EdlRows {
    T *at;
    int64_t head, row, col;
};

typedef EdlRows<const float> EdlIn;
typedef EdlRows<float> EdlOut;
typedef EdlRows<const uint8_t> EdlMask;

/* Elements in memory, computed with as floats. */
typedef struct EdlBf16 {
    uint16_t bits;
} EdlBf16;

typedef struct EdlF16 {
    uint16_t bits;
} EdlF16;

static __device__ __forceinline__ float
edl_get(float x)
{
    return x;
}

static __device__ __forceinline__ float
edl_get(double x)
{
    return (float)x;
}

static __device__ __forceinline__ float
edl_get(EdlBf16 x)
{
    return edl_bf16_to_f32(x.bits);
}

static __device__ __forceinline__ float
edl_get(EdlF16 x)
{
    return edl_f16_to_f32(x.bits);
}

static __device__ __forceinline__ void
edl_put(float *to, float x)
{
    *to = x;
}

static __device__ __forceinline__ void
edl_put(double *to, float x)
{
    *to = (double)x;
}

static __device__ __forceinline__ void
edl_put(EdlBf16 *to, float x)
{
    to->bits = edl_f32_to_bf16(x);
}

static __device__ __forceinline__ void
edl_put(EdlF16 *to, float x)
{
    to->bits = edl_f32_to_f16(x);
}

/* Threads are 16 rows of 16. */
#define EDL_ROW ((int)threadIdx.x / 16)
#define EDL_COLUMN ((int)threadIdx.x % 16)

/* Floats of shared memory. */
#define EDL_ATTENTION_FLOATS(D, Q, K)                                          \
    (((Q) + (K)) * ((D) + 1) + (Q) * ((K) + 1))
#define EDL_ATTENTION_GRAD_FLOATS(D, Q, K)                                     \
    (2 * ((Q) + (K)) * ((D) + 1) + 2 * (Q) * ((K) + 1))

/* Rows [first, first + N) of a head, with zeros behind row `rows`. */
template <int D, int N, typename X>
static __device__ __forceinline__ void
edl_tile(float *tile, EdlRows<const X> x, int64_t head, int64_t first,
         int64_t rows)
{
    const X *at = x.at + head * x.head + first * x.row;
    for (int i = (int)threadIdx.x; i < N * D; i += 256) {
        const int row = i / D, d = i % D;
        tile[row * (D + 1) + d] =
            first + row < rows ? edl_get(at[row * x.row + d * x.col]) : 0.0f;
    }
}

/* sum[i][j] = a[row + 16 i] . b[column + 16 j] of two tiles */
template <int D, int Q, int K>
static __device__ __forceinline__ void
edl_tile_scores(float (&sum)[Q / 16][K / 16], const float *a, const float *b)
{
    for (int i = 0; i < Q / 16; i++)
        for (int j = 0; j < K / 16; j++)
            sum[i][j] = 0.0f;
#pragma unroll 8
    for (int d = 0; d < D; d++) {
        float x[Q / 16], y[K / 16];
        for (int i = 0; i < Q / 16; i++)
            x[i] = a[(EDL_ROW + 16 * i) * (D + 1) + d];
        for (int j = 0; j < K / 16; j++)
            y[j] = b[(EDL_COLUMN + 16 * j) * (D + 1) + d];
        for (int i = 0; i < Q / 16; i++)
            for (int j = 0; j < K / 16; j++)
                sum[i][j] = edl_fmaf(x[i], y[j], sum[i][j]);
    }
}

/* sum[i][j] += weights[row + 16 i][.] rows[.][column + 16 j]; turned: the
 * weights stand by columns, their rows `wide` + 1 apart. */
template <int D, int M, int N, bool turned>
static __device__ __forceinline__ void
edl_tile_add(float (&sum)[M / 16][(D + 15) / 16], const float *weights,
             const float *rows)
{
#pragma unroll 4
    for (int l = 0; l < N; l++) {
        float w[M / 16];
        for (int i = 0; i < M / 16; i++) {
            const int row = EDL_ROW + 16 * i;
            w[i] = turned ? weights[l * (M + 1) + row]
                          : weights[row * (N + 1) + l];
        }
        for (int j = 0; j < (D + 15) / 16; j++) {
            const int d = EDL_COLUMN + 16 * j;
            const float x = D % 16 == 0 || d < D ? rows[l * (D + 1) + d] : 0.0f;
            for (int i = 0; i < M / 16; i++)
                sum[i][j] = edl_fmaf(w[i], x, sum[i][j]);
        }
    }
}

/* Over the 16 threads of a row. */
template <typename F>
static __device__ __forceinline__ float
edl_row_fold(float x, F f)
{
    for (int d = 8; d > 0; d /= 2)
        x = f(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

static __device__ __forceinline__ bool
edl_sees(const EdlHeads &h, bool causal, EdlMask mask, int64_t head, int64_t t,
         int64_t s)
{
    if (t >= h.t || s >= h.s || (causal && s > t + h.shift))
        return false;
    return !mask.at || mask.at[head * mask.head + t * mask.row + s * mask.col];
}

/* A bias has a type of its own. */
template <typename B>
static __device__ __forceinline__ float
edl_score(const EdlHeads &h, float product, EdlRows<const B> bias, int64_t head,
          int64_t t, int64_t s)
{
    const float score = product * h.scale;
    if (!bias.at)
        return score;
    return score + edl_get(bias.at[head * bias.head + t * bias.row +
                                   s * bias.col]);
}

/* How many keys the queries before t can see. */
static __device__ __forceinline__ int64_t
edl_keys(const EdlHeads &h, bool causal, int64_t t)
{
    const int64_t last = (t < h.t ? t : h.t) + h.shift;
    if (!causal || last > h.s)
        return h.s;
    return last < 0 ? 0 : last;
}

template <int D, int Q, int K, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention(const EdlHeads &h, int64_t block, EdlRows<const X> q,
              EdlRows<const X> k, EdlRows<const X> v, EdlMask mask,
              EdlRows<const B> bias, EdlRows<X> y, EdlOut lse, float *memory)
{
    float *const query = memory, *const key = query + Q * (D + 1);
    float *const weights = key + K * (D + 1);
    const int64_t blocks = (h.t + Q - 1) / Q;
    const int64_t head = block / blocks, t0 = block % blocks * Q;
    const int64_t keys = edl_keys(h, causal, t0 + Q);
    float out[Q / 16][(D + 15) / 16] = {}, most[Q / 16], sum[Q / 16];
    for (int i = 0; i < Q / 16; i++) {
        most[i] = -INFINITY;
        sum[i] = 0.0f;
    }
    edl_tile<D, Q>(query, q, head, t0, h.t);
    for (int64_t s0 = 0; s0 < keys; s0 += K) {
        float score[Q / 16][K / 16];
        __syncthreads(); /* the values of the tile before have been read */
        edl_tile<D, K>(key, k, 0, s0, h.s);
        __syncthreads();
        edl_tile_scores<D, Q, K>(score, query, key);
        for (int i = 0; i < Q / 16; i++) {
            const int row = EDL_ROW + 16 * i;
            float top = most[i], all = 0.0f;
            for (int j = 0; j < K / 16; j++) {
                const int64_t s = s0 + EDL_COLUMN + 16 * j;
                score[i][j] =
                    edl_sees(h, causal, mask, head, t0 + row, s)
                        ? edl_score(h, score[i][j], bias, head, t0 + row, s)
                        : -INFINITY;
                top = edl_maxf(top, score[i][j]);
            }
            top = edl_row_fold(top, EdlMax());
            const bool none = top == -INFINITY;
            for (int j = 0; j < K / 16; j++) {
                const float w = none ? 0.0f : edl_expf(score[i][j] - top);
                weights[row * (K + 1) + EDL_COLUMN + 16 * j] = w;
                all += w;
            }
            const float keep = none ? 1.0f : edl_expf(most[i] - top);
            sum[i] = sum[i] * keep + edl_row_fold(all, EdlSum());
            most[i] = top;
            for (int j = 0; j < (D + 15) / 16; j++)
                out[i][j] *= keep;
        }
        __syncthreads();
        edl_tile<D, K>(key, v, 0, s0, h.s);
        __syncthreads();
        edl_tile_add<D, Q, K, false>(out, weights, key);
    }
    for (int i = 0; i < Q / 16; i++) {
        const int64_t t = t0 + EDL_ROW + 16 * i;
        const float by = sum[i] > 0.0f ? 1.0f / sum[i] : sum[i];
        if (t >= h.t)
            continue;
        for (int j = 0; j < (D + 15) / 16; j++) {
            const int d = EDL_COLUMN + 16 * j;
            if (d < D)
                edl_put(&y.at[head * y.head + t * y.row + d * y.col],
                        out[i][j] * by);
        }
        if (EDL_COLUMN == 0)
            lse.at[head * lse.head + t * lse.row] =
                sum[i] > 0.0f ? most[i] + edl_logf(sum[i]) : most[i];
    }
}

/* ---- backward ---- */

/* The operands of both kernels. delta: dy . y of every query, which the kernel
 * of dq, the first, leaves to the other. */
template <typename X, typename B> struct EdlAttentionGrad {
    EdlRows<const X> dy, q, k, v, y;
    EdlIn lse;
    EdlMask mask;
    EdlRows<const B> bias;
    EdlOut delta;
};

typedef struct EdlGradTiles {
    float *query, *dy, *key, *value, *weights, *slopes;
} EdlGradTiles;

template <int D, int Q, int K>
static __device__ __forceinline__ EdlGradTiles
edl_grad_tiles(float *memory)
{
    EdlGradTiles t;
    t.query = memory;
    t.dy = t.query + Q * (D + 1);
    t.key = t.dy + Q * (D + 1);
    t.value = t.key + K * (D + 1);
    t.weights = t.value + K * (D + 1);
    t.slopes = t.weights + Q * (K + 1);
    return t;
}

/* delta of each of this thread's rows, made and left for the keys. */
template <int D, int Q, typename X, typename B>
static __device__ __forceinline__ void
edl_make_deltas(float (&delta)[Q / 16], const EdlHeads &h,
                const EdlAttentionGrad<X, B> &g, const float *dy, int64_t head,
                int64_t t0)
{
    for (int i = 0; i < Q / 16; i++) {
        const int row = EDL_ROW + 16 * i;
        const int64_t t = t0 + row;
        const X *y = g.y.at + head * g.y.head + t * g.y.row;
        float sum = 0.0f;
        for (int d = EDL_COLUMN; d < D && t < h.t; d += 16)
            sum = edl_fmaf(dy[row * (D + 1) + d], edl_get(y[d * g.y.col]),
                           sum);
        delta[i] = edl_row_fold(sum, EdlSum());
        if (t < h.t && EDL_COLUMN == 0)
            g.delta.at[head * g.delta.head + t * g.delta.row] = delta[i];
    }
}

template <int Q, typename X, typename B>
static __device__ __forceinline__ void
edl_read_deltas(float (&delta)[Q / 16], const EdlHeads &h,
                const EdlAttentionGrad<X, B> &g, int64_t head, int64_t t0)
{
    for (int i = 0; i < Q / 16; i++) {
        const int64_t t = t0 + EDL_ROW + 16 * i;
        delta[i] =
            t < h.t ? g.delta.at[head * g.delta.head + t * g.delta.row] : 0.0f;
    }
}

/* Weights and slopes (times scale) of a tile, to shared memory. */
template <int D, int Q, int K, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_grad_scores(const EdlHeads &h, const EdlAttentionGrad<X, B> &g,
                const EdlGradTiles &x, const float (&delta)[Q / 16],
                int64_t head, int64_t t0, int64_t s0)
{
    float score[Q / 16][K / 16], dyv[Q / 16][K / 16];
    edl_tile_scores<D, Q, K>(score, x.query, x.key);
    edl_tile_scores<D, Q, K>(dyv, x.dy, x.value);
    for (int i = 0; i < Q / 16; i++) {
        const int row = EDL_ROW + 16 * i;
        const int64_t t = t0 + row;
        const float most =
            t < h.t ? g.lse.at[head * g.lse.head + t * g.lse.row] : -INFINITY;
        for (int j = 0; j < K / 16; j++) {
            const int column = EDL_COLUMN + 16 * j;
            const int64_t s = s0 + column;
            const bool seen = most != -INFINITY &&
                              edl_sees(h, causal, g.mask, head, t, s);
            const float w =
                seen ? edl_expf(edl_score(h, score[i][j], g.bias, head, t, s) -
                                most)
                     : 0.0f;
            x.weights[row * (K + 1) + column] = w;
            x.slopes[row * (K + 1) + column] =
                seen ? w * (dyv[i][j] - delta[i]) * h.scale : 0.0f;
        }
    }
}

template <int D, int M, typename X>
static __device__ __forceinline__ void
edl_put_rows(EdlRows<X> to, const float (&sum)[M / 16][(D + 15) / 16],
             int64_t head, int64_t first, int64_t rows)
{
    for (int i = 0; i < M / 16; i++) {
        const int64_t row = first + EDL_ROW + 16 * i;
        for (int j = 0; j < (D + 15) / 16 && row < rows; j++) {
            const int d = EDL_COLUMN + 16 * j;
            if (d < D)
                edl_put(&to.at[head * to.head + row * to.row + d * to.col],
                        sum[i][j]);
        }
    }
}

/* dk and dv of a tile of keys: all query heads of the group, in order. */
template <int D, int Q, int K, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention_grad_keys(const EdlHeads &h, int64_t block,
                        const EdlAttentionGrad<X, B> &g, EdlRows<X> dk,
                        EdlRows<X> dv, float *memory)
{
    const EdlGradTiles x = edl_grad_tiles<D, Q, K>(memory);
    const int64_t s0 = block * K;
    int64_t from = causal ? s0 - h.shift : 0; /* the first that sees s0 */
    from = from < 0 ? 0 : from / Q * Q;
    float by_key[K / 16][(D + 15) / 16] = {};
    float by_value[K / 16][(D + 15) / 16] = {};
    edl_tile<D, K>(x.key, g.k, 0, s0, h.s);
    edl_tile<D, K>(x.value, g.v, 0, s0, h.s);
    for (int64_t head = 0; head < h.r; head++)
        for (int64_t t0 = from; t0 < h.t; t0 += Q) {
            float delta[Q / 16];
            __syncthreads(); /* the tile before has been read */
            edl_tile<D, Q>(x.query, g.q, head, t0, h.t);
            edl_tile<D, Q>(x.dy, g.dy, head, t0, h.t);
            __syncthreads();
            edl_read_deltas<Q>(delta, h, g, head, t0);
            edl_grad_scores<D, Q, K, causal>(h, g, x, delta, head, t0, s0);
            __syncthreads();
            edl_tile_add<D, K, Q, true>(by_value, x.weights, x.dy);
            edl_tile_add<D, K, Q, true>(by_key, x.slopes, x.query);
        }
    edl_put_rows<D, K>(dk, by_key, 0, s0, h.s);
    edl_put_rows<D, K>(dv, by_value, 0, s0, h.s);
}

/* dq of a tile of queries. */
template <int D, int Q, int K, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention_grad_queries(const EdlHeads &h, int64_t block,
                           const EdlAttentionGrad<X, B> &g, EdlRows<X> dq,
                           float *memory)
{
    const EdlGradTiles x = edl_grad_tiles<D, Q, K>(memory);
    const int64_t blocks = (h.t + Q - 1) / Q;
    const int64_t head = block / blocks, t0 = block % blocks * Q;
    const int64_t keys = edl_keys(h, causal, t0 + Q);
    float sum[Q / 16][(D + 15) / 16] = {}, delta[Q / 16];
    edl_tile<D, Q>(x.query, g.q, head, t0, h.t);
    edl_tile<D, Q>(x.dy, g.dy, head, t0, h.t);
    __syncthreads();
    edl_make_deltas<D, Q>(delta, h, g, x.dy, head, t0);
    for (int64_t s0 = 0; s0 < keys; s0 += K) {
        __syncthreads(); /* the tile before has been read */
        edl_tile<D, K>(x.key, g.k, 0, s0, h.s);
        edl_tile<D, K>(x.value, g.v, 0, s0, h.s);
        __syncthreads();
        edl_grad_scores<D, Q, K, causal>(h, g, x, delta, head, t0, s0);
        __syncthreads();
        edl_tile_add<D, Q, K, false>(sum, x.slopes, x.key);
    }
    edl_put_rows<D, Q>(dq, sum, head, t0, h.t);
}

/* The slope of one score: rows of q, k, v, dy and y with column strides. */
template <int D, typename X>
static __device__ __forceinline__ float
edl_slope(float scale, float lse, float bias, const X *q, int64_t q_col,
          const X *k, int64_t k_col, const X *v, int64_t v_col, const X *dy,
          int64_t dy_col, const X *y, int64_t y_col)
{
    float qk = 0.0f, dyv = 0.0f, delta = 0.0f;
    if (lse == -INFINITY)
        return 0.0f;
    for (int d = 0; d < D; d++) {
        const float by = edl_get(dy[d * dy_col]);
        qk = edl_fmaf(edl_get(q[d * q_col]), edl_get(k[d * k_col]), qk);
        dyv = edl_fmaf(by, edl_get(v[d * v_col]), dyv);
        delta = edl_fmaf(by, edl_get(y[d * y_col]), delta);
    }
    return edl_expf(qk * scale + bias - lse) * (dyv - delta);
}

#endif
