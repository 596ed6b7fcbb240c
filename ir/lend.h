/* When gradients lend their bytes: with one microbatch a step, what is stashed
 * or alive in a graph may lie where gradients are written later. The rule that
 * placement and the verifier share. */
#ifndef EDL_IR_LEND_H
#define EDL_IR_LEND_H

#include "ir/graph.h"

/* By number in m->tensors, positions in the program that touches gradients
 * and stash: the nodes of its calls, one behind the other. */
typedef struct Lend {
    int *first; /* of a gradient: where it is written first; -1: it may not
                 * lend, as it is read before */
    int *last;  /* of a stash tensor on the device: its last use; INT_MAX: it
                 * may not borrow, as it has none */
    const Program *program; /* or NULL: nothing lends */
} Lend;

/* Nothing lends where a program repeats calls, or two programs use gradients
 * or stash. */
Lend lend_find(Arena *a, const Module *m);

/* The position of g's first node; -1: the program does not call it. */
int lend_base(const Lend *l, const Graph *g);

/* Tensor s of the stash may lie over gradient g. */
static inline bool
lend_allows(const Lend *l, int s, int g)
{
    return l->last[s] < l->first[g];
}

#endif
