#include "passes/plan/pack_state.h"

static void
set_limits(State *s, int64_t capacity)
{
    const PackProblem *p = s->p;
    s->limit = ARENA_ARRAY(p->arena, int64_t, p->n + 1);
    s->capacity = ARENA_ARRAY(p->arena, int64_t, p->n_sections + 1);
    for (int i = 0; i < p->n; i++) {
        s->limit[i] = pack_limit(p, i, capacity);
        for (int t = p->first[i]; t <= p->last[i]; t++)
            if (s->limit[i] > s->capacity[t])
                s->capacity[t] = s->limit[i];
    }
}

State *
state_new(const PackProblem *p, int64_t capacity)
{
    Arena *a = p->arena;
    int n = p->n;
    State *s = ARENA_NEW(a, State);
    *s = (State){.p = p};
    set_limits(s, capacity);
    s->offset = ARENA_ARRAY(a, int64_t, n + 1);
    s->least = ARENA_ARRAY(a, int64_t, n + 1);
    s->never = ARENA_ARRAY(a, int64_t, n + 1);
    s->because = ARENA_ARRAY(a, Range, n + 1);
    s->lifted = ARENA_ARRAY(a, int64_t, n + 1);
    s->open = ARENA_ARRAY(a, int, n + 1);
    s->low = ARENA_ARRAY(a, int, n + 1);
    s->rest = ARENA_ARRAY(a, int64_t, p->n_sections + 1);
    s->n_words = p->n_sections / 64 + 1;
    s->busy = ARENA_ARRAY(a, uint64_t, s->n_words);
    s->left = ARENA_ARRAY(a, uint64_t, s->n_words);
    s->fails = ARENA_ARRAY(a, int64_t, p->n_sections + 1);
    return s;
}

bool
state_may_fit(const State *s)
{
    for (int i = 0; i < s->p->n; i++)
        if (s->p->size[i] > s->limit[i])
            return false;
    for (int t = 0; t < s->p->n_sections; t++)
        if (s->p->load[t] > s->capacity[t])
            return false;
    return true;
}

void
state_clear(State *s)
{
    const PackProblem *p = s->p;
    s->n_open = p->n;
    s->raised.n = 0;
    s->excluded.n = 0;
    for (int i = 0; i < p->n; i++) {
        s->open[i] = i;
        s->least[i] = 0;
        s->offset[i] = s->never[i] = -1;
    }
    for (int t = 0; t < p->n_sections; t++) {
        s->rest[t] = p->load[t];
        if (s->rest[t] > 0)
            s->busy[t / 64] |= (uint64_t)1 << t % 64;
    }
}

/* ---- placing ---- */

Placed
state_place(State *s, int i)
{
    const PackProblem *p = s->p;
    Placed x = {i, 0, s->raised.n};
    s->offset[i] = s->least[i];
    int64_t top = s->least[i] + p->size[i];
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (s->offset[j] < 0 && s->least[j] < top) {
            vec_push(p->arena, &s->raised, ((Raised){j, s->least[j]}));
            s->least[j] = top;
        }
    }
    for (int t = p->first[i]; t <= p->last[i]; t++) {
        s->rest[t] -= p->size[i];
        if (s->rest[t] == 0)
            s->busy[t / 64] &= ~((uint64_t)1 << t % 64);
    }
    while (s->open[x.at] != i)
        x.at++;
    s->n_open--;
    memmove(s->open + x.at, s->open + x.at + 1,
            sizeof *s->open * (size_t)(s->n_open - x.at));
    return x;
}

void
state_take_back(State *s, Placed x)
{
    const PackProblem *p = s->p;
    int i = x.item;
    while (s->raised.n > x.n_raised) {
        Raised r = s->raised.at[--s->raised.n];
        s->least[r.item] = r.old;
    }
    for (int t = p->first[i]; t <= p->last[i]; t++) {
        s->rest[t] += p->size[i];
        s->busy[t / 64] |= (uint64_t)1 << t % 64;
    }
    s->offset[i] = -1;
    memmove(s->open + x.at + 1, s->open + x.at,
            sizeof *s->open * (size_t)(s->n_open - x.at));
    s->open[x.at] = i;
    s->n_open++;
}

void
state_exclude(State *s, int i, Range because)
{
    vec_push(s->p->arena, &s->excluded,
             ((Excluded){i, s->never[i], s->because[i]}));
    s->never[i] = s->least[i];
    s->because[i] = because;
}

