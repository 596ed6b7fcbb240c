/* Derivatives of ops that only move elements: they move d, the gradient of
 * the result, back to where the elements came from. */
#include "passes/grad.h"

#include "ir/shape.h"

void
grad_reshape(Grad *c)
{
    if (grad_for(c, 0))
        grad_give(c, grad_view_as(c, grad_dy(c), &grad_x(c, 0)->type));
}

/* The inverse permutation. */
void
grad_transpose(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    const Attr *perm = node_attr(c->node, "perm");
    int64_t back[MAX_RANK];
    for (int64_t i = 0; i < perm->i; i++)
        back[perm->list[i]] = i;
    Value *d = grad_dy(c);
    Attr a = attr_ints("perm", back, (int)perm->i);
    grad_give(c, grad_op(c, OP_transpose, &d, 1, &a, 1));
}

/* grad_give sums over the axes that grew. */
void
grad_broadcast(Grad *c)
{
    if (grad_for(c, 0))
        grad_give(c, grad_dy(c));
}

/* op d, second operand (attributes of the node): operand 0's type */
static void
give_back(Grad *c, Op op)
{
    if (!grad_for(c, 0))
        return;
    Value *args[2] = {grad_dy(c)};
    if (c->node->n_args > 1)
        args[1] = grad_x(c, 1);
    grad_give(c, grad_typed(c, op, &grad_x(c, 0)->type, args, c->node->n_args,
                            c->node->attrs, c->node->n_attrs));
}

/* Zeros, and d where the slice was. */
void
grad_slice(Grad *c)
{
    give_back(c, OP_slice_grad);
}

void
grad_slice_at(Grad *c)
{
    give_back(c, OP_slice_at_grad);
}

void
grad_take(Grad *c)
{
    give_back(c, OP_take_grad);
}

void
grad_take_along(Grad *c)
{
    give_back(c, OP_take_along_grad);
}

void
grad_embedding(Grad *c)
{
    give_back(c, OP_embedding_grad);
}

void
grad_slice_grad(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Value *d = grad_dy(c);
    grad_give(c, grad_op(c, OP_slice, &d, 1, c->node->attrs,
                         c->node->n_attrs));
}

static Value *
zeros(Grad *c, const Type *t)
{
    Attr a = attr_float("value", 0);
    return grad_typed(c, OP_const, t, NULL, 0, &a, 1);
}

/* The gradients of the parts in a row; 0 for a part without one. */
void
grad_split(Grad *c)
{
    if (!grad_for(c, 0))
        return;
    Node *n = c->node;
    Value **parts = ARENA_ARRAY(c->g->module->arena, Value *, n->n_results);
    for (int i = 0; i < n->n_results; i++) {
        parts[i] = grad_of_result(c, i);
        if (!parts[i])
            parts[i] = zeros(c, &n->results[i]->type);
    }
    Attr axis = attr_int("axis", node_int(n, "axis", 0));
    grad_give(c, grad_op(c, OP_concat, parts, n->n_results, &axis, 1));
}

/* d from `start` on along each axis, as much as x has */
static void
give_window(Grad *c, const int64_t *start)
{
    Value *d = grad_dy(c);
    const Type *x = &grad_x(c, c->arg)->type;
    int64_t stop[MAX_RANK], step[MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        stop[i] = start[i] + x->dim[i];
        step[i] = 1;
    }
    Attr attrs[] = {attr_ints("start", start, x->rank),
                    attr_ints("stop", stop, x->rank),
                    attr_ints("step", step, x->rank)};
    grad_give(c, grad_op(c, OP_slice, &d, 1, attrs, 3));
}

/* All operands at once. */
static void
give_parts(Grad *c, int64_t axis)
{
    Node *n = c->node;
    int64_t *sizes = ARENA_ARRAY(c->g->module->arena, int64_t, n->n_args);
    for (int i = 0; i < n->n_args; i++)
        sizes[i] = n->args[i]->type.dim[axis];
    Value *d = grad_dy(c);
    Attr attrs[] = {attr_int("axis", axis),
                    attr_ints("sizes", sizes, n->n_args)};
    Node *parts = grad_op(c, OP_split, &d, 1, attrs, 2)->def;
    for (int i = 0; i < n->n_args; i++)
        if (grad_for(c, i))
            grad_give(c, parts->results[i]);
}

/* split d, or windows of it where only one operand wants its part or a split
 * cannot make so many. */
void
grad_concat(Grad *c)
{
    int64_t axis = node_int(c->node, "axis", 0), start[MAX_RANK] = {0};
    int wanted = 0;
    for (int i = 0; i < c->node->n_args; i++)
        wanted += grad_for(c, i);
    for (int i = 0; i < c->node->n_args; i++) {
        if (grad_for(c, i) && wanted > 1 && c->node->n_args <= MAX_RESULTS) {
            give_parts(c, axis);
            return;
        }
        if (grad_for(c, i))
            give_window(c, start);
        start[axis] += grad_x(c, i)->type.dim[axis];
    }
}

void
grad_pad(Grad *c)
{
    if (grad_for(c, 0))
        give_window(c, node_attr(c->node, "before")->list);
}
