/* Derivatives of reductions. d and y are taken with their reduced axes kept
 * as 1, so that they meet the operand by broadcasting. */
#include "passes/grad.h"

/* The operand's shape with 1 at the reduced axes. */
static Type
kept_shape(const Grad *c)
{
    Type t = grad_x(c, 0)->type;
    const Attr *axes = node_attr(c->node, "axes");
    for (int64_t i = 0; i < axes->i; i++)
        t.dim[axes->list[i]] = 1;
    return t;
}

static Value *
kept(Grad *c, Value *v)
{
    Type t = kept_shape(c);
    return grad_view_as(c, v, &t);
}

/* How many elements one result sums up. */
static double
count(const Grad *c)
{
    Type t = kept_shape(c);
    return (double)(type_elements(&grad_x(c, 0)->type) / type_elements(&t));
}

/* d to every element */
void
grad_reduce_sum(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *d = kept(c, grad_dy(c));
    grad_give(c, grad_expand(c, d, &grad_x(c, 0)->type));
}

/* op d, x, y: an op that knows what one element gets */
static void
give_by(Grad *c, Op op)
{
    if (!grad_for(c, 0))
        return;
    Value *args[] = {kept(c, grad_dy(c)), grad_x(c, 0), kept(c, grad_y(c))};
    grad_give(c, grad_op(c, op, args, 3, node_attr(c->node, "axes"), 1));
}

/* all of d to the first element that equals y */
void
grad_reduce_max(Grad *c)
{
    give_by(c, OP_reduce_pick_grad);
}

void
grad_reduce_min(Grad *c)
{
    give_by(c, OP_reduce_pick_grad);
}

/* d exp(x - y) */
void
grad_logsumexp(Grad *c)
{
    give_by(c, OP_logsumexp_grad);
}

/* d 2/(n - ddof) (x - mean) */
void
grad_variance(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *x = grad_x(c, 0), *d = kept(c, grad_dy(c));
    double n = count(c);
    Attr attrs[] = {*node_attr(c->node, "axes"), attr_bool("keep", true)};
    Value *sum = grad_op(c, OP_reduce_sum, &x, 1, attrs, 2);
    Value *mean = grad2(c, OP_div, sum, grad_number(c, x, n));
    double k = 2 / (n - (double)node_int(c->node, "ddof", 0));
    Value *scaled = grad2(c, OP_mul, d, grad_number(c, d, k));
    grad_give(c, grad2(c, OP_mul, grad2(c, OP_sub, x, mean), scaled));
}
