/* Which constants need bytes: the rule that placement and codegen share. */
#ifndef EDL_IR_STORAGE_H
#define EDL_IR_STORAGE_H

#include "ir/graph.h"

/* True where operand i of n is read as one number or element by element by
 * code of n's own, so that a constant is printed there and not loaded:
 * every operand of an element op, and the dloss of cross_entropy_grad. n is
 * not a fused node, but may be of a body. */
bool storage_prints(const Node *n, int i);

/* A value has a home with bytes of its own (or a tensor's) unless it is made
 * by OP_const and every reader prints it, or lives inside a body only. Sets
 * Value.mark to 1 for the results of const nodes of g that need bytes, and
 * to 0 for those that do not. */
void storage_mark_constants(Graph *g);

/* Copies to and from disk go through two buffers at the end of the io region
 * of a module that has a disk region (runtime/edl_copy_file.c): bytes of one,
 * and of the room for both, which begins anywhere; of so many bytes on disk. */
int64_t storage_stage(const Module *m);
int64_t storage_stage_room(const Module *m);
int64_t storage_room_for(int64_t disk);

#endif
