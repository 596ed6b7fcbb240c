/* What the sweeps over all parameters share: codegen/c_update.c, and
 * c_norm.c, and c_update_codes.c where optimizer states are codes of 8 bits. */
#ifndef EDL_CODEGEN_C_SWEEP_H
#define EDL_CODEGEN_C_SWEEP_H

#include "codegen/c_ops.h"

typedef struct Sweep {
    VEC(const Node *) nodes; /* adamw or sgd, all of one kind */
    int n_state;             /* tensors of optimizer state of each */
    Region param, state[2];  /* where they are, all alike */
    Region grad;
    bool codes; /* the states are i8 */
} Sweep;

/* Offset of a value in its region, in elements. */
int64_t sweep_offset(const Value *v);
Region sweep_region_of(const Value *v);
/* In `region`, or a copy, f32 and dense: what the tables can say. */
bool sweep_fits(const Value *v, Region region);
/* CUDA: a piece is a block. */
void sweep_blocks(Kernel *k, int64_t pieces);
/* The loop over elements lo to hi of a piece. */
void sweep_open(Kernel *k);
/* Elements of a piece. */
int64_t sweep_piece(const Kernel *k);
/* The row whose pieces `piece` is one of, and the elements lo to hi of it. */
void sweep_find(Kernel *k, int rows, int64_t each);
/* The start of a region of floats. */
const char *sweep_region(Kernel *k, Region region, bool write);
/* "if (!*go) return;" where the node has a predicate. */
void sweep_go(Kernel *k, const Node *n);
/* now, rate, step, root, keep, by: the numbers of adamw in row i. */
void sweep_adamw_numbers(Kernel *k, const Sweep *s);
/* What adamw does to p, m and v with g at an index. */
void sweep_adamw_element(Kernel *k, const Sweep *s, const char *at);
/* A kernel body (codegen/c_update_codes.c); aux: the Sweep. */
void sweep_codes_body(Kernel *k);

#endif
