/* What the parts of a comparison share. */
#ifndef EDL_PASSES_PLAN_COMPARE_PARTS_H
#define EDL_PASSES_PLAN_COMPARE_PARTS_H

#include "passes/plan/compare.h"

typedef struct Compare {
    Arena *a;
    const Module *old, *new;
    FILE *to;
    bool titled; /* the section has its title */
    const char *title;
    Map planned; /* names of values and parameters whose change the plan section says */
    int n_planned;
} Compare;

/* A line under the section's title, which is printed with its first line. */
void compare_say(Compare *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void compare_section(Compare *c, const char *title);

/* Totals; and by block what is now made again, moved, kept. */
void compare_plan(Compare *c);
void compare_tensors(Compare *c);
/* Is told of a kernel of `one` that is several in the other module: the last
 * value of each, in its order. */
typedef void CompareKernel(void *to, const char *block, const char **values,
                           int n);
void compare_kernels(Compare *c, const Module *one, const Module *several,
                     CompareKernel *tell, void *to);
/* The parameter that an optimizer's node changes; NULL of other nodes. */
const Tensor *compare_updated(const Node *n);
/* Whether compare_plan has said what a node of either module is there for. */
bool compare_is_planned(const Compare *c, const Node *n);
/* Two lines differ in nothing but whether copies are read and where values
 * lie. */
bool compare_same_but_plan(const char *a, const char *b);

#endif
