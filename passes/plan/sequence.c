#include "passes/plan/sequence_log.h"

/* ---- the flat graph ---- */

/* No load overflows, nor does a sum of 32 changes of one node. */
static const int64_t most_total = 1 << 28, most_node = 1 << 25;

static int64_t
choose_unit(const CostGraph *g)
{
    int64_t common = 0, total = 0, most = 0;
    for (int i = 0; i < g->n; i++) {
        int64_t bytes = g->nodes[i].bytes;
        common = costs_gcd(bytes, common);
        total += bytes;
        most = bytes > most ? bytes : most;
    }
    common = common ? common : 1;
    if (total / common <= most_total && most / common <= most_node)
        return common;
    int64_t unit = total / (most_total - g->n) + 1;
    return most / most_node + 1 > unit ? most / most_node + 1 : unit;
}

bool
flat_reads(const FlatGraph *g, int u, int v)
{
    for (int i = g->start[u]; i < g->start[u + 1]; i++)
        if (g->inputs[i] == v)
            return true;
    return false;
}

static void
add_node(FlatGraph *f, const CostNode *node, int i)
{
    int at = f->start[i];
    for (int k = 0; k < node->n_inputs; k++) {
        f->start[i + 1] = at;
        if (!flat_reads(f, i, node->inputs[k]))
            f->inputs[at++] = node->inputs[k];
    }
    f->start[i + 1] = at;
    f->time[i] = node->time;
    f->bytes[i] = (int32_t)((node->bytes + f->unit - 1) / f->unit);
}

static void
add_readers(Arena *a, FlatGraph *f)
{
    int edges = f->start[f->n];
    int *fill = ARENA_ARRAY(a, int, f->n + 1);
    f->reader_start = ARENA_ARRAY(a, int, f->n + 1);
    f->readers = ARENA_ARRAY(a, int, edges + 1);
    for (int i = 0; i < edges; i++)
        f->reader_start[f->inputs[i] + 1]++;
    for (int v = 0; v < f->n; v++)
        fill[v + 1] = f->reader_start[v + 1] += f->reader_start[v];
    for (int u = 0; u < f->n; u++)
        for (int i = f->start[u]; i < f->start[u + 1]; i++)
            f->readers[fill[f->inputs[i]]++] = u;
}

FlatGraph *
flat_graph(Arena *a, const CostGraph *g)
{
    FlatGraph *f = ARENA_NEW(a, FlatGraph);
    int edges = 0;
    for (int i = 0; i < g->n; i++)
        edges += g->nodes[i].n_inputs;
    f->n = g->n;
    f->unit = choose_unit(g);
    f->start = ARENA_ARRAY(a, int, g->n + 1);
    f->inputs = ARENA_ARRAY(a, int, edges + 1);
    f->time = ARENA_ARRAY(a, int64_t, g->n);
    f->bytes = ARENA_ARRAY(a, int32_t, g->n);
    for (int i = 0; i < g->n; i++)
        add_node(f, &g->nodes[i], i);
    add_readers(a, f);
    return f;
}

/* ---- the sequence as a whole ---- */

/* Around a slot that has no room: slots that are looked at to each side, and
 * of how many one must be empty. */
enum { ROOM = 32, LEAST_EMPTY = 8 };

static int
slots_for(int runs)
{
    return runs + runs / 3 + 16;
}

static int
most_inputs(const FlatGraph *g)
{
    int most = 0;
    for (int v = 0; v < g->n; v++)
        if (g->start[v + 1] - g->start[v] > most)
            most = g->start[v + 1] - g->start[v];
    return most;
}

