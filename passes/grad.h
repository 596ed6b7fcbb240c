/* What the rules of the grad pass share: inside passes/grad*.c only.
 *
 * A rule adds the nodes that compute, from the gradient of a node's results,
 * what the node contributes to the gradient of each operand:
 *
 *     void
 *     grad_neg(Grad *c)                      y = neg x
 *     {                                      x.grad = neg y.grad
 *         if (grad_for(c, 0))
 *             grad_give(c, grad1(c, OP_neg, grad_dy(c)));
 *     }
 *
 * A rule never looks at what it does not need: equal nodes made for two
 * operands are merged by cse, dead ones dropped by dce. */
#ifndef EDL_PASSES_GRAD_H
#define EDL_PASSES_GRAD_H

#include "ir/graph.h"

typedef struct Grad {
    Graph *g;
    Node *node; /* the one to differentiate */
    int arg;    /* the operand that new nodes are for, and named after */
} Grad;

typedef void (*GradRule)(Grad *c);

extern const GradRule grad_rule[OP_COUNT];

#define GRAD(op) void grad_##op(Grad *c);
#include "passes/grad.def"
#undef GRAD

/* Does operand `arg` get a gradient? If so, new nodes are for it. */
bool grad_for(Grad *c, int arg);
/* The gradient of the node's result i, NULL where none comes. A rule of an
 * op with one differentiable result runs only where grad_dy is there. */
Value *grad_of_result(const Grad *c, int i);
Value *grad_dy(const Grad *c);
/* Operand and first result of the node. */
Value *grad_x(const Grad *c, int i);
Value *grad_y(const Grad *c);

/* Adds v to the gradient of the operand that grad_for named; v is summed over
 * the axes along which the operand was broadcast. */
void grad_give(Grad *c, Value *v);

/* The pass itself: makes room for the gradient of v, which is to get one; sums
 * what was given to it, in the order of its uses (NULL: nothing was). */
typedef struct GradSum GradSum;
void grad_sum_new(Value *v);
/* The gradient of the loss itself is 1. */
void grad_start(Value *loss);
Value *grad_total(Value *v);

/* New nodes: their only (first) result. */
Value *grad_op(Grad *c, Op op, Value *const *args, int n_args,
               const Attr *attrs, int n_attrs);
Value *grad_typed(Grad *c, Op op, const Type *t, Value *const *args,
                  int n_args, const Attr *attrs, int n_attrs);
Value *grad1(Grad *c, Op op, Value *a);
Value *grad2(Grad *c, Op op, Value *a, Value *b);
Value *grad3(Grad *c, Op op, Value *x, Value *a, Value *b);
/* A scalar constant of like's dtype. */
Value *grad_number(Grad *c, const Value *like, double x);
/* v in another shape of as many elements (v itself if it has it). */
Value *grad_view_as(Grad *c, Value *v, const Type *shape);
/* v repeated along axes of size 1. */
Value *grad_expand(Grad *c, Value *v, const Type *shape);

#endif
