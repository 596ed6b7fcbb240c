/* The order of a graph's nodes: what must come before what, for values and
 * for storage. */
#ifndef EDL_PASSES_PLAN_ORDER_H
#define EDL_PASSES_PLAN_ORDER_H

#include "ir/graph.h"

/* The tensor whose storage a value shows: it is a read, or views of one.
 * NULL: none. */
Tensor *order_tensor(const Value *v);

/* Puts the nodes into an order in which every value is made before it is
 * read, and a tensor's old value has been read by all its readers before it
 * changes. Nodes for which the order is free already stay as they stand.
 * Operand lists of groups must be fresh. Linear. */
void order_sort(Graph *g);

/* The same, where Node.mark moves nodes: */
enum {
    ORDER_STAY,
    ORDER_LATE, /* right before the first node that needs it */
    ORDER_EARLY /* right behind the last node that it needs */
};
void order_sort_marked(Graph *g);

#endif