void
sequence_init(Sequence *q, Arena *a, const FlatGraph *g)
{
    int runs = 4 * g->n + 64, slots = slots_for(runs);
    *q = (Sequence){.g = g, .capacity = runs, .limit = INT32_MAX / 4,
                    .full = -1};
    q->at = ARENA_ARRAY(a, int32_t, slots);
    q->over = ARENA_ARRAY(a, int32_t, slots);
    q->old_over = ARENA_ARRAY(a, int32_t, slots);
    q->node = ARENA_ARRAY(a, int32_t, runs);
    q->slot = ARENA_ARRAY(a, int32_t, runs);
    q->prev = ARENA_ARRAY(a, int32_t, runs);
    q->next = ARENA_ARRAY(a, int32_t, runs);
    q->last = ARENA_ARRAY(a, int32_t, runs);
    q->spare = ARENA_ARRAY(a, int32_t, runs);
    q->final = ARENA_ARRAY(a, int32_t, g->n);
    q->edit_log = 4 * (most_inputs(g) + SEQUENCE_REACH) + 64;
    q->most_log = 24 * q->edit_log;
    q->log = sequence_new_log(a, q->most_log);
}

/* Puts run r of node v at the end of what there is. */
static void
append(Sequence *q, int r, int v, int slot)
{
    const FlatGraph *g = q->g;
    q->node[r] = v;
    q->slot[r] = slot;
    q->at[slot] = r;
    q->prev[r] = q->final[v];
    q->next[r] = -1;
    q->last[r] = r;
    if (q->final[v] >= 0)
        q->next[q->final[v]] = r;
    q->final[v] = r;
    q->time += g->time[v];
    for (int i = g->start[v]; i < g->start[v + 1]; i++)
        q->last[q->final[g->inputs[i]]] = r;
}

/* Loads of all slots from the ranges of all runs. */
static void
fill_loads(Sequence *q)
{
    int32_t *change = q->old_over, load = 0;
    memset(change, 0, sizeof(int32_t) * (size_t)q->slots);
    for (int t = 0; t < q->slots; t++) {
        int r = q->at[t];
        if (r < 0)
            continue;
        int32_t bytes = q->g->bytes[q->node[r]], end = q->slot[q->last[r]] + 1;
        change[t] += bytes;
        if (end < q->slots)
            change[end] -= bytes;
    }
    for (int t = 0; t < q->slots; t++) {
        load += change[t];
        q->over[t] = load - q->limit - (q->at[t] < 0 ? SEQUENCE_EMPTY : 0);
    }
    q->touched_from = 0;
    q->touched_to = q->slots - 1;
    q->excess = 0;
    for (int t = 0; t < q->slots; t++)
        q->excess += q->over[t] > 0 ? q->over[t] : 0;
}

void
sequence_set(Sequence *q, const int *order, int n)
{
    q->n = n;
    q->slots = slots_for(n);
    q->time = 0;
    q->n_spare = 0;
    for (int r = q->capacity - 1; r >= n; r--)
        q->spare[q->n_spare++] = r;
    for (int v = 0; v < q->g->n; v++)
        q->final[v] = -1;
    for (int t = 0; t < q->slots; t++)
        q->at[t] = -1;
    for (int r = 0; r < n; r++)
        append(q, r, order[r], (int)((int64_t)r * q->slots / n));
    fill_loads(q);
}

int
sequence_order(const Sequence *q, int *order)
{
    int n = 0;
    for (int t = 0; t < q->slots; t++)
        if (q->at[t] >= 0)
            order[n++] = q->node[q->at[t]];
    return n;
}

void
sequence_set_limit(Sequence *q, int32_t limit)
{
    int32_t by = q->limit - limit;
    q->limit = limit;
    q->touched_from = 0;
    q->touched_to = q->slots - 1;
    q->excess = 0;
    for (int t = 0; t < q->slots; t++) {
        q->over[t] += by;
        q->excess += q->over[t] > 0 ? q->over[t] : 0;
    }
}

int32_t
sequence_peak(const Sequence *q)
{
    int32_t most = -q->limit;
    for (int t = 0; t < q->slots; t++)
        most = q->over[t] > most ? q->over[t] : most;
    return most + q->limit;
}

