/* Small random problems against all orders of their items: the lowest height
 * is found, nothing below it is, and proofs that nothing is there are right. */
#include <stdio.h>
#include <stdlib.h>

#include "passes/plan/pack.h"

enum { PROBLEMS = 600, MOST = 7, EFFORT = 20000 };

static uint32_t
draw(uint32_t *x, uint32_t n)
{
    *x = *x * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*x * n) >> 32);
}

static bool
meet(const PackItem *a, const PackItem *b)
{
    return a->lower < b->upper && b->lower < a->upper;
}

/* Each item on what it meets of those before it, in the best of all orders
 * that begin as this one does. Some order gives the lowest placement: that of
 * its offsets. */
static void
all_orders(PackItem *at, int n, int k, int64_t align, int64_t *best)
{
    int64_t height = pack_height(at, k);
    if (height >= *best)
        return;
    if (k == n)
        *best = height;
    for (int i = k; i < n; i++) {
        PackItem x = at[i];
        at[i] = at[k];
        x.offset = 0;
        for (int j = 0; j < k; j++) {
            int64_t top = (at[j].offset + at[j].size + align - 1) / align *
                          align;
            if (meet(&x, &at[j]) && top > x.offset)
                x.offset = top;
        }
        at[k] = x;
        all_orders(at, n, k + 1, align, best);
        at[k] = at[i];
        at[i] = x;
    }
}

static bool
is_placement(const PackItem *at, int n, int64_t align, int64_t capacity)
{
    for (int i = 0; i < n; i++) {
        const PackItem *x = &at[i];
        if (x->offset % align || x->offset < 0 ||
            x->offset + x->size > capacity)
            return false;
        for (int j = 0; j < i; j++)
            if (meet(x, &at[j]) && x->offset < at[j].offset + at[j].size &&
                at[j].offset < x->offset + x->size)
                return false;
    }
    return true;
}

static bool
wrong(const char *what, int problem)
{
    printf("problem %d: %s\n", problem, what);
    return false;
}

static bool
check(PackItem *at, int n, int64_t align, int problem, int *proved)
{
    PackItem copy[MOST];
    int64_t best = INT64_MAX, bound;
    memcpy(copy, at, sizeof copy);
    all_orders(copy, n, 0, align, &best);
    if (pack_lowest(at, n, align, EFFORT, &bound) != best)
        return wrong("not the lowest", problem);
    if (bound > best || !is_placement(at, n, align, best))
        return wrong("bound or placement", problem);
    if (pack_fit(at, n, align, best, EFFORT) != PACK_FITS ||
        !is_placement(at, n, align, best))
        return wrong("not found again", problem);
    PackAnswer below = pack_fit(at, n, align, best - 1, EFFORT);
    if (below == PACK_FITS)
        return wrong("found what is not there", problem);
    *proved += below == PACK_NEVER && bound == best;
    return true;
}

int
main(void)
{
    uint32_t x = 1;
    int proved = 0;
    for (int problem = 0; problem < PROBLEMS; problem++) {
        PackItem at[MOST] = {{0}};
        int n = 2 + (int)draw(&x, MOST - 1);
        int64_t align = problem % 2 ? 4 : 1;
        for (int i = 0; i < n; i++) {
            at[i].lower = draw(&x, 5);
            at[i].upper = at[i].lower + 1 + draw(&x, 4);
            at[i].size = 1 + draw(&x, 12);
        }
        if (!check(at, n, align, problem, &proved))
            return 1;
    }
    printf("%d of %d proved\n", proved, PROBLEMS);
    return proved < PROBLEMS;
}
