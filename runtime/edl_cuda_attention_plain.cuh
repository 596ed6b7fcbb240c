/* edl_cuda_attention_plain.cuh: attention of heads too wide for the tiles of
 * edl_cuda_attention.cuh. A block does one query, or one key where it makes
 * its gradients: a thread multiplies whole rows, one of every EDL_PLAIN, and
 * then adds up columns d, d + EDL_PLAIN, .. over them in order. Nothing grows
 * with the width but a thread's sums; slow, as every block reads all rows. */
#ifndef EDL_CUDA_ATTENTION_PLAIN_CUH
#define EDL_CUDA_ATTENTION_PLAIN_CUH

#include "edl_cuda_attention.cuh"

/* Threads of a block; floats of shared memory: of folds, and two a thread. */
#define EDL_PLAIN 128
#define EDL_PLAIN_FLOATS (32 + 2 * EDL_PLAIN)
#define EDL_PLAIN_SUMS(D) (((D) + EDL_PLAIN - 1) / EDL_PLAIN)

/* Row `row` of head `head`, which is there. */
template <typename X>
static __device__ __forceinline__ EdlRows<const X>
edl_row(EdlRows<const X> x, int64_t head, int64_t row)
{
    x.at += head * x.head + row * x.row;
    return x;
}

template <int D, typename X>
static __device__ __forceinline__ float
edl_dot(EdlRows<const X> a, EdlRows<const X> b)
{
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum = edl_fmaf(edl_get(a.at[d * a.col]), edl_get(b.at[d * b.col]), sum);
    return sum;
}

/* sum += the rows of a head from `first` on, times weights; n of them. */
template <int D, typename X>
static __device__ __forceinline__ void
edl_add_rows(float (&sum)[EDL_PLAIN_SUMS(D)], const float *weights,
             EdlRows<const X> rows, int64_t head, int64_t first, int64_t n)
{
    n = n < EDL_PLAIN ? n : EDL_PLAIN;
    for (int64_t l = 0; l < n; l++) {
        const EdlRows<const X> x = edl_row(rows, head, first + l);
        for (int i = 0; i < EDL_PLAIN_SUMS(D); i++) {
            const int d = (int)threadIdx.x + EDL_PLAIN * i;
            if (d < D)
                sum[i] = edl_fmaf(weights[l], edl_get(x.at[d * x.col]), sum[i]);
        }
    }
}

template <int D, typename X>
static __device__ __forceinline__ void
edl_put_row(EdlRows<X> to, const float (&sum)[EDL_PLAIN_SUMS(D)], float by,
            int64_t head, int64_t row)
{
    X *const at = to.at + head * to.head + row * to.row;
    for (int i = 0; i < EDL_PLAIN_SUMS(D); i++) {
        const int d = (int)threadIdx.x + EDL_PLAIN * i;
        if (d < D)
            edl_put(at + d * to.col, sum[i] * by);
    }
}

template <int D, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention_plain(const EdlHeads &h, int64_t block, EdlRows<const X> q,
                    EdlRows<const X> k, EdlRows<const X> v, EdlMask mask,
                    EdlRows<const B> bias, EdlRows<X> y, EdlOut lse,
                    float *memory)
{
    float *const weights = memory + 32;
    const int64_t head = block / h.t, t = block % h.t;
    const int64_t keys = edl_keys(h, causal, t + 1);
    const EdlRows<const X> query = edl_row(q, head, t);
    float out[EDL_PLAIN_SUMS(D)] = {}, most = -INFINITY, sum = 0.0f;
    for (int64_t s0 = 0; s0 < keys; s0 += EDL_PLAIN) {
        const int64_t s = s0 + threadIdx.x;
        float score = -INFINITY;
        if (edl_sees(h, causal, mask, head, t, s))
            score = edl_score(h, edl_dot<D>(query, edl_row(k, 0, s)), bias,
                              head, t, s);
        const float top = edl_maxf(most, edl_block_max(score, memory));
        const bool none = top == -INFINITY;
        const float w = none ? 0.0f : edl_expf(score - top);
        const float keep = none ? 1.0f : edl_expf(most - top);
        weights[threadIdx.x] = w; /* the fold has seen to it that all read */
        sum = sum * keep + edl_block_sum(w, memory);
        most = top;
        for (int i = 0; i < EDL_PLAIN_SUMS(D); i++)
            out[i] *= keep;
        edl_add_rows<D>(out, weights, v, 0, s0, h.s - s0);
    }
    edl_put_row<D>(y, out, sum > 0.0f ? 1.0f / sum : sum, head, t);
    if (threadIdx.x == 0)
        lse.at[head * lse.head + t * lse.row] =
            sum > 0.0f ? most + edl_logf(sum) : most;
}