void
state_include(State *s, int n)
{
    while (s->excluded.n > n) {
        Excluded x = s->excluded.at[--s->excluded.n];
        s->never[x.item] = x.old;
        s->because[x.item] = x.because;
    }
}

bool
state_is_excluded(const State *s, int i)
{
    return s->never[i] == s->least[i];
}

/* ---- blame ---- */

static void
blame(State *s, int i)
{
    const PackProblem *p = s->p;
    Range r = {p->first[i], p->last[i]};
    if (state_is_excluded(s, i)) {
        r.lo = s->because[i].lo < r.lo ? s->because[i].lo : r.lo;
        r.hi = s->because[i].hi > r.hi ? s->because[i].hi : r.hi;
    }
    s->blame.lo = r.lo < s->blame.lo ? r.lo : s->blame.lo;
    s->blame.hi = r.hi > s->blame.hi ? r.hi : s->blame.hi;
}

static void
blame_item(State *s, int i)
{
    s->blame = (Range){s->p->first[i], s->p->last[i]};
    blame(s, i);
    for (int t = s->p->first[i]; t <= s->p->last[i]; t++)
        s->fails[t]++;
}

static void
blame_section(State *s, int t)
{
    const PackProblem *p = s->p;
    s->fails[t]++;
    s->blame = (Range){t, t};
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        if (p->first[i] <= t && t <= p->last[i])
            blame(s, i);
    }
}

/* ---- conclusions ---- */

/* An item that is not placed at its least offset must come to lie on a
 * neighbour that is placed from now on, at `low` or above. -1: there is
 * none. */
static int64_t
lift(const State *s, int i, int64_t low)
{
    const PackProblem *p = s->p;
    int64_t best = -1;
    for (int k = p->start[i]; k < p->start[i + 1]; k++) {
        int j = p->near[k];
        if (s->offset[j] >= 0)
            continue;
        if (best >= 0 && low + p->size[j] >= best)
            break;
        int64_t top = (s->lifted[j] < low ? low : s->lifted[j]) + p->size[j];
        if (best < 0 || top < best)
            best = top;
    }
    return best > s->least[i] || best < 0 ? best : s->least[i] + 1;
}

/* By lifted; they are nearly sorted from the step before. */
static void
sort_open(State *s)
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
add_tight(State *s, Floor f, int64_t room)
{
    if (room < s->room)
        s->n_tight = 0;
    s->room = room;
    if (s->n_tight < STATE_TIGHT)
        s->tight[s->n_tight++] = f;
}

/* The sections of item i that have no floor yet get this one; false when
 * what is to come above it is too much. */
static bool
set_floor(State *s, int i, int64_t floor)
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
            int64_t room = s->capacity[t] - floor - s->rest[t];
            if (room < 0) {
                blame_section(s, t);
                return false;
            }
            if (room <= s->room)
                add_tight(s, (Floor){t, floor}, room);
        }
    }
    return true;
}

/* What each item lies above. Items that have to be lifted come last: each is
 * lifted by what is known of the others. */
static bool
find_lifted(State *s, int64_t low)
{
    int n_low = 0;
    s->window = INT64_MAX;
    for (int k = 0; k < s->n_open; k++) {
        int i = s->open[k];
        int64_t at = s->least[i], top = at + s->p->size[i];
        s->window = top < s->window ? top : s->window;
        s->lifted[i] = at;
        if (at < low || state_is_excluded(s, i))
            s->low[n_low++] = i;
        if (top <= low || top > s->limit[i]) {
            blame_item(s, i); /* it could have been placed there; or cannot */
            return false;
        }
    }
    for (int k = 0; k < n_low; k++) {
        int i = s->low[k];
        int64_t at = lift(s, i, low);
        if (at < 0 || at + s->p->size[i] > s->limit[i]) {
            blame_item(s, i);
            return false;
        }
        s->lifted[i] = at;
    }
    return true;
}

bool
state_settle(State *s, int64_t low)
{
    if (!find_lifted(s, low))
        return false;
    sort_open(s);
    s->room = INT64_MAX;
    s->n_tight = 0;
    memcpy(s->left, s->busy, sizeof *s->left * (size_t)s->n_words);
    for (int k = 0; k < s->n_open; k++)
        if (!set_floor(s, s->open[k], s->lifted[s->open[k]]))
            return false;
    return true;
}
