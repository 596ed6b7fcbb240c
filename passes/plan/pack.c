#include "passes/plan/pack.h"

#include "passes/plan/pack_search.h"

int64_t
pack_bound(const PackItem *items, int n, int64_t align)
{
    Arena *a = arena_new();
    const PackProblem *p = pack_problem(a, items, n, align);
    int64_t most = 0;
    for (int t = 0; t < p->n_sections; t++)
        if (p->load[t] > most)
            most = p->load[t];
    arena_free(a);
    return most * align;
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
    const PackProblem *p = pack_problem(a, items, n, align);
    int64_t *offset = ARENA_ARRAY(a, int64_t, n + 1);
    bool fits = pack_search(p, capacity / align, &effort, offset);
    for (int i = 0; fits && i < n; i++)
        items[i].offset = offset[i] * align;
    arena_free(a);
    return fits;
}
