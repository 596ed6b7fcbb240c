/* What both the greedy order and the search of plan/pack.h need to know. */
#ifndef EDL_PASSES_PLAN_PACK_PROBLEM_H
#define EDL_PASSES_PLAN_PACK_PROBLEM_H

#include "passes/plan/pack.h"

/* Time is cut to its fullest moments: those after which the next event is an
 * end and before which the last one was a start. Two items are alive together
 * iff they share such a section. Sizes are in units of the alignment. */
typedef struct PackProblem {
    Arena *arena;
    int n, n_sections;
    int64_t *size;
    int *first, *last; /* sections of an item, both inclusive */
    int64_t *load;     /* of a section: all sizes alive in it */
    int *start;        /* neighbours of i: near[start[i]] .. near[start[i+1]-1],
                        * those alive together with it */
    int *near;         /* NULL: more than 2^22 pairs */
} PackProblem;

/* Neighbours smallest first, as the search wants them. */
void pack_sort_neighbours(PackProblem *p);

PackProblem *pack_problem(Arena *a, const PackItem *items, int n,
                          int64_t align);

#endif
