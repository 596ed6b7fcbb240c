/* round: where a kernel of the CUDA target is a product that is rounded and
 * nothing else, the product is of bf16 itself:
 *
 *     p.bf16 = fused a, b (kind = matmul) {
 *       p = matmul a, b (to = f32)            p.bf16 = matmul a, b
 *       p.bf16 = cast p (to = bf16)      =>
 *     }
 *
 * The bits are the same, but not what the library of products is asked for.
 * It must be asked the same whatever a plan makes of the kernel: so it stands
 * in the product, from before planning on. */
#include "passes/pass.h"

#include <string.h>

/* The cast, or NULL. */
static Node *
rounding_of(const Node *n)
{
    if (n->op != OP_fused || n->n_results != 1)
        return NULL;
    Node *product = n->body->first, *cast = product ? product->next : NULL;
    bool two = product && product->op == OP_matmul && cast && !cast->next;
    if (!two || cast->op != OP_cast || cast->args[0] != product->results[0] ||
        cast->results[0] != n->results[0])
        return NULL;
    Dtype in = product->args[0]->type.dtype;
    return in == DT_bf16 && cast->results[0]->type.dtype == DT_bf16 ? cast
                                                                    : NULL;
}

static Value *
product_like(const Node *n, const char *name)
{
    Attr attrs[2];
    int k = 0;
    for (int i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attrs[i].key, "to") != 0)
            attrs[k++] = n->attrs[i];
    Node *c = graph_add(graph_outer(n->graph), OP_matmul, name, n->args,
                        n->n_args, attrs, k);
    return c->results[0];
}

static void
round_kernel(Graph *g, Node *n, Node *cast)
{
    g->at = n;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    Value *old = cast->results[0];
    Value *now = product_like(n->body->first, old->name);
    g->at = NULL;
    value_swap_names(old, now);
    value_forward(old, now);
}

bool
pass_round(Module *m)
{
    if (!module_option_is(m, "target", "cuda"))
        return true;
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        Arena *a = arena_new();
        VEC(Node *) gone = {0};
        graph_each(g, n) {
            Node *cast = rounding_of(n);
            if (!cast)
                continue;
            round_kernel(g, n, cast);
            vec_push(a, &gone, n);
        }
        graph_forward(g);
        for (int k = 0; k < gone.n; k++)
            node_remove(gone.at[k]);
        graph_count_uses(g);
        arena_free(a);
    }
    return true;
}
