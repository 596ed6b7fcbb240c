/* Values of the forward pass that the backward pass makes again rather than
 * stash: what a choice of them costs, and the graph that follows it.
 *
 * A dropped value is made again from what is kept: stashed values, constants
 * and tensors that do not change before the update. What it is made from and
 * neither kept is made again as well, once. A group is repeated as far as it
 * is needed: an element's bits do not depend on the kernel that makes it. */
#ifndef EDL_PASSES_PLAN_DROP_H
#define EDL_PASSES_PLAN_DROP_H

#include "ir/graph.h"

/* Node.mark and Value.mark of the graph and of copies of it are the numbers
 * of atoms (nodes that are not groups) and values, in program order; nothing
 * may change them while this is used. */
typedef struct Drop {
    Arena *a;
    Graph *g; /* main */
    VEC(Node *) atoms;
    VEC(Value *) values;
    VEC(Node *) kernels; /* in program order; Node.order is the number */
    int64_t *stash;      /* by value: its bytes in the stash if all is kept */
    bool *may;           /* by value: stashed, and can be made again */
    bool *old;           /* by value: a state's that main changes */
    bool *dropped;       /* by value: the choice */
    bool *again;         /* by atom: what follows from it */
    int *view;           /* by atom: a view of it that the backward pass
                          * wants, + 1; 0: none. The others follow: */
    int *next_view;      /* by atom: another view of the same, + 1 */
    int64_t *ns;         /* by kernel: of its part that is made again */
    int64_t total_ns;    /* sum of ns */
    int64_t saved;       /* bytes of the stash that are not needed */
    int64_t all;         /* bytes of the stash if all is kept */
    int64_t lent;        /* bytes of gradients where it may lie */
    int64_t *written;    /* by kernel: of those that it writes first */
    int64_t *soon;       /* by kernel: those that plan/early.h need not keep */
    int64_t all_soon;
    bool early;          /* they are not kept, and lend nothing */
    VEC(struct DropStep) trail;
    VEC(int) stack;
} Drop;

/* stashed: the module after `place` when all is kept. */
Drop *drop_new(Arena *a, Graph *main, const Module *stashed);

/* Adds a value that may be dropped, and all that follows. */
void drop_add(Drop *d, int value);
/* Takes back all that was added since drop_mark. */
int drop_mark(const Drop *d);
void drop_undo(Drop *d, int mark);

/* Bytes of the copies and of the stash that are in use at once and do not lie
 * in gradients, about. */
int64_t drop_load(const Drop *d);
/* Bytes of the region of the stash, at least. */
int64_t drop_kept(const Drop *d);

/* The choice for the graph itself or a copy of its module: copies NAME.re in
 * the backward pass, each right before its first reader there. */
void drop_apply(const Drop *d, Module *m);

#endif
