/* Launches. A kernel of many pieces is one by itself. Small ones share one:
 * each of its pieces runs through all of them before anybody waits, which
 * costs little beside handing pieces out, and finds rows in the cache of the
 * thread that made them. That needs pieces which touch nothing that another
 * piece writes. It changes no bits: small kernels are cut in rows, or in
 * columns of a sum, which know nothing of each other. */
#ifndef EDL_CODEGEN_CHAIN_H
#define EDL_CODEGEN_CHAIN_H

#include "codegen/launch.h"

/* Writes the kernel unless an equal one exists, and a call of it, now or with
 * later ones. label: what the function's name begins with ("matmul"); path:
 * what it goes on with. */
void kernel_emit(Cg *cg, const Node *node, const char *label, const char *path,
                 KernelBody body, const void *aux);
/* Runs a body and throws its text away: are the pieces that it sets not 0? */
bool kernel_probe(Cg *cg, const Node *node, KernelBody body, const void *aux);
/* Calls what waits for a launch. */
void cg_launch(Cg *cg);
/* The calls of a graph, after what waited, for text that is no kernel's. */
Emit *cg_calls(Cg *cg);
/* What follows is of this block, or of none: NULL. */
void cg_block(Cg *cg, const char *block);

#endif
