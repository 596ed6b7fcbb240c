/* Column sums in the kernels of rows, after all groups are formed. */
#ifndef EDL_PASSES_FUSE_COLUMNS_H
#define EDL_PASSES_FUSE_COLUMNS_H

#include "passes/fuse_group.h"

/* A group of kind reduce joins the rows that make or read what it adds up:
 * gradients of biases and of a norm's scale and shift beside the gradient of
 * the norm, so that each tensor is read once. */
void fuse_columns(Fuse *f);
/* In a group of rows these sums stand last: what the rows themselves read comes
 * first among its operands, and gives its place to what they make. */
void fuse_columns_last(Fuse *f, Group *g);

#endif
