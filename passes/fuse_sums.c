/* Before groups are formed: a gradient that is a sum, of which one term can
 * be added straight into the tensor, is accumulated term by term, each right
 * after it is made, and neither sum nor that term ever exist:
 *
 *     s = add a, b                   accumulate w.grad = a
 *     accumulate w.grad = s    =>    accumulate w.grad = b (more)
 */
#include "passes/fuse_sums.h"

#include <stdlib.h>

typedef struct Terms {
    Arena *a;
    VEC(Value *) at;
    VEC(Node *) adds;
} Terms;

/* A group of it and its accumulate exists. */
static bool
goes_into_tensor(const Value *v)
{
    return v->n_uses == 1 &&
           (v->def->op == OP_matmul || v->def->op == OP_embedding_grad);
}

static bool
is_split(const Node *n, const Type *t)
{
    if (n->op != OP_add || n->results[0]->n_uses != 1)
        return false;
    const Value *a = n->args[0], *b = n->args[1];
    return a != b && type_equal(&a->type, t) && type_equal(&b->type, t) &&
           (goes_into_tensor(a) || goes_into_tensor(b));
}

static void
collect(Terms *t, Value *v, const Graph *g)
{
    Node *n = v->def;
    if (n->graph != g || !is_split(n, &v->type)) {
        vec_push(t->a, &t->at, v);
        return;
    }
    vec_push(t->a, &t->adds, n);
    collect(t, n->args[0], g);
    collect(t, n->args[1], g);
}

static int
by_order(const void *a, const void *b)
{
    const Value *x = *(Value *const *)a, *y = *(Value *const *)b;
    return value_node(x)->order - value_node(y)->order;
}

/* The accumulate that is there takes the term that is made last. */
static void
accumulate_terms(Graph *g, Node *n, Terms *t)
{
    bool more = node_flag(n, "more");
    qsort(t->at.at, (size_t)t->at.n, sizeof(Value *), by_order);
    for (int i = 0; i + 1 < t->at.n; i++) {
        g->at = value_node(t->at.at[i])->next;
        g->context = (Context){n->phase, n->stage, n->block, n->loc};
        Node *w = graph_write(g, OP_accumulate, n->tensor, t->at.at[i]);
        if (more)
            node_set_attr(w, attr_bool("more", true));
        more = true;
    }
    g->at = NULL;
    node_set_arg(n, 0, t->at.at[t->at.n - 1]);
    node_set_attr(n, attr_bool("more", true));
    for (int i = 0; i < t->adds.n; i++)
        node_remove(t->adds.at[i]);
}

void
fuse_sums(Graph *g)
{
    Terms t = {.a = arena_new()};
    graph_number(g);
    graph_count_uses(g);
    for (Node *n = g->last; n; n = n->prev) {
        if (n->op != OP_accumulate)
            continue;
        t.at.n = t.adds.n = 0;
        collect(&t, n->args[0], g);
        if (t.at.n > 1)
            accumulate_terms(g, n, &t);
    }
    arena_free(t.a);
}
