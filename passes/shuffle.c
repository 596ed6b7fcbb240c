#include "passes/shuffle.h"

#include "ir/base/random.h"

enum { SWEEPS = 8 };

static bool
coin(uint64_t *state)
{
    return random_next(state) >> 63;
}

static bool
is_effect(const Node *n)
{
    return op_info[n->op].flags & (OP_PINNED | OP_TENSOR);
}

static bool
reads(const Node *n, const Node *def)
{
    for (int i = 0; i < n->n_args; i++)
        if (value_node(n->args[i]) == def)
            return true;
    return false;
}

/* May b, which follows a, stand before it? */
static bool
independent(const Node *a, const Node *b)
{
    return a->phase == b->phase && !(is_effect(a) && is_effect(b)) &&
           !reads(b, a);
}

/* A node that was swapped meets the next one too, so it may travel far. */
static void
sweep(Graph *g, uint64_t *state)
{
    Node *a = g->first;
    while (a && a->next) {
        Node *b = a->next;
        if (independent(a, b) && coin(state))
            node_move_before(b, g, a);
        else
            a = b;
    }
}

void
module_shuffle(Module *m, uint64_t seed)
{
    uint64_t state = seed;
    for (int i = 0; i < m->graphs.n; i++)
        for (int k = 0; k < SWEEPS; k++)
            sweep(m->graphs.at[i], &state);
}
