/* cse: one node for nodes that compute the same.
 *
 *     a = exp x                 a = exp x
 *     b = exp x           =>    c = add a, a
 *     c = add a, b
 *
 * Nodes are the same when op, operands, attributes, result types, stage and
 * phase are; operands of ops that commute count in either order. Never merged:
 * what names a tensor (a read may stand on the other side of a write) or has
 * an effect, groups, and opaque nodes. Phases stay apart, since a value of
 * the forward pass that the backward pass reads has to be saved.
 *
 * Constants of equal value count as the same operand, but are only merged
 * where they were made for the same value (k and k'2 of one block): they cost
 * nothing, and a layer must not read a constant of another one, which would
 * change its lines when that one goes. */
#include "passes/pass.h"

typedef struct Table {
    Node **slots;
    size_t cap; /* a power of two, more than twice the nodes */
} Table;

static bool
may_merge(const Node *n)
{
    return !n->body && n->n_results > 0 && n->op != OP_opaque &&
           !(op_info[n->op].flags & (OP_PINNED | OP_TENSOR));
}

/* Value.mark: a number for each value, by position. */
static size_t
number_values(Graph *g)
{
    int last = 0;
    size_t nodes = 0;
    graph_each(g, n) {
        nodes++;
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = ++last;
    }
    return nodes;
}

/* Operand i, after the two of an op that commutes were put in order. */
static Value *
operand(const Node *n, int i)
{
    if (i < 2 && (op_info[n->op].flags & OP_COMMUTES) &&
        n->args[0]->mark > n->args[1]->mark)
        i = 1 - i;
    return n->args[i];
}

static void
mix(uint64_t *h, const void *bytes, size_t n)
{
    *h = (*h ^ hash64(bytes, n)) * 0x9e3779b97f4a7c15u;
    *h ^= *h >> 29;
}

static void
mix_attr(uint64_t *h, const Attr *a)
{
    mix(h, a->key, strlen(a->key));
    mix(h, &a->i, sizeof a->i);
    mix(h, &a->f, sizeof a->f);
    if (a->s)
        mix(h, a->s, strlen(a->s));
    if (a->kind == ATTR_ints && a->i)
        mix(h, a->list, sizeof a->list[0] * (size_t)a->i);
}

static uint64_t
hash_node(const Node *n)
{
    uint64_t h = (uint64_t)n->op << 2;
    if (n->op != OP_const)
        h += (uint64_t)n->phase;
    for (int i = 0; i < n->n_args; i++) {
        int id = operand(n, i)->mark;
        mix(&h, &id, sizeof id);
    }
    for (int i = 0; i < n->n_attrs; i++)
        mix_attr(&h, &n->attrs[i]);
    mix(&h, n->results[0]->type.dim,
        sizeof(int64_t) * (size_t)n->results[0]->type.rank);
    return h;
}

static bool
same_phase(const Node *a, const Node *b)
{
    return a->op == OP_const ||
           (a->phase == b->phase && a->stage == b->stage);
}

static bool
same_attrs(const Node *a, const Node *b)
{
    if (a->n_attrs != b->n_attrs)
        return false;
    for (int i = 0; i < a->n_attrs; i++)
        if (!attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    return true;
}

static bool
same(const Node *a, const Node *b)
{
    if (a->op != b->op || a->n_args != b->n_args ||
        a->n_results != b->n_results || !same_phase(a, b) || !same_attrs(a, b))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (operand(a, i)->mark != operand(b, i)->mark)
            return false;
    for (int i = 0; i < a->n_results; i++)
        if (!type_equal(&a->results[i]->type, &b->results[i]->type))
            return false;
    return true;
}

/* The earlier node that is the same, or n, which is then in the table. */
static Node *
find(Table *t, Node *n)
{
    size_t i = hash_node(n) & (t->cap - 1);
    while (t->slots[i] && !same(t->slots[i], n))
        i = (i + 1) & (t->cap - 1);
    if (!t->slots[i])
        t->slots[i] = n;
    return t->slots[i];
}

/* The constant whose name n's is with '2 or so, if it is the same. */
static Node *
find_base(Graph *g, const Node *n)
{
    const char *name = n->results[0]->name;
    const Value *v = map_get(&graph_outer(g)->values,
                             arena_strndup(g->module->arena, name,
                                           strcspn(name, "'")));
    return v && v->def->graph == g && v->def->order < n->order &&
                   v->def->phase == n->phase && same(v->def, n)
               ? v->def
               : NULL;
}

/* Node.mark: the node has lost its uses to another. */
static void
merge_node(Graph *g, Table *t, Node *n)
{
    Node *first = find(t, n);
    if (first == n)
        return;
    if (n->op == OP_const) {
        n->results[0]->mark = first->results[0]->mark;
        first = find_base(g, n);
        if (!first)
            return;
    }
    for (int i = 0; i < n->n_results; i++)
        value_forward(n->results[i], first->results[i]);
    n->mark = 1;
}

static void
merge(Graph *g, Table *t)
{
    graph_each(g, n) {
        n->mark = 0;
        for (int i = 0; i < n->n_args; i++)
            node_set_arg(n, i, value_final(n->args[i]));
        if (may_merge(n))
            merge_node(g, t, n);
    }
    graph_forward(g);
}

static void
remove_merged(Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->mark)
            node_remove(n);
    }
}

bool
pass_cse(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        size_t nodes = number_values(g);
        Table t = {.cap = 16};
        while (t.cap <= 2 * nodes)
            t.cap *= 2;
        t.slots = ARENA_ARRAY(m->arena, Node *, t.cap);
        graph_number(g);
        merge(g, &t);
        remove_merged(g);
    }
    return true;
}
