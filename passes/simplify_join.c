/* Rules that put parts together again: split, concat, slice_grad. */
#include "passes/simplify.h"

typedef VEC(Value *) Values;

/* split a into one => a;  split concat a, b => a, b where the cuts agree */
bool
simplify_split(Node *n)
{
    if (n->n_results == 1)
        return simplify_put(n, n->args[0]);
    Node *c = simplify_made_by(n->args[0], OP_concat);
    if (!c || c->n_args != n->n_results ||
        node_int(c, "axis", 0) != node_int(n, "axis", 0))
        return false;
    for (int i = 0; i < n->n_results; i++)
        if (!type_equal(&c->args[i]->type, &n->results[i]->type))
            return false;
    for (int i = 0; i < n->n_results; i++)
        value_forward(n->results[i], c->args[i]);
    return true;
}

/* All parts of one split, in order. */
static bool
undoes_split(const Node *n, int64_t axis)
{
    const Node *s = n->args[0]->def;
    if (s->op != OP_split || s->n_results != n->n_args ||
        node_int(s, "axis", 0) != axis)
        return false;
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i] != s->results[i])
            return false;
    return true;
}

/* The operands of concats that only feed this one, in their place. */
static void
flatten(const Node *n, int64_t axis, Values *out)
{
    Arena *a = n->graph->module->arena;
    for (int i = 0; i < n->n_args; i++) {
        const Node *c = n->args[i]->def;
        if (c->op == OP_concat && n->args[i]->n_uses <= 1 &&
            node_int(c, "axis", 0) == axis)
            flatten(c, axis, out);
        else
            vec_push(a, out, n->args[i]);
    }
}

/* concat a => a;  concat of all parts of split a => a;
 * concat (concat a, b), c => concat a, b, c */
bool
simplify_concat(Node *n)
{
    if (n->n_args == 1)
        return simplify_put(n, n->args[0]);
    int64_t axis = node_int(n, "axis", 0);
    if (undoes_split(n, axis))
        return simplify_put(n, n->args[0]->def->args[0]);
    Values all = {0};
    flatten(n, axis, &all);
    if (all.n == n->n_args)
        return false;
    node_become(n, OP_concat, all.at, all.n, n->attrs, n->n_attrs);
    return true;
}

/* slice_grad of everything => a */
bool
simplify_slice_grad(Node *n)
{
    const int64_t *step = simplify_list(n, "step");
    for (int i = 0; i < n->args[0]->type.rank; i++)
        if (step[i] < 1)
            return false;
    return simplify_put(n, n->args[0]);
}

/* ---- sums of neighbours ---- */

/* Along `axis` from start to stop, along all others the whole: -1 when the
 * slice is none of that kind. */
static int
only_axis(const Node *n)
{
    const int64_t *step = simplify_list(n, "step");
    const Type *whole = &n->results[0]->type, *part = &n->args[0]->type;
    int axis = -1;
    for (int i = 0; i < whole->rank; i++) {
        if (step[i] != 1)
            return -1;
        if (part->dim[i] == whole->dim[i])
            continue;
        if (axis >= 0)
            return -1;
        axis = i;
    }
    return axis;
}

static Value *
concat_of(Node *n, Value *a, Value *b, int axis)
{
    Value *parts[] = {a, b};
    Attr attr = attr_int("axis", axis);
    const char *name = graph_derive(n->graph, n->results[0]->name, "concat");
    return graph_add(n->graph, OP_concat, name, parts, 2, &attr, 1)
        ->results[0];
}

/* Zeros around a, then b: first ends where second starts. */
static bool
join(Node *n, const Node *first, const Node *second, int axis)
{
    Value *both = concat_of(n, first->args[0], second->args[0], axis);
    int r = both->type.rank;
    int64_t stop[MAX_RANK];
    memcpy(stop, simplify_list(first, "stop"), sizeof stop[0] * (size_t)r);
    stop[axis] = simplify_list(second, "stop")[axis];
    Attr attrs[] = {attr_ints("start", simplify_list(first, "start"), r),
                    attr_ints("stop", stop, r),
                    attr_ints("step", simplify_list(first, "step"), r)};
    node_become(n, OP_slice_grad, &both, 1, attrs, 3);
    return true;
}

/* In gradients (a 0 may lose its sign):
 * slice_grad a + slice_grad b => slice_grad concat a, b for neighbours */
bool
simplify_join_slices(Node *n)
{
    Node *a = simplify_made_by(n->args[0], OP_slice_grad);
    Node *b = simplify_made_by(n->args[1], OP_slice_grad);
    if (!a || !b || a == b || n->phase != PHASE_backward ||
        a->results[0]->n_uses > 1 || b->results[0]->n_uses > 1 ||
        !type_equal(&a->results[0]->type, &b->results[0]->type))
        return false;
    int axis = only_axis(a);
    if (axis < 0 || axis != only_axis(b))
        return false;
    if (simplify_list(a, "stop")[axis] == simplify_list(b, "start")[axis])
        return join(n, a, b, axis);
    if (simplify_list(b, "stop")[axis] == simplify_list(a, "start")[axis])
        return join(n, b, a, axis);
    return false;
}
