/* Small random problems against trying everything: the lowest height is
 * found, nothing below it is, and proofs that nothing is there are right. */
#include <stdio.h>
#include <stdlib.h>

#include "passes/plan/pack.h"

enum { PROBLEMS = 4000, ANY = 7, MOST = 20, FULL = 8, EFFORT = 3000000 };

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

static bool
overlap(const PackItem *a, const PackItem *b)
{
    return meet(a, b) && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
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

/* All offsets of item k and those behind it: is there a placement? */
static bool
all_offsets(PackItem *at, int n, int k, int64_t capacity)
{
    if (k == n)
        return true;
    for (int64_t o = 0; o + at[k].size <= capacity; o++) {
        bool free = true;
        at[k].offset = o;
        for (int j = 0; j < k && free; j++)
            free = !overlap(&at[k], &at[j]);
        if (free && all_offsets(at, n, k + 1, capacity))
            return true;
    }
    return false;
}

/* ---- problems ---- */

static int
any_items(uint32_t *x, PackItem *at)
{
    int n = 2 + (int)draw(x, ANY - 1);
    for (int i = 0; i < n; i++) {
        at[i].lower = draw(x, 5);
        at[i].upper = at[i].lower + 1 + draw(x, 4);
        at[i].size = 1 + draw(x, 12);
    }
    return n;
}

/* FULL units are alive at every moment, as some end and others begin. Now and
 * then that takes more than FULL. */
static int
full_items(uint32_t *x, PackItem *at)
{
    int n = 0;
    for (int64_t t = 0; n < MOST; t++) {
        int64_t room = FULL;
        for (int i = 0; i < n; i++) {
            if (at[i].upper == t && draw(x, 4) > 0)
                at[i].upper = t + 1;
            room -= at[i].upper > t ? at[i].size : 0;
        }
        for (; room > 0 && n < MOST; n++) {
            int64_t size = 1 + draw(x, (uint32_t)(room < 4 ? room : 4));
            at[n] = (PackItem){t, t + 1, size, 0};
            room -= size;
        }
    }
    return n;
}

/* ---- */

static bool
is_placement(const PackItem *at, int n, int64_t align, int64_t capacity)
{
    for (int i = 0; i < n; i++) {
        if (at[i].offset % align || at[i].offset < 0 ||
            at[i].offset + at[i].size > capacity)
            return false;
        for (int j = 0; j < i; j++)
            if (overlap(&at[i], &at[j]))
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
check(PackItem *at, int n, int64_t align, int64_t best, int problem)
{
    int64_t bound;
    if (pack_lowest(at, n, align, EFFORT, &bound) != best)
        return wrong("not the lowest", problem);
    if (bound != best)
        return wrong("no proof, or a wrong one", problem);
    if (!is_placement(at, n, align, best))
        return wrong("no placement", problem);
    if (pack_fit(at, n, align, best, EFFORT) != PACK_FITS ||
        !is_placement(at, n, align, best))
        return wrong("not found again", problem);
    if (pack_fit(at, n, align, best - 1, EFFORT) != PACK_NEVER)
        return wrong("no proof of one byte less", problem);
    return true;
}

int
main(void)
{
    uint32_t x = 1;
    int above = 0;
    for (int problem = 0; problem < PROBLEMS; problem++) {
        PackItem at[MOST] = {{0}}, copy[MOST];
        int64_t align = problem % 4 == 0 ? 4 : 1, best = INT64_MAX;
        bool any = problem % 2 == 0;
        int n = any ? any_items(&x, at) : full_items(&x, at);
        memcpy(copy, at, sizeof copy);
        if (any)
            all_orders(copy, n, 0, align, &best);
        else
            for (best = FULL; !all_offsets(copy, n, 0, best); best++)
                ;
        if (!check(at, n, align, best, problem))
            return 1;
        above += !any && best > FULL;
    }
    printf("%d of %d are above their load\n", above, PROBLEMS);
    return above < PROBLEMS / 200;
}
