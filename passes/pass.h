/* The pass manager: runs the rows of passes.def over a module. */
#ifndef EDL_PASSES_PASS_H
#define EDL_PASSES_PASS_H

#include "ir/graph.h"

typedef struct PassInfo {
    const char *name;
    const char *help;
    /* False when the user's program cannot be compiled; errors in diag. */
    bool (*run)(Module *m);
} PassInfo;

enum {
#define PASS(id, help) PASS_##id,
#define ORDER(before, after, why)
#include "passes/passes.def"
#undef ORDER
#undef PASS
    PASS_COUNT
};

extern const PassInfo pass_info[PASS_COUNT];

/* False, and the nearest name or NULL in *near, when there is no such pass. */
bool pass_exists(const char *name, const char **near);

#define PASS(id, help) bool pass_##id(Module *m);
#define ORDER(before, after, why)
#include "passes/passes.def"
#undef ORDER
#undef PASS

/* What --dump, --stop-after, --only, --time and tests ask for. */
typedef struct PassOptions {
    const char *dump;       /* print the module after this pass, or NULL */
    const char *stop_after; /* or NULL */
    const char *after;      /* begin behind this pass, or NULL */
    const char *only;       /* run this one alone, or NULL */
    bool time;              /* ns of each pass to standard error */
    bool verify;            /* the verifier after every pass */
    uint64_t shuffle;       /* not 0: seed to shuffle independent nodes */
    FILE *out;              /* of dumps */
} PassOptions;

bool passes_run(Module *m, const PassOptions *o);

#endif
