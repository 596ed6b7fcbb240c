/* Canonical search: items are placed in order of their offsets, each at the
 * smallest that is free, so every answer that rests on the ground is met
 * once. Many tiny tries with changing priorities, for the time to a failure
 * has a heavy tail. */
#include "passes/plan/pack_search.h"

#include <stdlib.h>

enum {
    MAX_BRANCH = 24, /* alternatives kept of one step */
    TRY_STEPS = 150, /* of a try, and one more for each item */
    STATIC_EVERY = 40,
    STALE_TRIES = 200
};

typedef struct Undo {
    int item;
    int64_t old;
} Undo;

typedef struct Search {
    const PackProblem *p;
    int64_t capacity;
    int64_t *least;  /* smallest offset that the placed ones leave */
    int64_t *offset; /* -1: not placed */
    int64_t *lifted; /* least, or what unplaced neighbours lift it to */
    int64_t *rest;   /* of a section: sizes not placed yet */
    uint64_t *busy;  /* sections with such sizes, as bits */
    uint64_t *left;  /* of these, the ones that have no floor yet */
    int n_words;
    int64_t *priority;
    int *open; /* unplaced items, nearly sorted by lifted */
    int n_open;
    Undo *undo;
    int n_undo;
    int64_t *fails; /* of a section, in this round */
    int lo, hi;     /* sections that the last failure has to do with */
    int most;       /* items placed at once in this try */
    int64_t steps;  /* left in this try */
    uint64_t random;
} Search;

static uint64_t
draw(Search *s)
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns where it was among the open ones. */
static int
place(Search *s, int i)
{
    const PackProblem *p = s->p;
    s->offset[i] = s->least[i];
    int64_t top = s->least[i] + p->size[i];
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (s->offset[j] < 0 && s->least[j] < top) {
            s->undo[s->n_undo++] = (Undo){j, s->least[j]};
            s->least[j] = top;
        }
    }
    for (int t = p->first[i]; t <= p->last[i]; t++) {
        s->rest[t] -= p->size[i];
        if (s->rest[t] == 0)
            s->busy[t / 64] &= ~((uint64_t)1 << t % 64);
    }
    int at = 0;
    while (s->open[at] != i)
        at++;
    s->n_open--;
    memmove(s->open + at, s->open + at + 1,
            sizeof *s->open * (size_t)(s->n_open - at));
    return at;
}

static void
take_back(Search *s, int i, int at, int n_undo)
{
    const PackProblem *p = s->p;
    while (s->n_undo > n_undo) {
        Undo u = s->undo[--s->n_undo];
        s->least[u.item] = u.old;
    }
    for (int t = p->first[i]; t <= p->last[i]; t++) {
        s->rest[t] += p->size[i];
        s->busy[t / 64] |= (uint64_t)1 << t % 64;
    }
    s->offset[i] = -1;
    memmove(s->open + at + 1, s->open + at,
            sizeof *s->open * (size_t)(s->n_open - at));
    s->open[at] = i;
    s->n_open++;
}

/* An item whose least offset lies below the last placed one must come to lie
 * on a neighbour that is placed from now on. -1: there is none. */
static int64_t
lift(const Search *s, int i, int64_t low)
{
    const PackProblem *p = s->p;
    int64_t best = -1;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (s->offset[j] >= 0)
            continue;
        if (best >= 0 && low + p->size[j] >= best)
            break;
        int64_t top = (s->least[j] < low ? low : s->least[j]) + p->size[j];
        if (best < 0 || top < best)
            best = top;
    }
    return best;
}

static void
blame_item(Search *s, int i)
{
    for (int t = s->p->first[i]; t <= s->p->last[i]; t++)
        s->fails[t]++;
    s->lo = s->p->first[i];
    s->hi = s->p->last[i];
}

/* By lifted; they are nearly sorted from the step before. */
static void
sort_open(Search *s)
{
    for (int k = 1; k < s->n_open; k++) {
        int i = s->open[k], at = k;
        int64_t v = s->lifted[i];
        for (; at > 0 && s->lifted[s->open[at - 1]] > v; at--)
            s->open[at] = s->open[at - 1];
        s->open[at] = i;
    }
}

/* The place of the lowest bit: the words that this factor shifts by 0 to 63
 * differ in their first six bits. */
static int
lowest_bit(uint64_t word)
{
    static const unsigned char place[64] = {
        0,  1,  2,  53, 3,  7,  54, 27, 4,  38, 41, 8,  34, 55, 48, 28,
        62, 5,  39, 46, 44, 42, 22, 9,  24, 35, 59, 56, 49, 18, 29, 11,
        63, 52, 6,  26, 37, 40, 33, 47, 61, 45, 43, 21, 23, 58, 17, 10,
        51, 25, 36, 32, 60, 20, 57, 16, 50, 31, 19, 15, 30, 14, 13, 12,
    };
    return place[((word & -word) * 0x022fdd63cc95386du) >> 58];
}

