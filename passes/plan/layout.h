/* Layouts of views: where the elements of a view lie, given its operand's
 * layout, and the other way round. */
#ifndef EDL_PASSES_PLAN_LAYOUT_H
#define EDL_PASSES_PLAN_LAYOUT_H

#include "ir/graph.h"

/* The same elements, row-major, under another shape; false when no strides
 * can say it. */
bool layout_reshape(const Type *from, const Layout *l, const Type *to,
                    Layout *out);
/* Result r of the view node n, whose operand lies as l says. */
bool layout_of_view(const Node *n, int r, const Layout *l, Layout *out);
/* How the operand of n must lie so that its result lies as l says; false
 * unless n shows all of it, each element once. */
bool layout_before_view(const Node *n, const Layout *l, Layout *out);
/* Neighbours on the last axis are neighbours in memory. */
bool layout_inner_is_one(const Type *t, const Layout *l);

#endif
