/* edl_cuda_attention_mma.cuh: attention of bf16 on the units for matrices.
 * A warp does 16 rows: of queries, or of keys where it makes their gradients,
 * and then scores stand turned. So weights go from the sums of one product
 * into the operand of the next in registers, and every sum is one warp's, in
 * a fixed order. Scores and weights are f32, rounded to bf16 between products;
 * exponents are of 2. The tiles that come next come in while those before are
 * multiplied. */
#ifndef EDL_CUDA_ATTENTION_MMA_CUH
#define EDL_CUDA_ATTENTION_MMA_CUH

#include "edl_cuda_attention.cuh"

typedef EdlRows<const EdlBf16> EdlIn16;
typedef EdlRows<EdlBf16> EdlOut16;

#define EDL_LOG2E 1.44269504f
#define EDL_LN2 0.693147181f

/* What a width D of heads is computed with: padded to W; rows of tiles stand
 * LINE apart, which no two rows of a fragment share banks with. QUERIES and
 * KEYS are of a tile, WARPS do 16 rows each of the other side. */
template <int D> struct EdlWide {
    enum {
        W = (D + 15) / 16 * 16,
        LINE = W + 8,
        ROWS = 64, /* queries of a block, forward and for dq */
        KEYS = W <= 64 ? 64 : 32,
        GRAD_KEYS = W <= 64 ? 64 : 32,
        WARPS = W <= 64 ? 8 : 4, /* of a block for dk, dv: 16 keys each */
        QUERIES = W <= 64 ? 32 : 16
    };
};

static __device__ __forceinline__ int
edl_lane(void)
{
    return (int)threadIdx.x % 32;
}

/* Rows [first, first + N) of a head, with zeros behind row `rows` and column
 * D. wide: rows are together and stand at multiples of 16 bytes; then the copy
 * goes on until edl_copies_wait. */
template <int D, int N, bool wide>
static __device__ __forceinline__ void
edl_tile16(uint16_t *tile, EdlIn16 x, int64_t head, int64_t first,
           int64_t rows)
{
    enum { W = EdlWide<D>::W, LINE = EdlWide<D>::LINE };
    const EdlBf16 *at = x.at + head * x.head + first * x.row;
    if (wide) {
        for (int i = (int)threadIdx.x; i < N * W / 8; i += (int)blockDim.x) {
            const int row = i / (W / 8), d = i % (W / 8) * 8;
            const bool there = first + row < rows && d < D;
            edl_copy16(tile + row * LINE + d,
                       there ? at + row * x.row + d : x.at, there ? 16 : 0);
        }
    } else {
        for (int i = (int)threadIdx.x; i < N * W; i += (int)blockDim.x) {
            const int row = i / W, d = i % W;
            tile[row * LINE + d] = first + row < rows && d < D
                                       ? at[row * x.row + d * x.col].bits
                                       : (uint16_t)0;
        }
    }
}

/* Tiles of keys and values, one behind the other. */
template <int D, int N, bool wide>
static __device__ __forceinline__ void
edl_pair16(uint16_t *tiles, EdlIn16 k, EdlIn16 v, int64_t first, int64_t rows)
{
    edl_tile16<D, N, wide>(tiles, k, 0, first, rows);
    edl_tile16<D, N, wide>(tiles + N * EdlWide<D>::LINE, v, 0, first, rows);
}

/* A warp's 16 rows as fragments, through shared memory that all use. */
template <int D, bool wide>
static __device__ __forceinline__ void
edl_own_rows(uint32_t (&own)[EdlWide<D>::W / 16][4], uint16_t *memory,
             EdlIn16 x, int64_t head, int64_t first, int64_t rows)
{
    enum { W = EdlWide<D>::W, LINE = EdlWide<D>::LINE };
    __syncthreads();
    edl_tile16<D, EdlWide<D>::ROWS, wide>(memory, x, head, first, rows);
    edl_copies_wait();
    __syncthreads();
    for (int k = 0; k < W / 16; k++)
        edl_rows16(own[k],
                   memory + (int)threadIdx.x / 32 * 16 * LINE + k * 16, LINE);
}

