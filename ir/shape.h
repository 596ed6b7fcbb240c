/* Result types of an op from the types of its operands and its attributes:
 * one rule for the front end, the passes, the reader and the verifier. */
#ifndef EDL_IR_SHAPE_H
#define EDL_IR_SHAPE_H

#include "ir/graph.h"

/* What is wrong, without shapes: the front end prints those with the names of
 * its dims.  arg/axis: which operand and axis it is about, -1: none;
 * other/other_axis: what it was compared with. */
typedef struct ShapeError {
    const char *text; /* "inner sizes differ"; in the arena */
    int arg, axis;
    int other, other_axis;
} ShapeError;

/* Fills results[*n_results]. GIVEN rules keep what results holds already.
 * False, and err, when the op does not accept these operands. Checks the
 * attributes against ops.def as well. */
bool shape_infer(Arena *a, Op op, const Type *args, int n_args,
                 const Attr *attrs, int n_attrs, Type *results, int *n_results,
                 ShapeError *err);

enum { MAX_RESULTS = 64 };

#endif