void
sequence_spread(Sequence *q)
{
    int n = 0;
    int32_t *runs = q->spare + q->n_spare; /* room for every run in use */
    for (int t = 0; t < q->slots; t++)
        if (q->at[t] >= 0)
            runs[n++] = q->at[t];
    q->slots = slots_for(n);
    for (int t = 0; t < q->slots; t++)
        q->at[t] = -1;
    for (int i = 0; i < n; i++) {
        int slot = (int)((int64_t)i * q->slots / n);
        q->at[slot] = runs[i];
        q->slot[runs[i]] = slot;
    }
    fill_loads(q);
    q->full = -1;
}

/* What lives across the empty slot t, by the slot behind it. */
int32_t
sequence_across(const Sequence *q, int t)
{
    int r = t + 1 < q->slots ? q->at[t + 1] : -1;
    if (t + 1 >= q->slots)
        return -q->limit - SEQUENCE_EMPTY;
    return r < 0 ? q->over[t + 1]
                 : q->over[t + 1] - q->g->bytes[q->node[r]] - SEQUENCE_EMPTY;
}

/* Spreads the empty ones of these slots; loads go along with the runs. */
static void
spread_part(Sequence *q, int from, int to)
{
    int n = 0;
    int32_t *runs = q->spare + q->n_spare, *over = q->old_over + from;
    for (int t = from; t < to; t++) {
        if (q->at[t] < 0)
            continue;
        runs[n] = q->at[t];
        over[n++] = q->over[t];
        q->at[t] = -1;
    }
    for (int i = 0; i < n; i++) {
        int slot = from + (int)((int64_t)i * (to - from) / n);
        q->at[slot] = runs[i];
        q->slot[runs[i]] = slot;
        q->over[slot] = over[i];
    }
    for (int t = to - 1; t >= from; t--)
        if (q->at[t] < 0)
            q->over[t] = sequence_across(q, t);
    q->touched_from = from < q->touched_from ? from : q->touched_from;
    q->touched_to = to > q->touched_to ? to - 1 : q->touched_to;
    q->work += (to - from) / 8;
    q->full = -1;
}

void
sequence_make_room(Sequence *q)
{
    for (int reach = ROOM; reach < q->slots / 3; reach *= 2) {
        int from = q->full > reach ? q->full - reach : 0, empty = 0;
        int to = q->full + reach < q->slots ? q->full + reach : q->slots;
        for (int t = from; t < to; t++)
            empty += q->at[t] < 0;
        if (empty >= (to - from) / LEAST_EMPTY) {
            spread_part(q, from, to);
            return;
        }
    }
    q->work += q->slots / 4;
    sequence_spread(q);
}

/* ---- questions ---- */

int
sequence_first(const Sequence *q, int v)
{
    int r = q->final[v];
    while (r >= 0 && q->prev[r] >= 0)
        r = q->prev[r];
    return r;
}

int
sequence_next_read(const Sequence *q, int r, int t)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], first = q->slots;
    for (int i = g->reader_start[v]; i < g->reader_start[v + 1]; i++) {
        int u = q->final[g->readers[i]];
        for (; u >= 0 && q->slot[u] > t; u = q->prev[u])
            first = q->slot[u] < first ? q->slot[u] : first;
    }
    return first;
}

int
sequence_earliest(const Sequence *q, int r)
{
    const FlatGraph *g = q->g;
    int v = q->node[r], t = 0;
    if (q->prev[r] >= 0)
        t = q->slot[q->last[q->prev[r]]] + 1;
    for (int i = g->start[v]; i < g->start[v + 1]; i++) {
        int u = sequence_first(q, g->inputs[i]);
        t = q->slot[u] >= t ? q->slot[u] + 1 : t;
    }
    return t;
}

int
sequence_latest_place(const Sequence *q, int r)
{
    int next = q->next[r] < 0 ? q->slots : q->slot[q->next[r]];
    int read = sequence_next_read(q, r, q->slot[r]);
    return read < next ? read : next;
}

bool
sequence_redundant(const Sequence *q, int r)
{
    return q->slot[r] >= 0 && q->last[r] == r &&
           (q->prev[r] >= 0 || q->next[r] >= 0);
}
