/* fold: computes what constants decide.
 *
 *     a = const (value = 2) : f32[]
 *     b = sqrt a : f32[]         =>    b = const (value = 1.41421354) : f32[]
 *
 * A const fills its type with one number, so an op of constants is a number
 * too, whatever its shape. Each result is rounded as its dtype is, which gives
 * the bits that the emitted program would compute. Only what IEEE 754 rounds
 * correctly is folded: exp and its like differ from one libm to another, and
 * the same model must give the same bytes on every machine. */
#include "passes/constant.h"
#include "passes/pass.h"

#include <math.h>

/* NaN of either operand is kept, as in the emitted program. */
static double
larger(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

static double
smaller(double a, double b)
{
    return isnan(a) || a <= b ? a : b;
}

static double
sign(double a)
{
    return isnan(a) ? a : (double)((a > 0) - (a < 0));
}

/* The op of the numbers x[0], x[1], x[2], in double: with 53 digits, rounding
 * to 24 or fewer once more gives what the narrow operation gives. False: not
 * an op of numbers, or none that every machine rounds alike. */
static bool
compute(const Node *n, const double *x, double *y)
{
    double a = x[0], b = x[1];
    switch (n->op) {
    case OP_neg: *y = -a; break;
    case OP_abs: *y = fabs(a); break;
    case OP_sign: *y = sign(a); break;
    case OP_floor: *y = floor(a); break;
    case OP_sqrt: *y = sqrt(a); break;
    case OP_relu: *y = larger(a, 0); break;
    case OP_not: *y = a == 0; break;
    case OP_isfinite: *y = isfinite(a) != 0; break;
    case OP_add: *y = a + b; break;
    case OP_sub: *y = a - b; break;
    case OP_mul: *y = a * b; break;
    case OP_div: *y = a / b; break;
    case OP_maximum: *y = larger(a, b); break;
    case OP_minimum: *y = smaller(a, b); break;
    case OP_lt: *y = a < b; break;
    case OP_le: *y = a <= b; break;
    case OP_gt: *y = a > b; break;
    case OP_ge: *y = a >= b; break;
    case OP_eq: *y = a == b; break;
    case OP_ne: *y = a != b; break;
    case OP_and: *y = a != 0 && b != 0; break;
    case OP_or: *y = a != 0 || b != 0; break;
    case OP_where: *y = a != 0 ? b : x[2]; break;
    case OP_cast: case OP_stop: case OP_reshape: case OP_transpose:
    case OP_broadcast: case OP_slice: case OP_reduce_max: case OP_reduce_min:
        *y = a;
        break;
    default:
        return false;
    }
    return n->op != OP_div || type_is_float(&n->results[0]->type);
}

/* count * a where that is right in any order of adding: whole numbers below
 * the first that f32 (and f64, i32) cannot hold. */
static bool
compute_sum(const Node *n, double a, double *y)
{
    const Type *t = &n->args[0]->type;
    int64_t count = type_elements(t) / type_elements(&n->results[0]->type);
    *y = a * (double)count;
    return a == floor(a) && fabs(*y) <= 0x1p24;
}

/* All operands filled with the same number. */
static bool
compute_concat(const double *x, int n, double *y)
{
    for (int i = 1; i < n; i++)
        if (x[i] != x[0] || signbit(x[i]) != signbit(x[0]))
            return false;
    *y = x[0];
    return true;
}

static bool
fold_value(const Node *n, const double *x, double *y)
{
    switch (n->op) {
    case OP_reduce_sum:
        return compute_sum(n, x[0], y);
    case OP_concat:
        return compute_concat(x, n->n_args, y);
    case OP_pad:
        return compute_concat((double[]){x[0], node_float(n, "value", 0)}, 2,
                              y);
    default:
        return compute(n, x, y);
    }
}

/* A NaN or an infinity is left to the program: its payload and the warnings
 * of C compilers are not worth it. */
static void
fold_node(Node *n)
{
    Arena *a = n->graph->module->arena;
    if (n->body || n->n_results != 1 || n->n_args == 0)
        return;
    double few[3] = {0}, y;
    double *x = n->n_args <= 3 ? few : ARENA_ARRAY(a, double, n->n_args);
    for (int i = 0; i < n->n_args; i++)
        if (!constant_value(n->args[i], &x[i]))
            return;
    if (fold_value(n, x, &y) &&
        constant_round(n->results[0]->type.dtype, &y) && isfinite(y))
        constant_become(n, y);
}

static void
fold_graph(Graph *g)
{
    graph_each(g, n)
        fold_node(n);
}

bool
pass_fold(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        fold_graph(m->graphs.at[i]);
    return true;
}
