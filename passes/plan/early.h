/* Updates in the backward pass: where nothing has to wait for all gradients
 * (no clipping, no skipping, one microbatch a step), a parameter may change as
 * soon as its gradient is there and nothing reads it any more. The gradient is
 * then a value that lives for a moment, not a tensor:
 *
 *     accumulate w.grad = dw            adamw w, dw, w.m, w.v, ...
 *     ...                         =>
 *     phase update
 *     g = read w.grad
 *     adamw w, g, w.m, w.v, ...
 *
 * No bit changes. What stays in its tensor: gradients of a head, of a
 * parameter that is used several times, and small ones. */
#ifndef EDL_PASSES_PLAN_EARLY_H
#define EDL_PASSES_PLAN_EARLY_H

#include "ir/graph.h"

/* A parameter whose gradient need not be kept. */
typedef struct EarlyParam {
    Tensor *grad;
    Node *accumulate, *update; /* the latter perhaps in a sweep */
} EarlyParam;

typedef VEC(EarlyParam) EarlyParams;

/* m: after `fuse`, with a graph main. In the order of the tensors. */
EarlyParams early_find(Arena *a, const Module *m);
/* Rewrites main; their gradient tensors go. Values may have been made again
 * in the backward pass before. */
void early_apply(Module *m);

#endif
