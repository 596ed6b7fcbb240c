#include "passes/plan/borrow.h"

#include <limits.h>
#include <stdlib.h>

#include "ir/lend.h"

/* The stash is read in about the order in which gradients are written, so
 * what is read last has the fewest bytes to choose from, and comes first: from
 * tensor to tensor more gradients are still unwritten when it is read. */

typedef struct Gap {
    int64_t at, bytes;
} Gap;

typedef struct Moment {
    Tensor *t;
    int at; /* a stash tensor's last use, a gradient's first */
    int number;
} Moment;

typedef VEC(Moment) Moments;

typedef struct Borrow {
    Arena *a;
    VEC(Gap) gaps; /* by place; no two touch */
} Borrow;

static int
latest_first(const void *a, const void *b)
{
    const Moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at > y->at ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void
sort(Moments *m)
{
    if (m->n)
        qsort(m->at, (size_t)m->n, sizeof *m->at, latest_first);
}

/* ---- gaps ---- */

static void
remove_gap(Borrow *b, int i)
{
    b->gaps.n--;
    for (; i < b->gaps.n; i++)
        b->gaps.at[i] = b->gaps.at[i + 1];
}

static void
insert_gap(Borrow *b, int i, Gap g)
{
    vec_push(b->a, &b->gaps, g);
    for (int k = b->gaps.n - 1; k > i; k--)
        b->gaps.at[k] = b->gaps.at[k - 1];
    b->gaps.at[i] = g;
}

static int
gap_behind(const Borrow *b, int64_t at)
{
    int low = 0, high = b->gaps.n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (b->gaps.at[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Joins it with the gaps that it touches. */
static void
free_bytes(Borrow *b, int64_t at, int64_t bytes)
{
    int i = gap_behind(b, at);
    Gap g = {at, bytes};
    if (i < b->gaps.n && b->gaps.at[i].at == at + bytes) {
        g.bytes += b->gaps.at[i].bytes;
        remove_gap(b, i);
    }
    if (i > 0 && b->gaps.at[i - 1].at + b->gaps.at[i - 1].bytes == at)
        b->gaps.at[i - 1].bytes += g.bytes;
    else
        insert_gap(b, i, g);
}

/* The place of so many bytes in the smallest gap that has them; -1: none. */
static int64_t
take_bytes(Borrow *b, int64_t bytes)
{
    int best = -1;
    for (int i = 0; i < b->gaps.n; i++)
        if (b->gaps.at[i].bytes >= bytes &&
            (best < 0 || b->gaps.at[i].bytes < b->gaps.at[best].bytes))
            best = i;
    if (best < 0)
        return -1;
    Gap *g = &b->gaps.at[best];
    int64_t at = g->at;
    g->at += bytes;
    g->bytes -= bytes;
    if (g->bytes == 0)
        remove_gap(b, best);
    return at;
}

void
borrow_place(Arena *a, const Module *m)
{
    Borrow b = {.a = a};
    Lend lend = lend_find(a, m);
    Moments stash = {0}, grads = {0};
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        if (t->kind == TENSOR_stash && lend.last[i] < INT_MAX)
            vec_push(a, &stash, ((Moment){t, lend.last[i], i}));
        if (t->kind == TENSOR_grad && lend.first[i] >= 0)
            vec_push(a, &grads, ((Moment){t, lend.first[i], i}));
    }
    sort(&stash);
    sort(&grads);
    for (int i = 0, g = 0; i < stash.n; i++) {
        Tensor *t = stash.at[i].t;
        for (; g < grads.n && lend_allows(&lend, stash.at[i].number,
                                          grads.at[g].number); g++)
            free_bytes(&b, grads.at[g].t->place, grads.at[g].t->bytes);
        int64_t at = take_bytes(&b, t->bytes);
        if (at < 0)
            continue;
        t->region = REGION_grads;
        t->place = at;
    }
}