/* The weight of a score, and its slope times scale; 0 where it is not seen. */
template <int D, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_plain_slope(const EdlHeads &h, const EdlAttentionGrad<X, B> &g,
                int64_t head, int64_t t, int64_t s, float delta, float &weight,
                float &slope)
{
    weight = slope = 0.0f;
    if (!edl_sees(h, causal, g.mask, head, t, s))
        return;
    const float most = g.lse.at[head * g.lse.head + t * g.lse.row];
    if (most == -INFINITY)
        return;
    const float score =
        edl_score(h, edl_dot<D>(edl_row(g.q, head, t), edl_row(g.k, 0, s)),
                  g.bias, head, t, s);
    weight = edl_expf(score - most);
    slope = weight *
            (edl_dot<D>(edl_row(g.dy, head, t), edl_row(g.v, 0, s)) - delta) *
            h.scale;
}

/* dk and dv of a key: all query heads of the group, in order. */
template <int D, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention_plain_keys(const EdlHeads &h, int64_t block,
                         const EdlAttentionGrad<X, B> &g, EdlRows<X> dk,
                         EdlRows<X> dv, float *memory)
{
    float *const weights = memory + 32, *const slopes = weights + EDL_PLAIN;
    float by_key[EDL_PLAIN_SUMS(D)] = {}, by_value[EDL_PLAIN_SUMS(D)] = {};
    int64_t from = causal ? block - h.shift : 0; /* the first that sees it */
    from = from < 0 ? 0 : from;
    for (int64_t head = 0; head < h.r; head++)
        for (int64_t t0 = from; t0 < h.t; t0 += EDL_PLAIN) {
            const int64_t t = t0 + threadIdx.x;
            const float delta =
                t < h.t ? g.delta.at[head * g.delta.head + t * g.delta.row]
                        : 0.0f;
            float weight, slope;
            edl_plain_slope<D, causal>(h, g, head, t, block, delta, weight,
                                       slope);
            weights[threadIdx.x] = weight;
            slopes[threadIdx.x] = slope;
            __syncthreads();
            edl_add_rows<D>(by_value, weights, g.dy, head, t0, h.t - t0);
            edl_add_rows<D>(by_key, slopes, g.q, head, t0, h.t - t0);
            __syncthreads(); /* all have read them */
        }
    edl_put_row<D>(dk, by_key, 1.0f, 0, block);
    edl_put_row<D>(dv, by_value, 1.0f, 0, block);
}

/* dq of a query. */
template <int D, bool causal, typename X, typename B>
static __device__ __forceinline__ void
edl_attention_plain_queries(const EdlHeads &h, int64_t block,
                            const EdlAttentionGrad<X, B> &g, EdlRows<X> dq,
                            float *memory)
{
    float *const slopes = memory + 32;
    const int64_t head = block / h.t, t = block % h.t;
    const int64_t keys = edl_keys(h, causal, t + 1);
    const EdlRows<const X> dy = edl_row(g.dy, head, t), y = edl_row(g.y, head, t);
    float sum[EDL_PLAIN_SUMS(D)] = {}, part = 0.0f;
    for (int d = (int)threadIdx.x; d < D; d += EDL_PLAIN)
        part = edl_fmaf(edl_get(dy.at[d * dy.col]), edl_get(y.at[d * y.col]),
                        part);
    const float delta = edl_block_sum(part, memory);
    if (threadIdx.x == 0)
        g.delta.at[head * g.delta.head + t * g.delta.row] = delta;
    for (int64_t s0 = 0; s0 < keys; s0 += EDL_PLAIN) {
        float weight, slope;
        edl_plain_slope<D, causal>(h, g, head, t, s0 + threadIdx.x, delta,
                                   weight, slope);
        slopes[threadIdx.x] = slope;
        __syncthreads();
        edl_add_rows<D>(sum, slopes, g.k, 0, s0, h.s - s0);
        __syncthreads(); /* all have read them */
    }
    edl_put_row<D>(dq, sum, 1.0f, head, t);
}

#endif
