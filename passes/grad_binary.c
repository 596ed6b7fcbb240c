/* Derivatives of elementwise ops with two and three operands; d is the
 * gradient of the result. grad_give sums over broadcast axes. */
#include "passes/grad.h"

/* y = a + b:  d, d */
void
grad_add(Grad *c)
{
    for (int i = 0; i < 2; i++)
        if (grad_for(c, i))
            grad_give(c, grad_dy(c));
}

/* y = a - b:  d, -d */
void
grad_sub(Grad *c)
{
    if (grad_for(c, 0))
        grad_give(c, grad_dy(c));
    if (grad_for(c, 1))
        grad_give(c, grad1(c, OP_neg, grad_dy(c)));
}

/* A normalized row from its operand, mean and deviation, which the norm's own
 * gradient reads too: so that it need not be saved beside them. */
static Value *
norm_again(Grad *c, Value *v)
{
    const Node *n = v->def;
    bool layernorm = n->op == OP_layernorm;
    if ((!layernorm && n->op != OP_rmsnorm) || v->result != 0 ||
        v->type.dtype != DT_f32 || !n->args[0]->note)
        return v;
    Value *x = n->args[0];
    if (layernorm)
        x = grad2(c, OP_sub, x, n->results[1]);
    return grad2(c, OP_mul, x, n->results[layernorm ? 2 : 1]);
}

/* y = a * b:  d b, d a */
void
grad_mul(Grad *c)
{
    for (int i = 0; i < 2; i++) {
        if (!grad_for(c, i))
            continue;
        Value *other = norm_again(c, grad_x(c, 1 - i));
        grad_give(c, grad2(c, OP_mul, grad_dy(c), other));
    }
}

/* y = a / b:  d/b, -(d/b) y: no square of b that could leave the range */
void
grad_div(Grad *c)
{
    Value *b = grad_x(c, 1);
    if (grad_for(c, 0))
        grad_give(c, grad2(c, OP_div, grad_dy(c), b));
    if (grad_for(c, 1)) {
        Value *q = grad2(c, OP_div, grad_dy(c), b);
        grad_give(c, grad1(c, OP_neg, grad2(c, OP_mul, q, grad_y(c))));
    }
}

/* y = a ** b: the corners are in ops of their own */
void
grad_pow(Grad *c)
{
    static const Op op[] = {OP_pow_grad_base, OP_pow_grad_exp};
    for (int i = 0; i < 2; i++)
        if (grad_for(c, i))
            grad_give(c, grad3(c, op[i], grad_dy(c), grad_x(c, 0),
                               grad_x(c, 1)));
}

/* d to the operand that `first` picks; ties to the first */
static void
give_picked(Grad *c, Op first)
{
    Value *d = grad_dy(c);
    for (int i = 0; i < 2; i++) {
        if (!grad_for(c, i))
            continue;
        Value *mask = grad2(c, first, grad_x(c, 0), grad_x(c, 1));
        Value *zero = grad_number(c, d, 0);
        grad_give(c, grad3(c, OP_where, mask, i ? zero : d, i ? d : zero));
    }
}

void
grad_maximum(Grad *c)
{
    give_picked(c, OP_ge);
}

void
grad_minimum(Grad *c)
{
    give_picked(c, OP_le);
}

/* y = max(x, 0) - x t + log1p(exp(-|x|)):  d (sigmoid(x) - t), -d x */
void
grad_bce_with_logits(Grad *c)
{
    Value *x = grad_x(c, 0), *t = grad_x(c, 1), *d = grad_dy(c);
    if (grad_for(c, 0)) {
        Value *p = grad1(c, OP_sigmoid, x);
        grad_give(c, grad2(c, OP_mul, d, grad2(c, OP_sub, p, t)));
    }
    if (grad_for(c, 1))
        grad_give(c, grad1(c, OP_neg, grad2(c, OP_mul, d, x)));
}

/* y = where m, a, b:  where m, d, 0;  where m, 0, d */
void
grad_where(Grad *c)
{
    Value *m = grad_x(c, 0), *d = grad_dy(c);
    if (grad_for(c, 1))
        grad_give(c, grad3(c, OP_where, m, d, grad_number(c, d, 0)));
    if (grad_for(c, 2))
        grad_give(c, grad3(c, OP_where, m, grad_number(c, d, 0), d));
}
