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
    int64_t align;
    int64_t *size;
    int64_t *pad;      /* bytes of an item's last unit that it does not need */
    int *first, *last; /* sections of an item, both inclusive */
    int64_t *load;     /* of a section: all sizes alive in it */
    int *start;        /* neighbours of i: near[start[i]] .. near[start[i+1]-1],
                        * those alive together with it */
    int *near;         /* NULL: more than 2^22 pairs */
    struct PackMerge *exact; /* what the search joins at any height, or NULL */
} PackProblem;

/* Neighbours smallest first, as the search wants them. */
void pack_sort_neighbours(PackProblem *p);

PackProblem *pack_problem(Arena *a, const PackItem *items, int n,
                          int64_t align);

/* The same of what is in units already: alive in [from, to). */
typedef struct PackBox {
    int64_t from, to;
    int64_t size, pad;
} PackBox;

PackProblem *pack_problem_of(Arena *a, const PackBox *boxes, int n,
                             int64_t align);

/* The highest top of an item in units, where all must end within capacity
 * bytes: what lies on top need not fill its last unit. */
static inline int64_t
pack_limit(const PackProblem *p, int i, int64_t capacity)
{
    return (capacity + p->pad[i]) / p->align;
}

/* The bytes below the top of an item that lies at an offset in units. */
static inline int64_t
pack_top(const PackProblem *p, int i, int64_t offset)
{
    return (offset + p->size[i]) * p->align - p->pad[i];
}

#endif
