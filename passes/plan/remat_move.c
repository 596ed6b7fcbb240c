#include "passes/plan/remat_move.h"

enum {
    CHAIN = 24,  /* runs that one eviction may repeat */
    DRAG = 12,   /* runs that move together */
    PROBES = 24, /* draws before a search gives up */
    CROWD = 8,   /* slots looked at for a crowded one, */
    QUIET = 6,   /* and for a quiet one */
    SHORT = 16   /* slots: a short way */
};

static uint32_t
draw(Random *x)
{
    uint64_t old = x->state;
    x->state = old * 6364136223846793005u + 1442695040888963407u;
    uint32_t mix = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);
    return (mix >> turn) | (mix << ((32 - turn) & 31));
}

uint32_t
random_below(Random *x, uint32_t n)
{
    return (uint32_t)(((uint64_t)draw(x) * n) >> 32);
}

static int
below(Mover *m, int n)
{
    return (int)random_below(&m->random, (uint32_t)n);
}

/* A run in the slots [from, to), or -1. */
static int
probe_run(Mover *m, int from, int to)
{
    Sequence *q = &m->q;
    for (int i = 0; i < PROBES && from < to; i++) {
        int r = q->at[from + below(m, to - from)];
        if (r >= 0)
            return r;
    }
    return -1;
}

/* A slot in [from, to) whose load is above the limit, by probing; else the
 * fullest one met. */
static int
crowded_slot(Mover *m, int from, int to)
{
    Sequence *q = &m->q;
    int best = from + below(m, to - from);
    for (int i = 0; i < CROWD; i++) {
        int t = from + below(m, to - from);
        if (q->over[t] > 0)
            return t;
        if (q->over[t] > q->over[best])
            best = t;
    }
    return best;
}

/* The runs that r reads, so that those that nothing reads later can go. */
static int
serving(const Sequence *q, int r, int *runs, int most)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], n = 0;
    for (int i = g->start[v]; i < g->start[v + 1] && n < most; i++)
        runs[n++] = sequence_latest(q, g->inputs[i], q->slot[r]);
    return n;
}

enum { MOST = 8 };

static void
remove_run(Sequence *q, int r)
{
    int runs[MOST], n = serving(q, r, runs, MOST);
    sequence_remove(q, r);
    for (int i = 0; i < n; i++)
        sequence_drop(q, runs[i]);
}

/* Runs v again just before the run y, and before it, each by a coin, those
 * of its inputs that are dead there; *room bounds how many. */
static bool
run_again(Mover *m, int v, int y, int *room)
{
    Sequence *q = &m->q;
    const FlatGraph *g = q->g;
    if (q->time + g->time[v] > m->most_time)
        return false;
    for (int i = g->start[v];
         i < g->start[v + 1] && *room > 1 && q->slot[y] >= 0; i++) {
        int u = g->inputs[i], r = sequence_latest(q, u, q->slot[y]);
        if (q->slot[q->last[r]] < q->slot[y] &&
            (int)(draw(&m->random) >> 30) < m->again) {
            --*room;
            if (!run_again(m, u, y, room))
                return false;
        }
    }
    if (q->slot[y] < 0)
        return false; /* a drop took it */
    int r = sequence_insert(q, q->slot[y], v);
    if (r < 0)
        return false;
    if (q->next[r] >= 0 && q->next[r] != y && below(m, 4) == 0)
        remove_run(q, q->next[r]); /* one run for both */
    if (q->prev[r] >= 0)
        sequence_drop(q, q->prev[r]);
    return true;
}

/* A slot with a run from `from` to `to`, which has one: `to` itself, or by
 * probing one where little is live. */
static int
quiet_slot(Mover *m, int from, int to)
{
    const Sequence *q = &m->q;
    int best = to;
    if (draw(&m->random) & 1)
        return to;
    for (int i = 0; i < QUIET; i++) {
        int t = from + below(m, to - from + 1);
        if (q->at[t] >= 0 && q->over[t] < q->over[best])
            best = t;
    }
    return best;
}

/* A run whose value is live over slot t and not read there, or -1. */
static int
probe_live(Mover *m, int t)
{
    Sequence *q = &m->q;
    int here = q->node[q->at[t]];
    for (int i = 0; t > 0 && i < PROBES; i++) {
        int r = q->at[below(m, t)];
        q->work++;
        if (r >= 0 && q->slot[q->last[r]] > t &&
            !flat_reads(q->g, here, q->node[r]))
            return r;
    }
    return -1;
}

/* Of the values of two runs, the one that takes less time for a byte. */
static int
cheaper(const Sequence *q, int r, int s)
{
    const FlatGraph *g = q->g;
    int u = q->node[r], v = q->node[s];
    return (double)g->time[u] * g->bytes[v] <= (double)g->time[v] * g->bytes[u]
               ? r
               : s;
}

/* Takes a value that is live over a crowded slot of [from, to) and not read
 * there, by a coin the cheaper one of two, and runs it again before its next
 * read. */
static bool
evict(Mover *m, int from, int to)
{
    Sequence *q = &m->q;
    int t = crowded_slot(m, from, to);
    int r = q->at[t] < 0 ? -1 : probe_live(m, t);
    if (r < 0)
        return false;
    if (draw(&m->random) & 1) {
        int other = probe_live(m, t);
        r = other < 0 ? r : cheaper(q, r, other);
    }
    m->again = 1 + below(m, 4);
    int room = CHAIN;
    int y = q->at[quiet_slot(m, t + 1, sequence_next_read(q, r, t))];
    return run_again(m, q->node[r], y, &room);
}

/* A run of a node that ran before, or -1. */
static int
probe_repeated(Mover *m)
{
    Sequence *q = &m->q;
    for (int i = 0; i < 2 * PROBES; i++) {
        int r = q->at[below(m, q->slots)];
        q->work++;
        if (r >= 0 && q->prev[r] >= 0)
            return r;
    }
    return -1;
}