/* sum += a b': b has N rows in a tile, 16 columns of it from k on */
template <int N>
static __device__ __forceinline__ void
edl_mma_turned(float (&sum)[N / 8][4], const uint32_t (&a)[4],
               const uint16_t *tile, int line)
{
#pragma unroll
    for (int n = 0; n < N / 16; n++) {
        uint32_t b[4];
        edl_columns16(b, tile + n * 16 * line, line);
        edl_mma(sum[2 * n], a, b[0], b[1]);
        edl_mma(sum[2 * n + 1], a, b[2], b[3]);
    }
}

/* sum += a b: a has N columns, from sums of a product; b N rows of a tile */
template <int W, int N>
static __device__ __forceinline__ void
edl_mma_add(float (&sum)[W / 8][4], const float (&a)[N / 8][4],
            const uint16_t *tile, int line)
{
#pragma unroll
    for (int k = 0; k < N / 16; k++) {
        const float(&l)[4] = a[2 * k], (&r)[4] = a[2 * k + 1];
        const uint32_t x[4] = {edl_pack(l[0], l[1]), edl_pack(l[2], l[3]),
                               edl_pack(r[0], r[1]), edl_pack(r[2], r[3])};
#pragma unroll
        for (int d = 0; d < W / 16; d++) {
            uint32_t b[4];
            edl_turned16(b, tile + k * 16 * line + d * 16, line);
            edl_mma(sum[2 * d], x, b[0], b[1]);
            edl_mma(sum[2 * d + 1], x, b[2], b[3]);
        }
    }
}