static void
blame_section(Search *s, int t)
{
    const PackProblem *p = s->p;
    s->fails[t]++;
    s->lo = s->hi = t;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        if (p->first[i] > t || p->last[i] < t)
            continue;
        if (p->first[i] < s->lo)
            s->lo = p->first[i];
        if (p->last[i] > s->hi)
            s->hi = p->last[i];
    }
}

/* The sections of item i that have no floor yet get this one; false when
 * what is to come above it is too much. */
static bool
set_floor(Search *s, int i, int64_t floor)
{
    int from = s->p->first[i], to = s->p->last[i];
    for (int w = from / 64; w <= to / 64; w++) {
        uint64_t mask = ~(uint64_t)0;
        if (w == from / 64)
            mask <<= from % 64;
        if (w == to / 64)
            mask &= ~(uint64_t)0 >> (63 - to % 64);
        uint64_t new = s->left[w] & mask;
        for (s->left[w] &= ~mask; new; new &= new - 1) {
            int t = 64 * w + lowest_bit(new);
            if (floor + s->rest[t] > s->capacity) {
                blame_section(s, t);
                return false;
            }
        }
    }
    return true;
}

static bool
floors_fit(Search *s)
{
    memcpy(s->left, s->busy, sizeof *s->left * (size_t)s->n_words);
    for (int k = 0; k < s->n_open; k++)
        if (!set_floor(s, s->open[k], s->lifted[s->open[k]]))
            return false;
    return true;
}

/* False when no placement above `low` can be completed. Sets *window: an item
 * placed there or above would leave a gap that another one fits into. */
static bool
look(Search *s, int64_t low, int64_t *window)
{
    const PackProblem *p = s->p;
    *window = s->capacity;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        int64_t at = s->least[i], top = at + p->size[i];
        if (top < *window)
            *window = top;
        if (at < low)
            at = top <= low ? -1 : lift(s, i, low);
        s->lifted[i] = at;
        if (at < 0 || at + p->size[i] > s->capacity) {
            blame_item(s, i);
            return false;
        }
    }
    sort_open(s);
    return floors_fit(s);
}

static bool
better(const Search *s, int a, int b)
{
    if (s->least[a] != s->least[b])
        return s->least[a] < s->least[b];
    if (s->priority[a] != s->priority[b])
        return s->priority[a] > s->priority[b];
    return a < b;
}

