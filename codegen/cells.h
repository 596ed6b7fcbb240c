/* What a kernel computes for one element, and the loops that do it for all.
 *
 * A cell is one scalar: a literal, an element of an operand, an expression of
 * other cells, or a fold (sum, max, min) of a cell along the inner dimensions
 * of the loops. A cell is full when it differs along the inner dimensions;
 * the others are computed once a row. A fold needs a pass over the row, and
 * what depends on it comes in a later pass: cells count passes in `level`.
 * A full cell that a later pass needs is read where a pass has stored it, or
 * computed again there: the same instructions give the same bits, and no row
 * buffer is needed. */
#ifndef EDL_CODEGEN_CELLS_H
#define EDL_CODEGEN_CELLS_H

#include "codegen/loops.h"

typedef enum {
    CELL_literal,
    CELL_load,
    CELL_expr,
    CELL_index,
    CELL_fold,
    CELL_uniform
} CellKind;

typedef enum { FOLD_sum, FOLD_max, FOLD_min } FoldKind;

typedef struct Cell {
    CellKind kind;
    Dtype dtype;
    /* literal; expression with %0 to %3 for its inputs; key of a uniform */
    const char *text;
    int in[4];
    int n_in;
    int access; /* load, index */
    int kept;   /* access + 1: where an earlier pass has stored it; 0: no */
    FoldKind fold;
    const char *path; /* what its local name is made of */
    int level;
    bool full;
    int uses;
    const char *now; /* its C text ... */
    int now_loop;    /* ... in this pass; 0: for the whole row; -1: not yet */
} Cell;

typedef struct CellStore {
    int cell, access;
    bool adds; /* to what is there */
} CellStore;

/* A value and its cell. */
typedef struct Bound {
    const Value *value;
    int cell;
} Bound;

typedef struct Cells {
    Kernel *k;
    Loops *loops;
    VEC(Cell) cell;
    VEC(CellStore) stores;
    VEC(Bound) bound;
    int loop; /* the pass that is being printed, from 1; 0 between them */
    const char *guard; /* of its lanes those where this holds; NULL: all */
} Cells;

Cells cells_new(Kernel *k, Loops *loops);

int cells_literal(Cells *c, Dtype d, const char *text);
int cells_load(Cells *c, int access, const char *path);
/* The row-major index of the element in a dense tensor of type t. */
int cells_index(Cells *c, const Type *t);
/* The sum of the indices times these strides. */
int cells_stride(Cells *c, const int64_t *stride);
int cells_expr(Cells *c, Dtype d, const char *path, const char *text, int n_in,
               const int *in);
int cells_expr1(Cells *c, Dtype d, const char *path, const char *text, int a);
int cells_expr2(Cells *c, Dtype d, const char *path, const char *text, int a,
                int b);
int cells_fold(Cells *c, FoldKind fold, const char *path, int in);
/* The random number in [0, 1) of the element with this index. */
int cells_uniform(Cells *c, const char *key, int index);
void cells_store(Cells *c, int cell, int access);
void cells_add(Cells *c, int cell, int access);

/* The cell of an operand: what cells_bind said, a printed constant, or a load
 * of it. */
int cells_value(Cells *c, const Value *v);
void cells_bind(Cells *c, const Value *v, int cell);
/* The cell of an OP_ELEMENT node (codegen/c_math.c). -1: not possible. */
int cells_element(Cells *c, const Node *n);
/* t = v, or t += v where it accumulates, for a node inside a group. access:
 * of the tensor. */
void cells_write(Cells *c, const Node *n, int access);

/* Folds the loops' dimensions; call before the first cells_emit. */
void cells_settle(Cells *c);
/* Everything, for the row that is open. */
void cells_emit(Cells *c);
/* One cell where the caller has loops of its own: its C text, after printing
 * what it needs. */
const char *cells_need(Cells *c, int cell);
/* Forgets what was printed in the inner loop. */
void cells_next_loop(Cells *c);
/* Prints, before an inner loop, what cell i needs and does not change in it. */
void cells_hoist(Cells *c, int i);
/* "sum_l[16] = {0}": n accumulators of a fold; to = to with v. */
void cells_lanes(Cells *c, int fold, int n);
void cells_combine(Cells *c, int fold, const char *to, const char *v);
void cells_put(Cells *c, const CellStore *s);

/* What a loop over the last inner dimension runs through. */
typedef struct Stretch {
    const char *from, *to; /* C text */
    int64_t most;          /* elements */
    bool cut;              /* in parts, each with its random numbers */
} Stretch;

/* Before such a loop: four neighbours have their random numbers from one call,
 * so they are computed ahead, into an array. level: of the pass; -1: all that
 * is stored is computed. Where the row is long, opens a loop over its parts,
 * and `from` and `to` become the ends of one. */
void cells_open_stretch(Cells *c, Stretch *s, int level);
void cells_close_stretch(Cells *c, const Stretch *s);

#endif