/* Over the four lanes of a row. */
template <typename F>
static __device__ __forceinline__ float
edl_four_fold(float x, F f)
{
    x = f(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return f(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* Do all of these queries see all of these keys? */
static __device__ __forceinline__ bool
edl_sees_all(const EdlHeads &h, bool causal, const EdlMask &mask, int64_t t0,
             int64_t t1, int64_t s1)
{
    return !mask.at && t1 <= h.t && s1 <= h.s &&
           (!causal || s1 - 1 <= t0 + h.shift);
}

/* A score times log2 e; -inf where t does not see s. */
template <typename B>
static __device__ __forceinline__ float
edl_score2(const EdlHeads &h, bool causal, bool all, const EdlMask &mask,
           const EdlRows<const B> &bias, float product, int64_t head, int64_t t,
           int64_t s)
{
    if (!all && !edl_sees(h, causal, mask, head, t, s))
        return -INFINITY;
    return edl_score(h, product, bias, head, t, s) * EDL_LOG2E;
}

/* Two rows of sums to memory: lane's rows g and g + 8 from `first` on. */
template <int D, bool wide>
static __device__ __forceinline__ void
edl_put_rows16(EdlOut16 to, const float (&sum)[EdlWide<D>::W / 8][4],
               const float (&by)[2], int64_t head, int64_t first, int64_t rows)
{
    const int g = edl_lane() / 4, c = edl_lane() % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t row = first + g + 8 * i;
        EdlBf16 *const at = to.at + head * to.head + row * to.row;
        if (row >= rows)
            continue;
#pragma unroll
        for (int n = 0; n < EdlWide<D>::W / 8; n++) {
            const int d = n * 8 + c;
            const float x = sum[n][2 * i] * by[i], y = sum[n][2 * i + 1] * by[i];
            if (wide && d < D) {
                *(uint32_t *)(void *)(at + d) = edl_pack(x, y);
                continue;
            }
            if (d < D)
                edl_put(at + d * to.col, x);
            if (d + 1 < D)
                edl_put(at + (d + 1) * to.col, y);
        }
    }
}

/* The queries of a block: their head, the first, the first of this warp, and
 * how many keys they see. */
struct EdlQueries {
    int64_t head, first, mine, keys;
};

/* The last queries see most keys: they begin. */
template <int N>
static __device__ __forceinline__ EdlQueries
edl_queries(const EdlHeads &h, bool causal, int64_t block)
{
    const int64_t blocks = (h.t + N - 1) / N;
    EdlQueries x;
    x.head = block / blocks;
    x.first = (blocks - 1 - block % blocks) * N;
    x.mine = x.first + (int)threadIdx.x / 32 * 16;
    x.keys = edl_keys(h, causal, x.first + N);
    return x;
}

template <int D, bool causal, bool wide, typename B>
static __device__ __forceinline__ void
edl_attention_mma(const EdlHeads &h, int64_t block, EdlIn16 q, EdlIn16 k,
                  EdlIn16 v, EdlMask mask, EdlRows<const B> bias, EdlOut16 y,
                  EdlOut lse, uint16_t *memory)
{
    enum {
        W = EdlWide<D>::W,
        LINE = EdlWide<D>::LINE,
        K = EdlWide<D>::KEYS,
        PAIR = 2 * K * LINE
    };
    uint16_t *now = memory, *next = memory + PAIR;
    const EdlQueries at = edl_queries<EdlWide<D>::ROWS>(h, causal, block);
    const int64_t head = at.head, mine = at.mine;
    const int g = edl_lane() / 4, c = edl_lane() % 4 * 2;
    uint32_t query[W / 16][4];
    float out[W / 8][4] = {}, sum[2] = {0.0f, 0.0f};
    float most[2] = {-INFINITY, -INFINITY};
    edl_pair16<D, K, wide>(now, k, v, 0, h.s);
    edl_own_rows<D, wide>(query, next, q, head, at.first, h.t);
    for (int64_t s0 = 0; s0 < at.keys; s0 += K) {
        float score[K / 8][4] = {};
        const uint16_t *const key = now, *const value = now + K * LINE;
        edl_copies_wait();
        __syncthreads(); /* these tiles are there, those before were read */
        if (s0 + K < at.keys)
            edl_pair16<D, K, wide>(next, k, v, s0 + K, h.s);
#pragma unroll
        for (int d = 0; d < W / 16; d++)
            edl_mma_turned<K>(score, query[d], key + d * 16, LINE);
        const bool all =
            edl_sees_all(h, causal, mask, mine, mine + 16, s0 + K);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float top = most[i];
#pragma unroll
            for (int n = 0; n < K / 4; n++) {
                float &x = score[n / 2][2 * i + n % 2];
                x = edl_score2(h, causal, all, mask, bias, x, head,
                               mine + g + 8 * i, s0 + n / 2 * 8 + c + n % 2);
                top = edl_maxf(top, x);
            }
            top = edl_four_fold(top, EdlMax());
            const float from = top == -INFINITY ? 0.0f : top;
            const float keep = edl_exp2(most[i] - from);
            most[i] = top;
            sum[i] *= keep;
#pragma unroll
            for (int n = 0; n < K / 4; n++) {
                float &x = score[n / 2][2 * i + n % 2];
                x = edl_exp2(x - from);
                sum[i] += x;
            }
#pragma unroll
            for (int n = 0; n < W / 4; n++)
                out[n / 2][2 * i + n % 2] *= keep;
        }
        edl_mma_add<W, K>(out, score, value, LINE);
        now = next;
        next = memory + (next == memory ? PAIR : 0);
    }
    float by[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t t = mine + g + 8 * i;
        const float all = edl_four_fold(sum[i], EdlSum());
        by[i] = all > 0.0f ? 1.0f / all : all;
        if (t < h.t && c == 0)
            lse.at[head * lse.head + t * lse.row] =
                all > 0.0f ? most[i] * EDL_LN2 + edl_logf(all) : most[i];
    }
    edl_put_rows16<D, wide>(y, out, by, head, mine, h.t);
}

/* ---- backward ---- */

template <typename B> using EdlGrad16 = EdlAttentionGrad<EdlBf16, B>;

/* Turns sums q k' and dy v' of a score into its slope, times scale, and its
 * weight; lse times log2 e. */
static __device__ __forceinline__ void
edl_slope16(const EdlHeads &h, float score, float lse, float delta,
            float &weight, float &slope)
{
    weight = lse == -INFINITY ? 0.0f : edl_exp2(score - lse);
    slope = weight == 0.0f ? 0.0f : weight * (slope - delta) * h.scale;
}

/* dy . y of row t, by the four lanes of it, left for the keys. */
template <int D, typename B>
static __device__ __forceinline__ float
edl_delta16(const EdlHeads &h, const EdlGrad16<B> &in, int64_t head, int64_t t)
{
    float sum = 0.0f;
    if (t < h.t) {
        const EdlBf16 *const a = in.dy.at + head * in.dy.head + t * in.dy.row;
        const EdlBf16 *const b = in.y.at + head * in.y.head + t * in.y.row;
#pragma unroll 8
        for (int d = edl_lane() % 4; d < D; d += 4)
            sum = edl_fmaf(edl_get(a[d * in.dy.col]), edl_get(b[d * in.y.col]),
                           sum);
    }
    sum = edl_four_fold(sum, EdlSum());
    if (t < h.t && edl_lane() % 4 == 0)
        in.delta.at[head * in.delta.head + t * in.delta.row] = sum;
    return sum;
}

/* dq of a tile of queries. */
template <int D, bool causal, bool wide, typename B>
static __device__ __forceinline__ void
edl_attention_mma_queries(const EdlHeads &h, int64_t block,
                          const EdlGrad16<B> &in, EdlOut16 dq, uint16_t *memory)
{
    enum {
        W = EdlWide<D>::W,
        LINE = EdlWide<D>::LINE,
        K = EdlWide<D>::GRAD_KEYS,
        PAIR = 2 * K * LINE
    };
    uint16_t *now = memory, *next = memory + PAIR;
    const EdlQueries at = edl_queries<EdlWide<D>::ROWS>(h, causal, block);
    const int64_t head = at.head, mine = at.mine;
    const int g = edl_lane() / 4, c = edl_lane() % 4 * 2;
    uint32_t query[W / 16][4], dy[W / 16][4];
    float sum[W / 8][4] = {}, lse[2], delta[2];
    edl_pair16<D, K, wide>(now, in.k, in.v, 0, h.s);
    edl_own_rows<D, wide>(query, next, in.q, head, at.first, h.t);
    edl_own_rows<D, wide>(dy, next, in.dy, head, at.first, h.t);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t t = mine + g + 8 * i;
        delta[i] = edl_delta16<D>(h, in, head, t);
        lse[i] = t < h.t ? in.lse.at[head * in.lse.head + t * in.lse.row] *
                               EDL_LOG2E
                         : -INFINITY;
    }
    for (int64_t s0 = 0; s0 < at.keys; s0 += K) {
        float score[K / 8][4] = {}, slope[K / 8][4] = {};
        const uint16_t *const key = now, *const value = now + K * LINE;
        edl_copies_wait();
        __syncthreads(); /* these tiles are there, those before were read */
        if (s0 + K < at.keys)
            edl_pair16<D, K, wide>(next, in.k, in.v, s0 + K, h.s);
#pragma unroll
        for (int d = 0; d < W / 16; d++) {
            edl_mma_turned<K>(score, query[d], key + d * 16, LINE);
            edl_mma_turned<K>(slope, dy[d], value + d * 16, LINE);
        }
        const bool all =
            edl_sees_all(h, causal, in.mask, mine, mine + 16, s0 + K);
#pragma unroll
        for (int n = 0; n < K / 2; n++) {
            float &x = score[n / 4][n % 4];
            x = edl_score2(h, causal, all, in.mask, in.bias, x, head,
                           mine + g + n % 4 / 2 * 8,
                           s0 + n / 4 * 8 + c + n % 2);
            edl_slope16(h, x, lse[n % 4 / 2], delta[n % 4 / 2], x,
                        slope[n / 4][n % 4]);
        }
        edl_mma_add<W, K>(sum, slope, key, LINE);
        now = next;
        next = memory + (next == memory ? PAIR : 0);
    }
    const float by[2] = {1.0f, 1.0f};
    edl_put_rows16<D, wide>(dq, sum, by, head, mine, h.t);
}

