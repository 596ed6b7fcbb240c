/* The derivative of a product c = op(a) op(b), d being c's gradient. All
 * eight products are matmuls whose flags read an operand transposed:
 *
 *     ta tb   da                    db
 *     -  -    d    @ b'             a'   @ d
 *     -  tb   d    @ b              d'   @ a
 *     ta -    b    @ d'             a    @ d
 *     ta tb   b'   @ d'             d'   @ a'
 */
#include "passes/grad.h"

/* Of a product of 16-bit operands whose result is wider. */
static Value *
incoming(Grad *c)
{
    Value *d = grad_dy(c);
    Dtype to = grad_x(c, 0)->type.dtype;
    if (d->type.dtype == to)
        return d;
    Attr attr = attr_word("to", dtype_info[to].name);
    return grad_op(c, OP_cast, &d, 1, &attr, 1);
}

static Value *
product(Grad *c, Value *a, bool ta, Value *b, bool tb)
{
    Attr attrs[2];
    int n = 0;
    if (ta)
        attrs[n++] = attr_bool("ta", true);
    if (tb)
        attrs[n++] = attr_bool("tb", true);
    Value *args[] = {a, b};
    return grad_op(c, OP_matmul, args, 2, attrs, n);
}

/* [.., M, K] as [.. * M, K] */
static Value *
flat(Grad *c, Value *v)
{
    Type t = v->type;
    int64_t last = t.dim[t.rank - 1];
    t.dim[0] = type_elements(&t) / last;
    t.dim[1] = last;
    t.rank = 2;
    return grad_view_as(c, v, &t);
}

static void
give_a(Grad *c, bool ta, bool tb)
{
    Value *b = grad_x(c, 1), *d = incoming(c);
    if (ta)
        grad_give(c, product(c, b, tb, d, true));
    else
        grad_give(c, product(c, d, false, b, !tb));
}

/* A weight under many rows is one product over all of them, and no batch of
 * products to add up. */
static void
give_b(Grad *c, bool ta, bool tb)
{
    Value *a = grad_x(c, 0), *d = incoming(c);
    if (!ta && grad_x(c, 1)->type.rank == 2) {
        a = flat(c, a);
        d = flat(c, d);
    }
    if (tb)
        grad_give(c, product(c, d, true, a, ta));
    else
        grad_give(c, product(c, a, !ta, d, false));
}

void
grad_matmul(Grad *c)
{
    bool ta = node_flag(c->node, "ta"), tb = node_flag(c->node, "tb");
    if (grad_for(c, 0))
        give_a(c, ta, tb);
    if (grad_for(c, 1))
        give_b(c, ta, tb);
}
