#include "toy.h"

#include "edl_kernel.h"
#include "edl_tensor.h"

#include <string.h>

/* Rows of w and its momentum are padded to TOY_ROW in the regions. */
enum {
    MATRIX = TOY_V * TOY_ROW * 4,
    STATE = 2 * MATRIX + 128,
    IDS = TOY_B * TOY_T * 4 * TOY_N
};

#define AS_IS EDL_AS_IS, 0
#define NO_CHECK 0, 0, 0, AS_IS
#define W_SHAPE 2, {TOY_V, TOY_V, 0}, {TOY_ROW, 1, 0}, 1.0

static const EdlTensor tensors[] = {
    {"w", EDL_PARAM, EDL_F32, EDL_STATE, 0, W_SHAPE, EDL_INIT_NORMAL, 0.0, 0.5,
     NO_CHECK},
    {"optimizer/momentum/w", EDL_OPTIMIZER, EDL_F32, EDL_STATE, MATRIX,
     W_SHAPE, EDL_INIT_CONST, 0.0, 0.0, NO_CHECK},
    {"seen", EDL_BUFFER, EDL_I64, EDL_STATE, 2 * MATRIX, 0, {0}, {0}, 1.0,
     EDL_INIT_CONST, 0.0, 0.0, NO_CHECK},
    {"updates", EDL_COUNTER, EDL_I64, EDL_STATE, 2 * MATRIX + 64, 0, {0}, {0},
     1.0, EDL_INIT_CONST, 0.0, 0.0, NO_CHECK},
    {"grad/w", EDL_GRAD, EDL_F32, EDL_GRADS, 0, 2, {TOY_V, TOY_V, 0},
     {TOY_ROW, 1, 0}, 1.0 / TOY_N, EDL_INIT_CONST, 0.0, 0.0, NO_CHECK},
};

static const EdlTensor inputs[] = {
    {"tokens", EDL_INPUT, EDL_I32, EDL_IO, 64, 2, {TOY_B, TOY_T}, {TOY_T, 1},
     1.0, EDL_INIT_CONST, 0.0, 0.0, 0, TOY_V, 0, AS_IS},
    {"targets", EDL_INPUT, EDL_I32, EDL_IO, 64 + IDS, 2, {TOY_B, TOY_T},
     {TOY_T, 1}, 1.0, EDL_INIT_CONST, 0.0, 0.0, 0, TOY_V, -100,
     AS_IS},
};

static const EdlTensor outputs[] = {
    {"loss", EDL_OUTPUT, EDL_F32, EDL_IO, 0, 0, {0}, {0}, 1.0, EDL_INIT_CONST,
     0.0, 0.0, NO_CHECK},
    {"double", EDL_OUTPUT, EDL_F64, EDL_IO, 8, 0, {0}, {0}, 1.0,
     EDL_INIT_CONST, 0.0, 0.0, NO_CHECK},
};

/* The loss, and twice the loss. */
static void
publish(EdlInstance *m, float loss)
{
    double twice = 2 * (double)loss;
    memcpy(m->region[EDL_IO], &loss, sizeof loss);
    memcpy(m->region[EDL_IO] + 8, &twice, sizeof twice);
}

static float *
f32(EdlInstance *m, int i)
{
    return (float *)(void *)edl_address(m, &tensors[i]);
}

static int64_t *
i64(EdlInstance *m, int i)
{
    return (int64_t *)(void *)edl_address(m, &tensors[i]);
}

typedef struct Row {
    const float *w;
    float *grad;
    int32_t target;
    uint64_t key, place, microbatch;
    float loss;
} Row;

/* Softmax cross-entropy of one row of w with noise. */
static void
row(void *arg, int64_t i)
{
    Row *r = (Row *)arg + i;
    float x[TOY_V], sum = 0;
    for (uint64_t k = 0; k < TOY_V; k++) {
        uint32_t word[4];
        uint64_t e = r->place * TOY_V + k;
        edl_philox(r->key, e / 4, r->microbatch, word);
        x[k] = edl_expf(r->w[k] + 0.1f * edl_unitf(word[e % 4]));
        sum += x[k];
    }
    r->loss = edl_logf(sum) - edl_logf(x[r->target]);
    for (int k = 0; k < TOY_V; k++)
        r->grad[k] += (x[k] / sum - (k == r->target ? 1.0f : 0.0f)) /
                      (TOY_B * TOY_T);
}

