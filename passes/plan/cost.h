/* Predicted times: whole nanoseconds from counted work (ir/work.h) and the
 * rates of a machine file or its default. */
#ifndef EDL_PASSES_PLAN_COST_H
#define EDL_PASSES_PLAN_COST_H

#include "ir/work.h"
#include "passes/plan/machine.h"

/* A kernel takes as long as its arithmetic or its memory traffic, whichever
 * is more, a part of the other, and a little to begin. */
int64_t cost_ns(const Work *w, const Machine *k);
/* A node of a graph, fused or not. What is made again takes its part of what
 * its kernel of the forward pass was measured at. */
int64_t cost_kernel(const Node *n);
/* A kernel of that name: as measured, or as predicted. */
int64_t cost_named(const Machine *k, const char *name, const Work *w);
/* Of a part of it: the part of its measured time, if there is one. */
int64_t cost_part(const Machine *k, const char *name, const Work *whole,
                  const Work *part);
/* Times, their sums, n times one; they stop at 4e18, however slow the machine
 * is said to be. */
int64_t cost_whole(double ns);
int64_t cost_plus(int64_t a, int64_t b);
int64_t cost_times(int64_t ns, int64_t n);
int64_t cost_graph(const Graph *g);
/* All calls of a program; 0 when there is none of that name. */
int64_t cost_program(const Module *m, const char *name);

#endif
