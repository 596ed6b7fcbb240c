/* The nodes that derivative rules are built of. */
#include "passes/grad.h"

static const char *
node_name(const Grad *c, Op op)
{
    const char *x = c->node->args[c->arg]->name;
    return graph_derive(c->g, graph_derive(c->g, x, "grad"),
                        op_info[op].name);
}

/* mark 1: may still be renamed by grad_give. */
static Value *
fresh(Node *n)
{
    for (int i = 0; i < n->n_results; i++)
        n->results[i]->mark = 1;
    return n->results[0];
}

Value *
grad_op(Grad *c, Op op, Value *const *args, int n_args, const Attr *attrs,
        int n_attrs)
{
    return fresh(graph_add(c->g, op, node_name(c, op), args, n_args, attrs,
                           n_attrs));
}

Value *
grad_typed(Grad *c, Op op, const Type *t, Value *const *args, int n_args,
           const Attr *attrs, int n_attrs)
{
    return fresh(graph_add_typed(c->g, op, node_name(c, op), t, 1, args,
                                 n_args, attrs, n_attrs));
}

Value *
grad1(Grad *c, Op op, Value *a)
{
    return grad_op(c, op, &a, 1, NULL, 0);
}

Value *
grad2(Grad *c, Op op, Value *a, Value *b)
{
    Value *args[] = {a, b};
    return grad_op(c, op, args, 2, NULL, 0);
}

Value *
grad3(Grad *c, Op op, Value *x, Value *a, Value *b)
{
    Value *args[] = {x, a, b};
    return grad_op(c, op, args, 3, NULL, 0);
}

Value *
grad_number(Grad *c, const Value *like, double x)
{
    Type t = type_scalar(like->type.dtype);
    return graph_const(c->g, node_name(c, OP_const), &t, x);
}

static bool
same_shape(const Type *a, const Type *b)
{
    Type t = *b;
    t.dtype = a->dtype;
    return type_equal(a, &t);
}

Value *
grad_view_as(Grad *c, Value *v, const Type *shape)
{
    if (same_shape(&v->type, shape))
        return v;
    Attr a = attr_ints("shape", shape->dim, shape->rank);
    return grad_op(c, OP_reshape, &v, 1, &a, 1);
}

Value *
grad_expand(Grad *c, Value *v, const Type *shape)
{
    if (same_shape(&v->type, shape))
        return v;
    Attr a = attr_ints("shape", shape->dim, shape->rank);
    return grad_op(c, OP_broadcast, &v, 1, &a, 1);
}

/* x was broadcast to the shape of v: the sum of v over the axes that x does
 * not have or has with size 1, in x's shape. */
static Value *
unbroadcast(Grad *c, Value *v, const Type *x)
{
    int64_t axes[MAX_RANK];
    int n = 0, extra = v->type.rank - x->rank, ones = 0;
    for (int i = 0; i < v->type.rank; i++) {
        if (i >= extra && x->dim[i - extra] == v->type.dim[i])
            continue;
        axes[n++] = i;
        ones += i >= extra;
    }
    if (n) {
        Attr attrs[] = {attr_ints("axes", axes, n),
                        attr_bool("keep", ones && !extra)};
        v = grad_op(c, OP_reduce_sum, &v, 1, attrs, 2);
    }
    return grad_view_as(c, v, x);
}

Value *
grad_x(const Grad *c, int i)
{
    return c->node->args[i];
}

Value *
grad_y(const Grad *c)
{
    return c->node->results[0];
}

Value *
grad_dy(const Grad *c)
{
    return grad_of_result(c, 0);
}

/* ---- contributions ---- */

/* What node `order` adds through its operand `arg`. */
typedef struct Part {
    Value *v;
    int order, arg;
} Part;

struct GradSum {
    Value *total;
    VEC(Part) parts;
};

void
grad_sum_new(Value *v)
{
    v->note = ARENA_NEW(v->def->graph->module->arena, GradSum);
}

void
grad_start(Value *loss)
{
    Graph *g = loss->def->graph;
    if (loss->note)
        ((GradSum *)loss->note)->total =
            graph_const(g, graph_derive(g, loss->name, "grad"), &loss->type,
                        1);
}

bool
grad_for(Grad *c, int arg)
{
    c->arg = arg;
    return arg < c->node->n_args && c->node->args[arg]->note;
}

Value *
grad_of_result(const Grad *c, int i)
{
    const GradSum *s = c->node->results[i]->note;
    return s ? s->total : NULL;
}

void
grad_give(Grad *c, Value *v)
{
    Value *x = c->node->args[c->arg];
    v = unbroadcast(c, v, &x->type);
    if (v->type.dtype != x->type.dtype)
        bug("gradient of %s has another dtype", x->name);
    if (v->mark) {
        v->mark = 0;
        value_rename(v, graph_derive(c->g, x->name, "grad"));
    }
    GradSum *s = x->note;
    Part p = {v, c->node->order, c->arg};
    vec_push(c->g->module->arena, &s->parts, p);
}

static bool
before(const Part *a, const Part *b)
{
    return a->order != b->order ? a->order < b->order : a->arg < b->arg;
}

/* Later nodes gave first: nodes in descending order, operands ascending. */
static void
sort_parts(Part *p, int n)
{
    for (int i = 0; i < n / 2; i++) {
        Part t = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = t;
    }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && before(&p[j], &p[j - 1]); j--) {
            Part t = p[j];
            p[j] = p[j - 1];
            p[j - 1] = t;
        }
}

/* The sum is NAME.grad, however many parts it has: who reads it does not change
 * with the other uses of x. */
static void
name_sum(Value *sum, const Part *parts, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(parts[i].v->name, name) == 0)
            value_swap_names(sum, parts[i].v);
}

Value *
grad_total(Value *x)
{
    GradSum *s = x->note;
    if (!s || s->total || s->parts.n == 0)
        return s ? s->total : NULL;
    Part *part = s->parts.at;
    Graph *g = x->def->graph;
    const char *name = graph_derive(g, x->name, "grad");
    sort_parts(part, s->parts.n);
    s->total = part[0].v;
    for (int i = 1; i < s->parts.n; i++)
        s->total = graph_binary(g, OP_add, name, s->total, part[i].v);
    if (s->parts.n > 1)
        name_sum(s->total, part, s->parts.n, name);
    return s->total;
}
