/* Cross entropy in pieces: what it says of a row, for the op by itself and
 * for the head, which does a chunk of rows at a time. */
#ifndef EDL_CODEGEN_CLASSES_H
#define EDL_CODEGEN_CLASSES_H

#include "codegen/c_ops.h"

typedef struct Classes {
    int64_t n;
    double smoothing;
    const Attr *ignore;
    bool mean, none;
    bool whole; /* classes_grad says the gradient of the own class too */
} Classes;

Classes classes_of(const Node *n, const Value *logits);
/* 1 where the row counts; -1 where all do. */
int classes_valid(Cells *c, const Classes *cl, int target);
/* Prints `at`, the row's class; 0 where it does not count. */
void classes_emit_target(Cells *c, const Classes *cl, int target, int valid);
/* The row's loss from lse and own, the logit of its class; all: the sum of
 * the logits, where there is smoothing. */
const char *classes_loss(Cells *c, const Classes *cl, Dtype d, int lse,
                         const char *own, int all, int valid);
/* The gradient of a logit, but that of the row's own class, unless it is the
 * whole. */
int classes_grad(Cells *c, const Classes *cl, Dtype d, int x, int lse,
                 int scale, int valid, const char *path);
/* Prints `hit`, the gradient of the own class. */
void classes_emit_hit(Cells *c, const Classes *cl, Dtype d, int lse, int scale,
                      const char *own);
/* Puts it where it belongs, if the row counts: by the thread whose element
 * that is. */
void classes_put_hit(Cells *c, int valid, const char *to, const char *hit);
/* Loss and count of all rows from the rows' losses. loss: NULL without. */
typedef struct LossSum {
    const Value *targets, *loss, *valid;
    const char *losses; /* address, dense */
    Classes classes;
} LossSum;
void c_loss_sum(Cg *cg, const Node *n, const LossSum *s);

#endif
