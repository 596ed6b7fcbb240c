/* Compares in the forward pass what the backward pass only compares, so that
 * an answer, a byte, is stashed in place of a number:
 *
 *     y = relu x                   y = relu x
 *     phase backward               zero = const
 *     zero = const           =>    m = gt y, zero
 *     m = gt y, zero               phase backward
 *     dx = where m, dy, zero       dx = where m, dy, zero
 *
 * A value stays as it is where the backward pass reads it otherwise, itself or
 * through a view, and where it can be read again anyway. No bit changes. */
#include "passes/pass.h"

typedef struct Shrink {
    Arena *a;
    Graph *g;
    int64_t *bits; /* by Value.mark: of an element of its answers */
    bool *keeps;   /* by Value.mark: read otherwise */
    int n;
} Shrink;

static bool
is_const(const Value *v)
{
    return v->def->op == OP_const;
}

static int
bits_of(const Value *v)
{
    return dtype_info[v->type.dtype].bits;
}

/* The only operand that is no constant, if the node asks something about each
 * of its elements; NULL. */
static Value *
compared(const Node *n)
{
    Value *found = NULL;
    if (!(op_info[n->op].flags & OP_ELEMENT) || n->n_results != 1)
        return NULL;
    for (int i = 0; i < n->n_args; i++) {
        if (is_const(n->args[i]))
            continue;
        if (found && found != n->args[i])
            return NULL;
        found = n->args[i];
    }
    return found && bits_of(n->results[0]) < bits_of(found) &&
                   type_elements(&n->results[0]->type) ==
                       type_elements(&found->type)
               ? found
               : NULL;
}

static bool
is_candidate(const Node *n)
{
    Value *v = n->phase == PHASE_backward ? compared(n) : NULL;
    return v && v->def->phase == PHASE_forward;
}

static void
number_values(Shrink *s)
{
    graph_each(s->g, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = s->n++;
    s->bits = ARENA_ARRAY(s->a, int64_t, s->n + 1);
    s->keeps = ARENA_ARRAY(s->a, bool, s->n + 1);
}

/* Any view of a value may be read in the backward pass. */
static void
find_readers(Shrink *s)
{
    graph_each(s->g, n) {
        bool answer = is_candidate(n);
        if (answer)
            s->bits[compared(n)->mark] += bits_of(n->results[0]);
        bool view = op_info[n->op].flags & OP_VIEW;
        for (int i = 0; !answer && i < n->n_args; i++)
            if (n->phase != PHASE_forward || view)
                s->keeps[n->args[i]->mark] = true;
    }
}

static bool
is_smaller(const Shrink *s, const Value *v)
{
    return !s->keeps[v->mark] && v->def->op != OP_read &&
           !(op_info[v->def->op].flags & OP_VIEW) &&
           s->bits[v->mark] < bits_of(v);
}

static void
move_up(Shrink *s, Node *n)
{
    Node *maker = compared(n)->def, *at = maker->next;
    for (int i = 0; i < n->n_args; i++) {
        Node *c = n->args[i]->def;
        if (c->op != OP_const || c->order <= maker->order)
            continue;
        if (at == c)
            at = c->next;
        node_move_before(c, s->g, at);
        c->phase = PHASE_forward;
        c->order = maker->order;
    }
    node_move_before(n, s->g, at);
    n->phase = PHASE_forward;
    n->block = maker->block;
}

/* Where kernels are formed already, it is too late. */
static bool
has_groups(const Graph *g)
{
    graph_each(g, n)
        if (n->body)
            return true;
    return false;
}

bool
pass_shrink(Module *m)
{
    Graph *g = module_graph(m, "main");
    if (!g || m->programs.n > 0 || has_groups(g))
        return true;
    Shrink s = {.a = arena_new(), .g = g};
    graph_number(g);
    number_values(&s);
    find_readers(&s);
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (is_candidate(n) && is_smaller(&s, compared(n)))
            move_up(&s, n);
    }
    arena_free(s.a);
    return true;
}
