/* Where the elements of a value lie, in bits from the start of its home. */
#ifndef EDL_IR_EXTENT_H
#define EDL_IR_EXTENT_H

#include "ir/graph.h"

/* The first and the last bit; false when they are out of int64 or the first
 * lies before the home. */
bool extent_range(const Type *t, const Layout *l, int64_t *first,
                  int64_t *last);
/* Bytes that a home needs for this, padding with it; -1: out of bounds. */
int64_t extent_bytes(const Type *t, const Layout *l);
/* Whether two values of one home certainly share no bit. Both layouts must
 * have passed extent_range. Exact where one is cut out of the other along
 * axes; else careful. */
bool extent_disjoint(const Type *a, const Layout *la, const Type *b,
                     const Layout *lb);
/* Equal addresses for equal indices. */
bool extent_same(const Type *t, const Layout *a, const Layout *b);
/* Two elements at one place? */
bool extent_repeats(const Type *t, const Layout *l);

/* Result i of a view op as a layout of the home of operand 0; false when
 * strides cannot say it, or the op is no view. */
bool extent_of_view(const Node *n, int i, Layout *out);
/* Operand i of a concat as a part of the result. */
Layout extent_of_part(const Node *concat, int i);

#endif
