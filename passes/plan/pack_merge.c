/* Agglomeration: pairs that waste nothing first, then those that waste least,
 * until nothing is left to join. */
#include "passes/plan/pack_merge.h"

#include <stdlib.h>

#include "ir/base/random.h"

typedef enum Join {
    JOIN_STACK, /* one on the other, at the same time */
    JOIN_CHAIN  /* one after the other, in the same place */
} Join;

typedef struct MergeNode {
    int64_t size, pad;
    int first, last;
    int below, above; /* or before, after; -1: an item of the problem */
    Join how;
} MergeNode;

/* Of every SHARE pairs that waste something one is joined at a time, for what
 * is joined may let others join without waste. Pairs that waste more than one
 * part of WASTE of the area are not joined. */
enum { SHARE = 16, WASTE = 4, UNIT = 1 << 20 };

/* Pairs that take as long as a step of the search. */
enum { LOOKED_AT = 8192, CONSIDERED = 256 };

typedef struct Pair {
    int64_t cost; /* what it wastes, of UNIT parts of its area */
    uint64_t order;
    int a, b;
    Join how;
} Pair;

typedef struct Merger {
    Arena *arena;
    int64_t align;
    MergeNode *nodes;
    int n_nodes;
    int *alive;
    int n_alive;
    int64_t *room; /* of a section: what may be wasted */
    MergeRule rule;
    VEC(Pair) pairs;
    bool *joined;
    int64_t looked_at, considered;
} Merger;

static MergeNode
join(const Merger *m, const Pair *x)
{
    const MergeNode *a = &m->nodes[x->a], *b = &m->nodes[x->b];
    MergeNode z = {.below = x->a, .above = x->b, .how = x->how};
    z.first = a->first < b->first ? a->first : b->first;
    z.last = a->last > b->last ? a->last : b->last;
    if (x->how == JOIN_STACK) {
        z.size = a->size + b->size;
        z.pad = b->pad;
        return z;
    }
    z.size = a->size > b->size ? a->size : b->size;
    int64_t pad_a = a->pad + (z.size - a->size) * m->align;
    int64_t pad_b = b->pad + (z.size - b->size) * m->align;
    z.pad = pad_a < pad_b ? pad_a : pad_b;
    return z;
}

/* Where a joined node has more than its parts. */
enum { PLACES = 4 };

typedef struct Waste {
    struct {
        int from, to; /* sections; none when to is smaller */
        int64_t size;
    } at[PLACES];
} Waste;

static Waste
waste_of(const Merger *m, const MergeNode *z)
{
    const MergeNode *a = &m->nodes[z->below], *b = &m->nodes[z->above];
    if (z->how == JOIN_STACK)
        return (Waste){{{z->first, a->first - 1, a->size},
                        {a->last + 1, z->last, a->size},
                        {z->first, b->first - 1, b->size},
                        {b->last + 1, z->last, b->size}}};
    return (Waste){{{a->first, a->last, z->size - a->size},
                    {a->last + 1, b->first - 1, z->size},
                    {b->first, b->last, z->size - b->size},
                    {0, -1, 0}}};
}

static double
area(const Waste *w)
{
    double sum = 0;
    for (int k = 0; k < PLACES; k++)
        if (w->at[k].from <= w->at[k].to)
            sum += (double)w->at[k].size * (w->at[k].to - w->at[k].from + 1);
    return sum;
}

/* What it wastes must be there. */
static bool
is_possible(const Merger *m, const Waste *w)
{
    for (int k = 0; k < PLACES; k++)
        for (int t = w->at[k].from; w->at[k].size && t <= w->at[k].to; t++)
            if (m->room[t] < w->at[k].size)
                return false;
    return true;
}

static void
take_room(Merger *m, const Waste *w)
{
    for (int k = 0; k < PLACES; k++)
        for (int t = w->at[k].from; t <= w->at[k].to; t++)
            m->room[t] -= w->at[k].size;
}

/* ---- pairs ---- */

static void
consider(Merger *m, int a, int b)
{
    const MergeNode *x = &m->nodes[a], *y = &m->nodes[b];
    Pair p = {.a = a, .b = b};
    m->considered++;
    p.how = x->last < y->first ? JOIN_CHAIN : JOIN_STACK;
    if (p.how == JOIN_STACK && x->pad > y->pad) {
        p.a = b; /* what ends in its last unit goes on top */
        p.b = a;
    }
    MergeNode z = join(m, &p);
    Waste w = waste_of(m, &z);
    double waste = area(&w), all = (double)z.size * (z.last - z.first + 1);
    if (waste > 0 && (m->rule.waste == 0 || waste > all / WASTE))
        return;
    p.cost = (int64_t)(waste / all * UNIT) + (waste > 0);
    p.order = random_mix(((uint64_t)a << 32 | (uint64_t)b) ^
                         random_mix(m->rule.seed));
    if (p.order % 1000 < (uint64_t)m->rule.doubt)
        return;
    if (is_possible(m, &w))
        vec_push(m->arena, &m->pairs, p);
}

static int
by_cost(const void *a, const void *b)
{
    const Pair *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->how != y->how)
        return x->how < y->how ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->a != y->a ? x->a - y->a : x->b - y->b;
}

