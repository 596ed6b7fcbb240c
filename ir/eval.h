/* The reference: runs any module slowly and obviously, in float64, rounding
 * only values stored below f32. The other side of every differential test. */
#ifndef EDL_IR_EVAL_H
#define EDL_IR_EVAL_H

#include "ir/graph.h"

/* Elements as doubles, row-major in logical order (i64 fits up to 2^53). */
typedef struct Array {
    Type type;
    double *at;
} Array;

typedef struct Eval Eval;

/* Storage for all tensors of m, parameters initialized from the seed as the
 * emitted program does it. */
Eval *eval_new(Module *m, uint64_t seed);
void eval_free(Eval *e);
/* The storage of a tensor, to read and write between runs. */
Array *eval_tensor(Eval *e, const char *name);
/* Its elements, rounded to its type. */
void eval_set_tensor(Eval *e, const char *name, const double *data);
/* Sets an input for the microbatches of one step: n arrays of the tensor's
 * shape one after the other; microbatch i reads array i % n. */
void eval_set_input(Eval *e, const char *name, const double *data, int64_t n);
/* Runs a program (step, evaluate, infer) once. False: an id out of range, or
 * the like; `why` says it. Outputs and gradients are in their tensors;
 * eval_output gives the mean over the microbatches of a floating scalar. */
bool eval_run(Eval *e, const char *program, const char **why);
double eval_output_mean(const Eval *e, const char *name);
/* Runs one bare graph as microbatch mb: for tests of passes. */
bool eval_graph(Eval *e, const char *graph, int64_t mb, const char **why);

#endif
