/* Many short tries of several kinds in turns, for the time to a failure has a
 * heavy tail: what takes one kind forever takes another no time. */
#include "passes/plan/pack_search.h"

#include <stdlib.h>

#include "ir/base/random.h"
#include "passes/plan/pack_eject.h"
#include "passes/plan/pack_merge.h"
#include "passes/plan/pack_tree.h"

enum {
    ORDERS = 4,      /* static ones, which come first */
    TRY_STEPS = 150, /* of a try, and one more for each item */
    STATIC_EVERY = 40,
    STALE_TRIES = 200,
    TURN = 1000,  /* steps of one kind, then it is the next one's turn */
    FIRST = 16000 /* steps of one problem, then it is the next one's turn */
};

/* Tries of one kind, with the priorities that got furthest. */
typedef struct Tries {
    Tree tree;
    int64_t *keep;
    int best, stale;
    int64_t n;
} Tries;

typedef struct Search {
    PackProblem own;
    const PackProblem *p;
    int64_t *offset; /* the answer */
    bool impossible; /* all has been tried */
    Tries tries[TREE_ORDERS];
    Eject *eject;
    struct Rank *ranks;
    uint64_t random;
} Search;

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
static_order(Search *s, int order, int64_t *priority)
{
    for (int i = 0; i < s->p->n; i++)
        s->ranks[i] = (Rank){weight(s->p, i, order), i};
    qsort(s->ranks, (size_t)s->p->n, sizeof *s->ranks, by_weight);
    for (int k = 0; k < s->p->n; k++)
        priority[s->ranks[k].item] = k;
}

/* Raises the items of the section that failed most, and a few others. */
static void
disturb(Search *s, Tries *x)
{
    const PackProblem *p = s->p;
    int64_t *fails = x->tree.state->fails, *priority = x->tree.priority;
    int worst = 0;
    for (int t = 1; t < p->n_sections; t++)
        if (fails[t] > fails[worst])
            worst = t;
    memcpy(priority, x->keep, sizeof *priority * (size_t)p->n);
    uint64_t span = (uint64_t)p->n;
    for (int i = 0; i < p->n; i++) {
        bool there = p->first[i] <= worst && worst <= p->last[i];
        if (random_next(&s->random) % (there ? 8 : 80) == 0)
            priority[i] += (int64_t)(random_next(&s->random) % span) -
                           (int64_t)(there ? span / 4 : span / 2);
    }
    for (int t = 0; t < p->n_sections; t++)
        fails[t] /= 2;
}

static bool
try_once(Search *s, Tries *x, int64_t *effort)
{
    int64_t steps = TRY_STEPS + s->p->n;
    int64_t round = x->n / STATIC_EVERY;
    if (x->n < ORDERS || x->n % STATIC_EVERY == 0) {
        int64_t k = x->n < ORDERS ? x->n : round;
        static_order(s, (int)(k % ORDERS), x->tree.priority);
        steps *= 2 + round; /* in the end it may go through everything */
    } else {
        disturb(s, x);
    }
    x->n++;
    if (tree_try(&x->tree, steps, effort))
        return true;
    s->impossible = x->tree.steps > 0;
    int most = x->tree.most;
    if (most >= x->best) {
        x->stale = most > x->best ? 0 : x->stale + 1;
        x->best = most;
        memcpy(x->keep, x->tree.priority, sizeof *x->keep * (size_t)s->p->n);
    } else if (++x->stale > STALE_TRIES) {
        x->best = x->stale = 0;
        static_order(s, (int)(random_next(&s->random) % ORDERS), x->keep);
    }
    return false;
}

static bool
try_some(Search *s, Tries *x, int64_t *effort)
{
    int64_t end = *effort - TURN;
    while (*effort > 0 && *effort > end && !s->impossible)
        if (try_once(s, x, effort))
            return true;
    return false;
}

