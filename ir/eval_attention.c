/* Attention, the plain way: the scores of one query at a time. */
#include <math.h>
#include <stdlib.h>

#include "ir/eval_kernel.h"

/* q [L, H, T, D], k and v [L, G, S, D], all leading axes in L. */
typedef struct Heads {
    int64_t l, h, g, t, s, d;
    double scale;
    bool causal;
    int64_t shift; /* query i sees keys up to i + shift */
    const double *q, *k, *v;
    const Array *mask, *bias; /* or NULL */
    int64_t mask_stride[MAX_RANK], bias_stride[MAX_RANK];
    Type scores; /* [.., H, T, S] */
} Heads;

/* Strides of a mask or bias along the axes of the scores. */
static void
score_strides(const Heads *a, const Array *operand, int64_t *stride)
{
    Walk w = walk(&a->scores);
    walk_broadcast(&w, &operand->type);
    for (int k = 0; k < w.rank; k++)
        stride[k] = w.stride[0][k];
}

/* q is operand `first`, mask and bias come from operand `extra` on. */
static Heads
heads_of(const Job *j, int first, int extra)
{
    const Type *q = &j->in[first].type, *k = &j->in[first + 1].type;
    int r = q->rank;
    Heads a = {.h = q->dim[r - 3],
               .t = q->dim[r - 2],
               .d = q->dim[r - 1],
               .g = k->dim[r - 3],
               .s = k->dim[r - 2],
               .l = 1};
    for (int i = 0; i < r - 3; i++)
        a.l *= q->dim[i];
    a.q = j->in[first].at;
    a.k = j->in[first + 1].at;
    a.v = j->in[first + 2].at;
    a.scale = node_float(j->node, "scale", 1);
    a.causal = node_flag(j->node, "causal");
    if (strcmp(node_word(j->node, "align", "start"), "end") == 0)
        a.shift = a.s - a.t;
    a.scores = *q;
    a.scores.dim[r - 1] = a.s;
    if (node_flag(j->node, "mask")) {
        a.mask = &j->in[extra++];
        score_strides(&a, a.mask, a.mask_stride);
    }
    if (node_flag(j->node, "bias")) {
        a.bias = &j->in[extra];
        score_strides(&a, a.bias, a.bias_stride);
    }
    return a;
}

/* Where a mask or bias has the score of query row `row` = (l, h, t), key s. */
static int64_t
score_place(const Heads *a, const int64_t *stride, int64_t row, int64_t s)
{
    int r = a->scores.rank;
    int64_t at = s * stride[r - 1];
    for (int k = r - 2; k >= 0; k--) {
        at += row % a->scores.dim[k] * stride[k];
        row /= a->scores.dim[k];
    }
    return at;
}

static double
dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The row of keys and values that query row `row` uses starts here. */
static int64_t
group_start(const Heads *a, int64_t row)
{
    int64_t h = row / a->t % a->h, l = row / a->t / a->h;
    return (l * a->g + h / (a->h / a->g)) * a->s * a->d;
}

/* Scores of one query; -inf where it may not look. Returns the largest. */
static double
score_row(const Heads *a, int64_t row, double *score)
{
    const double *k = a->k + group_start(a, row);
    double max = -INFINITY;
    for (int64_t s = 0; s < a->s; s++) {
        bool seen = !a->causal || s <= row % a->t + a->shift;
        if (a->mask)
            seen = seen &&
                   a->mask->at[score_place(a, a->mask_stride, row, s)] != 0;
        score[s] = -INFINITY;
        if (!seen)
            continue;
        score[s] = a->scale * dot(a->q + row * a->d, k + s * a->d, a->d);
        if (a->bias)
            score[s] += a->bias->at[score_place(a, a->bias_stride, row, s)];
        max = eval_max(max, score[s]);
    }
    return max;
}

/* One query: its output and its lse; 0 and -inf where it sees no key. */
static void
attend_row(const Heads *a, int64_t row, double *score, double *y, double *lse)
{
    const double *v = a->v + group_start(a, row);
    double max = score_row(a, row, score), sum = 0;
    *lse = max;
    if (max == -INFINITY)
        return;
    for (int64_t s = 0; s < a->s; s++)
        sum += exp(score[s] - max);
    *lse = max + log(sum);
    for (int64_t s = 0; s < a->s; s++)
        for (int64_t d = 0; score[s] != -INFINITY && d < a->d; d++)
            y[d] += exp(score[s] - max) / sum * v[s * a->d + d];
}

bool
eval_attention(Job *j)
{
    Heads a = heads_of(j, 0, 3);
    double *score = malloc(sizeof *score * (size_t)a.s);
    if (!score)
        return eval_fail(j, "out of memory");
    for (int64_t row = 0; row < a.l * a.h * a.t; row++)
        attend_row(&a, row, score, j->out[0].at + row * a.d,
                   &j->out[1].at[row]);
    free(score);
    return true;
}

/* What one query adds to the gradients:
 * p = exp(score - lse), dp = dy . v, ds = p (dp - dy . y),
 * dv += p dy, dq += scale ds k, dk += scale ds q, dbias += ds. */
static void
attend_row_grad(Job *j, const Heads *a, int64_t row, double *score)
{
    const double *dy = j->in[0].at + row * a->d, *y = j->in[4].at + row * a->d;
    const double *q = a->q + row * a->d;
    double lse = j->in[5].at[row], delta = dot(dy, y, a->d);
    int64_t at = group_start(a, row);
    if (score_row(a, row, score) == -INFINITY)
        return;
    for (int64_t s = 0; s < a->s; s++, at += a->d) {
        if (score[s] == -INFINITY)
            continue;
        double p = exp(score[s] - lse);
        double ds = p * (dot(dy, a->v + at, a->d) - delta);
        for (int64_t d = 0; d < a->d; d++) {
            j->out[0].at[row * a->d + d] += a->scale * ds * a->k[at + d];
            j->out[1].at[at + d] += a->scale * ds * q[d];
            j->out[2].at[at + d] += p * dy[d];
        }
        if (a->bias)
            j->out[3].at[score_place(a, a->bias_stride, row, s)] += ds;
    }
}

bool
eval_attention_grad(Job *j)
{
    Heads a = heads_of(j, 1, 6);
    double *score = malloc(sizeof *score * (size_t)a.s);
    if (!score)
        return eval_fail(j, "out of memory");
    for (int64_t row = 0; row < a.l * a.h * a.t; row++)
        attend_row_grad(j, &a, row, score);
    free(score);
    return true;
}
