/* A second module of the same content: what a planner tries, it tries on a
 * copy. */
#ifndef EDL_IR_COPY_H
#define EDL_IR_COPY_H

#include "ir/graph.h"

/* Tensors, graphs and programs are copied, in their order; names, the train
 * section and the lists of attributes are shared with m, which must outlive
 * the copy. What goes wrong with the copy is reported to d. Uses Tensor.mark
 * and Value.note of m. */
Module *module_copy(Arena *a, Diag *d, Module *m);

#endif