static bool
move_remove(Mover *m)
{
    Sequence *q = &m->q;
    int r = probe_repeated(m);
    if (r >= 0)
        remove_run(q, r);
    return r >= 0;
}

/* Takes out a repeated run, and evicts something where that makes it
 * crowded. */
static bool
move_trade(Mover *m)
{
    Sequence *q = &m->q;
    int r = probe_repeated(m);
    if (r < 0)
        return false;
    int from = q->slot[q->last[q->prev[r]]], to = q->slot[r];
    remove_run(q, r);
    return from < to && evict(m, from, to);
}

static bool
move_evict(Mover *m)
{
    return evict(m, 0, m->q.slots);
}

static bool
shift_to(Sequence *q, int r, int t)
{
    int runs[MOST], n = serving(q, r, runs, MOST);
    if (!sequence_move(q, r, t))
        return false;
    for (int i = 0; i < n; i++)
        sequence_drop(q, runs[i]);
    return true;
}

/* From 0 to most; half of them short. */
static int
distance(Mover *m, int most)
{
    if ((draw(&m->random) & 1) && most > SHORT)
        most = SHORT;
    return below(m, most + 1);
}

/* Moves one run to just after its inputs, to just before its first reader,
 * or to any place between. */
static bool
shift_run(Mover *m, int r)
{
    Sequence *q = &m->q;
    int t = q->slot[r], to;
    uint32_t coin = draw(&m->random);
    if (coin & 1) {
        int lo = sequence_earliest(q, r);
        to = coin & 2 ? lo : t - distance(m, t - lo);
    } else {
        int hi = sequence_latest_place(q, r);
        to = coin & 2 ? hi : t + 1 + distance(m, hi - t - 1);
    }
    return shift_to(q, r, to);
}

static bool
move_shift(Mover *m)
{
    Sequence *q = &m->q;
    int r = probe_run(m, 0, q->slots);
    return r >= 0 && shift_run(m, r);
}

/* Whether run r reads one of the n runs, which lie before it. */
static bool
reads_any(const Sequence *q, int r, const int *runs, int n)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], t = q->slot[r];
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int u = sequence_latest(q, g->inputs[i], t);
        for (int k = 0; k < n; k++)
            if (runs[k] == u)
                return true;
    }
    return false;
}

/* Moves a run and all that reads it before slot `to` behind that slot's
 * run, in their order. */
static bool
drag_right(Sequence *q, int r, int to)
{
    int runs[DRAG] = {r}, n = 1, behind = q->at[to];
    for (int t = q->slot[r] + 1; t < to; t++) {
        int u = q->at[t];
        if (u < 0 || !reads_any(q, u, runs, n))
            continue;
        if (n == DRAG)
            return false;
        runs[n++] = u;
    }
    if (reads_any(q, behind, runs, n))
        return false;
    while (n-- > 0) {
        int t = q->slot[behind] + 1;
        if (q->slot[behind] < 0 || q->slot[runs[n]] < 0)
            return false; /* nothing reads it any more */
        if (sequence_latest_place(q, runs[n]) < t || !shift_to(q, runs[n], t))
            return false;
    }
    return true;
}

static bool
among(const int *runs, int n, int r)
{
    for (int k = 0; k < n; k++)
        if (runs[k] == r)
            return true;
    return false;
}

/* Adds what run r reads, as far as it lies behind slot t. */
static int
add_inputs(const Sequence *q, int r, int t, int *runs, int n)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], s = q->slot[r];
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int u = sequence_latest(q, g->inputs[i], s);
        if (q->slot[u] < t || among(runs, n, u))
            continue;
        if (n == DRAG)
            return DRAG + 1;
        runs[n++] = u;
    }
    return n;
}

/* Moves a run and all that it reads behind slot `to` before that slot's run,
 * in their order. */
static bool
drag_left(Sequence *q, int r, int to)
{
    int runs[DRAG] = {r}, n = 1, before = q->at[to];
    for (int k = 0; k < n; k++) {
        n = add_inputs(q, runs[k], to, runs, n);
        if (n > DRAG || among(runs, n, before))
            return false;
    }
    for (int moved = 0; moved < n; moved++) {
        int first = moved;
        for (int k = moved + 1; k < n; k++)
            if (q->slot[runs[k]] < q->slot[runs[first]])
                first = k;
        int x = runs[first], t = q->slot[before];
        runs[first] = runs[moved];
        if (t < 0 || q->slot[x] < 0)
            return false; /* nothing reads it any more */
        if (sequence_earliest(q, x) > t || !shift_to(q, x, t))
            return false;
    }
    return true;
}

/* Moves a run over others together with what hinders it. */
static bool
move_drag(Mover *m)
{
    Sequence *q = &m->q;
    int r = probe_run(m, 0, q->slots), reach = draw(&m->random) & 1 ? 8 : 48;
    if (r < 0)
        return false;
    int t = q->slot[r], to = t + below(m, 2 * reach + 1) - reach;
    if (to < 0 || to >= q->slots || to == t || q->at[to] < 0)
        return false;
    return to > t ? drag_right(q, r, to) : drag_left(q, r, to);
}

bool
remat_move(Mover *m)
{
    switch (draw(&m->random) % 16) {
    case 0: case 1: case 2: case 3:
        return move_evict(m);
    case 4: case 5:
        return move_remove(m);
    case 6:
        return move_trade(m);
    case 7:
        return move_remove(m) && move_evict(m);
    case 8: case 9:
        return move_shift(m) && move_shift(m);
    case 10: case 11:
        return move_drag(m);
    default:
        return move_shift(m);
    }
}
