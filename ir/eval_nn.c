/* Softmax, norms, losses, rotary embedding. Each works on rows: runs of n
 * elements that lie `inner` apart. */
#include <math.h>

#include "ir/eval_kernel.h"

/* Row r of a shape around an axis starts at offset(r), element i of it is
 * inner further. */
typedef struct Rows {
    int64_t count, n, inner;
} Rows;

static Rows
rows_of(const Type *t, int axis)
{
    Around a = eval_around(t, axis);
    return (Rows){a.outer * a.inner, a.n, a.inner};
}

static Rows
last_axis(const Type *t)
{
    return rows_of(t, t->rank - 1);
}

static Rows
softmax_rows(const Job *j)
{
    return rows_of(&j->out[0].type, (int)node_int(j->node, "axis", 0));
}

static int64_t
row_start(Rows r, int64_t row)
{
    return row / r.inner * r.n * r.inner + row % r.inner;
}

/* log(sum(exp(x))) of one row; -inf where there is nothing but -inf. */
static double
row_lse(const double *x, Rows r)
{
    double max = x[0], sum = 0;
    for (int64_t i = 1; i < r.n; i++)
        max = eval_max(max, x[i * r.inner]);
    if (isinf(max))
        return max;
    for (int64_t i = 0; i < r.n; i++)
        sum += exp(x[i * r.inner] - max);
    return max + log(sum);
}

/* A row of nothing but -inf (all masked) gives 0. */
static void
row_softmax(const double *x, double *y, Rows r)
{
    double max = x[0], sum = 0;
    for (int64_t i = 1; i < r.n; i++)
        max = eval_max(max, x[i * r.inner]);
    if (max == -INFINITY)
        return;
    for (int64_t i = 0; i < r.n; i++)
        sum += y[i * r.inner] = exp(x[i * r.inner] - max);
    for (int64_t i = 0; i < r.n; i++)
        y[i * r.inner] /= sum;
}

bool
eval_softmax(Job *j)
{
    Rows r = softmax_rows(j);
    for (int64_t k = 0; k < r.count; k++) {
        int64_t at = row_start(r, k);
        row_softmax(j->in[0].at + at, j->out[0].at + at, r);
    }
    return true;
}

/* dx = y (dy - sum(dy y)) */
bool
eval_softmax_grad(Job *j)
{
    Rows r = softmax_rows(j);
    for (int64_t k = 0; k < r.count; k++) {
        int64_t at = row_start(r, k);
        const double *dy = j->in[0].at + at, *y = j->in[1].at + at;
        double dot = 0;
        for (int64_t i = 0; i < r.n; i++)
            dot += dy[i * r.inner] * y[i * r.inner];
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[at + i * r.inner] =
                y[i * r.inner] * (dy[i * r.inner] - dot);
    }
    return true;
}

bool
eval_log_softmax(Job *j)
{
    Rows r = softmax_rows(j);
    for (int64_t k = 0; k < r.count; k++) {
        int64_t at = row_start(r, k);
        const double *x = j->in[0].at + at;
        double lse = row_lse(x, r);
        for (int64_t i = 0; i < r.n; i++) {
            double v = x[i * r.inner];
            j->out[0].at[at + i * r.inner] = v == -INFINITY ? v : v - lse;
        }
    }
    return true;
}

/* dx = dy - exp(y) sum(dy) */
bool
eval_log_softmax_grad(Job *j)
{
    Rows r = softmax_rows(j);
    for (int64_t k = 0; k < r.count; k++) {
        int64_t at = row_start(r, k);
        const double *dy = j->in[0].at + at, *y = j->in[1].at + at;
        double sum = 0;
        for (int64_t i = 0; i < r.n; i++)
            sum += dy[i * r.inner];
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[at + i * r.inner] =
                dy[i * r.inner] - exp(y[i * r.inner]) * sum;
    }
    return true;
}

/* ---- norms over the last axis ---- */

