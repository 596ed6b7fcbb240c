#include "passes/plan/pack_problem.h"

#include <stdlib.h>

enum { MOST_PAIRS = 1 << 22 };

typedef struct Event {
    int64_t time;
    int item;
    bool start;
} Event;

/* Ends before starts: lifetimes are half open. */
static int
by_time(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->start != y->start)
        return x->start ? 1 : -1;
    return x->item - y->item;
}

static Event *
sorted_events(Arena *a, const PackBox *boxes, int n)
{
    Event *e = ARENA_ARRAY(a, Event, 2 * n + 1);
    for (int i = 0; i < n; i++) {
        e[2 * i] = (Event){boxes[i].from, i, true};
        e[2 * i + 1] = (Event){boxes[i].to, i, false};
    }
    qsort(e, (size_t)(2 * n), sizeof *e, by_time);
    return e;
}

static void
find_sections(PackProblem *p, const Event *e)
{
    bool open = false;
    for (int k = 0; k < 2 * p->n; k++) {
        if (e[k].start) {
            open = true;
            p->first[e[k].item] = p->n_sections;
        } else {
            p->n_sections += open;
            open = false;
            p->last[e[k].item] = p->n_sections - 1;
        }
    }
    p->load = ARENA_ARRAY(p->arena, int64_t, p->n_sections + 1);
    for (int i = 0; i < p->n; i++) {
        p->load[p->first[i]] += p->size[i];
        p->load[p->last[i] + 1] -= p->size[i];
    }
    for (int s = 1; s < p->n_sections; s++)
        p->load[s] += p->load[s - 1];
}

typedef struct Active {
    int *at, *place;
    int n;
} Active;

static void
active_drop(Active *l, int i)
{
    int moved = l->at[--l->n];
    l->at[l->place[i]] = moved;
    l->place[moved] = l->place[i];
}

/* One pass counts, one fills: pairs (older, newer) met when newer starts. */
static void
pairs(PackProblem *p, const Event *e, Active *l, int *fill)
{
    l->n = 0;
    for (int k = 0; k < 2 * p->n; k++) {
        int i = e[k].item;
        if (!e[k].start) {
            active_drop(l, i);
            continue;
        }
        for (int j = 0; j < l->n; j++) {
            int o = l->at[j];
            if (p->near) {
                p->near[fill[i]] = o;
                p->near[fill[o]] = i;
            }
            fill[i]++;
            fill[o]++;
        }
        l->place[i] = l->n;
        l->at[l->n++] = i;
    }
}

static bool
few_pairs(const PackProblem *p, const Event *e)
{
    int64_t alive = 0, pairs_left = MOST_PAIRS;
    for (int k = 0; k < 2 * p->n && pairs_left > 0; k++) {
        if (e[k].start)
            pairs_left -= alive++;
        else
            alive--;
    }
    return pairs_left > 0;
}

static void
find_neighbours(PackProblem *p, const Event *e)
{
    int n = p->n;
    Active l = {ARENA_ARRAY(p->arena, int, n + 1),
                ARENA_ARRAY(p->arena, int, n + 1), 0};
    int *fill = ARENA_ARRAY(p->arena, int, n + 1);
    pairs(p, e, &l, fill);
    p->start = ARENA_ARRAY(p->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        p->start[i + 1] = p->start[i] + fill[i];
    p->near = ARENA_ARRAY(p->arena, int, p->start[n] + 1);
    memcpy(fill, p->start, sizeof *fill * (size_t)(n + 1));
    pairs(p, e, &l, fill);
}

PackProblem *
pack_problem_of(Arena *a, const PackBox *boxes, int n, int64_t align)
{
    PackProblem *p = ARENA_NEW(a, PackProblem);
    p->arena = a;
    p->n = n;
    p->align = align;
    p->size = ARENA_ARRAY(a, int64_t, n + 1);
    p->pad = ARENA_ARRAY(a, int64_t, n + 1);
    p->first = ARENA_ARRAY(a, int, n + 1);
    p->last = ARENA_ARRAY(a, int, n + 1);
    for (int i = 0; i < n; i++) {
        p->size[i] = boxes[i].size;
        p->pad[i] = boxes[i].pad;
    }
    Event *e = sorted_events(a, boxes, n);
    find_sections(p, e);
    if (few_pairs(p, e))
        find_neighbours(p, e);
    return p;
}

PackProblem *
pack_problem(Arena *a, const PackItem *items, int n, int64_t align)
{
    PackBox *boxes = ARENA_ARRAY(a, PackBox, n + 1);
    for (int i = 0; i < n; i++) {
        int64_t size = (items[i].size - 1) / align + 1;
        boxes[i] = (PackBox){items[i].lower, items[i].upper, size,
                             size * align - items[i].size};
    }
    return pack_problem_of(a, boxes, n, align);
}

typedef struct Sized {
    int64_t size;
    int item;
} Sized;

static int
by_size(const void *a, const void *b)
{
    const Sized *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->item - y->item;
}

void
pack_sort_neighbours(PackProblem *p)
{
    Sized *s = ARENA_ARRAY(p->arena, Sized, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        int *near = p->near + p->start[i], n = p->start[i + 1] - p->start[i];
        for (int k = 0; k < n; k++)
            s[k] = (Sized){p->size[near[k]], near[k]};
        qsort(s, (size_t)n, sizeof *s, by_size);
        for (int k = 0; k < n; k++)
            near[k] = s[k].item;
    }
}
