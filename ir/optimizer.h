/* The operands of the optimizers' ops, which change some of them in place:
 *
 *     adamw p, g, m, v, t, lr, scale [, go] [, m.scale, v.scale]
 *     sgd   p, g, lr, scale [, v] [, go]
 *
 * A state of type i8 is a code of 8 bits an element (runtime/edl_code.h), in
 * blocks of CODE_BLOCK elements, each with an f32 in the scale; of v of adamw
 * the root is stored. */
#ifndef EDL_IR_OPTIMIZER_H
#define EDL_IR_OPTIMIZER_H

#include "ir/graph.h"

enum {
    CODE_BLOCK = 256,
    CODE_LEAST = 4096 /* elements: with less there is little to win */
};

typedef struct Optimizer {
    int n_state;
    int state[2], scale[2]; /* operands; scale -1: an f32 state */
    int go;                 /* -1: the update is always made */
    int n_args;             /* that there should be */
} Optimizer;

/* Of a node whose op is OP_OPTIMIZER. */
Optimizer optimizer_of(const Node *n);
/* The same before there is a node. go: attribute of sgd. */
Optimizer optimizer_operands(Op op, int n_args, bool coded, double momentum,
                             bool go);
/* Does the node change operand i? */
bool optimizer_changes(const Node *n, int i);
/* Is a state of this type stored in codes where they are asked for? */
bool optimizer_can_code(const Type *t);
/* Bytes of its codes and scales. */
int64_t optimizer_code_bytes(const Type *t);
/* The scales of an i8 state of type t; the tensor of them has the role of the
 * state with .scale behind it. */
Type optimizer_scales(const Type *t);
bool optimizer_is_scale(const Tensor *t);
/* May its states leave the device? Codes and their scales stay. */
bool optimizer_moves(const Tensor *t);
const Tensor *optimizer_scales_of(const Module *m, const Tensor *state);

#endif
