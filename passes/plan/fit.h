/* A machine from measured kernels. */
#ifndef EDL_PASSES_PLAN_FIT_H
#define EDL_PASSES_PLAN_FIT_H

#include "passes/plan/machine.h"

typedef struct FitKernel {
    Work work;
    double ns; /* measured */
} FitKernel;

/* Changes k's rates, bandwidth of memory and start so that cost_ns comes near
 * what was measured: one class after the other, by the kernels in which it
 * takes the most time, again and again. Classes that lead in none keep what
 * they have. Products get a rate for each power of ten of their work. */
void fit_machine(Arena *a, Machine *k, const FitKernel *kernels, int n);

#endif
