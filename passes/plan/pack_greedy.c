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

/* ---- where there are too many pairs to list ---- */

typedef struct Alive {
    int64_t from, to;
    int end; /* the section after which it is dead */
} Alive;

/* In order of the first section, or from the end in order of the last; what is
 * alive is kept by place. */
static int64_t
sweep(const PackProblem *p, Key *keys, bool back, Alive *alive,
      int64_t *offset)
{
    int64_t top = 0;
    int n = 0;
    for (int i = 0; i < p->n; i++)
        keys[i] = key_of(p, i, back ? 4 : 3);
    qsort(keys, (size_t)p->n, sizeof *keys, by_key);
    for (int k = 0; k < p->n; k++) {
        int i = keys[k].item, now = back ? -p->last[i] : p->first[i];
        int kept = 0, place = -1;
        int64_t at = 0;
        for (int j = 0; j < n; j++) {
            if (alive[j].end < now)
                continue;
            if (place < 0 && alive[j].from >= at + p->size[i])
                place = kept;
            else if (place < 0)
                at = alive[j].to;
            alive[kept++] = alive[j];
        }
        place = place < 0 ? kept : place;
        memmove(alive + place + 1, alive + place,
                sizeof *alive * (size_t)(kept - place));
        alive[place] = (Alive){at, at + p->size[i],
                               back ? -p->first[i] : p->last[i]};
        n = kept + 1;
        offset[i] = at;
        top = at + p->size[i] > top ? at + p->size[i] : top;
    }
    return top;
}

static int64_t
sweep_both(const PackProblem *p, Key *keys, int64_t *now, int64_t *offset)
{
    Alive *alive = ARENA_ARRAY(p->arena, Alive, p->n + 1);
    int64_t forward = sweep(p, keys, false, alive, offset);
    int64_t back = sweep(p, keys, true, alive, now);
    if (back < forward)
        memcpy(offset, now, sizeof *now * (size_t)p->n);
    return back < forward ? back : forward;
}

int64_t
pack_greedy(const PackProblem *p, int64_t *offset)
{
    Key *keys = ARENA_ARRAY(p->arena, Key, p->n + 1);
    Extent *taken = ARENA_ARRAY(p->arena, Extent, p->n + 1);
    int64_t *now = ARENA_ARRAY(p->arena, int64_t, p->n + 1);
    int64_t best = -1;
    if (!p->near)
        return sweep_both(p, keys, now, offset);
    for (int order = 0; order < ORDERS; order++) {
        int64_t top = place_all(p, keys, order, taken, now);
        if (best >= 0 && top >= best)
            continue;
        best = top;
        memcpy(offset, now, sizeof *now * (size_t)p->n);
    }
    return best;
}