/* Tiles of queries and dy, one behind the other, and their lse and delta. */
template <int D, bool wide, typename B>
static __device__ __forceinline__ void
edl_query_tiles(uint16_t *tiles, float *numbers, const EdlHeads &h,
                const EdlGrad16<B> &in, int64_t head, int64_t t0)
{
    enum { Q = EdlWide<D>::QUERIES };
    const int i = (int)threadIdx.x;
    edl_tile16<D, Q, wide>(tiles, in.q, head, t0, h.t);
    edl_tile16<D, Q, wide>(tiles + Q * EdlWide<D>::LINE, in.dy, head, t0, h.t);
    if (i < 2 * Q) {
        const int64_t t = t0 + i % Q;
        const float *const lse = in.lse.at + head * in.lse.head;
        const float *const delta = in.delta.at + head * in.delta.head;
        const float *const from =
            i < Q ? lse + t * in.lse.row : delta + t * in.delta.row;
        edl_copy4(numbers + i, t < h.t ? from : lse, t < h.t ? 4 : 0);
    }
}

/* dk and dv of 16 keys a warp: all query heads of the group, in order. */
template <int D, bool causal, bool wide, typename B>
static __device__ __forceinline__ void
edl_attention_mma_keys(const EdlHeads &h, int64_t block, const EdlGrad16<B> &in,
                       EdlOut16 dk, EdlOut16 dv, uint16_t *memory)
{
    enum {
        W = EdlWide<D>::W,
        LINE = EdlWide<D>::LINE,
        K = EdlWide<D>::WARPS * 16,
        Q = EdlWide<D>::QUERIES,
        OWN = 16 * LINE,
        PAIR = 2 * Q * LINE
    };
    uint16_t *const key = memory, *const value = key + K * LINE;
    uint16_t *const tiles = value + K * LINE; /* two pairs, in turns */
    float *const numbers = (float *)(void *)(tiles + 2 * PAIR);
    const int64_t s0 = block * K;
    const int warp = (int)threadIdx.x / 32;
    const int64_t mine = s0 + warp * 16;
    const int g = edl_lane() / 4, c = edl_lane() % 4 * 2;
    int64_t from = causal ? s0 - h.shift : 0; /* the first that sees s0 */
    from = from < 0 ? 0 : from / Q * Q;
    float by_key[W / 8][4] = {}, by_value[W / 8][4] = {};
    int64_t head = from < h.t ? 0 : h.r, t0 = from;
    int now = 0;
    edl_pair16<D, K, wide>(key, in.k, in.v, s0, h.s);
    if (head < h.r)
        edl_query_tiles<D, wide>(tiles, numbers, h, in, head, t0);
    while (head < h.r) {
        const uint16_t *const query = tiles + now * PAIR;
        const uint16_t *const dy = query + Q * LINE;
        const float *const lse = numbers + now * 2 * Q, *const delta = lse + Q;
        const int64_t this_head = head, this_t = t0;
        float weight[Q / 8][4] = {}, slope[Q / 8][4] = {};
        t0 += Q;
        if (t0 >= h.t) {
            t0 = from;
            head++;
        }
        edl_copies_wait();
        __syncthreads(); /* these tiles are there, those before were read */
        now = 1 - now;
        if (head < h.r)
            edl_query_tiles<D, wide>(tiles + now * PAIR, numbers + now * 2 * Q,
                                     h, in, head, t0);
#pragma unroll
        for (int d = 0; d < W / 16; d++) {
            uint32_t a[4];
            edl_rows16(a, key + warp * OWN + d * 16, LINE);
            edl_mma_turned<Q>(weight, a, query + d * 16, LINE);
            edl_rows16(a, value + warp * OWN + d * 16, LINE);
            edl_mma_turned<Q>(slope, a, dy + d * 16, LINE);
        }
        const bool all =
            edl_sees_all(h, causal, in.mask, this_t, this_t + Q, mine + 16);
#pragma unroll
        for (int n = 0; n < Q / 2; n++) {
            const int t = n / 4 * 8 + c + n % 2;
            float &x = weight[n / 4][n % 4];
            x = edl_score2(h, causal, all, in.mask, in.bias, x, this_head,
                           this_t + t, mine + g + n % 4 / 2 * 8);
            edl_slope16(h, x, lse[t] * EDL_LOG2E, delta[t], x,
                        slope[n / 4][n % 4]);
        }
        edl_mma_add<W, Q>(by_value, weight, dy, LINE);
        edl_mma_add<W, Q>(by_key, slope, query, LINE);
    }
    edl_copies_wait(); /* where no query sees them */
    const float by[2] = {1.0f, 1.0f};
    edl_put_rows16<D, wide>(dk, by_key, by, 0, mine, h.s);
    edl_put_rows16<D, wide>(dv, by_value, by, 0, mine, h.s);
}

#endif
