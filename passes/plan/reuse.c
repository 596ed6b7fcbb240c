#include "passes/plan/reuse.h"

#include <stdlib.h>

#include "ir/busy.h"

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- what is alive in a region, by offset ---- */

typedef struct Taken {
    int64_t offset, bytes;
    int end;
} Taken;

typedef VEC(Taken) TakenList;

static void
drop_dead(TakenList *list, int now)
{
    int n = 0;
    for (int i = 0; i < list->n; i++)
        if (list->at[i].end > now)
            list->at[n++] = list->at[i];
    list->n = n;
}

/* The lowest gap from `at` on that ends at `end` at most, taken; -1: none. */
static int64_t
take_gap(Arena *a, TakenList *list, int64_t at, int64_t end, const Life *l)
{
    int i = 0;
    for (; i < list->n; i++) {
        const Taken *t = &list->at[i];
        if (t->offset + t->bytes <= at)
            continue;
        if (at + l->bytes <= t->offset)
            break;
        at = t->offset + t->bytes;
    }
    if (at + l->bytes > end)
        return -1;
    vec_push(a, list, ((Taken){0}));
    for (int k = list->n - 1; k > i; k--)
        list->at[k] = list->at[k - 1];
    list->at[i] = (Taken){at, l->bytes, l->end};
    return at;
}

/* ---- the stash ---- */

/* The forward pass fills a slot from its start, the backward pass has no more
 * use for it from its end: free is what lies above everything that is in use
 * at a node. */
typedef struct Tops {
    int64_t *until; /* by node: of tensors in use from the start to after it */
    int64_t *since; /* by node: of tensors in use from before it to the end */
} Tops;

static Tops
find_tops(Arena *a, const Module *m, const Busy *busy, int n)
{
    Tops t = {ARENA_ARRAY(a, int64_t, n + 2), ARENA_ARRAY(a, int64_t, n + 2)};
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *s = m->tensors.at[i];
        if (s->region != REGION_stash || busy[i].end == 0)
            continue;
        int64_t top = s->place + s->bytes, *at = &t.since[busy[i].first + 1];
        if (busy[i].first == 0)
            at = &t.until[busy[i].end - 1];
        *at = larger(*at, top);
    }
    for (int i = n - 1; i >= 0; i--)
        t.until[i] = larger(t.until[i], t.until[i + 1]);
    for (int i = 1; i <= n; i++)
        t.since[i] = larger(t.since[i], t.since[i - 1]);
    return t;
}

/* ---- the gradients ---- */

/* Bytes that are free in the nodes [from, until). */
typedef struct Free {
    int64_t at, end;
    int from, until;
} Free;

typedef VEC(Free) FreeList;

static int
by_place(const void *a, const void *b)
{
    const Free *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int
by_from(const void *a, const void *b)
{
    const Free *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : by_place(a, b);
}

/* Tensors of a kind in the region, by place. */
static FreeList
list_tensors(Arena *a, const Module *m, const Busy *busy, TensorKind kind,
             int n)
{
    FreeList list = {0};
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->region != REGION_grads || t->kind != kind)
            continue;
        Free f = {t->place, t->place + t->bytes, 0, busy[i].first};
        if (kind == TENSOR_stash && busy[i].first == 0)
            f.from = busy[i].end, f.until = n;
        vec_push(a, &list, f);
    }
    if (list.n)
        qsort(list.at, (size_t)list.n, sizeof *list.at, by_place);
    return list;
}

static void
add_free(Arena *a, FreeList *list, Free f)
{
    Free *last = list->n ? &list->at[list->n - 1] : NULL;
    if (f.at >= f.end || f.from >= f.until)
        return;
    if (last && last->end == f.at && last->from == f.from &&
        last->until == f.until)
        last->end = f.end;
    else
        vec_push(a, list, f);
}

/* Gradients, cut where something stashed begins or ends. */
static FreeList
find_free(Arena *a, const Module *m, const Busy *busy, int n)
{
    FreeList grads = list_tensors(a, m, busy, TENSOR_grad, n), list = {0};
    FreeList stash = list_tensors(a, m, busy, TENSOR_stash, n);
    for (int g = 0, s = 0; g < grads.n; g++) {
        Free f = grads.at[g];
        while (f.at < f.end) {
            while (s < stash.n && stash.at[s].end <= f.at)
                s++;
            Free part = f;
            const Free *over = s < stash.n ? &stash.at[s] : NULL;
            bool inside = over && over->at <= f.at;
            if (over && !inside && over->at < f.end)
                part.end = over->at;
            if (inside && over->end < f.end)
                part.end = over->end;
            if (inside)
                part.from = over->from;
            if (inside && over->until < part.until)
                part.until = over->until;
            add_free(a, &list, part);
            f.at = part.end;
        }
    }
    return list;
}

/* The free bytes that are there now, by place. */
static void
open_free(Arena *a, FreeList *now, const Free *f)
{
    int i = now->n;
    vec_push(a, now, *f);
    for (; i > 0 && now->at[i - 1].at > f->at; i--)
        now->at[i] = now->at[i - 1];
    now->at[i] = *f;
}

static void
close_free(FreeList *now, int node)
{
    int n = 0;
    for (int i = 0; i < now->n; i++)
        if (now->at[i].until > node)
            now->at[n++] = now->at[i];
    now->n = n;
}

/* In the first run of free bytes that stay free and has a gap. */
static int64_t
take_free(Arena *a, const FreeList *now, TakenList *taken, const Life *l)
{
    for (int i = 0; i < now->n; i++) {
        int first = i;
        if (now->at[i].until < l->end)
            continue;
        while (i + 1 < now->n && now->at[i + 1].at == now->at[i].end &&
               now->at[i + 1].until >= l->end)
            i++;
        int64_t at = take_gap(a, taken, now->at[first].at, now->at[i].end, l);
        if (at >= 0)
            return at;
    }
    return -1;
}

/* ---- both ---- */

Reused *
reuse_find(Arena *a, const Graph *g, const Lives *l, int64_t slot)
{
    const Module *m = g->module;
    const Busy *busy = busy_find(a, g);
    Tops tops = find_tops(a, m, busy, l->n_nodes);
    FreeList grads = find_free(a, m, busy, l->n_nodes), now = {0};
    TakenList in_stash = {0}, in_grads = {0};
    Reused *at = ARENA_ARRAY(a, Reused, l->at.n + 1);
    if (grads.n)
        qsort(grads.at, (size_t)grads.n, sizeof *grads.at, by_from);
    for (int i = 0, next = 0; i < l->at.n; i++) {
        const Life *x = &l->at.at[i];
        if (!x->home || x->home->space != SPACE_device)
            continue;
        drop_dead(&in_stash, x->first);
        drop_dead(&in_grads, x->first);
        close_free(&now, x->first);
        for (; next < grads.n && grads.at[next].from <= x->first; next++)
            open_free(a, &now, &grads.at[next]);
        int64_t top = larger(tops.until[x->first], tops.since[x->end]);
        at[i] = (Reused){REGION_stash, take_gap(a, &in_stash, top, slot, x)};
        if (at[i].offset < 0)
            at[i] = (Reused){REGION_grads, take_free(a, &now, &in_grads, x)};
        if (at[i].offset < 0)
            at[i].region = REGION_none;
    }
    return at;
}
