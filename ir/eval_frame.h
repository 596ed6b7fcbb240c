/* Inside ir/eval: the storage of tensors, and one call of a graph. Only
 * ir/eval*.c include this. */
#ifndef EDL_IR_EVAL_FRAME_H
#define EDL_IR_EVAL_FRAME_H

#include "ir/eval_kernel.h"

/* A tensor's storage; made and given its initial value at first use. */
typedef struct Store {
    Tensor *tensor;
    Array *slots; /* one; a stash has as many as the module */
    int64_t n_slots;
    int64_t n_inputs; /* input: microbatches in slots[0]; 0: never set */
    double sum;       /* output, floating scalar: of this run's writes */
    int64_t writes;
} Store;

struct Eval {
    Module *module;
    Arena *arena;
    uint64_t seed;
    int64_t microbatch; /* those of earlier steps */
    Map stores;
    VEC(Store *) all;
    char why[EVAL_WHY_BYTES];
};

Store *eval_store(Eval *e, Tensor *t);
/* Zeroed; no memory ends the process. */
double *eval_alloc(int64_t elements);

enum {
    PHASES_microbatch = 1 << PHASE_forward | 1 << PHASE_backward,
    PHASES_update = 1 << PHASE_update,
    PHASES_all = PHASES_microbatch | PHASES_update
};

/* The values of a graph while it runs. */
typedef struct Frame {
    Eval *eval;
    Graph *graph;
    struct Slot *slots;
    int n;
    int64_t mb, slot; /* microbatch of the step, slot of the stash */
} Frame;

/* Uses Value.note of the graph's values until it is closed. */
Frame frame_open(Eval *e, Graph *g);
void frame_close(Frame *f);
/* Runs the nodes of these phases. With microbatch phases among them, the
 * values of an earlier run are forgotten first. */
bool frame_run(Frame *f, unsigned phases);

#endif
