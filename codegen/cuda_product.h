/* Products on a device in numbers: how cuBLASLt is to walk them, and the table
 * of all of a model. Inside codegen/ only. */
#ifndef EDL_CODEGEN_CUDA_PRODUCT_H
#define EDL_CODEGEN_CUDA_PRODUCT_H

#include "codegen/c_ops.h"
#include "codegen/cuda.h"

typedef struct Side {
    Dtype dtype;
    int64_t row, col; /* strides, in elements */
    int64_t batch[MAX_RANK];
    const char *address;
    bool turned;    /* for cuBLASLt: stored by columns */
    int64_t lead;
} Side;

typedef struct Product {
    const Node *node; /* the group, or the matmul */
    int64_t m, n, k;
    int n_batch;
    int64_t dim[MAX_RANK];
    Side a, b, c;
    const char *add; /* C text of the flag */
    /* What is added: a row for all rows, or a matrix as c. NULL: none. */
    const char *bias, *plus;
    const char *path;
    const char *part_row; /* C text of the first row of a part; NULL: all */
    int64_t part_rows;
} Product;

/* Neighbouring batch axes that all sides walk as one become one; a batch that
 * is just more rows becomes rows. */
void product_fold(Product *p);
/* Can cuBLASLt walk it? Sets how. */
bool product_fits(Product *p);
/* Its row in the table of the model. What it adds makes no other row: a
 * product has one algorithm, whatever kernel it is a part of. */
int product_row(Cg *cg, const Product *p);
/* The table, with the algorithms that the schedule states. */
void product_table(const Cg *cg, Emit *e);

#endif
