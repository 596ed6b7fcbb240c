/* A cost graph: what a planner of recomputation needs to know, and nothing
 * more. Nodes in the unplanned order; times in integer units.
 *
 * Accounting. A sequence of runs names nodes; a node may run again. A run
 * reads the latest run of each input. A run is live from its own step to the
 * last step that reads it (only its own step when nothing does). Memory at a
 * step: the bytes of all live runs. */
#ifndef EDL_PASSES_PLAN_COSTS_H
#define EDL_PASSES_PLAN_COSTS_H

#include "ir/base/arena.h"
#include "ir/base/diag.h"

#include <stdint.h>

typedef struct CostNode {
    const char *name;
    int64_t time, bytes;
    const int *inputs;
    int n_inputs;
} CostNode;

typedef struct CostGraph {
    CostNode *nodes;
    int n;
    int64_t scale; /* time units of this graph in one of the file */
    int64_t time;  /* of the unplanned order */
    int64_t peak;
} CostGraph;

/* A heading with name, time, bytes, inputs and maybe others (phase), then
 * rows in an order that can run; inputs separated by blanks. NULL, and errors
 * in d, when the text is not that. */
CostGraph *costs_read(Arena *a, Diag *d, const char *name, const char *text,
                      size_t n);

/* What divides both; that of x and 0 is x. */
int64_t costs_gcd(int64_t x, int64_t y);

typedef struct CostResult {
    int64_t time, peak;
} CostResult;

/* What a sequence of n runs takes. False when a run reads what has not run,
 * or a node never runs. */
bool costs_check(Arena *a, const CostGraph *g, const int *order, int n,
                 CostResult *out);

/* No sequence has a smaller peak: the node that is largest with its inputs. */
int64_t costs_least_peak(const CostGraph *g, int *node);

#endif
