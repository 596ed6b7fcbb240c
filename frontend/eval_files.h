/* The files of `edlc eval`: inputs and parameters into the evaluator,
 * results and checkpoints out of it. */
#ifndef EDL_FRONTEND_EVAL_FILES_H
#define EDL_FRONTEND_EVAL_FILES_H

#include "frontend/safetensors.h"
#include "frontend/session.h"
#include "ir/eval.h"

/* All the microbatches of an input, one after the other. */
typedef struct Feed {
    const Tensor *tensor;
    double *at;
    int64_t n; /* 0: every microbatch is this one */
} Feed;

typedef struct EvalRun {
    Session *s;
    Module *module;
    Eval *eval;
    uint64_t seed;
    VEC(Feed) feeds;
    bool trains;             /* whole steps; else forward passes only */
    int64_t steps;           /* without training: passes; 0: not yet known */
    int64_t microbatches;    /* of a step */
    VEC(double) output_sums; /* without training: of each tensor's scalar */
} EvalRun;

/* Each returns false after errors in the session's diag. */
bool eval_read_inputs(EvalRun *r, const char *path);
bool eval_read_init(EvalRun *r, const char *path, const char *names);
bool eval_write_outputs(EvalRun *r, const char *path, bool grads);
/* The scalars alone, one a line. */
bool eval_print_outputs(EvalRun *r, FILE *to);
bool eval_write_checkpoint(EvalRun *r, const char *path);

/* An output that the model declares, not a metric of the update. */
bool eval_is_output(const Tensor *t);

#endif
