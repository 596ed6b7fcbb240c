/* Copies what is made again into the backward pass. Value.note is the copy of
 * a value that is read in its place. */
#include "passes/plan/drop.h"

#include <limits.h>

typedef struct Apply {
    Arena *a;
    Graph *g;
    const bool *again; /* by atom */
    Node **kernels;    /* by Node.order */
    int *at;           /* by Node.order: the first node that reads a copy */
    int n;
} Apply;

static bool
is_again(const Apply *x, const Value *v)
{
    return v->def->phase == PHASE_forward && x->again[v->def->mark];
}

/* ---- where the copies go: from the end, readers come first ---- */

static void
find_reads(Apply *x, const Node *n, int at)
{
    if (n->body) {
        graph_each(n->body, inner)
            find_reads(x, inner, at);
        return;
    }
    if (n->phase == PHASE_forward && !x->again[n->mark])
        return;
    for (int i = 0; i < n->n_args; i++) {
        const Value *v = n->args[i];
        if (!is_again(x, v))
            continue;
        int *first = &x->at[value_node(v)->order];
        if (at < *first)
            *first = at;
    }
}

static void
find_places(Apply *x)
{
    graph_each_reverse(x->g, n) {
        if (n->phase == PHASE_backward)
            find_reads(x, n, n->order);
        else if (n->phase == PHASE_forward && x->at[n->order] < INT_MAX)
            find_reads(x, n, x->at[n->order]);
    }
}

/* ---- copies ---- */

static void
set_place(Node *c, const Node *kernel)
{
    c->phase = PHASE_backward;
    c->stage = kernel->stage;
    c->block = kernel->block;
    c->recomputed = true;
    if (c->body)
        graph_each(c->body, inner)
            inner->phase = PHASE_backward;
}

/* What is left of a group may be of a simpler kind. */
static const char *
kind_of(const Apply *x, const Node *group)
{
    bool elements = true, one_shape = true;
    const Type *shape = NULL;
    graph_each(group->body, n) {
        if (!x->again[n->mark])
            continue;
        if (n->op == OP_matmul)
            return node_word(group, "kind", "");
        if (n->op == OP_const || n->op == OP_iota || n->op == OP_broadcast)
            continue;
        elements &= (op_info[n->op].flags & OP_ELEMENT) != 0;
        Type t = n->results[0]->type;
        if (shape) {
            t.dtype = shape->dtype;
            one_shape &= type_equal(&t, shape);
        }
        shape = &n->results[0]->type;
    }
    return elements && one_shape ? "element" : node_word(group, "kind", "");
}

static int
count_parts(const Apply *x, const Node *group, Node **last)
{
    int parts = 0;
    graph_each(group->body, n)
        if (x->again[n->mark]) {
            parts++;
            *last = n;
        }
    return parts;
}

static Node *
copy_group(Apply *x, Node *group)
{
    Node *only = NULL;
    Graph *g = x->g;
    if (count_parts(x, group, &only) == 1)
        return node_clone(g, only, "re");
    g->context =
        (Context){PHASE_backward, group->stage, group->block, group->loc};
    Attr kind = attr_word("kind", kind_of(x, group));
    Node *c = graph_add(g, OP_fused, NULL, NULL, 0, &kind, 1);
    Graph *body = fused_open(c);
    graph_each(group->body, n)
        if (x->again[n->mark])
            node_clone(body, n, "re");
    return c;
}

static bool
has_part(const Apply *x, const Node *n)
{
    if (!n->body)
        return x->again[n->mark];
    graph_each(n->body, inner)
        if (x->again[inner->mark])
            return true;
    return false;
}

static void
copy_kernel(Apply *x, Node *n)
{
    x->g->at = x->kernels[x->at[n->order]];
    Node *c = n->body ? copy_group(x, n) : node_clone(x->g, n, "re");
    set_place(c, n);
    x->g->at = NULL;
}

static void
copy_kernels(Apply *x)
{
    for (int i = 0; i < x->n; i++) {
        Node *n = x->kernels[i];
        if (n->phase == PHASE_forward && x->at[i] < INT_MAX && has_part(x, n))
            copy_kernel(x, n);
    }
}

/* ---- readers ---- */

static void
read_copies(const Apply *x, Node *n)
{
    if (n->body) {
        graph_each(n->body, inner)
            read_copies(x, inner);
        return;
    }
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i]->note)
            node_set_arg(n, i, n->args[i]->note);
}

static bool
is_unused(const Node *n)
{
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i]->n_uses > 0)
            return false;
    return !(op_info[n->op].flags & OP_PINNED) && !n->body;
}

/* What only the backward pass wanted is not computed in the forward pass. */
static void
remove_unused(Graph *g)
{
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (n->body)
            remove_unused(n->body);
        if (is_unused(n) || (n->body && !n->body->first)) {
            for (int i = 0; i < n->n_args; i++)
                n->args[i]->n_uses -= n->body ? 0 : 1;
            node_remove(n);
        }
    }
}

static void
finish(Graph *g)
{
    graph_count_uses(g);
    remove_unused(g);
    graph_each(g, n)
        if (n->body)
            fused_refresh(n);
}

void
drop_apply(const Drop *d, Module *m)
{
    Apply x = {
        .a = arena_new(), .g = module_graph(m, d->g->name), .again = d->again};
    graph_number(x.g);
    x.n = x.g->last ? x.g->last->order + 1 : 0;
    x.kernels = ARENA_ARRAY(x.a, Node *, x.n + 1);
    x.at = ARENA_ARRAY(x.a, int, x.n + 1);
    graph_each(x.g, n) {
        x.kernels[n->order] = n;
        x.at[n->order] = INT_MAX;
    }
    graph_forget_notes(x.g);
    find_places(&x);
    copy_kernels(&x);
    for (int i = 0; i < x.n; i++)
        if (x.kernels[i]->phase == PHASE_backward)
            read_copies(&x, x.kernels[i]);
    graph_forget_notes(x.g);
    finish(x.g);
    arena_free(x.a);
}
