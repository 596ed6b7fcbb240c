/* The loops of a kernel: outer dimensions, whose index r is cut into pieces,
 * and inner ones, which a piece runs through for every r. Operands address
 * their elements by strides; neighbouring dimensions that every operand walks
 * as one are one. */
#ifndef EDL_CODEGEN_LOOPS_H
#define EDL_CODEGEN_LOOPS_H

#include "codegen/kernel.h"

typedef struct Access {
    int param;
    Dtype dtype;
    const Type *type;         /* its own shape */
    int64_t stride[MAX_RANK]; /* before folding: by axis of the space */
    int64_t outer[MAX_RANK], inner[MAX_RANK];
    bool full;         /* differs along the inner dimensions */
    const char *shift; /* C text of elements to add, or NULL: to each row, */
    bool late;         /* or, as it changes in the row, to each element */
    const char *base;  /* pointer at inner index 0, once the row is open */
    const char *lanes; /* CUDA: an array of the elements at c0, or NULL */
    bool held;         /* which is read before the first pass */
} Access;

/* What a CUDA thread does: a row, an element, or a part of its block's row. */
typedef enum { MODE_row, MODE_element, MODE_block } LoopMode;

typedef struct Loops {
    Kernel *k;
    int rank; /* as given: dim[axis], is_inner[axis] */
    int64_t dim[MAX_RANK];
    bool is_inner[MAX_RANK];
    int n_outer, n_inner; /* as folded */
    int64_t outer[MAX_RANK], inner[MAX_RANK];
    VEC(Access) access;
    bool keep;  /* inner dimensions stay as they are */
    bool apart; /* the last one is no part of a longer one */
    bool split; /* there are no outer dimensions: pieces cut the inner one */
    bool open;  /* the loop over rows is printed */
    /* Of the CUDA target: */
    LoopMode mode;
    bool by_element; /* no axis was given as an inner one */
    bool cells;      /* a Cells prints the inner loop, */
    bool folds;      /* which has folds */
    bool row_stores; /* and stores that do not change along it */
    bool wide;       /* only cells are printed, element by element: a thread */
    int each;        /* may do so many neighbours, */
    int64_t tail;    /* but one each of the last columns of a row */
    bool held;       /* those are all that a thread does of its block's row */
} Loops;

/* Elements that a piece should have at least. */
enum { PIECE_ELEMENTS = 8192 };

/* The space of a shape. inner: bit i: axis i is an inner one; 0: element by
 * element, the last dimension after folding is the inner one. */
Loops loops_new(Kernel *k, const Type *t, unsigned inner);
/* An operand whose shape broadcasts to the space's. */
int loops_value(Loops *s, const Value *v, bool write);
/* The tensor of a write or accumulate, as a value of type t. */
int loops_tensor(Loops *s, const Tensor *tensor, bool write);
/* Strides by axis of the space, given outright. */
int loops_strided(Loops *s, int param, Dtype d, const int64_t *stride);
void loops_fold(Loops *s);
int64_t loops_rows(const Loops *s);
int64_t loops_columns(const Loops *s);
/* Opens the loop over rows (or nothing, where there is one), with pointers to
 * each operand's row. Sets the kernel's pieces. */
void loops_open(Loops *s);
void loops_close(Loops *s);
/* Rows of a piece, as loops_open cuts them. */
int64_t loops_each(const Loops *s);
/* The same for kernels that print their own inner loops and want a coarser
 * or finer cut: rows of a piece. */
void loops_open_rows(Loops *s, int64_t rows);
/* To the kernel: a piece is so many rows and all of their columns. */
void loops_say_cut(Loops *s, int64_t rows);
/* Row pointers at row r, where the caller has set r. */
void loops_rows_here(Loops *s);
/* Undoes loops_fold, after is_inner was changed. */
void loops_forget(Loops *s);
/* Element of an access at inner index (j0, j1, .., at). */
const char *loops_element(Loops *s, int access, const char *at);
/* The loop over the last inner dimension of kernels that print it themselves;
 * how many blocks it opened. */
int loops_open_last(Loops *s);
/* Opens an if where a block shares a row: one thread does what follows. */
void loops_open_single(Loops *s);
void loops_close_single(Loops *s);
/* CUDA: chooses the mode and prints who the thread is
 * (codegen/cuda_loops.c). */
void cuda_loops_open(Loops *s);
/* "at / 8 % blockDim.x == threadIdx.x": where a block shares a row, is column
 * `at` this thread's? */
const char *cuda_owns(const Loops *s, const char *at);
/* A thread a row and column of the last inner dimension: r and c. */
void cuda_open_columns(Loops *s);
/* Loops over the inner dimensions but the last, if any; how many. */
int loops_open_inner(Loops *s);
/* "const int64_t lo = ..", "hi": of n things in pieces of `each`. */
void emit_range(Kernel *k, int64_t n, int64_t each);

#endif
