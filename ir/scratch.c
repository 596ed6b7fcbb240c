#include "ir/scratch.h"

#include <string.h>

int64_t
scratch_part(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t
of_cross_entropy(const Node *n)
{
    if (strcmp(node_word(n, "reduction", "mean"), "none") == 0)
        return 0;
    return scratch_part(4 * type_elements(&n->args[1]->type));
}

static int64_t
of_global_norm(const Node *n)
{
    int64_t pieces = 0;
    for (int i = 0; i < n->n_args; i++)
        pieces +=
            (type_elements(&n->args[i]->type) + NORM_PIECE - 1) / NORM_PIECE;
    return scratch_part(8 * pieces);
}

int64_t
sum_blocks(const Node *n)
{
    if (n->op != OP_reduce_sum)
        return 0;
    const Type *x = &n->args[0]->type;
    int64_t count = type_elements(x);
    bool all = type_elements(&n->results[0]->type) == 1;
    bool real = x->dtype == DT_f32 || x->dtype == DT_f64;
    if (!all || !real || count < SUM_MIN || count % SUM_BLOCK)
        return 0;
    return count / SUM_BLOCK;
}

static int64_t
of_reduce(const Node *n)
{
    int64_t bytes = 0;
    graph_each(n->body, b)
        bytes += scratch_part(8 * sum_blocks(b));
    return bytes;
}

static int64_t
of_head(const Node *n)
{
    int64_t bytes = 0;
    graph_each(n->body, b) {
        if (b->op != OP_cross_entropy)
            continue;
        const Type *logits = &b->args[0]->type;
        int64_t v = logits->dim[logits->rank - 1];
        int64_t rows = type_elements(logits) / v;
        bytes += scratch_part(4 * node_int(n, "chunk", rows) * v);
        bytes += of_cross_entropy(b);
    }
    return bytes;
}

int64_t
node_scratch(const Node *n)
{
    if (n->op == OP_cross_entropy)
        return of_cross_entropy(n);
    if (n->op == OP_global_norm)
        return of_global_norm(n);
    if (n->op == OP_fused && strcmp(node_word(n, "kind", ""), "head") == 0)
        return of_head(n);
    if (n->op == OP_fused && strcmp(node_word(n, "kind", ""), "reduce") == 0)
        return of_reduce(n);
    return n->op == OP_reduce_sum ? scratch_part(8 * sum_blocks(n)) : 0;
}
