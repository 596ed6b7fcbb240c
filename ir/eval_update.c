/* The update of a step: learning rate, norm of the gradients, optimizers as
 * PyTorch defines them (decoupled weight decay of AdamW, eps outside the
 * root; SGD's weight decay is added to the gradient). */
#include <math.h>

#include "ir/eval_kernel.h"

/* From peak to floor, f from 0 to 1. */
static double
decayed(const LrSchedule *s, double f)
{
    if (strcmp(s->kind, "linear") == 0)
        return s->peak + (s->floor - s->peak) * f;
    if (strcmp(s->kind, "cosine") == 0)
        return s->floor + (s->peak - s->floor) * 0.5 *
                              (1 + cos(3.14159265358979323846 * f));
    return s->peak;
}

bool
eval_learning_rate(Job *j)
{
    if (!j->train)
        return eval_fail(j, "a learning rate needs a train section");
    const LrSchedule *s = &j->train->lr;
    double at = j->in[0].at[0], warmup = (double)s->warmup;
    double rest = (double)s->steps - warmup;
    if (at < warmup)
        j->out[0].at[0] = s->peak * (at + 1) / warmup;
    else
        j->out[0].at[0] =
            decayed(s, rest > 0 ? fmin((at - warmup) / rest, 1) : 1);
    return true;
}

bool
eval_global_norm(Job *j)
{
    double sum = 0;
    for (int i = 0; i < j->n_in; i++) {
        int64_t n = type_elements(&j->in[i].type);
        for (int64_t k = 0; k < n; k++)
            sum += j->in[i].at[k] * j->in[i].at[k];
    }
    double norm = sqrt(sum) * node_float(j->node, "scale", 1);
    j->out[0].at[0] = norm;
    j->out[1].at[0] = isfinite(norm) != 0;
    return true;
}

/* p, g, m, v, t, lr, scale [, go] */
bool
eval_adamw(Job *j)
{
    double beta1 = node_float(j->node, "beta1", 0.9);
    double beta2 = node_float(j->node, "beta2", 0.999);
    double eps = node_float(j->node, "eps", 1e-8);
    double decay = node_float(j->node, "weight_decay", 0);
    double *p = j->in[0].at, *m = j->in[2].at, *v = j->in[3].at;
    double t = j->in[4].at[0] + 1, scale = j->in[6].at[0];
    double lr = j->in[5].at[0] * node_float(j->node, "lr_scale", 1);
    double correct1 = 1 - pow(beta1, t), correct2 = 1 - pow(beta2, t);
    int64_t n = type_elements(&j->in[0].type);
    if (j->n_in == 8 && j->in[7].at[0] == 0)
        return true;
    for (int64_t i = 0; i < n; i++) {
        double g = j->in[1].at[i] * scale;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        p[i] -= lr * decay * p[i];
        p[i] -= lr * (m[i] / correct1) / (sqrt(v[i] / correct2) + eps);
    }
    return true;
}

/* p, g, lr, scale [, v] [, go] */
bool
eval_sgd(Job *j)
{
    double momentum = node_float(j->node, "momentum", 0);
    double decay = node_float(j->node, "weight_decay", 0);
    bool nesterov = node_flag(j->node, "nesterov");
    double lr = j->in[2].at[0] * node_float(j->node, "lr_scale", 1);
    double scale = j->in[3].at[0], *p = j->in[0].at;
    double *v = momentum != 0 ? j->in[4].at : NULL;
    int64_t n = type_elements(&j->in[0].type);
    if (node_flag(j->node, "go") && j->in[j->n_in - 1].at[0] == 0)
        return true;
    for (int64_t i = 0; i < n; i++) {
        double g = j->in[1].at[i] * scale + decay * p[i], move = g;
        if (v) {
            v[i] = momentum * v[i] + g;
            move = nesterov ? g + momentum * v[i] : v[i];
        }
        p[i] -= lr * move;
    }
    return true;
}
