/* cse: one node for nodes that compute the same.
 *
 *     a = exp x                 a = exp x
 *     b = exp x           =>    c = add a, a
 *     c = add a, b
 *
 * Nodes are the same when op, operands, attributes, result types, stage and
 * phase are; operands of ops that commute count in either order. Never merged:
 * what names a tensor (a read may stand on the other side of a write) or has
 * an effect, and groups. Phases stay apart, since a value of the forward pass
 * that the backward pass reads has to be saved. Constants of different blocks
 * stay apart, so that equal blocks stay equal. */
#include "passes/pass.h"

typedef struct Table {
    Node **slots;
    size_t cap; /* a power of two, more than twice the nodes */
} Table;

static bool
may_merge(const Node *n)
{
    return !n->body && n->n_results > 0 &&
           !(op_info[n->op].flags & (OP_PINNED | OP_TENSOR));
}

/* Value.mark: a number for each value, by position. */
static void
number_values(Graph *g, int *last)
{
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = ++*last;
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
    uint64_t h = ((uint64_t)n->op << 2) + (uint64_t)n->phase;
    if (n->op == OP_const && n->block)
        mix(&h, n->block, strlen(n->block));
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
same_place(const Node *a, const Node *b)
{
    if (a->phase != b->phase || a->stage != b->stage)
        return false;
    if (a->op != OP_const || a->block == b->block)
        return true;
    return a->block && b->block && strcmp(a->block, b->block) == 0;
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
        a->n_results != b->n_results || !same_place(a, b) || !same_attrs(a, b))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (operand(a, i) != operand(b, i))
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

static void
merge(Graph *g, Table *t)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->n_args; i++)
            node_set_arg(n, i, value_final(n->args[i]));
        if (!may_merge(n))
            continue;
        Node *first = find(t, n);
        if (first == n)
            continue;
        for (int i = 0; i < n->n_results; i++)
            value_forward(n->results[i], first->results[i]);
    }
    graph_forward(g);
}

/* forward is cleared, so the nodes that lost are found by having no place in
 * the table. */
static void
remove_merged(Graph *g, Table *t)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (may_merge(n) && find(t, n) != n)
            node_remove(n);
    }
}

bool
pass_cse(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        int values = 0;
        size_t nodes = 0;
        number_values(g, &values);
        graph_each(g, n)
            nodes++;
        Table t = {.cap = 16};
        while (t.cap <= 2 * nodes)
            t.cap *= 2;
        t.slots = ARENA_ARRAY(m->arena, Node *, t.cap);
        merge(g, &t);
        remove_merged(g, &t);
    }
    return true;
}
