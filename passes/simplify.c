/* simplify: rewrites nodes to cheaper equals, in one sweep in program order.
 * The rules stand in passes/simplify.def. What is not read any more is left
 * to dce. */
#include "passes/simplify.h"
#include "passes/pass.h"

/* A rewrite may open the way for another; no chain is this long. */
enum { MOST_REWRITES = 16 };

static const SimplifyRule rule[OP_COUNT] = {
#define RULE(op, function) [OP_##op] = function,
#include "passes/simplify.def"
#undef RULE
};

bool
simplify_put(Node *n, Value *v)
{
    if (!type_equal(&v->type, &n->results[0]->type))
        return false;
    value_forward(n->results[0], v);
    return true;
}

Value *
simplify_number(Node *n, const Value *like, double x)
{
    Type t = type_scalar(like->type.dtype);
    const char *name = graph_derive(n->graph, n->results[0]->name, "const");
    return graph_const(n->graph, name, &t, x);
}

Node *
simplify_made_by(const Value *v, Op op)
{
    return v->def->op == op ? v->def : NULL;
}

const int64_t *
simplify_list(const Node *n, const char *key)
{
    return node_attr(n, key)->list;
}

static bool
broadcasts_to(Value *const *args, int n, const Type *to)
{
    Type t = args[0]->type;
    for (int i = 1; i < n; i++)
        if (!type_broadcast(&t, &args[i]->type, &t))
            return false;
    t.dtype = to->dtype;
    return type_equal(&t, to);
}

bool
simplify_binary(Node *n, Op op, Value *a, Value *b)
{
    Value *args[] = {a, b};
    if (!broadcasts_to(args, 2, &n->results[0]->type))
        return false;
    node_become(n, op, args, 2, NULL, 0);
    return true;
}

/* add (broadcast a), b  =>  add a, b   where b has the shape of the sum */
static void
drop_broadcasts(Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Value *v = n->args[i];
        Node *b = simplify_made_by(v, OP_broadcast);
        if (!b)
            continue;
        node_set_arg(n, i, b->args[0]);
        if (!broadcasts_to(n->args, n->n_args, &n->results[0]->type))
            node_set_arg(n, i, v);
    }
}

static void
simplify_node(Graph *g, Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        node_set_arg(n, i, value_final(n->args[i]));
    g->at = n;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    for (int i = 0; i < MOST_REWRITES; i++) {
        if ((op_info[n->op].flags & OP_ELEMENT) && n->n_args > 1)
            drop_broadcasts(n);
        if (!rule[n->op] || !rule[n->op](n) || n->results[0]->forward)
            break;
    }
}

static void
simplify_graph(Graph *g)
{
    Context before = g->context;
    graph_count_uses(g);
    graph_each(g, n)
        if (!n->body)
            simplify_node(g, n);
    graph_forward(g);
    g->at = NULL;
    g->context = before;
}

bool
pass_simplify(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        simplify_graph(m->graphs.at[i]);
    return true;
}
