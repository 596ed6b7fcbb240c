/* From when to when the bytes of a graph's homes are in use. The one place
 * where lifetimes are counted: placement, reports and limits read it here. */
#ifndef EDL_PASSES_PLAN_LIFE_H
#define EDL_PASSES_PLAN_LIFE_H

#include "ir/graph.h"

/* Alive in nodes [first, end) by Node.order. */
typedef struct Life {
    Value *home; /* or, of a kernel's temporaries: */
    Node *kernel;
    int first, end;
    int64_t bytes; /* a multiple of 64 */
} Life;

typedef struct Lives {
    VEC(Life) at;
    int n_nodes;
} Lives;

/* The home at the end of the chain. */
Value *life_home(Value *v);
/* Bytes from the start of a home to behind its last element. */
int64_t life_extent(const Type *t, const Layout *l);
/* Numbers g and lists its homes without tensor, on the device, in order of
 * definition, and temporaries at their nodes. Uses Value.mark. */
Lives life_find(Arena *a, Graph *g);

#endif
