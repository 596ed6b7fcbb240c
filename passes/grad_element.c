/* Derivatives of elementwise ops with one operand. Above each rule: y = f(x)
 * and what x gets, d being the gradient of y. */
#include "passes/grad.h"

/* d times slope */
static void
give_times(Grad *c, Value *slope)
{
    grad_give(c, grad2(c, OP_mul, grad_dy(c), slope));
}

/* d where the mask is true, else 0: never 0 * infinity. */
static void
give_where(Grad *c, Value *mask)
{
    Value *d = grad_dy(c);
    grad_give(c, grad3(c, OP_where, mask, d, grad_number(c, d, 0)));
}

/* -d */
void
grad_neg(Grad *c)
{
    if (grad_for(c, 0))
        grad_give(c, grad1(c, OP_neg, grad_dy(c)));
}

/* d * sign(x): 0 at 0 */
void
grad_abs(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_sign, grad_x(c, 0)));
}

/* Constant between its steps: nothing. */
void
grad_sign(Grad *c)
{
    (void)c;
}

void
grad_floor(Grad *c)
{
    (void)c;
}

/* d * y */
void
grad_exp(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad_y(c));
}

/* d / x */
void
grad_log(Grad *c)
{
    if (grad_for(c, 0))
        grad_give(c, grad2(c, OP_div, grad_dy(c), grad_x(c, 0)));
}

/* d / (1 + x) */
void
grad_log1p(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *x = grad_x(c, 0);
    Value *z = grad2(c, OP_add, x, grad_number(c, x, 1));
    grad_give(c, grad2(c, OP_div, grad_dy(c), z));
}

/* d * 0.5 / y; 0 where y is 0, as of a norm at 0 */
void
grad_sqrt(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *d = grad_dy(c), *y = grad_y(c), *zero = grad_number(c, y, 0);
    Value *half = grad2(c, OP_mul, d, grad_number(c, d, 0.5));
    Value *slope = grad2(c, OP_div, half, y);
    grad_give(c, grad3(c, OP_where, grad2(c, OP_eq, y, zero), zero, slope));
}

/* d * -0.5 y^3 */
void
grad_rsqrt(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *y = grad_y(c);
    Value *cube = grad2(c, OP_mul, grad2(c, OP_mul, y, y), y);
    give_times(c, grad2(c, OP_mul, cube, grad_number(c, y, -0.5)));
}

/* d * cos(x) */
void
grad_sin(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_cos, grad_x(c, 0)));
}

/* d * -sin(x) */
void
grad_cos(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *s = grad1(c, OP_sin, grad_x(c, 0));
    give_times(c, grad1(c, OP_neg, s));
}

/* d * (1 - y^2) */
void
grad_tanh(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *y = grad_y(c);
    Value *square = grad2(c, OP_mul, y, y);
    give_times(c, grad2(c, OP_sub, grad_number(c, y, 1), square));
}

/* d * y (1 - y) */
void
grad_sigmoid(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *y = grad_y(c);
    Value *rest = grad2(c, OP_sub, grad_number(c, y, 1), y);
    give_times(c, grad2(c, OP_mul, y, rest));
}

/* d * 2/sqrt(pi) exp(-x^2) */
void
grad_erf(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *x = grad_x(c, 0);
    Value *square = grad2(c, OP_mul, x, x);
    Value *bell = grad1(c, OP_exp, grad1(c, OP_neg, square));
    Value *k = grad_number(c, x, 1.1283791670955126);
    give_times(c, grad2(c, OP_mul, bell, k));
}

/* d * sigmoid(x) */
void
grad_softplus(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_sigmoid, grad_x(c, 0)));
}

/* d where y > 0: 0 at 0; from the result, so that x may be gone. */
void
grad_relu(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *y = grad_y(c);
    give_where(c, grad2(c, OP_gt, y, grad_number(c, y, 0)));
}

void
grad_silu(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_silu_slope, grad_x(c, 0)));
}

void
grad_gelu_tanh(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_gelu_tanh_slope, grad_x(c, 0)));
}

void
grad_gelu_erf(Grad *c)
{
    if (grad_for(c, 0))
        give_times(c, grad1(c, OP_gelu_erf_slope, grad_x(c, 0)));
}

/* d where lo <= x <= hi: the bounds pass it. */
void
grad_clamp(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *x = grad_x(c, 0);
    Value *lo = grad_number(c, x, node_float(c->node, "lo", 0));
    Value *hi = grad_number(c, x, node_float(c->node, "hi", 0));
    Value *above = grad2(c, OP_ge, x, lo), *below = grad2(c, OP_le, x, hi);
    give_where(c, grad2(c, OP_and, above, below));
}

/* d cast back */
void
grad_cast(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *d = grad_dy(c);
    Attr to = attr_word("to", dtype_info[grad_x(c, 0)->type.dtype].name);
    grad_give(c, grad_op(c, OP_cast, &d, 1, &to, 1));
}

/* The same draw again: dropout is linear. */
void
grad_dropout(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *d = grad_dy(c);
    grad_give(c, grad_op(c, OP_dropout, &d, 1, c->node->attrs,
                         c->node->n_attrs));
}
