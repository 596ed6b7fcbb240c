#include "passes/plan/pack_tree.h"

#include <limits.h>

/* ---- what is next ---- */

static bool
better(const Tree *t, int a, int b)
{
    const int64_t *least = t->state->least;
    if (least[a] != least[b])
        return least[a] < least[b];
    if (t->priority[a] != t->priority[b])
        return t->priority[a] > t->priority[b];
    return a < b;
}

/* No open neighbour fits below it, so that all of them will lie above. */
static bool
nothing_below(const State *s, int i)
{
    const PackProblem *p = s->p;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (s->offset[j] < 0 && s->lifted[j] + p->size[j] <= s->least[i])
            return false;
    }
    return true;
}

/* May be placed, and rather than `best`. */
static bool
is_next(const Tree *t, int i, int best)
{
    const State *s = t->state;
    return !state_is_excluded(s, i) && (best < 0 || better(t, i, best)) &&
           nothing_below(s, i);
}

/* The best of those from `low` on, or of those in a section; -1: none. */
static int
best_of(const Tree *t, int section, int64_t low)
{
    const State *s = t->state;
    int best = -1;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        if (best >= 0 && s->lifted[i] > s->least[best])
            break;
        bool may = section >= 0 ? s->p->first[i] <= section &&
                                      section <= s->p->last[i]
                                : s->least[i] >= low &&
                                      (t->order != TREE_LEVEL ||
                                       s->least[i] < s->window);
        if (may && is_next(t, i, best))
            best = i;
    }
    return best;
}

/* How many items may be the lowest one in a section. */
static int
count_lowest(const State *s, Floor f)
{
    int n = 0;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        if (s->lifted[i] > f.at + s->room)
            break;
        n += s->p->first[i] <= f.section && f.section <= s->p->last[i];
    }
    return n;
}

/* Of the sections with the least room, one that leaves the least choice. */
static int
fewest(const State *s)
{
    int best = s->tight[0].section, least = INT_MAX;
    for (int k = 0; k < s->n_tight && least > 1; k++) {
        int n = count_lowest(s, s->tight[k]);
        if (n < least) {
            least = n;
            best = s->tight[k].section;
        }
    }
    return best;
}

/* -1: there is nothing that may be placed. */
static int
choose(const Tree *t, int64_t low)
{
    int i = -1;
    if (t->order == TREE_TIGHTEST)
        i = best_of(t, t->state->tight[0].section, 0);
    else if (t->order == TREE_FEWEST)
        i = best_of(t, fewest(t->state), 0);
    return i >= 0 ? i : best_of(t, -1, low);
}

/* ---- the search ---- */

static bool
is_lonely(const State *s, int i)
{
    const PackProblem *p = s->p;
    for (int k = p->start[i]; k < p->start[i + 1]; k++)
        if (s->offset[p->near[k]] < 0)
            return false;
    return true;
}

static bool
is_to_blame(const State *s, int i)
{
    return s->p->first[i] <= s->blame.hi && s->p->last[i] >= s->blame.lo;
}

static void
join(Range *r, Range other)
{
    r->lo = other.lo < r->lo ? other.lo : r->lo;
    r->hi = other.hi > r->hi ? other.hi : r->hi;
}

static bool descend(Tree *t, int64_t low);

static bool
place(Tree *t, int i)
{
    State *s = t->state;
    Placed x = state_place(s, i);
    if (descend(t, t->order == TREE_LEVEL ? s->offset[i] : 0))
        return true;
    state_take_back(s, x);
    return false;
}

/* Places all that is open. The next item is placed where it lies lowest; when
 * that failed, not there: something open must come below it, which the rest
 * of the search knows. An item that a failure has nothing to do with is not
 * moved: the failure goes on to the one before. */
static bool
descend(Tree *t, int64_t low)
{
    State *s = t->state;
    int n_excluded = s->excluded.n;
    Range all = {s->p->n_sections, -1};
    if (s->n_open == 0)
        return true;
    if (s->p->n - s->n_open > t->most)
        t->most = s->p->n - s->n_open;
    while (t->steps-- > 0) {
        if (!state_settle(s, low)) {
            join(&all, s->blame);
            break;
        }
        int i = choose(t, low);
        if (i < 0) {
            all = (Range){0, s->p->n_sections};
            break;
        }
        bool lonely = is_lonely(s, i);
        if (place(t, i))
            return true;
        if (t->steps <= 0)
            break;
        if (!is_to_blame(s, i)) {
            all = s->blame;
            break;
        }
        join(&all, s->blame);
        if (lonely)
            break; /* nothing can lie below it */
        state_exclude(s, i, s->blame);
    }
    state_include(s, n_excluded);
    s->blame = all;
    return false;
}

bool
tree_try(Tree *t, int64_t steps, int64_t *effort)
{
    state_clear(t->state);
    t->steps = steps < *effort ? steps : *effort;
    t->most = 0;
    int64_t before = t->steps;
    bool done = descend(t, 0);
    *effort -= before - (t->steps > 0 ? t->steps : 0);
    return done;
}