bool
eval_layernorm(Job *j)
{
    Rows r = last_axis(&j->in[0].type);
    double eps = node_float(j->node, "eps", 0);
    for (int64_t k = 0; k < r.count; k++) {
        const double *x = j->in[0].at + k * r.n;
        double mean = 0, var = 0;
        for (int64_t i = 0; i < r.n; i++)
            mean += x[i] / (double)r.n;
        for (int64_t i = 0; i < r.n; i++)
            var += (x[i] - mean) * (x[i] - mean) / (double)r.n;
        double rstd = 1 / sqrt(var + eps);
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[k * r.n + i] = (x[i] - mean) * rstd;
        j->out[1].at[k] = mean;
        j->out[2].at[k] = rstd;
    }
    return true;
}

/* dx = rstd (dy - mean(dy) - n mean(dy n)) with n = (x - mean) rstd */
bool
eval_layernorm_grad(Job *j)
{
    Rows r = last_axis(&j->in[0].type);
    for (int64_t k = 0; k < r.count; k++) {
        const double *dy = j->in[0].at + k * r.n, *x = j->in[1].at + k * r.n;
        double mean = j->in[2].at[k], rstd = j->in[3].at[k];
        double a = 0, b = 0;
        for (int64_t i = 0; i < r.n; i++) {
            a += dy[i] / (double)r.n;
            b += dy[i] * (x[i] - mean) * rstd / (double)r.n;
        }
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[k * r.n + i] =
                rstd * (dy[i] - a - (x[i] - mean) * rstd * b);
    }
    return true;
}

bool
eval_rmsnorm(Job *j)
{
    Rows r = last_axis(&j->in[0].type);
    double eps = node_float(j->node, "eps", 0);
    for (int64_t k = 0; k < r.count; k++) {
        const double *x = j->in[0].at + k * r.n;
        double square = 0;
        for (int64_t i = 0; i < r.n; i++)
            square += x[i] * x[i] / (double)r.n;
        double rstd = 1 / sqrt(square + eps);
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[k * r.n + i] = x[i] * rstd;
        j->out[1].at[k] = rstd;
    }
    return true;
}

/* dx = rstd (dy - n mean(dy n)) with n = x rstd */
bool
eval_rmsnorm_grad(Job *j)
{
    Rows r = last_axis(&j->in[0].type);
    for (int64_t k = 0; k < r.count; k++) {
        const double *dy = j->in[0].at + k * r.n, *x = j->in[1].at + k * r.n;
        double rstd = j->in[2].at[k], dot = 0;
        for (int64_t i = 0; i < r.n; i++)
            dot += dy[i] * x[i] * rstd / (double)r.n;
        for (int64_t i = 0; i < r.n; i++)
            j->out[0].at[k * r.n + i] = rstd * (dy[i] - x[i] * rstd * dot);
    }
    return true;
}

/* ---- cross entropy ---- */

typedef struct Classes {
    Rows rows;
    double smoothing;
    int64_t ignore;
    bool has_ignore, mean, none;
} Classes;

static Classes
classes_of(const Job *j, const Type *logits)
{
    const Attr *ignore = node_attr(j->node, "ignore");
    const char *how = node_word(j->node, "reduction", "mean");
    return (Classes){
        .rows = last_axis(logits),
        .smoothing = node_float(j->node, "smoothing", 0),
        .ignore = ignore ? ignore->i : 0,
        .has_ignore = ignore != NULL,
        .mean = strcmp(how, "mean") == 0,
        .none = strcmp(how, "none") == 0,
    };
}

static bool
ignored(const Classes *c, double target)
{
    return c->has_ignore && target == (double)c->ignore;
}

static bool
targets_in_range(Job *j, const Classes *c, const double *target)
{
    for (int64_t k = 0; k < c->rows.count; k++)
        if (!ignored(c, target[k]) &&
            !(target[k] >= 0 && target[k] < (double)c->rows.n))
            return eval_fail(j,
                             "target %.0f at place %lld is out of range: "
                             "it must be in [0, %lld)",
                             target[k], (long long)k, (long long)c->rows.n);
    return true;
}

