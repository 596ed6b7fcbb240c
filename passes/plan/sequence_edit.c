#include "passes/plan/sequence_log.h"

enum { CHUNK = 32, PIECE = 8, EDIT_WORK = 8 };

/* ---- the log ---- */

SequenceChange *
sequence_new_log(Arena *a, int n)
{
    return ARENA_ARRAY(a, SequenceChange, n);
}

static void
set(Sequence *q, int32_t *where, int32_t value)
{
    q->log[q->n_log++] = (SequenceChange){where, *where};
    *where = value;
}

/* The loads of these slots change. */
static void
touch(Sequence *q, int from, int to)
{
    q->touched_from = from < q->touched_from ? from : q->touched_from;
    q->touched_to = to > q->touched_to ? to : q->touched_to;
}

static void
set_over(Sequence *q, int t, int32_t over)
{
    touch(q, t, t);
    q->over[t] = over;
}

static void
copy_touched(Sequence *q, int32_t *to, const int32_t *from)
{
    int first = q->touched_from, n = q->touched_to - first + 1;
    if (n > 0)
        memcpy(to + first, from + first, sizeof(int32_t) * (size_t)n);
    q->touched_from = q->slots;
    q->touched_to = -1;
}

void
sequence_begin(Sequence *q)
{
    copy_touched(q, q->old_over, q->over);
    q->n_log = 0;
    q->old_time = q->time;
    q->old_excess = q->excess;
    q->old_n = q->n;
    q->old_spare = q->n_spare;
}

void
sequence_undo(Sequence *q)
{
    while (q->n_log > 0) {
        const SequenceChange *c = &q->log[--q->n_log];
        *c->where = c->value;
    }
    copy_touched(q, q->over, q->old_over);
    q->time = q->old_time;
    q->excess = q->old_excess;
    q->n = q->old_n;
    q->n_spare = q->old_spare;
}

/* ---- loads ---- */

static int32_t
positive(int32_t x)
{
    return x > 0 ? x : 0;
}

/* Adds to the loads of n slots, at most CHUNK; returns what the excess
 * grows by. */
static inline int32_t
add_chunk(int32_t *over, int n, int32_t bytes)
{
    int32_t change = 0;
    for (int t = 0; t < n; t++) {
        int32_t old = over[t], new = old + bytes;
        over[t] = new;
        change += (new > 0 ? new : 0) - (old > 0 ? old : 0);
    }
    return change;
}

static void
add_load(Sequence *q, int from, int to, int32_t bytes)
{
    if (from > to || bytes == 0)
        return;
    touch(q, from, to);
    q->work += 2 + 2 * (to - from) / CHUNK;
    int t = from;
    for (; t + CHUNK <= to + 1; t += CHUNK)
        q->excess += add_chunk(q->over + t, CHUNK, bytes);
    for (; t + PIECE <= to + 1; t += PIECE)
        q->excess += add_chunk(q->over + t, PIECE, bytes);
    q->excess += add_chunk(q->over + t, to + 1 - t, bytes);
}

/* ---- slots ---- */

static void
place(Sequence *q, int r, int slot)
{
    set(q, &q->slot[r], slot);
    set(q, &q->at[slot], r);
}

/* Empties slot t, which lies before that of a run that slid out of it. */
static void
set_hole(Sequence *q, int t)
{
    set(q, &q->at[t], -1);
    set_over(q, t, sequence_across(q, t));
}

static int
slide_right(Sequence *q, int t, int hole)
{
    for (; hole > t; hole--) {
        set_over(q, hole, q->over[hole - 1]);
        place(q, q->at[hole - 1], hole);
    }
    set_hole(q, t);
    return t;
}

static int
slide_left(Sequence *q, int t, int hole)
{
    for (; hole < t - 1; hole++) {
        set_over(q, hole, q->over[hole + 1]);
        place(q, q->at[hole + 1], hole);
    }
    set_hole(q, t - 1);
    return t - 1;
}

/* An empty slot between the runs before slot t and those from t on; -1 when
 * none is near. */
static int
make_hole(Sequence *q, int t)
{
    q->work += EDIT_WORK;
    for (int d = 0; d < SEQUENCE_REACH; d++) {
        int left = t - 1 - d, right = t + d;
        bool to_left = left >= 0 && q->at[left] < 0;
        if (!to_left && (right >= q->slots || q->at[right] >= 0))
            continue;
        q->work += d;
        if (to_left)
            return d == 0 ? left : slide_left(q, t, left);
        return d == 0 ? right : slide_right(q, t, right);
    }
    q->full = t;
    return -1;
}

/* The run in slot s starts to count. */
static void
fill_slot(Sequence *q, int r, int s, int32_t bytes)
{
    place(q, r, s);
    set_over(q, s, q->over[s] + SEQUENCE_EMPTY + bytes);
    q->excess += positive(q->over[s]);
}

static void
clear_slot(Sequence *q, int s, int32_t bytes)
{
    q->excess -= positive(q->over[s]);
    set(q, &q->at[s], -1);
    set_over(q, s, q->over[s] - SEQUENCE_EMPTY - bytes);
}

