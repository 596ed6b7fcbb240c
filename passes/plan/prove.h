/* Proof of what the least time of a cost graph within a limit is: a search
 * for the best order of all, best bound first. docs/planning.md tells how.
 * Deterministic: effort is counted in steps, never in seconds. */
#ifndef EDL_PASSES_PLAN_PROVE_H
#define EDL_PASSES_PLAN_PROVE_H

#include "passes/plan/remat.h"

enum {
    PROVE_NODES = 128,  /* larger graphs are not tried */
    PROVE_QUICK = 200,  /* thousand steps: two tenths of a second */
    PROVE_LONG = 600    /* of one unit of --effort: a minute by default */
};

/* Proves that the plan, which is within the limit if it was found, takes the
 * least time, or puts a better one in its place, or proves that there is
 * none; or gives up, after so many thousand steps, with a bound. Returns
 * whether there is a plan within the limit. */
bool remat_prove(Arena *a, const CostGraph *g, int64_t limit, int64_t effort,
                 RematPlan *plan, bool found);

#endif