static Search *
search_new(Arena *a, const PackProblem *p, int64_t capacity,
           const int64_t *offset)
{
    Search *s = ARENA_NEW(a, Search);
    s->own = *p;
    s->own.arena = a;
    s->p = &s->own;
    s->random = 1;
    s->offset = ARENA_ARRAY(a, int64_t, p->n + 1);
    s->ranks = ARENA_ARRAY(a, Rank, p->n + 1);
    for (int k = 0; k < TREE_ORDERS; k++) {
        s->tries[k].tree = (Tree){.order = (TreeOrder)k};
        s->tries[k].tree.state = state_new(s->p, capacity);
        s->tries[k].tree.priority = ARENA_ARRAY(a, int64_t, p->n + 1);
        s->tries[k].keep = ARENA_ARRAY(a, int64_t, p->n + 1);
        s->impossible |= !state_may_fit(s->tries[k].tree.state);
    }
    if (offset)
        s->eject = eject_new(s->p, capacity, offset);
    return s;
}

/* One turn of each kind. */
static bool
take_turns(Search *s, int64_t *effort)
{
    const int64_t *found = NULL;
    for (int k = 0; !found && k < TREE_ORDERS && !s->impossible; k++)
        if (try_some(s, &s->tries[k], effort))
            found = s->tries[k].tree.state->offset;
    if (!found && s->eject && eject_some(s->eject, 2 * TURN, effort))
        found = eject_offsets(s->eject);
    if (found)
        memcpy(s->offset, found, sizeof *found * (size_t)s->p->n);
    return found != NULL;
}

/* ---- the problem as it is, and what it is when pieces are joined ---- */

typedef struct Portfolio {
    const PackProblem *p;
    int64_t capacity;
    int64_t *effort;
    int64_t *offset;
    Search *whole;
    Search *exact; /* all is joined that can be without waste */
    int n_rules;
} Portfolio;

static bool
search_some(Search *s, int64_t steps, int64_t *effort)
{
    int64_t end = *effort - steps;
    while (*effort > 0 && *effort > end && !s->impossible)
        if (take_turns(s, effort))
            return true;
    return false;
}

static bool
search_merged(Portfolio *f, const PackMerge *m, Search *s, int64_t steps)
{
    if (!search_some(s, steps, f->effort))
        return false;
    pack_unmerge(m, s->offset, f->offset);
    return true;
}

/* Other choices of what is joined, one after the other. */
static bool
search_other(Portfolio *f, int64_t steps)
{
    static const MergeRule rules[] = {{0, 50, 0},    {250, 0, 0},
                                      {0, 150, 0},   {1000, 20, 0},
                                      {250, 100, 0}, {500, 50, 0}};
    MergeRule rule = rules[f->n_rules % 6];
    Arena *a = arena_new();
    rule.seed = (uint64_t)++f->n_rules;
    PackMerge *m = pack_merge(a, f->p, f->capacity, rule);
    *f->effort -= m->work;
    Search *s = search_new(a, m->p, f->capacity, NULL);
    bool found = search_merged(f, m, s, steps);
    arena_free(a);
    return found;
}

static bool
search_whole(Portfolio *f, int64_t steps)
{
    if (!search_some(f->whole, steps, f->effort))
        return false;
    memcpy(f->offset, f->whole->offset,
           sizeof *f->offset * (size_t)f->p->n);
    return true;
}

/* Longer and longer turns. */
static PackAnswer
search_all(Portfolio *f)
{
    for (int64_t steps = FIRST; *f->effort > 0; steps += steps / 4) {
        if (search_merged(f, f->p->exact, f->exact, steps) ||
            search_other(f, steps) || search_other(f, steps) ||
            search_whole(f, steps))
            return PACK_FITS;
        if (f->whole->impossible)
            return PACK_NEVER;
    }
    return PACK_OPEN;
}

PackAnswer
pack_search(PackProblem *p, int64_t capacity, int64_t *effort,
            int64_t *offset)
{
    if (!p->exact) {
        p->exact = pack_merge(p->arena, p, capacity, (MergeRule){0, 0, 0});
        *effort -= p->exact->work;
    }
    Arena *a = arena_new();
    Portfolio f = {p, capacity, effort, offset, NULL, NULL, 0};
    f.whole = search_new(a, p, capacity, offset);
    f.exact = search_new(a, p->exact->p, capacity, NULL);
    PackAnswer answer = f.whole->impossible ? PACK_NEVER : search_all(&f);
    arena_free(a);
    return answer;
}
