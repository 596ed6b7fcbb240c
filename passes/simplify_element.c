/* Rules of elementwise ops. Above each: what it finds => what it makes. */
#include "passes/simplify.h"

#include <math.h>
#include <stdlib.h>

#include "passes/constant.h"

static bool
is_gradient(const Node *n)
{
    return n->phase == PHASE_backward;
}

/* x + 0 turns -0 into 0, so it is x in gradients only; x + -0 is x. */
static bool
is_no_addend(const Node *n, const Value *v)
{
    return constant_is(v, -0.0) || (is_gradient(n) && constant_is(v, 0)) ||
           (!type_is_float(&v->type) && constant_is(v, 0));
}

/* a + 0 => a;  a + -b => a - b;  -a + b => b - a */
bool
simplify_add(Node *n)
{
    Value *a = n->args[0], *b = n->args[1];
    if (is_no_addend(n, b) && simplify_put(n, a))
        return true;
    if (is_no_addend(n, a) && simplify_put(n, b))
        return true;
    Node *neg = simplify_made_by(b, OP_neg);
    if (neg)
        return simplify_binary(n, OP_sub, a, neg->args[0]);
    neg = simplify_made_by(a, OP_neg);
    if (neg)
        return simplify_binary(n, OP_sub, b, neg->args[0]);
    return simplify_join_slices(n);
}

/* a - 0 => a;  a - -b => a + b */
bool
simplify_sub(Node *n)
{
    Value *a = n->args[0], *b = n->args[1];
    if (constant_is(b, 0) && simplify_put(n, a))
        return true;
    Node *neg = simplify_made_by(b, OP_neg);
    return neg && simplify_binary(n, OP_add, a, neg->args[0]);
}

/* a * 1 => a;  a * -1 => -a */
bool
simplify_mul(Node *n)
{
    for (int i = 0; i < 2; i++) {
        Value *x = n->args[i], *k = n->args[1 - i];
        if (constant_is(k, 1) && simplify_put(n, x))
            return true;
        if (constant_is(k, -1) &&
            type_equal(&x->type, &n->results[0]->type)) {
            node_become(n, OP_neg, &x, 1, NULL, 0);
            return true;
        }
    }
    return false;
}

/* A power of two whose inverse every floating dtype's kernel multiplies by
 * exactly. */
static bool
has_exact_inverse(const Value *v, double *inverse)
{
    double c;
    int e, most = v->type.dtype == DT_f16 ? 14 : 126;
    if (!type_is_float(&v->type) || !constant_value(v, &c) || !isfinite(c) ||
        fabs(frexp(c, &e)) != 0.5 || abs(e - 1) > most)
        return false;
    *inverse = 1 / c;
    return true;
}

/* a / 1 => a;  a / 8 => a * 0.125 */
bool
simplify_div(Node *n)
{
    double inverse;
    Value *a = n->args[0], *b = n->args[1];
    if (constant_is(b, 1) && simplify_put(n, a))
        return true;
    return has_exact_inverse(b, &inverse) &&
           simplify_binary(n, OP_mul, a, simplify_number(n, a, inverse));
}

/* --a => a;  not not a => a */
bool
simplify_twice(Node *n)
{
    Node *inner = simplify_made_by(n->args[0], n->op);
    return inner && simplify_put(n, inner->args[0]);
}

/* a ** 1 => a;  a ** 2 => a * a;  a ** -1 => 1 / a */
bool
simplify_pow(Node *n)
{
    Value *a = n->args[0], *b = n->args[1];
    if (constant_is(b, 1))
        return simplify_put(n, a);
    if (constant_is(b, 2))
        return simplify_binary(n, OP_mul, a, a);
    return constant_is(b, -1) &&
           simplify_binary(n, OP_div, simplify_number(n, a, 1), a);
}

/* The derivative of a ** 1 is d, that of a ** 2 is d * (a + a). */
bool
simplify_pow_grad(Node *n)
{
    Value *d = n->args[0], *a = n->args[1], *b = n->args[2];
    const Type *t = &n->results[0]->type;
    if (constant_is(b, 1))
        return simplify_put(n, d);
    if (!constant_is(b, 2) || !type_equal(&a->type, t))
        return false;
    const char *name = graph_derive(n->graph, n->results[0]->name, "add");
    return simplify_binary(n, OP_mul, d,
                           graph_binary(n->graph, OP_add, name, a, a));
}

/* where true, a, b => a;  where m, a, a => a */
bool
simplify_where(Node *n)
{
    double m;
    Value *a = n->args[1], *b = n->args[2];
    if (constant_value(n->args[0], &m))
        return simplify_put(n, m != 0 ? a : b);
    return a == b && simplify_put(n, a);
}

/* a and true => a;  a or false => a */
bool
simplify_logic(Node *n)
{
    double neutral = n->op == OP_and;
    for (int i = 0; i < 2; i++)
        if (constant_is(n->args[1 - i], neutral) &&
            simplify_put(n, n->args[i]))
            return true;
    return false;
}

/* Does `to` hold every number of `from`? */
static bool
widens(Dtype from, Dtype to)
{
    switch (from) {
    case DT_f16:
    case DT_bf16:
        return to == DT_f32 || to == DT_f64;
    case DT_f32:
        return to == DT_f64;
    case DT_i32:
        return to == DT_i64 || to == DT_f64;
    case DT_u8:
        return to == DT_i32 || to == DT_i64 || to == DT_f32 || to == DT_f64;
    case DT_bool:
        return to != DT_bool && dtype_info[to].kind != KIND_STORAGE;
    case DT_f64:
    case DT_i64:
    case DT_i8:
    case DT_i4:
    case DT_fp8:
    case DT_COUNT:
        return false;
    }
    bug("dtype %d", (int)from);
}

/* cast to the same type => a;  there and back without loss => a */
bool
simplify_cast(Node *n)
{
    Value *a = n->args[0];
    if (simplify_put(n, a))
        return true;
    Node *inner = simplify_made_by(a, OP_cast);
    return inner && widens(inner->args[0]->type.dtype, a->type.dtype) &&
           simplify_put(n, inner->args[0]);
}

/* dropout a (p = 0) => a */
bool
simplify_dropout(Node *n)
{
    return node_float(n, "p", 0) == 0 && simplify_put(n, n->args[0]);
}

/* stop a => a: it has done its work in grad. */
bool
simplify_stop(Node *n)
{
    return simplify_put(n, n->args[0]);
}
