/* The update of a step: learning rate, norm of the gradients, optimizers as
 * PyTorch defines them (decoupled weight decay of AdamW, eps outside the
 * root; SGD's weight decay is added to the gradient). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/eval_kernel.h"
#include "ir/optimizer.h"

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

/* ---- codes of 8 bits, as runtime/edl_code.h has them ---- */

/* of a float's fraction that a code has not, and the code of 1 */
typedef struct Codes {
    int cut, top;
} Codes;

static uint32_t
code_key(const Node *n, int64_t update)
{
    const char *path = value_tensor(n->args[0])->name;
    uint64_t x = hash64(path, strlen(path)) ^
                 (uint64_t)update * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

static uint32_t
code_noise(uint32_t key, uint32_t element)
{
    uint32_t x = element * UINT32_C(0x9e3779b9) + key;
    x = (x ^ x >> 16) * UINT32_C(0x7feb352d);
    x = (x ^ x >> 15) * UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

/* The float that the code of x >= 0 stands for, in units of the scale. */
static double
coded(Codes k, double x, double scale, uint32_t add)
{
    float part = (float)(x / scale);
    int32_t none = (127 << (23 - k.cut)) - k.top;
    uint32_t bits;
    memcpy(&bits, &part, sizeof bits);
    int32_t c = (int32_t)((bits + add) >> k.cut) - none;
    c = c < 0 ? 0 : c > k.top ? k.top : c;
    bits = (uint32_t)(c + none) << k.cut;
    memcpy(&part, &bits, sizeof part);
    return c == 0 ? 0 : (double)part;
}

static double
largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs(x[i]) <= most || isnan(most) ? most : fabs(x[i]);
    return most;
}

/* Rounds n elements of a state from `first` on to codes; answers the scale. */
static double
code_block(double *x, int64_t n, int64_t first, uint32_t key)
{
    const Codes k = {20, 127};
    double scale = (float)largest(x, n);
    for (int64_t i = 0; scale != 0 && i < n; i++) {
        uint32_t noise = code_noise(key, (uint32_t)(first + i));
        double part = coded(k, fabs(x[i]), scale, (noise & 0xffff) << 4);
        x[i] = copysign(part * scale, x[i]);
    }
    return scale;
}

/* The same of the roots of second moments, which do not become 0. */
static double
root_block(double *x, int64_t n, int64_t first, uint32_t key)
{
    const Codes k = {19, 255};
    const double least = ldexp(1.125, -16);
    double scale = (float)sqrt(largest(x, n));
    for (int64_t i = 0; scale != 0 && i < n; i++) {
        uint32_t noise = code_noise(key, (uint32_t)(first + i));
        x[i] = x[i] < FLT_MIN ? 0 : x[i]; /* as moments fade in f32 */
        double part = coded(k, sqrt(x[i]), scale, noise >> 16 << 3);
        if (part == 0 && x[i] > 0)
            part = least;
        x[i] = part * scale * (part * scale);
    }
    return scale;
}

static void
code_states(Job *j, const Optimizer *o, int64_t update)
{
    uint32_t key = code_key(j->node, update);
    for (int s = 0; s < o->n_state && o->scale[s] >= 0; s++) {
        int64_t n = type_elements(&j->in[o->state[s]].type);
        for (int64_t i = 0; i < n; i += CODE_BLOCK)
            j->in[o->scale[s]].at[i / CODE_BLOCK] =
                (s == 0 ? code_block : root_block)(
                    j->in[o->state[s]].at + i,
                    n - i < CODE_BLOCK ? n - i : CODE_BLOCK, i, key);
    }
}

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
    Optimizer o = optimizer_of(j->node);
    if (o.go >= 0 && j->in[o.go].at[0] == 0)
        return true;
    for (int64_t i = 0; i < n; i++) {
        double g = j->in[1].at[i] * scale;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        p[i] -= lr * decay * p[i];
        p[i] -= lr * (m[i] / correct1) / (sqrt(v[i] / correct2) + eps);
    }
    code_states(j, &o, (int64_t)t - 1);
    return true;
}

bool
eval_sgd(Job *j)
{
    double momentum = node_float(j->node, "momentum", 0);
    double decay = node_float(j->node, "weight_decay", 0);
    bool nesterov = node_flag(j->node, "nesterov");
    double lr = j->in[2].at[0] * node_float(j->node, "lr_scale", 1);
    double scale = j->in[3].at[0], *p = j->in[0].at;
    Optimizer o = optimizer_of(j->node);
    double *v = o.n_state ? j->in[o.state[0]].at : NULL;
    int64_t n = type_elements(&j->in[0].type);
    if (o.go >= 0 && j->in[o.go].at[0] == 0)
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
