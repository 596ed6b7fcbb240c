/* What the passes of --precision=bf16 share. */
#ifndef EDL_PASSES_PRECISION_H
#define EDL_PASSES_PRECISION_H

#include "ir/graph.h"

/* Products of fewer multiply-adds, and values of fewer elements, stay f32. */
enum { PRECISION_MACS = 1 << 15, PRECISION_ELEMENTS = 1 << 11 };

bool precision_is_bf16(const Module *m);
/* Does the target read products' operands as they lie? Then what a tensor
 * holds is cast once; else for each product, which rounds while it packs. */
bool precision_shares_casts(const Module *m);
/* cast v, at g->at; to f32 or bf16. x.bf16 is made of x, x.f32 of that. */
Value *precision_cast(Graph *g, Value *v, Dtype to);
Node *precision_round(Graph *g, Value *v); /* to bf16 */
/* n again, of bf16 operands, where n's graph is open. */
Node *precision_like(const Node *n, Value *const *args);
/* The bf16 value that v is widened from, or NULL. */
Value *precision_source(const Value *v);
/* Multiply-adds of a matmul, or of the first product of an attention. */
int64_t precision_macs(const Node *n);

#endif
