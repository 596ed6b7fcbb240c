/* From a syntax tree to the IR: names, constants, shapes, layers written out
 * in place, the train and plan blocks. Semantics: docs/language.md; what the
 * module holds: docs/ir.md, "Who makes what". */
#ifndef EDL_FRONTEND_LOWER_H
#define EDL_FRONTEND_LOWER_H

#include "ir/graph.h"

typedef enum LowerMode {
    LOWER_train, /* as the train block says; without one: forward only */
    LOWER_infer, /* forward only, train_mode false                     */
    LOWER_grads  /* train_mode true; what is minimized is the train block's
                  * or the only scalar output                          */
} LowerMode;

typedef struct LowerOptions {
    const char *file; /* its name in messages; imports are found beside it */
    const char *text; /* must outlive the Diag */
    size_t n;
    const char *model; /* NULL: the only one of the file */
    LowerMode mode;
    const Dim *dims; /* --set */
    int n_dims;
    const char *const *folders; /* -I */
    int n_folders;
} LowerOptions;

/* The module of one model of the file: graph `main` and, where the train
 * block validates, graph `evaluate`; tensors; train; options mode and limit.
 * NULL when there are errors, which are in the Diag. */
Module *lower_model(Arena *a, Interner *in, Diag *d, const LowerOptions *o);

typedef VEC(Module *) Modules;

/* All models of the file, or o->model, in the order of the text; a file may
 * have none. False when there are errors. */
bool lower_file(Arena *a, Interner *in, Diag *d, const LowerOptions *o,
                Modules *out);

#endif
