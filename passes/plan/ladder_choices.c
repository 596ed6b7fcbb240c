/* What to drop in one block. With few values all subsets are tried; with many
 * they are dropped one after the other, each time the one that costs least
 * time for what it saves. */
#include "passes/plan/ladder_steps.h"

#include <stdlib.h>

enum {
    ALL_SUBSETS = 12,
    FRESH = 160 /* up to so many values, all are tried anew at each step */
};

typedef struct Search {
    Arena *a;
    Drop *d;
    const Block *b;
    BlockKind *k;
} Search;

static void
add_choice(Search *s, const int *at, int n)
{
    Choice c = {.n = n, .saved = s->d->saved, .ns = s->d->total_ns};
    int *list = ARENA_ARRAY(s->a, int, n + 1);
    for (int i = 0; i < n; i++)
        list[i] = at[i];
    c.at = list;
    vec_push(s->a, &s->k->choices, c);
}

/* ---- all subsets ---- */

static void
try_subset(Search *s, unsigned set)
{
    int at[ALL_SUBSETS], n = 0, mark = drop_mark(s->d);
    for (int i = 0; i < s->b->large.n; i++)
        if (set >> i & 1) {
            at[n++] = i;
            drop_add(s->d, s->b->large.at[i]);
        }
    add_choice(s, at, n);
    drop_undo(s->d, mark);
}

/* More saved first; of equal ones the faster, then the one found first, which
 * drops earlier values. */
static int
by_saved(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    if (x->saved != y->saved)
        return x->saved > y->saved ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->n != y->n)
        return x->n - y->n;
    for (int i = 0; i < x->n; i++)
        if (x->at[i] != y->at[i])
            return x->at[i] - y->at[i];
    return 0;
}

/* Leaves those that no other beats in both, from none to all. */
static void
keep_front(BlockKind *k)
{
    qsort(k->choices.at, (size_t)k->choices.n, sizeof(Choice), by_saved);
    int n = 0;
    for (int i = 0; i < k->choices.n; i++)
        if (n == 0 || k->choices.at[i].ns < k->choices.at[n - 1].ns)
            k->choices.at[n++] = k->choices.at[i];
    k->choices.n = n;
    for (int i = 0; i < n / 2; i++) {
        Choice c = k->choices.at[i];
        k->choices.at[i] = k->choices.at[n - 1 - i];
        k->choices.at[n - 1 - i] = c;
    }
}

static void
try_subsets(Search *s)
{
    for (unsigned set = 0; set < 1u << s->b->large.n; set++)
        try_subset(s, set);
    keep_front(s->k);
}

/* ---- one after the other ---- */

typedef struct Try {
    double price; /* ns for a byte */
    bool done;
} Try;

static void
price(Search *s, Try *t, int i)
{
    int mark = drop_mark(s->d);
    int64_t saved = s->d->saved, ns = s->d->total_ns;
    drop_add(s->d, s->b->large.at[i]);
    saved = s->d->saved - saved;
    ns = s->d->total_ns - ns;
    t->price = saved > 0 ? (double)ns / (double)saved : 1e300;
    drop_undo(s->d, mark);
}

static int
cheapest(const Try *t, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!t[i].done && (best < 0 || t[i].price < t[best].price))
            best = i;
    return best;
}

/* The cheapest by prices that may be old, until its price is of now. */
static int
next_drop(Search *s, Try *t, int n)
{
    for (int i = 0; n <= FRESH && i < n; i++)
        if (!t[i].done)
            price(s, &t[i], i);
    for (int last = -1;;) {
        int i = cheapest(t, n);
        if (i < 0 || i == last || n <= FRESH)
            return i;
        price(s, &t[i], i);
        last = i;
    }
}

static void
one_by_one(Search *s)
{
    int n = s->b->large.n, taken = 0, mark = drop_mark(s->d);
    Try *t = ARENA_ARRAY(s->a, Try, n + 1);
    int *at = ARENA_ARRAY(s->a, int, n + 1);
    for (int i = 0; i < n; i++)
        price(s, &t[i], i);
    add_choice(s, at, 0);
    for (int i; (i = next_drop(s, t, n)) >= 0;) {
        int64_t saved = s->d->saved;
        t[i].done = true;
        drop_add(s->d, s->b->large.at[i]);
        at[taken++] = i;
        if (s->d->saved > saved)
            add_choice(s, at, taken);
    }
    drop_undo(s->d, mark);
}

/* ---- the convex front ---- */

static bool
is_above(const Choice *x, const Choice *y, const Choice *z)
{
    return (double)(y->ns - x->ns) * (double)(z->saved - x->saved) >=
           (double)(z->ns - x->ns) * (double)(y->saved - x->saved);
}

static void
find_hull(Search *s)
{
    BlockKind *k = s->k;
    for (int i = 0; i < k->choices.n; i++) {
        const Choice *c = k->choices.at;
        while (k->hull.n > 1 && is_above(&c[k->hull.at[k->hull.n - 2]],
                                         &c[k->hull.at[k->hull.n - 1]], &c[i]))
            k->hull.n--;
        vec_push(s->a, &k->hull, i);
    }
}

void
choices_find(Arena *a, Drop *d, const Block *b, BlockKind *k)
{
    Search s = {a, d, b, k};
    if (b->large.n <= ALL_SUBSETS)
        try_subsets(&s);
    else
        one_by_one(&s);
    find_hull(&s);
}
