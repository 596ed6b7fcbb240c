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
void cuda_global_norm(Cg *cg, const Node *n);
/* Actions of the CUDA target, the table of products, and the device of the
 * model. */
void cuda_programs(CModel *m, Emit *e);

#endif
