/* The least-time sequence of runs of a cost graph under a memory limit:
 * simulated annealing over sequences, free order. docs/planning.md tells how
 * it moves. Deterministic: effort is counted in steps, never in seconds. */
#ifndef EDL_PASSES_PLAN_REMAT_H
#define EDL_PASSES_PLAN_REMAT_H

#include "passes/plan/costs.h"

typedef struct RematPlan {
    int *order; /* n runs; in the arena */
    int n;
    CostResult result;
    int64_t bound; /* no order within the limit takes less time */
    bool proved;   /* the plan takes no more; or there is none, if not found */
} RematPlan;

/* Half a second on one core of a 2020s machine. */
enum { REMAT_EFFORT = 100 };

/* The plan of least time found within the limit (-1: none). False when no
 * order within it was found; then out is the one of the smallest peak found,
 * and a limit of that peak works. Small graphs are proved as well, as far as
 * that takes no long time. */
bool remat_plan(Arena *a, const CostGraph *g, int64_t limit, int effort,
                RematPlan *out);

/* The limits of a curve: parts of the unplanned peak, and the smallest one. */
enum { REMAT_GRID = 24 };

typedef struct RematPoint {
    int64_t limit;
    RematPlan plan;
} RematPoint;

/* Plans from the smallest limit found to the unplanned peak, each made with a
 * part of the effort and none slower than the one before; returns how many,
 * at most REMAT_GRID + 1. */
int remat_curve(Arena *a, const CostGraph *g, int effort, RematPoint *out);

/* A lower bound of the time of every order within the limit. */
int64_t remat_bound(Arena *a, const CostGraph *g, int64_t limit);

#endif
