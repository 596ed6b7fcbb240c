/* Any bytes: the reader of cost graphs never crashes; what it takes runs in
 * its own order, and small graphs are planned within what is promised. */
#include "passes/plan/remat.h"

#include <stdio.h>

enum { MOST_NODES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_plan(Arena *a, const CostGraph *g, int64_t limit)
{
    CostResult r;
    RematPlan plan;
    bool found = remat_plan(a, g, limit, 1, &plan);
    if (!costs_check(a, g, plan.order, plan.n, &r) ||
        r.time != plan.result.time || r.peak != plan.result.peak)
        bug("not what the order takes");
    if (found && (r.peak > limit || plan.bound > r.time))
        bug("peak %lld of %lld, time %lld, bound %lld", (long long)r.peak,
            (long long)limit, (long long)r.time, (long long)plan.bound);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    char *bytes = arena_strndup(a, (const char *)data, n);
    CostGraph *g = costs_read(a, d, "c.csv", bytes, n);
    if (!g && diag_count(d) == 0)
        bug("no graph and no message");
    if (g) {
        int node;
        if (g->time < 0 || costs_least_peak(g, &node) > g->peak)
            bug("time %lld, peak %lld", (long long)g->time, (long long)g->peak);
        if (remat_bound(a, g, g->peak / 2) < g->time)
            bug("a bound below the time of all nodes once");
        if (g->n <= MOST_NODES)
            check_plan(a, g, g->peak / 4 * 3);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    diag_print(d, nowhere, DIAG_TEXT);
    fclose(nowhere);
    arena_free(a);
    return 0;
}
