/* What changed from one module to another, by meaning: by name, not by line. */
#ifndef EDL_PASSES_PLAN_COMPARE_H
#define EDL_PASSES_PLAN_COMPARE_H

#include "ir/graph.h"

/* Nothing is printed for equal modules. Linear but for what moved. */
void compare_print(Arena *a, const Module *old, const Module *new, FILE *to);

#endif
