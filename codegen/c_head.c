#include "codegen/c_ops.h"

/* The head of a language model in chunks of rows. */
void
c_head(Cg *cg, const Node *n)
{
    cg_refuse(cg, n, "kind head has no C");
}
