#include "passes/fuse_rules.h"

#include "passes/precision.h"

static bool
same_dims(const Type *a, const Type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

static bool
is_element(const Node *n, const Type *shape)
{
    return (op_info[n->op].flags & OP_ELEMENT) && n->n_results == 1 &&
           same_dims(&n->results[0]->type, shape);
}

static bool
never(const Fuse *f, const Group *g, const Node *n)
{
    (void)f, (void)g, (void)n;
    return false;
}

/* Elementwise producers of the group's shape that nothing else reads. */
static bool
private_element(const Fuse *f, const Group *g, const Node *d)
{
    return is_element(d, &g->shape) && fuse_only_for(f, g, d);
}

/* The last value is read by the accumulate alone. */
static bool
ends_group(const Fuse *f, const Group *g, const Node *c)
{
    (void)g;
    return c->op == OP_accumulate && fuse_users(c->args[0])->at.n == 1 &&
           fuse_group_of(f, value_node(c->args[0])) == g;
}

static bool
is_last(const Node *n, int rank)
{
    int64_t axis = node_int(n, "axis", -1);
    return axis == -1 || axis == rank - 1;
}

static bool
is_row_op(const Node *n)
{
    return (op_info[n->op].flags & OP_ROW) && is_last(n, n->args[0]->type.rank);
}

/* ---- matmul ---- */

static bool
matmul_seeds(const Node *n, Type *shape)
{
    if (n->op != OP_matmul)
        return false;
    *shape = n->results[0]->type;
    return true;
}

/* An operand read of a tensor and rounded for this product alone. */
static bool
rounds_operand(const Fuse *f, const Group *g, const Node *d)
{
    const Value *x = d->n_args ? d->args[0] : NULL;
    if (d->op != OP_cast || x->type.dtype != DT_f32 ||
        d->results[0]->type.dtype != DT_bf16 || !fuse_only_for(f, g, d) ||
        precision_shares_casts(f->g->module))
        return false;
    while (op_info[x->def->op].flags & OP_VIEW)
        x = x->def->args[0];
    return x->def->op == OP_read;
}

/* Not what the product itself reads. */
static bool
matmul_takes_operand(const Fuse *f, const Group *g, const Node *d)
{
    const Users *u = fuse_users(d->results[0]);
    if (rounds_operand(f, g, d))
        return true;
    for (int i = 0; i < u->at.n; i++)
        if (u->at.at[i]->op == OP_matmul)
            return false;
    return private_element(f, g, d);
}

/* What only sums or norms read is better made by them. */
static bool
only_for_others(const Node *c)
{
    const Users *u = fuse_users(c->results[0]);
    for (int i = 0; i < u->at.n; i++)
        if (u->at.at[i]->op != OP_reduce_sum && !is_row_op(u->at.at[i]))
            return false;
    return u->at.n > 0;
}

static bool
matmul_takes_user(const Fuse *f, const Group *g, const Node *c)
{
    return (is_element(c, &g->shape) && !only_for_others(c)) ||
           ends_group(f, g, c);
}

/* ---- row ---- */

static bool
row_seeds(const Node *n, Type *shape)
{
    if (!is_row_op(n))
        return false;
    *shape = n->args[0]->type;
    return true;
}

/* One number a row: [.., 1]. */
static bool
is_row_number(const Node *n, const Type *shape)
{
    Type one = *shape;
    one.dim[one.rank - 1] = 1;
    return is_element(n, &one);
}

static bool
is_row_sum(const Node *n, const Type *shape)
{
    if (n->op != OP_reduce_sum && n->op != OP_reduce_max)
        return false;
    const Attr *axes = node_attr(n, "axes");
    return same_dims(&n->args[0]->type, shape) && node_flag(n, "keep") &&
           axes && axes->i == 1 && axes->list[0] == shape->rank - 1;
}

static bool
row_takes_user(const Fuse *f, const Group *g, const Node *c)
{
    (void)f;
    return is_element(c, &g->shape) || is_row_number(c, &g->shape) ||
           is_row_sum(c, &g->shape) ||
           (is_row_op(c) && same_dims(&c->args[0]->type, &g->shape));
}

/* A residual sum joins the norm that reads it though others read it too. */
static bool
row_takes_operand(const Fuse *f, const Group *g, const Node *d)
{
    (void)f;
    return is_element(d, &g->shape);
}

/* ---- reduce ---- */

static bool
reduces_last_only(const Node *n)
{
    const Attr *axes = node_attr(n, "axes");
    return axes && axes->i == 1 && axes->list[0] == n->args[0]->type.rank - 1;
}

static bool
reduce_seeds(const Node *n, Type *shape)
{
    if (n->op != OP_reduce_sum)
        return false;
    *shape = n->args[0]->type;
    return true;
}

static bool
reduce_takes_user(const Fuse *f, const Group *g, const Node *c)
{
    return c->op == OP_accumulate && fuse_users(c->args[0])->at.n == 1 &&
           c->args[0]->def->op == OP_reduce_sum &&
           fuse_group_of(f, c->args[0]->def) == g;
}

static bool
same_sum(const Group *g, const Node *n)
{
    const Node *own = g->members.at[0];
    return n->op == OP_reduce_sum && same_dims(&n->args[0]->type, &g->shape) &&
           attr_equal(node_attr(n, "axes"), node_attr(own, "axes"));
}

/* Another sum over the same axes that reads what this group reads, by itself
 * or through one elementwise node of its own. */
static Node *
sibling_of(Fuse *f, Group *g, Value *shared)
{
    const Users *u = fuse_users(shared);
    for (int i = 0; i < u->at.n; i++) {
        Node *c = u->at.at[i];
        if (c->op != OP_reduce_sum && is_element(c, &g->shape)) {
            const Users *next = fuse_users(c->results[0]);
            c = next->at.n == 1 ? next->at.at[0] : c;
        }
        if (same_sum(g, c) && fuse_is_near(f, g, c) && fuse_can_join(f, g, c))
            return c;
    }
    return NULL;
}

static bool
reduce_siblings(Fuse *f, Group *g)
{
    for (int k = 0; k < g->members.n; k++) {
        Node *n = g->members.at[k];
        for (int i = 0; i < n->n_args; i++) {
            if (!same_dims(&n->args[i]->type, &g->shape))
                continue;
            Node *s = sibling_of(f, g, n->args[i]);
            if (!s)
                continue;
            fuse_join(f, g, s);
            g->closed = false;
            return true;
        }
    }
    return false;
}

/* Sums over rows alone are better as they are. */
static bool
reduce_keeps(const Group *g)
{
    return g->members.n > 1 && (!reduces_last_only(g->members.at[0]) ||
                                g->shape.rank == 1 || g->members.n > 2);
}

/* ---- element ---- */

static bool
element_seeds(const Node *n, Type *shape)
{
    if (!(op_info[n->op].flags & OP_ELEMENT) || n->n_results != 1)
        return false;
    *shape = n->results[0]->type;
    return true;
}

static bool
element_takes_user(const Fuse *f, const Group *g, const Node *c)
{
    (void)f;
    return is_element(c, &g->shape);
}

/* ---- table ---- */

static bool
table_seeds(const Node *n, Type *shape)
{
    if (n->op != OP_embedding_grad)
        return false;
    *shape = n->results[0]->type;
    return true;
}

/* ---- sweep ---- */

static bool
is_update(const Node *n)
{
    return op_info[n->op].flags & OP_OPTIMIZER;
}

static bool
sweep_seeds(const Node *n, Type *shape)
{
    *shape = type_scalar(DT_f32);
    return is_update(n);
}

/* All updates of one optimizer, however far apart: they wait for all
 * gradients anyway. */
static bool
sweep_siblings(Fuse *f, Group *g)
{
    const Node *own = g->members.at[0];
    bool grown = false;
    for (int i = own->order + 1; i < f->n_nodes; i++) {
        Node *n = f->nodes[i];
        if (n->mark || n->op != own->op || n->phase != own->phase ||
            n->stage != own->stage)
            continue;
        fuse_join(f, g, n);
        grown = true;
    }
    return grown;
}

const FuseRule fuse_rules[] = {
    {"matmul", matmul_seeds, matmul_takes_user, matmul_takes_operand, NULL,
     NULL},
    {"row", row_seeds, row_takes_user, row_takes_operand, NULL, NULL},
    {"reduce", reduce_seeds, reduce_takes_user, private_element,
     reduce_siblings, reduce_keeps},
    {"table", table_seeds, ends_group, never, NULL, NULL},
    {"element", element_seeds, element_takes_user, private_element, NULL, NULL},
    {"sweep", sweep_seeds, never, never, sweep_siblings, NULL},
};

const int fuse_n_rules = sizeof fuse_rules / sizeof fuse_rules[0];
