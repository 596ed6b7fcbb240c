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

enum {
    ORDERS = 5,
    FEW = 64,           /* neighbours an item, on the average */
    MOST_PLACED = 16384 /* so many can be looked through for each item */
};

static bool
few_neighbours(const PackProblem *p)
{
    return p->near && p->start[p->n] / FEW <= p->n;
}

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

/* ---- one item after the other, each in the lowest gap ---- */

/* What is placed, by offset. */
typedef struct Placed {
    int64_t from, to;
    int first, last;
} Placed;

typedef struct Greedy {
    const PackProblem *p;
    Key *keys;
    Extent *taken;
    Placed *placed;
    int n_placed;
} Greedy;

static int64_t
gap_among_neighbours(Greedy *g, int i, const int64_t *offset)
{
    const PackProblem *p = g->p;
    int n = 0;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (offset[j] >= 0)
            g->taken[n++] = (Extent){offset[j], offset[j] + p->size[j]};
    }
    qsort(g->taken, (size_t)n, sizeof *g->taken, by_from);
    int64_t at = 0;
    for (int k = 0; k < n && g->taken[k].from < at + p->size[i]; k++)
        if (g->taken[k].to > at)
            at = g->taken[k].to;
    return at;
}

static int64_t
gap_among_placed(Greedy *g, int i)
{
    int first = g->p->first[i], last = g->p->last[i], k = 0;
    int64_t size = g->p->size[i], at = 0;
    for (; k < g->n_placed && g->placed[k].from < at + size; k++) {
        const Placed *x = &g->placed[k];
        if (x->to > at && x->first <= last && x->last >= first)
            at = x->to;
    }
    while (k > 0 && g->placed[k - 1].from > at)
        k--;
    memmove(g->placed + k + 1, g->placed + k,
            sizeof *g->placed * (size_t)(g->n_placed++ - k));
    g->placed[k] = (Placed){at, at + size, first, last};
    return at;
}

/* The height, or `enough` or more as soon as it is not below that. */
static int64_t
place_all(Greedy *g, int order, int64_t enough, int64_t *offset)
{
    const PackProblem *p = g->p;
    int64_t top = 0;
    bool few = few_neighbours(p);
    g->n_placed = 0;
    for (int i = 0; i < p->n; i++) {
        g->keys[i] = key_of(p, i, order);
        offset[i] = -1;
    }
    qsort(g->keys, (size_t)p->n, sizeof *g->keys, by_key);
    for (int k = 0; k < p->n && top < enough; k++) {
        int i = g->keys[k].item;
        offset[i] = few ? gap_among_neighbours(g, i, offset)
                        : gap_among_placed(g, i);
        if (pack_top(p, i, offset[i]) > top)
            top = pack_top(p, i, offset[i]);
    }
    return top;
}

static int64_t
best_order(const PackProblem *p, int64_t enough, int64_t *now,
           int64_t *offset)
{
    Greedy g = {.p = p};
    int64_t best = INT64_MAX;
    g.keys = ARENA_ARRAY(p->arena, Key, p->n + 1);
    g.taken = ARENA_ARRAY(p->arena, Extent, p->n + 1);
    g.placed = ARENA_ARRAY(p->arena, Placed, p->n + 1);
    for (int order = 0; order < ORDERS && best > enough; order++) {
        int64_t top = place_all(&g, order, best, now);
        if (top >= best)
            continue;
        best = top;
        memcpy(offset, now, sizeof *offset * (size_t)p->n);
    }
    return best;
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
        top = pack_top(p, i, at) > top ? pack_top(p, i, at) : top;
    }
    return top;
}

static int64_t
sweep_both(const PackProblem *p, int64_t *now, int64_t *offset)
{
    Key *keys = ARENA_ARRAY(p->arena, Key, p->n + 1);
    Alive *alive = ARENA_ARRAY(p->arena, Alive, p->n + 1);
    int64_t forward = sweep(p, keys, false, alive, offset);
    int64_t back = sweep(p, keys, true, alive, now);
    if (back < forward)
        memcpy(offset, now, sizeof *now * (size_t)p->n);
    return back < forward ? back : forward;
}

int64_t
pack_greedy(const PackProblem *p, int64_t enough, int64_t *offset)
{
    int64_t *now = ARENA_ARRAY(p->arena, int64_t, p->n + 1);
    if (p->n <= MOST_PLACED || few_neighbours(p))
        return best_order(p, enough, now, offset);
    return sweep_both(p, now, offset);
}
