/* The temporaries of a node's kernel that live in the workspace while it
 * runs: one rule for placement, which reserves them (Node.scratch), and for
 * codegen, which uses them in this order. */
#ifndef EDL_IR_SCRATCH_H
#define EDL_IR_SCRATCH_H

#include "ir/graph.h"

/* Elements whose squares one piece of a global norm adds. */
enum { NORM_PIECE = 65536 };

/* Elements of a block of a sum over all elements, and from how many on it is
 * cut in blocks. */
enum { SUM_BLOCK = 4096, SUM_MIN = 32768 };

/* What one part of a scratch takes: rounded up to 64 bytes. */
int64_t scratch_part(int64_t bytes);

/* cross_entropy (mean, sum): a f32 a row.
 * global_norm: an f64 for every NORM_PIECE elements of each operand.
 * reduce_sum of SUM_MIN or more f32 or f64 elements to one, by itself or in a
 * group of kind reduce: 8 bytes a block, where SUM_BLOCK divides them.
 * reduce_sum down columns on a device, alone or in such a group: the sums of
 * the parts, where columns are cut (sum_parts).
 * fused, kind head: the logits of a chunk, rows of V f32 (scratch_logits), of
 * all rows at most; one f32 a row; of the CUDA target then scratch_slopes, and the
 * workspace of its products.
 * fused, kind row, and on a CPU kind reduce and reduce_sum: of the sums down
 * columns, in order, those of all parts, where they are several (sum_rows).
 * matmul of the CUDA target: the product or a part of it, where it has no
 * other place; the workspace.
 * attention_grad of the CUDA target: a f32 a query, which the kernel of dq
 * leaves to that of dk and dv.
 * All others: 0. */
int64_t node_scratch(const Node *n);

/* The blocks of such a sum; 0 for every other node. */
int64_t sum_blocks(const Node *n);

/* Into so many parts each column of a sum is cut on a device, where the last
 * axis stays and there are too few columns to keep it busy; 1: it is not. The
 * parts' sums lie in scratch: of the first sum, of the next, ...; each all of
 * part 0, of part 1, ... in row-major order. */
int64_t sum_parts(const Node *n);

/* Is it a sum over all axes but the last, of f32 or f64? A group of kind row
 * may hold such sums of what it reads or makes, read by accumulates alone. */
bool sums_down(const Node *n);
/* So many rows are a part of the sums down columns of a group of kind row, and
 * on a CPU of kind reduce or of a reduce_sum alone: each part is added up by
 * itself, row by row, then the parts, in order. 0: it has none, or others. */
int64_t sum_rows(const Node *n);
/* How many parts they are. */
int64_t sum_row_parts(const Node *n);

/* Bytes that a product of m by n may use beside its operands, on a device. */
int64_t scratch_product(int64_t m, int64_t n);
/* From a row of so many logits of a head to the next, in elements: on a device
 * rows begin at 16 bytes, which products of odd rows are slow without. */
int64_t scratch_logits(const Node *head, int64_t classes);
/* Of a head on a device: the gradients of so many rows of logits, where
 * products read them as bf16; else 0. */
int64_t scratch_slopes(const Node *n, int64_t rows);
/* Does a value lie as the library of products is told that all its operands
 * and results do: dense, from 16 bytes on? What it is asked for follows from
 * their types alone, so that no plan changes it, nor the bits that it makes:
 * the pass `views` sees to operands and results of a matmul. */
bool scratch_is_plain(const Type *t, const Layout *l);
/* Of a matmul or its group: the value in whose place the product is made
 * before the rest of the group; NULL: into the tensor that it is added to, or
 * into scratch. */
const Value *scratch_product_value(const Node *n);
/* Of a matmul's group: its sum, if that is all that follows and the product's
 * library makes it with the product (x @ w + b): in f32, of a row that is added
 * to every row or of a value of the same shape. NULL: not so. */
const Node *scratch_epilogue(const Node *n);
/* What is added there. */
const Value *scratch_added(const Node *n);
/* So many rows of the product at once, batches being rows: all, or parts of
 * one that is large and f32, whether they are made in scratch or in a place.
 * What follows is done before the next ones, so that scratch is small and the
 * product stays in the cache of the device. Follows from the matmul alone. */
int64_t scratch_product_rows(const Node *n);
/* The accumulate of the product itself in a group, or NULL. */
const Node *scratch_sum(const Node *n);

#endif