static int
branches(const Search *s, int64_t low, int64_t window, int *out)
{
    int n = 0;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        if (s->least[i] < low || s->least[i] >= window)
            continue;
        if (n == MAX_BRANCH && !better(s, i, out[n - 1]))
            continue;
        int at = n < MAX_BRANCH ? n++ : n - 1;
        for (; at > 0 && better(s, i, out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}

static bool
lonely(const Search *s, int i)
{
    const PackProblem *p = s->p;
    for (int k = p->start[i]; k < p->start[i + 1]; k++)
        if (s->offset[p->near[k]] < 0)
            return false;
    return true;
}

/* Sections that failures have to do with, of several together. */
static void
join_blame(const Search *s, int *lo, int *hi)
{
    if (s->lo < *lo)
        *lo = s->lo;
    if (s->hi > *hi)
        *hi = s->hi;
}

static bool
is_to_blame(const Search *s, int i)
{
    return s->p->first[i] <= s->hi && s->p->last[i] >= s->lo;
}

/* Places all that is open, at `low` or above. An item that a failure has
 * nothing to do with is not moved: the failure goes on to the one before. */
static bool
descend(Search *s, int64_t low)
{
    int64_t window;
    int branch[MAX_BRANCH], lo = s->p->n_sections, hi = -1;
    if (s->n_open == 0)
        return true;
    if (s->p->n - s->n_open > s->most)
        s->most = s->p->n - s->n_open;
    if (s->steps-- <= 0 || !look(s, low, &window))
        return false;
    int n = branches(s, low, window, branch);
    for (int k = 0; k < n; k++) {
        int i = branch[k], mark = s->n_undo;
        bool alone = lonely(s, i);
        int at = place(s, i);
        if (descend(s, s->offset[i]))
            return true;
        take_back(s, i, at, mark);
        if (s->steps <= 0 || !is_to_blame(s, i))
            return false;
        join_blame(s, &lo, &hi);
        if (alone)
            break;
    }
    s->lo = n > 0 ? lo : 0;
    s->hi = n > 0 ? hi : s->p->n_sections;
    return false;
}

static void
clear(Search *s)
{
    const PackProblem *p = s->p;
    s->n_open = p->n;
    s->n_undo = 0;
    s->most = 0;
    for (int i = 0; i < p->n; i++) {
        s->open[i] = i;
        s->least[i] = 0;
        s->offset[i] = -1;
    }
    memcpy(s->rest, p->load, sizeof *s->rest * (size_t)p->n_sections);
    for (int t = 0; t < p->n_sections; t++)
        if (s->rest[t] > 0)
            s->busy[t / 64] |= (uint64_t)1 << t % 64;
}

static bool
try_once(Search *s, int64_t steps, int64_t *effort)
{
    clear(s);
    s->steps = steps < *effort ? steps : *effort;
    int64_t before = s->steps;
    bool done = descend(s, 0);
    *effort -= before - (s->steps > 0 ? s->steps : 0);
    return done;
}

/* By width, area, size, or load of the fullest section: what is large first.
 * Ranks are what priorities are made of, so that all are of one scale. */
static int64_t
weight(const PackProblem *p, int i, int order)
{
    int64_t width = p->last[i] - p->first[i] + 1, most = 0;
    switch (order) {
    case 0:
        return p->size[i];
    case 1:
        return width;
    case 2:
        return width * p->size[i];
    default:
        for (int t = p->first[i]; t <= p->last[i]; t++)
            if (p->load[t] > most)
                most = p->load[t];
        return most;
    }
}

typedef struct Rank {
    int64_t weight;
    int item;
} Rank;

static int
by_weight(const void *a, const void *b)
{
    const Rank *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return y->item - x->item;
}

static void
static_order(Search *s, Rank *ranks, int order, int64_t *priority)
{
    for (int i = 0; i < s->p->n; i++)
        ranks[i] = (Rank){weight(s->p, i, order), i};
    qsort(ranks, (size_t)s->p->n, sizeof *ranks, by_weight);
    for (int k = 0; k < s->p->n; k++)
        priority[ranks[k].item] = k;
}

/* Raises the items of the section that failed most, and a few others. */
static void
disturb(Search *s, const int64_t *from)
{
    const PackProblem *p = s->p;
    int worst = 0;
    for (int t = 1; t < p->n_sections; t++)
        if (s->fails[t] > s->fails[worst])
            worst = t;
    memcpy(s->priority, from, sizeof *from * (size_t)p->n);
    uint64_t span = (uint64_t)p->n;
    for (int i = 0; i < p->n; i++) {
        bool there = p->first[i] <= worst && worst <= p->last[i];
        if (draw(s) % (there ? 8 : 80) == 0)
            s->priority[i] += (int64_t)(draw(s) % span) -
                              (int64_t)(there ? span / 4 : span / 2);
    }
    for (int t = 0; t < p->n_sections; t++)
        s->fails[t] /= 2;
}

static Search *
search_new(const PackProblem *p, int64_t capacity)
{
    Arena *a = p->arena;
    int n = p->n;
    Search *s = ARENA_NEW(a, Search);
    s->p = p;
    s->capacity = capacity;
    s->least = ARENA_ARRAY(a, int64_t, n + 1);
    s->offset = ARENA_ARRAY(a, int64_t, n + 1);
    s->lifted = ARENA_ARRAY(a, int64_t, n + 1);
    s->priority = ARENA_ARRAY(a, int64_t, n + 1);
    s->rest = ARENA_ARRAY(a, int64_t, p->n_sections + 1);
    s->n_words = p->n_sections / 64 + 1;
    s->busy = ARENA_ARRAY(a, uint64_t, s->n_words);
    s->left = ARENA_ARRAY(a, uint64_t, s->n_words);
    s->fails = ARENA_ARRAY(a, int64_t, p->n_sections + 1);
    s->open = ARENA_ARRAY(a, int, n + 1);
    s->undo = ARENA_ARRAY(a, Undo, p->start[n] / 2 + 1);
    s->random = 1;
    return s;
}

static bool
rounds(Search *s, int64_t *effort)
{
    int n = s->p->n, best = 0, stale = 0;
    int64_t *keep = ARENA_ARRAY(s->p->arena, int64_t, n + 1);
    Rank *ranks = ARENA_ARRAY(s->p->arena, Rank, n + 1);
    for (int64_t t = 0; *effort > 0; t++) {
        int64_t steps = TRY_STEPS + n;
        if (t % STATIC_EVERY == 0) {
            static_order(s, ranks, (int)(t / STATIC_EVERY % 4), s->priority);
            steps *= 2;
        } else {
            disturb(s, keep);
        }
        if (try_once(s, steps, effort))
            return true;
        if (s->most >= best) {
            stale = s->most > best ? 0 : stale + 1;
            best = s->most;
            memcpy(keep, s->priority, sizeof *keep * (size_t)n);
        } else if (++stale > STALE_TRIES) {
            best = stale = 0;
            static_order(s, ranks, (int)(draw(s) % 4), keep);
        }
    }
    return false;
}

bool
pack_search(const PackProblem *p, int64_t capacity, int64_t *effort,
            int64_t *offset)
{
    for (int t = 0; t < p->n_sections; t++)
        if (p->load[t] > capacity)
            return false;
    Search *s = search_new(p, capacity);
    if (!rounds(s, effort))
        return false;
    memcpy(offset, s->offset, sizeof *offset * (size_t)p->n);
    return true;
}
