/* Passes over a row, for the targets that print them: codegen/cells.c and
 * codegen/cuda_cells.c only. */
#ifndef EDL_CODEGEN_CELLS_PASS_H
#define EDL_CODEGEN_CELLS_PASS_H

#include "codegen/cells.h"

/* Cell i is a fold that pass `level` does. */
bool cells_is_fold(const Cells *c, int i, int level);
int cells_last_level(const Cells *c);
/* The pass in which a store happens; whether it changes along the row. */
int cells_store_level(const Cells *c, const CellStore *s);
bool cells_store_is_full(const Cells *c, const CellStore *s);
/* What a fold begins with; a value rounded to its storage type. */
const char *cells_fold_start(const Cell *cell);
const char *cells_round(Cells *c, Dtype d, const char *text);
/* After its pass: 16 accumulators become one, as a tree. */
void cells_fold_end(Cells *c, int fold);
/* What pass `level` does with element c; lane: the index of its lane. */
void cells_body(Cells *c, int level, const char *lane);
/* The loops of a pass that folds. */
void cells_lane_loops(Cells *c, int level, const Stretch *s);
/* What fold i takes of element c. */
const char *cells_fold_input(Cells *c, int i);
/* "c < 10 ? x : 0" where only some lanes have an element. */
const char *cells_guard(const Cells *c, const char *x, const char *other);
/* The index of the element in column `at` of the row. */
const char *cells_index_text(Cells *c, const Access *a, const char *at);
/* codegen/cuda_cells.c */
void cuda_cells_emit(Cells *c);
/* codegen/c_reduce.c: the axes of a reduction, a bit each. */
unsigned cells_mask(const Node *n);
/* codegen/cuda_reduce.c: folds down columns, with rows not yet open. */
void cuda_columns_emit(Cells *c);
/* A reduce_sum or its group, whose columns are cut (ir/scratch.h, sum_parts):
 * sums of parts, and of them. */
void cuda_sum_parts(Cg *cg, const Node *n, const char *path);

#endif
