#include "passes/plan/pack.h"

#include "passes/plan/pack_greedy.h"
#include "passes/plan/pack_search.h"

enum {
    SEARCH_ITEMS = 1500, /* above, a step of the search costs too much */
    CUTS = 10            /* heights tried between the bound and the greedy */
};

static int64_t
bound(const PackProblem *p)
{
    int64_t most = 0;
    for (int t = 0; t < p->n_sections; t++)
        if (p->load[t] > most)
            most = p->load[t];
    return most;
}

int64_t
pack_bound(const PackItem *items, int n, int64_t align)
{
    Arena *a = arena_new();
    int64_t most = bound(pack_problem(a, items, n, align)) * align;
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

bool
pack_fit(PackItem *items, int n, int64_t align, int64_t capacity,
         int64_t effort)
{
    Arena *a = arena_new();
    PackProblem *p = pack_problem(a, items, n, align);
    int64_t *offset = ARENA_ARRAY(a, int64_t, n + 1);
    bool fits = n > 0 ? pack_greedy(p, offset) <= capacity / align : true;
    if (!fits && n <= SEARCH_ITEMS) {
        pack_sort_neighbours(p);
        fits = pack_search(p, capacity / align, &effort, offset);
    }
    for (int i = 0; fits && i < n; i++)
        items[i].offset = offset[i] * align;
    arena_free(a);
    return fits;
}

/* Tries the bound first; then heights between what failed and what is known
 * to do, each with its share of the effort. */
static int64_t
lower(const PackProblem *p, int64_t low, int64_t high, int64_t effort,
      int64_t *offset)
{
    int64_t target = low;
    for (int k = 0; k < CUTS && target < high; k++) {
        int64_t share = effort / CUTS;
        if (pack_search(p, target, &share, offset))
            high = target;
        else
            low = target;
        target = low + (high - low) / 2;
        if (target == low)
            break;
    }
    return high;
}

int64_t
pack_lowest(PackItem *items, int n, int64_t align, int64_t effort)
{
    Arena *a = arena_new();
    PackProblem *p = pack_problem(a, items, n, align);
    int64_t *offset = ARENA_ARRAY(a, int64_t, n + 1);
    int64_t high = n > 0 ? pack_greedy(p, offset) : 0, low = bound(p);
    if (high > low && n <= SEARCH_ITEMS) {
        pack_sort_neighbours(p);
        high = lower(p, low, high, effort, offset);
    }
    for (int i = 0; i < n; i++)
        items[i].offset = offset[i] * align;
    arena_free(a);
    return high * align;
}
