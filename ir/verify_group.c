/* What the kinds of groups may hold: docs/ir.md, "Fused groups". */
#include "ir/scratch.h"
#include "ir/verify_check.h"

static bool
is_element(const Node *n)
{
    return op_info[n->op].flags & OP_ELEMENT;
}

/* Constants, coordinates and the effects that store a result may stand in
 * any group. */
static bool
is_neutral(const Node *n)
{
    return n->op == OP_const || n->op == OP_iota || n->op == OP_broadcast;
}

static void
wrong(Verifier *v, const Node *n, const char *kind)
{
    verify_at(v, n);
    verify_fault(v, "%s has no place in a group of kind %s",
                 op_info[n->op].name, kind);
}

static void
element(Verifier *v, const Node *fused)
{
    Type space = {0};
    bool one = true;
    graph_each(fused->body, n) {
        if (is_neutral(n))
            continue;
        if (!is_element(n)) {
            wrong(v, n, "element");
            continue;
        }
        one &= type_broadcast(&space, &n->results[0]->type, &space);
    }
    for (int i = 0; i < fused->n_results; i++) {
        Type t = fused->results[i]->type;
        t.dtype = space.dtype;
        one &= type_equal(&t, &space);
    }
    verify_at(v, fused);
    if (!one)
        verify_fault(v, "its results are not of one shape");
}

/* Only the last axis is reduced, and kept. */
static bool
reduces_row(const Node *n)
{
    const Attr *axes = node_attr(n, "axes");
    int rank = n->n_args ? n->args[0]->type.rank : 0;
    return axes && axes->i == 1 && axes->list[0] == rank - 1 &&
           node_flag(n, "keep");
}

static bool
is_row(const Node *n)
{
    if (!(op_info[n->op].flags & OP_ROW))
        return reduces_row(n);
    const Value *x = n->args[0];
    return node_int(n, "axis", x->type.rank - 1) == x->type.rank - 1;
}

/* A sum down columns goes into gradients, and nothing else reads it. */
static void
row_sum(Verifier *v, const Node *fused, const Node *sum)
{
    bool good = true;
    graph_each(fused->body, n)
        for (int i = 0; i < n->n_args; i++)
            good &= n->args[i] != sum->results[0] || n->op == OP_accumulate;
    for (int i = 0; i < fused->n_results; i++)
        good &= fused->results[i] != sum->results[0];
    verify_at(v, sum);
    if (!good)
        verify_fault(v, "only accumulate reads %s in a group of kind row",
                     sum->results[0]->name);
}

static bool
stores_sum(const Node *n)
{
    const Node *def = n->args[0]->def;
    return n->op == OP_accumulate && def->graph == n->graph && sums_down(def);
}

static void
row(Verifier *v, const Node *fused)
{
    graph_each(fused->body, n) {
        if (sums_down(n))
            row_sum(v, fused, n);
        else if (!is_element(n) && !is_neutral(n) && !is_row(n) &&
                 !(n->n_args && stores_sum(n)))
            wrong(v, n, "row");
    }
}

static void
reduce(Verifier *v, const Node *fused)
{
    const Node *first = NULL;
    graph_each(fused->body, n) {
        if (n->op == OP_accumulate || is_neutral(n))
            continue;
        if (n->op != OP_reduce_sum) {
            if (!is_element(n))
                wrong(v, n, "reduce");
            continue;
        }
        if (!first)
            first = n;
        verify_at(v, n);
        if (!attr_equal(node_attr(n, "axes"), node_attr(first, "axes")))
            verify_fault(v, "the sums of a group are over the same axes");
    }
    verify_at(v, fused);
    if (!first)
        verify_fault(v, "a group of kind reduce needs a reduce_sum");
    for (int i = 0; i < fused->n_results; i++) {
        Op op = fused->results[i]->def->op;
        if (op != OP_reduce_sum)
            verify_fault(v, "only sums leave it, found %s",
                         fused->results[i]->name);
    }
}

/* An element node of the product's shape. */
static bool
is_epilogue(const Node *n, const Node *product)
{
    if (!is_element(n) || product->op != OP_matmul)
        return is_element(n);
    Type t = n->results[0]->type;
    t.dtype = product->results[0]->type.dtype;
    return type_equal(&t, &product->results[0]->type);
}

/* An operand that the product rounds to bf16 as it reads it. */
static bool
is_rounding(const Node *n)
{
    return n->op == OP_cast && n->args[0]->type.dtype == DT_f32 &&
           n->results[0]->type.dtype == DT_bf16 &&
           n->args[0]->def->graph != n->graph;
}

static void
matmul(Verifier *v, const Node *fused)
{
    const Node *first = fused->body->first;
    int products = 0, accumulates = 0;
    while (first->next && is_rounding(first))
        first = first->next;
    for (const Node *n = first; n; n = n->next) {
        products += n->op == OP_matmul;
        accumulates += n->op == OP_accumulate;
        if (n->op != OP_matmul && n->op != OP_accumulate &&
            !is_epilogue(n, first) && !is_neutral(n))
            wrong(v, n, "matmul");
    }
    verify_at(v, fused);
    if (products != 1 || first->op != OP_matmul)
        verify_fault(v, "a group of kind matmul begins with its one matmul");
    if (accumulates > 1)
        verify_fault(v, "at most one accumulate");
}

static void
head(Verifier *v, const Node *fused)
{
    int losses = 0;
    graph_each(fused->body, n) {
        losses += n->op == OP_cross_entropy;
        if (n->op != OP_matmul && n->op != OP_cross_entropy &&
            n->op != OP_cross_entropy_grad && n->op != OP_accumulate &&
            n->op != OP_add && n->op != OP_reduce_sum &&
            n->op != OP_transpose && n->op != OP_cast && !is_neutral(n))
            wrong(v, n, "head");
    }
    verify_at(v, fused);
    if (losses != 1)
        verify_fault(v, "a group of kind head has one cross_entropy");
    if (!node_attr(fused, "chunk"))
        verify_fault(v, "a group of kind head says its chunk");
}

static void
table(Verifier *v, const Node *fused)
{
    int grads = 0, accumulates = 0;
    graph_each(fused->body, n) {
        grads += n->op == OP_embedding_grad;
        accumulates += n->op == OP_accumulate;
        if (n->op != OP_embedding_grad && n->op != OP_accumulate)
            wrong(v, n, "table");
    }
    verify_at(v, fused);
    if (grads != 1 || accumulates != 1)
        verify_fault(v, "a group of kind table is an embedding_grad and its "
                        "accumulate");
}

static void
sweep(Verifier *v, const Node *fused)
{
    graph_each(fused->body, n)
        if (!(op_info[n->op].flags & OP_OPTIMIZER))
            wrong(v, n, "sweep");
}

void
verify_group(Verifier *v, Node *fused)
{
    static const struct {
        const char *kind;
        void (*check)(Verifier *v, const Node *fused);
    } kinds[] = {{"element", element}, {"row", row},   {"reduce", reduce},
                 {"matmul", matmul},   {"head", head}, {"table", table},
                 {"sweep", sweep}};
    const char *kind = node_word(fused, "kind", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            kinds[i].check(v, fused);
}
