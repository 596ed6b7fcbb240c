/* What is known about values when compiling: fold and simplify share it. */
#ifndef EDL_PASSES_CONSTANT_H
#define EDL_PASSES_CONSTANT_H

#include "ir/graph.h"

/* Is v made by const? *x is the number that fills it. False for integers
 * that a double cannot hold. */
bool constant_value(const Value *v, double *x);
bool constant_is(const Value *v, double x);
/* x as an element of dtype d: rounded to nearest even, bf16 and f16 by way
 * of f32 as kernels do it. False: d does not hold it (an integer out of
 * range, a fraction). */
bool constant_round(Dtype d, double *x);
/* n becomes const: its one result is filled with x. */
void constant_become(Node *n, double x);

#endif
