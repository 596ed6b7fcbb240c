/* Stash tensors that lie in the gradients' bytes, where ir/lend.h allows it. */
#ifndef EDL_PASSES_PLAN_BORROW_H
#define EDL_PASSES_PLAN_BORROW_H

#include "ir/graph.h"

/* Gives stash tensors whose bytes are known a place in the region of the
 * gradients, which are placed; the others stay without a region. */
void borrow_place(Arena *a, const Module *m);

#endif
