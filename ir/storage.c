#include "ir/storage.h"

bool
storage_prints(const Node *n, int i)
{
    if (op_info[n->op].flags & OP_ELEMENT)
        return true;
    return n->op == OP_cross_entropy_grad && i == 0;
}

static void
mark_readers(Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            mark_readers(n->body);
            continue;
        }
        for (int i = 0; i < n->n_args; i++) {
            Value *v = n->args[i];
            if (v->def->op == OP_const && !storage_prints(n, i))
                v->mark = 1;
        }
    }
}

void
storage_mark_constants(Graph *g)
{
    graph_each(g, n)
        if (n->op == OP_const)
            n->results[0]->mark = 0;
    mark_readers(g);
}
