/* When a graph leaves the bytes of stash and gradients to other values: the
 * rule that placement and the verifier share. */
#ifndef EDL_IR_BUSY_H
#define EDL_IR_BUSY_H

#include "ir/graph.h"

/* Nodes [first, end) of a graph, by Node.order. */
typedef struct Busy {
    int first, end;
} Busy;

/* By number in m->tensors, for what lies in the regions of stash and
 * gradients: when the graph may neither write over it nor read anything else
 * there. A stash tensor that the graph writes is busy from its first touch on,
 * one that it only reads until the last, and one that it does not touch
 * always. A graph that touches none has all of the slot if no program calls
 * it together with one that does. A gradient is busy from where it is first
 * written (ir/lend.h). g is numbered. */
Busy *busy_find(Arena *a, const Graph *g);

#endif
