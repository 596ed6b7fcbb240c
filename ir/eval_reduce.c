/* Reductions over any set of axes. A result element belongs to all operand
 * elements that differ from it only along the reduced axes; the walk goes
 * over the operand, with stride 0 of the result along those. */
#include <math.h>
#include <stdlib.h>

#include "ir/eval_kernel.h"

/* Over x; at[0] is the place in a dense result of the other axes. */
static Walk
over(const Job *j, const Type *x)
{
    unsigned reduced = eval_axes(j->node, "axes");
    Walk w = walk(x);
    int64_t stride[MAX_RANK] = {0}, s = 1;
    for (int k = x->rank - 1; k >= 0; k--) {
        if (reduced >> k & 1)
            continue;
        stride[k] = s;
        s *= x->dim[k];
    }
    walk_add(&w, stride);
    return w;
}

/* How many elements of x make one of the result. */
static int64_t
reduced_count(const Job *j)
{
    return type_elements(&j->in[0].type) / type_elements(&j->out[0].type);
}

static void
fill(Array *a, double v)
{
    int64_t n = type_elements(&a->type);
    for (int64_t i = 0; i < n; i++)
        a->at[i] = v;
}

bool
eval_reduce_sum(Job *j)
{
    Dtype d = j->out[0].type.dtype;
    bool wraps = dtype_info[d].kind == KIND_INT;
    double *y = j->out[0].at;
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w)) {
        double s = y[w.at[0]] + j->in[0].at[w.done];
        y[w.at[0]] = wraps ? (double)eval_wrap(d, (uint64_t)(int64_t)s) : s;
    }
    return true;
}

/* pick: eval_max or eval_min, which keep NaN. */
bool
eval_reduce_most(Job *j, EvalFn2 *pick)
{
    const double *x = j->in[0].at;
    double *y = j->out[0].at;
    int64_t n = type_elements(&j->out[0].type);
    bool *seen = calloc((size_t)n, sizeof *seen);
    if (!seen)
        return eval_fail(j, "out of memory");
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w)) {
        int64_t r = w.at[0];
        y[r] = seen[r] ? pick(y[r], x[w.done]) : x[w.done];
        seen[r] = true;
    }
    free(seen);
    return true;
}

/* Mean first, then the squares of the distances: never E[x^2] - E[x]^2. */
bool
eval_variance(Job *j)
{
    int64_t n = type_elements(&j->out[0].type);
    double count = (double)reduced_count(j);
    double ddof = (double)node_int(j->node, "ddof", 0);
    double *mean = calloc((size_t)n, sizeof *mean), *y = j->out[0].at;
    if (!mean)
        return eval_fail(j, "out of memory");
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w))
        mean[w.at[0]] += j->in[0].at[w.done] / count;
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w)) {
        double d = j->in[0].at[w.done] - mean[w.at[0]];
        y[w.at[0]] += d * d;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] /= count - ddof;
    free(mean);
    return true;
}

/* The place among the reduced axes, in row-major order; the first of equals,
 * and the first NaN before all numbers. */
bool
eval_argmax(Job *j)
{
    const double *x = j->in[0].at;
    unsigned reduced = eval_axes(j->node, "axes");
    double *y = j->out[0].at;
    int64_t n = type_elements(&j->out[0].type);
    double *best = malloc(sizeof *best * (size_t)n);
    if (!best)
        return eval_fail(j, "out of memory");
    fill(&j->out[0], -1);
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w)) {
        int64_t r = w.at[0], place = 0;
        for (int k = 0; k < w.rank; k++)
            if (reduced >> k & 1)
                place = place * w.dim[k] + w.index[k];
        double v = x[w.done];
        if (y[r] < 0 || (!isnan(best[r]) && !(v <= best[r]))) {
            best[r] = v;
            y[r] = (double)place;
        }
    }
    free(best);
    return true;
}

/* dy to the first x that equals y. */
bool
eval_reduce_pick_grad(Job *j)
{
    const double *dy = j->in[0].at, *x = j->in[1].at, *y = j->in[2].at;
    int64_t n = type_elements(&j->in[2].type);
    bool *given = calloc((size_t)n, sizeof *given);
    if (!given)
        return eval_fail(j, "out of memory");
    for (Walk w = over(j, &j->in[1].type); w.left; walk_next(&w)) {
        int64_t r = w.at[0];
        double v = x[w.done];
        bool hit = !given[r] && (v == y[r] || (isnan(v) && isnan(y[r])));
        j->out[0].at[w.done] = hit ? dy[r] : 0;
        given[r] = given[r] || hit;
    }
    free(given);
    return true;
}

/* max + log(sum(exp(x - max))); of nothing but -inf: -inf. */
bool
eval_logsumexp(Job *j)
{
    const double *x = j->in[0].at;
    int64_t n = type_elements(&j->out[0].type);
    double *sum = calloc((size_t)n, sizeof *sum), *y = j->out[0].at;
    if (!sum)
        return eval_fail(j, "out of memory");
    if (!eval_reduce_most(j, eval_max)) {
        free(sum);
        return false;
    }
    for (Walk w = over(j, &j->in[0].type); w.left; walk_next(&w)) {
        double max = y[w.at[0]];
        sum[w.at[0]] += x[w.done] == max ? 1 : exp(x[w.done] - max);
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = isinf(y[i]) ? y[i] : y[i] + log(sum[i]);
    free(sum);
    return true;
}

bool
eval_logsumexp_grad(Job *j)
{
    const double *dy = j->in[0].at, *x = j->in[1].at, *y = j->in[2].at;
    for (Walk w = over(j, &j->in[1].type); w.left; walk_next(&w)) {
        double lse = y[w.at[0]];
        double p = lse == -INFINITY ? 0 : exp(x[w.done] - lse);
        j->out[0].at[w.done] = dy[w.at[0]] * p;
    }
    return true;
}