/* ---- reads ---- */

/* The last run before slot t that reads run r, or r. */
static int
last_reader(const Sequence *q, int r, int t)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], best = r;
    for (int i = g->reader_start[v]; i < g->reader_start[v + 1]; i++) {
        int u = sequence_latest(q, g->readers[i], t);
        if (u >= 0 && q->slot[u] > q->slot[best])
            best = u;
    }
    return best;
}

/* The run x, in slot s, no longer reads its inputs. */
static void
unread(Sequence *q, int x, int s)
{
    const FlatGraph *g = q->g;
    int v = q->node[x];
    q->work += 2 * (g->start[v + 1] - g->start[v]);
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int u = g->inputs[i], r = sequence_latest(q, u, s);
        if (q->last[r] != x)
            continue;
        q->work += g->reader_start[u + 1] - g->reader_start[u];
        int last = last_reader(q, r, s);
        set(q, &q->last[r], last);
        add_load(q, q->slot[last] + 1, s, -g->bytes[u]);
    }
}

static void
read_inputs(Sequence *q, int x, int s)
{
    const FlatGraph *g = q->g;
    int v = q->node[x];
    q->work += 2 * (g->start[v + 1] - g->start[v]);
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int u = g->inputs[i], r = sequence_latest(q, u, s);
        int end = q->slot[q->last[r]];
        if (end >= s)
            continue;
        add_load(q, end + 1, s, g->bytes[u]);
        set(q, &q->last[r], x);
    }
}

/* ---- edits ---- */

static void
link_run(Sequence *q, int x, int prev, int next)
{
    set(q, &q->prev[x], prev);
    set(q, &q->next[x], next);
    if (prev >= 0)
        set(q, &q->next[prev], x);
    set(q, next < 0 ? &q->final[q->node[x]] : &q->prev[next], x);
}

static void
unlink_run(Sequence *q, int x)
{
    int prev = q->prev[x], next = q->next[x];
    if (prev >= 0)
        set(q, &q->next[prev], next);
    set(q, next < 0 ? &q->final[q->node[x]] : &q->prev[next], prev);
}

/* Room in the log for one more edit. */
static bool
room(const Sequence *q)
{
    return q->n_log + q->edit_log <= q->most_log;
}

int
sequence_insert(Sequence *q, int t, int v)
{
    int s = q->n_spare > 0 && room(q) ? make_hole(q, t) : -1;
    if (s < 0)
        return -1;
    int x = q->spare[--q->n_spare], r = sequence_latest(q, v, s);
    int next = r >= 0 ? q->next[r] : sequence_first(q, v);
    int32_t bytes = q->g->bytes[v];
    q->n++;
    q->time += q->g->time[v];
    set(q, &q->node[x], v);
    set(q, &q->last[x], x);
    link_run(q, x, r, next);
    if (r >= 0 && q->slot[q->last[r]] > s) {
        fill_slot(q, x, s, 0);
        set(q, &q->last[x], q->last[r]);
        set(q, &q->last[r], last_reader(q, r, s));
        add_load(q, q->slot[q->last[r]] + 1, s - 1, -bytes);
    } else {
        fill_slot(q, x, s, bytes);
    }
    read_inputs(q, x, s);
    return x;
}

void
sequence_remove(Sequence *q, int x)
{
    int s = q->slot[x], r = q->prev[x], v = q->node[x];
    int32_t bytes = q->g->bytes[v];
    unread(q, x, s);
    if (q->last[x] != x) {
        add_load(q, q->slot[q->last[r]] + 1, s - 1, bytes);
        set(q, &q->last[r], q->last[x]);
        clear_slot(q, s, 0);
    } else {
        clear_slot(q, s, bytes);
    }
    unlink_run(q, x);
    set(q, &q->slot[x], -1);
    set(q, &q->spare[q->n_spare++], x);
    q->n--;
    q->time -= q->g->time[v];
}

void
sequence_drop(Sequence *q, int x)
{
    const FlatGraph *g = q->g;
    if (!sequence_redundant(q, x) || !room(q))
        return;
    int v = q->node[x], s = q->slot[x];
    sequence_remove(q, x);
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int r = sequence_latest(q, g->inputs[i], s);
        if (r >= 0)
            sequence_drop(q, r);
    }
}

bool
sequence_move(Sequence *q, int x, int t)
{
    int d = room(q) ? make_hole(q, t) : -1;
    if (d < 0)
        return false;
    int s = q->slot[x];
    int32_t bytes = q->g->bytes[q->node[x]];
    bool read = q->last[x] != x;
    unread(q, x, s);
    if (read && d > s)
        add_load(q, s + 1, d, -bytes);
    else if (read)
        add_load(q, d, s - 1, bytes);
    clear_slot(q, s, read && d < s ? 0 : bytes);
    fill_slot(q, x, d, read && d < s ? 0 : bytes);
    read_inputs(q, x, d);
    return true;
}
