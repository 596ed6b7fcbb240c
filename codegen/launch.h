/* Kernels as functions of the emitted file, and their calls. */
#ifndef EDL_CODEGEN_LAUNCH_H
#define EDL_CODEGEN_LAUNCH_H

#include "codegen/kernel.h"

/* What a kernel is written from. */
typedef struct Launch {
    const Node *node;
    const char *label, *path; /* matmul, gpt.h.attn: of its name */
    KernelBody body;
    const void *aux; /* lives as long as the caller of launch_new wants */
    int64_t want;
    Kernel plain; /* with canonical names */
    Kernel named; /* with those of the module, once it is needed */
    bool is_named;
    const char *piece_key, *key; /* texts, once they are needed */
} Launch;

/* Runs a body. pieces < 1: there is nothing to do, or an error. */
Launch launch_new(Cg *cg, const Node *node, const char *label,
                  const char *path, KernelBody body, const void *aux,
                  int64_t want);

/* Runs the body again where it may be needed, as one of a chain or alone, and
 * aux may go after that. */
void launch_keep(Cg *cg, Launch *s, bool in_chain);

/* The name of the function that does all of it, which is written first unless
 * an equal one exists; */
const char *launch_function(Cg *cg, Launch *s);
/* and without _piece that of a piece and of its struct without _args. */
const char *piece_function(Cg *cg, Launch *s);

#endif
