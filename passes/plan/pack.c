#include "passes/plan/pack.h"

#include <stdlib.h>

#include "passes/plan/costs.h"
#include "passes/plan/pack_greedy.h"
#include "passes/plan/pack_search.h"

enum {
    SEARCH_ITEMS = 1500, /* above, a step of the search costs too much */
    PARTS = 64,          /* of the effort: one for a height at first, */
    LEAST = 3000         /* but no less */
};

typedef struct Padded {
    int64_t pad;
    int item;
} Padded;

static int
by_pad(const void *a, const void *b)
{
    const Padded *x = a, *y = b;
    if (x->pad != y->pad)
        return x->pad > y->pad ? -1 : 1;
    return x->item - y->item;
}

/* The largest pad of what is alive in each section. */
static int64_t *
largest_pads(const PackProblem *p)
{
    Padded *order = ARENA_ARRAY(p->arena, Padded, p->n + 1);
    int64_t *pad = ARENA_ARRAY(p->arena, int64_t, p->n_sections + 1);
    int *next = ARENA_ARRAY(p->arena, int, p->n_sections + 2);
    for (int t = 0; t <= p->n_sections; t++)
        next[t] = t; /* the next section that has none yet */
    for (int i = 0; i < p->n; i++)
        order[i] = (Padded){p->pad[i], i};
    qsort(order, (size_t)p->n, sizeof *order, by_pad);
    for (int k = 0; k < p->n; k++) {
        int t = p->first[order[k].item];
        while (t <= p->last[order[k].item]) {
            if (next[t] == t) {
                pad[t] = order[k].pad;
                next[t] = t + 1;
            }
            next[t] = next[next[t]];
            t = next[t];
        }
    }
    return pad;
}

/* In bytes: of a section, the units of all that is alive, but for what the
 * topmost item does not need. */
static int64_t
bound(const PackProblem *p)
{
    int64_t most = 0, *pad = largest_pads(p);
    for (int t = 0; t < p->n_sections; t++)
        if (p->load[t] * p->align - pad[t] > most)
            most = p->load[t] * p->align - pad[t];
    return most;
}

int64_t
pack_bound(const PackItem *items, int n, int64_t align)
{
    Arena *a = arena_new();
    int64_t most = bound(pack_problem(a, items, n, align));
    arena_free(a);
    return most;
}

int64_t
pack_height(const PackItem *items, int n)
{
    int64_t top = 0;
    for (int i = 0; i < n; i++)
        if (items[i].offset + items[i].size > top)
            top = items[i].offset + items[i].size;
    return top;
}

static int64_t
height(const PackProblem *p, const int64_t *offset)
{
    int64_t top = 0;
    for (int i = 0; i < p->n; i++)
        if (pack_top(p, i, offset[i]) > top)
            top = pack_top(p, i, offset[i]);
    return top;
}

PackAnswer
pack_fit(PackItem *items, int n, int64_t align, int64_t capacity,
         int64_t effort)
{
    Arena *a = arena_new();
    PackProblem *p = pack_problem(a, items, n, align);
    int64_t *offset = ARENA_ARRAY(a, int64_t, n + 1);
    PackAnswer answer = bound(p) > capacity ? PACK_NEVER : PACK_OPEN;
    if (answer == PACK_OPEN && pack_greedy(p, capacity, offset) <= capacity)
        answer = PACK_FITS;
    if (answer == PACK_OPEN && n <= SEARCH_ITEMS) {
        pack_sort_neighbours(p);
        answer = pack_search(p, capacity, &effort, offset);
    }
    for (int i = 0; answer == PACK_FITS && i < n; i++)
        items[i].offset = offset[i] * align;
    arena_free(a);
    return answer;
}

/* What lies on the ground, or on others that do, is at sums of sizes: some
 * lowest placement is as high as a multiple of this. */
static int64_t
grain(const PackProblem *p)
{
    int64_t of_all = 0;
    for (int i = 0; i < p->n; i++) {
        of_all = costs_gcd(of_all, p->size[i] * p->align);
        of_all = costs_gcd(of_all, p->pad[i]);
    }
    return of_all;
}

typedef struct Heights {
    int64_t proved; /* nothing is below */
    int64_t high;   /* of what is found */
    int64_t step;
} Heights;

/* Tries the lowest height that is not ruled out; then heights between what
 * failed and what is known to do. */
static void
halve(PackProblem *p, Heights *h, int64_t share, int64_t *effort,
      int64_t *offset)
{
    int64_t low = h->proved, target = low;
    while (target < h->high && *effort > 0) {
        int64_t left = share < *effort ? share : *effort;
        *effort -= left;
        PackAnswer answer = pack_search(p, target, &left, offset);
        *effort += left;
        if (answer == PACK_FITS)
            h->high = height(p, offset);
        else
            low = target;
        if (answer == PACK_NEVER)
            h->proved = target + h->step;
        target = low + (h->high - low) / h->step / 2 * h->step;
        target = target < h->proved ? h->proved : target;
        if (target == low)
            break;
    }
}

/* The same again with twice the effort for each height: a height that failed
 * may do when more is spent on it, sooner than one above it. */
static void
lower(PackProblem *p, Heights *h, int64_t effort, int64_t *offset)
{
    h->step = grain(p);
    int64_t share = effort / PARTS > LEAST ? effort / PARTS : LEAST;
    for (; h->proved < h->high && effort > 0; share *= 2)
        halve(p, h, share, &effort, offset);
}

int64_t
pack_lowest(PackItem *items, int n, int64_t align, int64_t effort,
            int64_t *proved)
{
    Arena *a = arena_new();
    PackProblem *p = pack_problem(a, items, n, align);
    int64_t *offset = ARENA_ARRAY(a, int64_t, n + 1);
    Heights h = {.proved = bound(p)};
    h.high = n > 0 ? pack_greedy(p, h.proved, offset) : 0;
    if (h.high > h.proved && n <= SEARCH_ITEMS) {
        pack_sort_neighbours(p);
        lower(p, &h, effort, offset);
    }
    for (int i = 0; i < n; i++)
        items[i].offset = offset[i] * align;
    if (proved)
        *proved = h.proved;
    arena_free(a);
    return h.high;
}
