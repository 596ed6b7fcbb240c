/* Derivatives of the ops that have a gradient op of their own. They read what
 * is cheap to keep (results, a mean and a deviation a row), so that big
 * operands may be gone or be made again. */
#include "passes/grad.h"

/* op d, y (attributes of the node) */
static void
give_from_result(Grad *c, Op op)
{
    if (!grad_for(c, 0))
        return;
    Value *args[] = {grad_dy(c), grad_y(c)};
    grad_give(c, grad_op(c, op, args, 2, c->node->attrs, c->node->n_attrs));
}

void
grad_softmax(Grad *c)
{
    give_from_result(c, OP_softmax_grad);
}

void
grad_log_softmax(Grad *c)
{
    give_from_result(c, OP_log_softmax_grad);
}

void
grad_layernorm(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value **r = c->node->results;
    Value *args[] = {grad_dy(c), grad_x(c, 0), r[1], r[2]};
    grad_give(c, grad_op(c, OP_layernorm_grad, args, 4, NULL, 0));
}

void
grad_rmsnorm(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *args[] = {grad_dy(c), grad_x(c, 0), c->node->results[1]};
    grad_give(c, grad_op(c, OP_rmsnorm_grad, args, 3, NULL, 0));
}

/* dq, dk, dv [, dbias] = attention_grad d, q, k, v, y, lse [, mask] [, bias] */
void
grad_attention(Grad *c)
{
    Node *n = c->node;
    bool mask = node_flag(n, "mask"), bias = node_flag(n, "bias");
    Value *args[8] = {grad_dy(c), n->args[0],    n->args[1],
                      n->args[2], n->results[0], n->results[1]};
    for (int i = 3; i < n->n_args; i++)
        args[3 + i] = n->args[i];
    c->arg = 0;
    Node *made = grad_op(c, OP_attention_grad, args, n->n_args + 3, n->attrs,
                         n->n_attrs)->def;
    for (int i = 0; i < 3; i++)
        if (grad_for(c, i))
            grad_give(c, made->results[i]);
    if (bias && grad_for(c, mask ? 4 : 3))
        grad_give(c, made->results[3]);
}

/* Rotates back. */
void
grad_rope(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Node *n = c->node;
    Value *args[2] = {grad_dy(c)};
    if (n->n_args > 1)
        args[1] = n->args[1];
    Attr attrs[] = {*node_attr(n, "style"), *node_attr(n, "base"),
                    attr_bool("inverse", true)};
    int n_attrs = node_flag(n, "inverse") ? 2 : 3;
    grad_give(c, grad_op(c, OP_rope, args, n->n_args, attrs, n_attrs));
}

void
grad_cross_entropy(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Node *n = c->node;
    Value *args[] = {grad_dy(c), n->args[0], n->args[1], n->results[1],
                     n->results[2]};
    grad_give(c, grad_op(c, OP_cross_entropy_grad, args, 5, n->attrs,
                         n->n_attrs));
}