/* Rows of different tokens would race; each row adds to a gradient of its
 * own, and they are added up in order. */
static float
pass(EdlInstance *m, const int32_t *tokens, const int32_t *targets,
     uint64_t key, uint64_t microbatch, float *grad)
{
    Row rows[TOY_B * TOY_T];
    float parts[TOY_B * TOY_T][TOY_V];
    float loss = 0;
    memset(parts, 0, sizeof parts);
    for (int i = 0; i < TOY_B * TOY_T; i++) {
        Row r = {f32(m, 0) + tokens[i] * TOY_ROW, parts[i], targets[i], key,
                 (uint64_t)i, microbatch, 0};
        rows[i] = r;
    }
    edl_parallel(m, TOY_B * TOY_T, row, rows);
    for (int i = 0; i < TOY_B * TOY_T; i++) {
        loss += rows[i].loss / (TOY_B * TOY_T);
        for (int k = 0; grad && k < TOY_V; k++)
            grad[tokens[i] * TOY_ROW + k] += parts[i][k];
    }
    return loss;
}

static double
rate(uint64_t update)
{
    return 0.5 / (1.0 + 0.01 * (double)update);
}

static void
update(EdlInstance *m)
{
    float *w = f32(m, 0), *v = f32(m, 1);
    const float *g = f32(m, 4);
    float lr = (float)edl_lr(m);
    for (int i = 0; i < TOY_V * TOY_ROW; i++) {
        v[i] = 0.9f * v[i] + g[i] / TOY_N;
        w[i] -= lr * v[i];
    }
    *i64(m, 3) += 1;
}

static EdlStatus
step(EdlInstance *m, const void *const *in, EdlMetrics *out)
{
    EdlStatus s = edl_check_inputs(m, in, TOY_N);
    if (s != EDL_OK)
        return s;
    const int32_t *tokens = (const int32_t *)in[0];
    const int32_t *targets = (const int32_t *)in[1];
    uint64_t key = m->count.seed ^ edl_hash64("noise");
    double loss = 0;
    memset(m->region[EDL_GRADS], 0, MATRIX);
    for (int mb = 0; mb < TOY_N; mb++) {
        int at = mb * TOY_B * TOY_T;
        loss += (double)pass(m, tokens + at, targets + at, key,
                             m->count.microbatch++, f32(m, 4)) / TOY_N;
        *i64(m, 2) += TOY_B * TOY_T;
    }
    publish(m, (float)loss);
    if (out) {
        EdlMetrics metrics = {loss, -1.0, edl_lr(m), TOY_N * TOY_B * TOY_T,
                              m->count.step, 0, 0};
        *out = metrics;
    }
    update(m);
    m->count.step++;
    return EDL_OK;
}

static EdlStatus
evaluate(EdlInstance *m, const void *const *in, EdlMetrics *out)
{
    EdlStatus s = edl_check_inputs(m, in, 1);
    if (s != EDL_OK)
        return s;
    float loss = pass(m, (const int32_t *)in[0], (const int32_t *)in[1], 1, 0,
                      NULL);
    publish(m, loss);
    EdlMetrics metrics = {(double)loss, -1.0, 0.0, TOY_B * TOY_T,
                          m->count.step, 0, 0};
    *out = metrics;
    return EDL_OK;
}

static const EdlSource train_source[] = {
    {EDL_NEXT_TOKEN, "train.bin", EDL_U16, 0, 2, {0, 1}, {0, 0}, 1.0},
};
static const EdlSource validate_source[] = {
    {EDL_NEXT_TOKEN, "val.bin", EDL_U16, 0, 2, {0, 1}, {0, 0}, 1.0},
};
static const EdlTrain train = {
    7, 40, {train_source, 1, EDL_SHUFFLED}, {validate_source, 1,
    EDL_SEQUENTIAL}, 10, 2, "toy.safetensors", 10,
};

const EdlModel toy_model = {
    EDL_ABI, "toy", "0123456789abcdef",
    {{STATE, MATRIX, 0, 0, 64 + 2 * IDS, 0}},
    tensors, 5, inputs, 2, outputs, 2, 0, 3, TOY_N, &train, NULL, rate, step,
    NULL, NULL, NULL, evaluate, NULL, NULL,
};
