/* One function a family of ops: each writes the kernels of a node and their
 * calls. Inside codegen/ only. */
#ifndef EDL_CODEGEN_C_OPS_H
#define EDL_CODEGEN_C_OPS_H

#include "codegen/cells.h"
#include "codegen/chain.h"
#include "ir/storage.h"

/* codegen/c_math.c: the op is emitted as an expression. */
bool math_has_row(Op op);

void c_element(Cg *cg, const Node *n); /* groups of kind element, and alone */
void c_row(Cg *cg, const Node *n);     /* kind row; norms, softmax, .. alone */
void c_reduce(Cg *cg, const Node *n);  /* kind reduce; reductions alone      */
/* codegen/c_sum.c: false where it is not a large sum over all elements. */
bool c_sum(Cg *cg, const Node *n);
void c_argmax(Cg *cg, const Node *n);
void c_pick_grad(Cg *cg, const Node *n);
void c_write(Cg *cg, const Node *n); /* write, accumulate                  */
void c_fill(Cg *cg, const Node *n);  /* const, iota                        */
void c_zero(Cg *cg, const Node *n, const Value *v); /* a result of n       */
void c_view(Cg *cg, const Node *n);  /* views that are copies; slice_grad  */
void c_concat(Cg *cg, const Node *n);
void c_pad(Cg *cg, const Node *n);
void c_slice_at(Cg *cg, const Node *n); /* and its gradient                  */
void c_table(Cg *cg, const Node *n);    /* embedding, take, take_along, grads */
void c_rope(Cg *cg, const Node *n);
void c_cross_entropy(Cg *cg, const Node *n);
void c_cross_entropy_grad(Cg *cg, const Node *n);
void c_matmul(Cg *cg, const Node *n); /* alone, and kind matmul             */
/* Pieces of [m, k] @ [k, n], as c_cut sets them (codegen/c_cut.c). */
typedef struct Cut {
    int64_t m, n, k, batches;
    bool tile;             /* a piece's product stays on the stack */
    bool bf16;
    bool a_along, b_along; /* terms of A, columns of B are adjacent */
    int64_t want;          /* so many blocks of rows, where it is small; or 0 */
    int64_t rows, columns; /* of a piece: what is asked, as */
    bool serial;           /* one thread makes all pieces */
} Cut;
void c_cut(Cut *c);
/* A product with addresses of the caller's: [m, k] @ [k, n], into f32; of f32
 * operands, or of bf16 ones, which may be f32 and be rounded on the way. */
typedef struct ProductSpec {
    int64_t m, n, k;
    bool bf16;
    Dtype a_dtype, b_dtype;
    const char *a, *b, *c; /* addresses */
    int64_t a_row, a_col, b_row, b_col, c_row;
    const char *add; /* C text of the flag, or NULL: never */
    const char *workspace; /* CUDA: an address, or NULL */
} ProductSpec;
void c_product(Cg *cg, const Node *n, const char *path, const ProductSpec *p);
void c_head(Cg *cg, const Node *n);
void c_attention(Cg *cg, const Node *n);
void c_attention_grad(Cg *cg, const Node *n);
void c_global_norm(Cg *cg, const Node *n);
void c_sweep(Cg *cg, const Node *n); /* adamw, sgd: alone or together      */
void c_count(Cg *cg, const Node *n);
/* codegen/c_copy.c: offload and fetch; wait */
void c_copy(Cg *cg, const Node *n);
void c_wait(Cg *cg, const Node *n);
void c_learning_rate(Cg *cg, const Node *n);

/* One row of cells for the nodes of a row or reduce group (codegen/c_row.c):
 * axes: bit i: axis i is reduced. Binds the results. */
void row_node(Cells *c, const Node *n);
/* A node, or those of its group but for what goes into tensors. */
void row_nodes(Cells *c, const Node *n);
/* codegen/c_columns.c: sums down columns in a group of rows, and accumulates of
 * them. */
bool is_column_sum(const Node *b);
/* Adds what the sum adds up to the part of the piece. `at`: where the parts of
 * the next sum begin in the scratch; from 0. */
void column_sum(Cells *c, const Node *sum, int64_t *at);
/* Before the rows of a piece: its parts are 0. */
void column_sums_clear(Kernel *k);
/* The kernel that adds up the parts. */
void column_sums_total(Cg *cg, const Node *n);
/* A reduce_sum or its group, cut by rows; false: it is not. */
bool c_column_parts(Cg *cg, const Node *n, const char *path);
/* Folds down columns (codegen/c_reduce.c): inner dimensions, the last of which
 * stays. */
void columns_emit(Cells *c);
/* The same for rows cut in parts, which are the pieces. */
void columns_emit_part(Cells *c, int64_t rows);
/* log(sum(exp(x))) of a row. */
int row_lse(Cells *c, const Value *x, const char *name);
int row_lse_cell(Cells *c, int x, const char *name);
/* A function of each row along `axes`, bit i: axis i, of x into y: one of
 * runtime/edl_rows.h without edl_ and _rows. (codegen/c_short.c) */
typedef struct ShortRows {
    const Value *x, *y;
    unsigned axes;
    const char *function, *what;
} ShortRows;
/* Emits it where rows are short and alike; else answers false. */
bool c_short_rows(Cg *cg, const Node *n, const char *label,
                  const ShortRows *rows);
/* An operand that has the shape of a result: the reduced axes, bits of mask,
 * are 1 or not there (codegen/c_reduce.c). */
int reduced_access(Loops *s, int param, const Type *t, const Layout *l,
                   unsigned mask);
/* Stores the results that leave node or group n. */
void store_results(Cells *c, const Node *n);

#endif