/* lse - x[t], and label smoothing's mean over all classes. */
static double
row_loss(const Classes *c, const double *x, double lse, int64_t target)
{
    double nll = lse - x[target], all = 0;
    if (c->smoothing == 0)
        return nll;
    for (int64_t i = 0; i < c->rows.n; i++)
        all += (lse - x[i]) / (double)c->rows.n;
    return (1 - c->smoothing) * nll + c->smoothing * all;
}

bool
eval_cross_entropy(Job *j)
{
    Classes c = classes_of(j, &j->in[0].type);
    const double *target = j->in[1].at;
    double sum = 0, valid = 0;
    if (!targets_in_range(j, &c, target))
        return false;
    for (int64_t k = 0; k < c.rows.count; k++) {
        const double *x = j->in[0].at + k * c.rows.n;
        double lse = row_lse(x, c.rows);
        j->out[1].at[k] = lse;
        if (ignored(&c, target[k]))
            continue;
        double loss = row_loss(&c, x, lse, (int64_t)target[k]);
        valid++;
        sum += loss;
        if (c.none)
            j->out[0].at[k] = loss;
    }
    if (!c.none)
        j->out[0].at[0] = c.mean && valid > 0 ? sum / valid : sum;
    j->out[2].at[0] = valid;
    return true;
}

/* dloss (p - onehot), the one-hot smoothed, over the valid ones of a mean. */
bool
eval_cross_entropy_grad(Job *j)
{
    Classes c = classes_of(j, &j->in[1].type);
    const double *target = j->in[2].at;
    double valid = j->in[4].at[0], n = (double)c.rows.n;
    if (!targets_in_range(j, &c, target))
        return false;
    for (int64_t k = 0; k < c.rows.count; k++) {
        if (ignored(&c, target[k]))
            continue;
        const double *x = j->in[1].at + k * c.rows.n;
        double scale = j->in[0].at[c.none ? k : 0] / (c.mean ? valid : 1);
        for (int64_t i = 0; i < c.rows.n; i++) {
            double hot = i == (int64_t)target[k] ? 1 - c.smoothing : 0;
            double p = exp(x[i] - j->in[3].at[k]);
            j->out[0].at[k * c.rows.n + i] =
                scale * (p - hot - c.smoothing / n);
        }
    }
    return true;
}

/* ---- rotary embedding ---- */

/* The position of row t of batch b. */
static double
rope_position(const Job *j, int64_t b, int64_t t, int64_t n_t)
{
    if (j->n_in < 2)
        return (double)t;
    return j->in[1].at[j->in[1].type.rank == 2 ? b * n_t + t : t];
}

/* (u, v) turns by position * base^(-2i/D); u and v are elements i and i+D/2
 * (half) or 2i and 2i+1 (interleaved). */
static void
rope_row(const Job *j, const double *x, double *y, int64_t d, double position)
{
    bool half = strcmp(node_word(j->node, "style", ""), "half") == 0;
    double base = node_float(j->node, "base", 10000);
    double way = node_flag(j->node, "inverse") ? -1 : 1;
    for (int64_t i = 0; i < d / 2; i++) {
        int64_t u = half ? i : 2 * i, v = half ? i + d / 2 : 2 * i + 1;
        double a = position * pow(base, -2 * (double)i / (double)d) * way;
        y[u] = x[u] * cos(a) - x[v] * sin(a);
        y[v] = x[u] * sin(a) + x[v] * cos(a);
    }
}

bool
eval_rope(Job *j)
{
    const Type *t = &j->in[0].type;
    int64_t d = t->dim[t->rank - 1], n_t = t->dim[t->rank - 2];
    int64_t rows = type_elements(t) / d;
    int64_t rows_of_batch = t->rank > 2 ? rows / t->dim[0] : rows;
    for (int64_t r = 0; r < rows; r++) {
        double p = rope_position(j, r / rows_of_batch, r % n_t, n_t);
        rope_row(j, j->in[0].at + r * d, j->out[0].at + r * d, d, p);
    }
    return true;
}
