#include "passes/plan/pack_eject.h"

#include "ir/base/random.h"

/* Work is counted in steps of the tree search: about so many events of the
 * sweep, or one move and so many more. */
enum { EVENTS_A_STEP = 32, LATEST = 4, SCALE = 16 };

/* An interval of offsets begins or ends. */
typedef struct Event {
    int64_t at, weight;
} Event;

struct Eject {
    const PackProblem *p;
    int64_t capacity;
    int64_t *offset;
    int64_t *weight, *unit; /* of an item: what it costs to eject it */
    bool *placed;
    int *left; /* items that are not placed */
    int n_left;
    Event *starts, *ends;
    uint64_t random;
};

static uint32_t
draw(Eject *e, int n)
{
    uint64_t z = random_next(&e->random);
    return (uint32_t)((z >> 32) * (uint64_t)n >> 32);
}

static int64_t
root(int64_t x)
{
    int64_t r = 0;
    for (int64_t bit = (int64_t)1 << 31; bit; bit >>= 1)
        if ((r + bit) * (r + bit) <= x)
            r += bit;
    return r;
}

Eject *
eject_new(const PackProblem *p, int64_t capacity, const int64_t *offset)
{
    Arena *a = p->arena;
    int n = p->n;
    int64_t mean = 0;
    Eject *e = ARENA_NEW(a, Eject);
    *e = (Eject){.p = p, .capacity = capacity, .random = 1};
    e->offset = ARENA_ARRAY(a, int64_t, n + 1);
    e->weight = ARENA_ARRAY(a, int64_t, n + 1);
    e->unit = ARENA_ARRAY(a, int64_t, n + 1);
    e->placed = ARENA_ARRAY(a, bool, n + 1);
    e->left = ARENA_ARRAY(a, int, n + 1);
    e->starts = ARENA_ARRAY(a, Event, n + 1);
    e->ends = ARENA_ARRAY(a, Event, n + 1);
    for (int i = 0; i < n; i++)
        mean += p->size[i] / n;
    for (int i = 0; i < n; i++) {
        e->offset[i] = offset[i];
        e->unit[i] = 1 + root(p->size[i] / (mean / (SCALE * SCALE) + 1));
        e->weight[i] = e->unit[i];
        e->placed[i] = pack_top(p, i, offset[i]) <= capacity;
        if (!e->placed[i])
            e->left[e->n_left++] = i;
    }
    return e;
}

/* Nearly sorted or not, some hundred at most: Shell's way. */
static void
sort_events(Event *e, int n)
{
    static const int gaps[] = {301, 132, 57, 23, 10, 4, 1};
    for (int g = 0; g < 7; g++) {
        int gap = gaps[g];
        for (int i = gap; i < n; i++) {
            Event x = e[i];
            int k = i;
            for (; k >= gap && e[k - gap].at > x.at; k -= gap)
                e[k] = e[k - gap];
            e[k] = x;
        }
    }
}

static int
collect(Eject *e, int i)
{
    const PackProblem *p = e->p;
    int n = 0;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (!e->placed[j])
            continue;
        e->starts[n] = (Event){e->offset[j] - p->size[i], e->weight[j]};
        e->ends[n++] = (Event){e->offset[j] + p->size[j], e->weight[j]};
    }
    sort_events(e->starts, n);
    sort_events(e->ends, n);
    return n;
}

/* The offset of item i at which the least weight is in its way: at the ground
 * or the top, or beside a neighbour. Of several, any one. */
static int64_t
cheapest(Eject *e, int i, int n, int64_t *cost)
{
    int64_t top = pack_limit(e->p, i, e->capacity) - e->p->size[i];
    int64_t here = 0, at = 0, best = 0;
    int equal = 0, start = 0, end = 0;
    *cost = INT64_MAX;
    while (start < n && e->starts[start].at < 0)
        here += e->starts[start++].weight;
    for (;;) {
        while (end < n && e->ends[end].at <= at)
            here -= e->ends[end++].weight;
        if (here < *cost)
            equal = 0;
        if (here < *cost || (here == *cost && draw(e, ++equal + 1) == 0)) {
            *cost = here;
            best = at;
        }
        if (at == top)
            return best;
        while (start < n && e->starts[start].at <= at)
            here += e->starts[start++].weight;
        at = top;
        if (end < n && e->ends[end].at < at)
            at = e->ends[end].at;
        if (start < n && e->starts[start].at < at)
            at = e->starts[start].at;
    }
}

static void
eject_others(Eject *e, int i, int64_t at)
{
    const PackProblem *p = e->p;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (e->placed[j] && e->offset[j] < at + p->size[i] &&
            at < e->offset[j] + p->size[j]) {
            e->placed[j] = false;
            e->left[e->n_left++] = j;
        }
    }
}

/* Mostly what was ejected last. */
static int
take_one(Eject *e)
{
    int k = draw(e, LATEST) ? e->n_left - 1 : (int)draw(e, e->n_left);
    int i = e->left[k];
    e->left[k] = e->left[--e->n_left];
    return i;
}

bool
eject_some(Eject *e, int64_t work, int64_t *effort)
{
    int64_t events = 0;
    while (e->n_left > 0 && *effort > 0 && work > 0) {
        int64_t cost;
        int i = take_one(e), n = collect(e, i);
        int64_t at = cheapest(e, i, n, &cost);
        if (cost > 0) {
            e->weight[i] += e->unit[i];
            eject_others(e, i, at);
        }
        e->offset[i] = at;
        e->placed[i] = true;
        events += n;
        work -= 1 + events / EVENTS_A_STEP;
        *effort -= 1 + events / EVENTS_A_STEP;
        events %= EVENTS_A_STEP;
    }
    return e->n_left == 0;
}

const int64_t *
eject_offsets(const Eject *e)
{
    return e->offset;
}
