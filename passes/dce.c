/* dce: a node stays if it has an effect or a node that stays reads it. Nodes
 * stand in definition order, so one sweep from the end sees every reader
 * before the value it reads.
 *
 *     a = exp x                 write y = x
 *     write y = x         =>
 */
#include "passes/pass.h"

static bool
has_effect(const Node *n)
{
    if (op_info[n->op].flags & OP_PINNED)
        return true;
    if (n->body)
        graph_each(n->body, inner)
            if (has_effect(inner))
                return true;
    return false;
}

static bool
is_live(const Node *n)
{
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i]->mark)
            return true;
    return has_effect(n);
}

static void
clear_marks(Graph *g)
{
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
}

static void
sweep(Graph *g)
{
    clear_marks(g);
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!is_live(n)) {
            node_remove(n);
            continue;
        }
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->mark = 1;
    }
}

bool
pass_dce(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        sweep(m->graphs.at[i]);
    return true;
}
