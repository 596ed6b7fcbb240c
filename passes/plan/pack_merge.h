/* A smaller problem made of a larger one: items that could be pieces of one
 * rectangle become that. A part of plan/pack.h's search. */
#ifndef EDL_PASSES_PLAN_PACK_MERGE_H
#define EDL_PASSES_PLAN_PACK_MERGE_H

#include "passes/plan/pack_problem.h"

typedef struct PackMerge {
    PackProblem *p; /* the smaller problem, with neighbours sorted */
    const struct MergeNode *nodes;
    int n_nodes;
    const int *node; /* of an item of p */
    int64_t work;    /* in steps of the search, about */
} PackMerge;

/* What is joined: everything that fits without waste (waste 0), or also what
 * wastes up to so many thousandths of the room that a section has. `doubt` of
 * a thousand chances to join are let go, as the seed says. */
typedef struct MergeRule {
    int waste, doubt;
    uint64_t seed;
} MergeRule;

/* Of p, for placements within capacity bytes. */
PackMerge *pack_merge(Arena *a, const PackProblem *p, int64_t capacity,
                      MergeRule rule);

/* Offsets of the items from those of the merged ones. */
void pack_unmerge(const PackMerge *m, const int64_t *merged, int64_t *offset);

#endif