/* Each pair once, what is earlier first; without waste, only what fits. */
static bool
is_pair(const Merger *m, int a, int b)
{
    const MergeNode *x = &m->nodes[a], *y = &m->nodes[b];
    if (x->last < y->first)
        return m->rule.waste > 0 ||
               (x->last + 1 == y->first && x->size == y->size);
    if (a >= b || x->first > y->last)
        return false;
    return m->rule.waste > 0 ||
           (x->first == y->first && x->last == y->last);
}

static void
find_pairs(Merger *m)
{
    m->pairs.n = 0;
    m->looked_at += (int64_t)m->n_alive * m->n_alive;
    for (int i = 0; i < m->n_alive; i++) {
        for (int k = 0; k < m->n_alive; k++) {
            int a = m->alive[i], b = m->alive[k];
            if (is_pair(m, a, b))
                consider(m, a, b);
        }
    }
    if (m->pairs.n > 0)
        qsort(m->pairs.at, (size_t)m->pairs.n, sizeof *m->pairs.at, by_cost);
}

/* ---- */

static void
replace_joined(Merger *m, int from)
{
    int n = 0;
    for (int k = 0; k < m->n_alive; k++)
        if (!m->joined[m->alive[k]])
            m->alive[n++] = m->alive[k];
    for (int i = from; i < m->n_nodes; i++)
        if (!m->joined[i])
            m->alive[n++] = i;
    m->n_alive = n;
}

/* All pairs that waste nothing, or else the cheapest few. */
static bool
join_round(Merger *m)
{
    int before = m->n_nodes;
    find_pairs(m);
    int most = m->pairs.n / SHARE + 1;
    for (int k = 0; k < m->pairs.n; k++) {
        const Pair *p = &m->pairs.at[k];
        if (p->cost > 0 && (k >= most || m->pairs.at[0].cost == 0))
            break;
        if (m->joined[p->a] || m->joined[p->b])
            continue;
        MergeNode z = join(m, p);
        Waste w = waste_of(m, &z);
        if (!is_possible(m, &w))
            continue;
        take_room(m, &w);
        m->joined[p->a] = m->joined[p->b] = true;
        m->nodes[m->n_nodes++] = z;
    }
    replace_joined(m, before);
    return m->n_nodes > before;
}

static void
find_room(Merger *m, const PackProblem *p, int64_t capacity)
{
    m->room = ARENA_ARRAY(m->arena, int64_t, p->n_sections + 1);
    for (int t = 0; t < p->n_sections; t++) {
        int64_t room = capacity / p->align - p->load[t];
        m->room[t] = room > 0 ? (int64_t)((double)room * m->rule.waste / 1000)
                              : 0;
    }
}

static Merger *
merger_new(Arena *a, const PackProblem *p, MergeRule rule)
{
    Merger *m = ARENA_NEW(a, Merger);
    *m = (Merger){.arena = a, .align = p->align, .rule = rule};
    m->n_nodes = p->n;
    m->nodes = ARENA_ARRAY(a, MergeNode, 2 * p->n + 1);
    m->alive = ARENA_ARRAY(a, int, p->n + 1);
    m->joined = ARENA_ARRAY(a, bool, 2 * p->n + 1);
    m->n_alive = p->n;
    for (int i = 0; i < p->n; i++) {
        m->alive[i] = i;
        m->nodes[i] = (MergeNode){p->size[i], p->pad[i], p->first[i],
                                  p->last[i], -1, -1, JOIN_STACK};
    }
    return m;
}

PackMerge *
pack_merge(Arena *a, const PackProblem *p, int64_t capacity, MergeRule rule)
{
    Merger *m = merger_new(a, p, rule);
    find_room(m, p, capacity);
    while (join_round(m))
        ;
    PackMerge *out = ARENA_NEW(a, PackMerge);
    PackBox *boxes = ARENA_ARRAY(a, PackBox, m->n_alive + 1);
    for (int k = 0; k < m->n_alive; k++) {
        const MergeNode *x = &m->nodes[m->alive[k]];
        boxes[k] = (PackBox){x->first, x->last + 1, x->size, x->pad};
    }
    *out = (PackMerge){pack_problem_of(a, boxes, m->n_alive, p->align),
                       m->nodes, m->n_nodes, m->alive, 0};
    out->work = m->looked_at / LOOKED_AT + m->considered / CONSIDERED;
    pack_sort_neighbours(out->p);
    return out;
}

void
pack_unmerge(const PackMerge *m, const int64_t *merged, int64_t *offset)
{
    Arena *a = arena_new();
    int64_t *at = ARENA_ARRAY(a, int64_t, m->n_nodes + 1);
    for (int k = 0; k < m->p->n; k++)
        at[m->node[k]] = merged[k];
    for (int i = m->n_nodes - 1; i >= 0; i--) {
        const MergeNode *x = &m->nodes[i];
        if (x->below < 0) {
            offset[i] = at[i];
            continue;
        }
        at[x->below] = at[i];
        at[x->above] = at[i];
        if (x->how == JOIN_STACK)
            at[x->above] += m->nodes[x->below].size;
    }
    arena_free(a);
}
