/* What the rules of the simplify pass share: inside passes/simplify*.c only.
 *
 * A rule looks at a node whose operands are simplified already. It either
 * leaves the node alone and returns false; or it puts a value in the place of
 * the node's result; or it makes the node another op (node_become), whose
 * rules then look at it. New nodes go before it. Every rewrite keeps all bits
 * of the result; exceptions say so and are confined to the backward phase,
 * where a gradient's 0 may change its sign. */
#ifndef EDL_PASSES_SIMPLIFY_H
#define EDL_PASSES_SIMPLIFY_H

#include "ir/graph.h"

typedef bool (*SimplifyRule)(Node *n);

#define RULE(op, function) bool function(Node *n);
#include "passes/simplify.def"
#undef RULE

/* v for n's first result; false when its type is another. */
bool simplify_put(Node *n, Value *v);
/* A scalar constant of like's dtype. */
Value *simplify_number(Node *n, const Value *like, double x);
/* v, if op made it and nothing else needs that node's other results. */
Node *simplify_made_by(const Value *v, Op op);
/* The list attribute that says so, as a plain array. */
const int64_t *simplify_list(const Node *n, const char *key);
/* n = a op b, if that has n's result type. */
bool simplify_binary(Node *n, Op op, Value *a, Value *b);
/* a + b of two slice_grads of neighbours: one slice_grad of a concat. */
bool simplify_join_slices(Node *n);

#endif
