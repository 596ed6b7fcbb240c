#include "passes/plan/pack_greedy.h"

#include <stdlib.h>

typedef struct Key {
    int64_t weight[2];
    int item;
} Key;

typedef struct Extent {
    int64_t from, to;
} Extent;

static int
by_key(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x->weight[i] != y->weight[i])
            return x->weight[i] > y->weight[i] ? -1 : 1;
    return x->item - y->item;
}

static int
by_from(const void *a, const void *b)
{
    const Extent *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

enum { ORDERS = 5 };

static Key
key_of(const PackProblem *p, int i, int order)
{
    int64_t size = p->size[i], width = p->last[i] - p->first[i] + 1;
    switch (order) {
    case 0:
        return (Key){{size, width}, i};
    case 1:
        return (Key){{width, size}, i};
    case 2:
        return (Key){{width * size, size}, i};
    case 3:
        return (Key){{-p->first[i], size}, i};
    default:
        return (Key){{p->last[i], size}, i};
    }
}

/* The lowest gap among the placed neighbours. */
static int64_t
lowest_gap(const PackProblem *p, int i, const int64_t *offset, Extent *taken)
{
    int n = 0;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (offset[j] >= 0)
            taken[n++] = (Extent){offset[j], offset[j] + p->size[j]};
    }
    qsort(taken, (size_t)n, sizeof *taken, by_from);
    int64_t at = 0;
    for (int k = 0; k < n && taken[k].from < at + p->size[i]; k++)
        if (taken[k].to > at)
            at = taken[k].to;
    return at;
}

static int64_t
place_all(const PackProblem *p, Key *keys, int order, Extent *taken,
          int64_t *offset)
{
    int64_t top = 0;
    for (int i = 0; i < p->n; i++) {
        keys[i] = key_of(p, i, order);
        offset[i] = -1;
    }
    qsort(keys, (size_t)p->n, sizeof *keys, by_key);
    for (int k = 0; k < p->n; k++) {
        int i = keys[k].item;
        offset[i] = lowest_gap(p, i, offset, taken);
        if (offset[i] + p->size[i] > top)
            top = offset[i] + p->size[i];
    }
    return top;
}

static int64_t
one_after_the_other(const PackProblem *p, int64_t *offset)
{
    int64_t top = 0;
    for (int i = 0; i < p->n; i++) {
        offset[i] = top;
        top += p->size[i];
    }
    return top;
}

int64_t
pack_greedy(const PackProblem *p, int64_t *offset)
{
    if (!p->near)
        return one_after_the_other(p, offset);
    Key *keys = ARENA_ARRAY(p->arena, Key, p->n + 1);
    Extent *taken = ARENA_ARRAY(p->arena, Extent, p->n + 1);
    int64_t *now = ARENA_ARRAY(p->arena, int64_t, p->n + 1);
    int64_t best = -1;
    for (int order = 0; order < ORDERS; order++) {
        int64_t top = place_all(p, keys, order, taken, now);
        if (best >= 0 && top >= best)
            continue;
        best = top;
        memcpy(offset, now, sizeof *now * (size_t)p->n);
    }
    return best;
}
