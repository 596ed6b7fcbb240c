/* Attention on a device. */
#include "codegen/cuda.h"

void
cuda_attention(Cg *cg, const Node *n)
{
    cg_refuse(cg, n, "the CUDA target has no attention yet");
}

void
cuda_attention_grad(Cg *cg, const Node *n)
{
    cg_refuse(cg, n, "the CUDA target has no attention yet");
}
