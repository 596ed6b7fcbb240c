/* What the CUDA target prints in its own way: inside codegen/ only. */
#ifndef EDL_CODEGEN_CUDA_H
#define EDL_CODEGEN_CUDA_H

#include "codegen/c.h"

void cuda_matmul(Cg *cg, const Node *n);
void cuda_product(Cg *cg, const Node *n, const char *path,
                  const ProductSpec *p);
void cuda_attention(Cg *cg, const Node *n);
void cuda_attention_grad(Cg *cg, const Node *n);
void cuda_rope(Cg *cg, const Node *n);
/* table[index[i]] += rows[i] for i in order; the table is zeroed first unless
 * `adds` says otherwise. */
typedef struct TableGrad {
    const Type *table;
    const Layout *place;
    const Tensor *into; /* the table, or */
    const Value *value, *index, *rows;
    const Node *adds; /* the accumulate of into, or NULL */
} TableGrad;
bool cuda_scatter_fits(const TableGrad *g);
void cuda_scatter(Cg *cg, const Node *n, const TableGrad *g);
/* CMakeLists.txt; copied: the runtime lies beside the output. */
const char *cuda_cmake(Arena *a, bool copied);
/* Actions of the CUDA target, the table of products, and the device of the
 * model. */
void cuda_programs(CModel *m, Emit *e);

#endif
