/* A lower bound of the time of every order within a limit.
 *
 * Take the first run of a node x. Every ancestor of x ran before it, every
 * descendant runs after it. A value v that an ancestor makes and a descendant
 * reads is therefore alive while x runs, or made again afterwards; what makes
 * it again has its own inputs alive across x, or made again, or among the
 * inputs of x. The bytes alive across x are at most the limit without x and
 * its inputs. The least time of what is made again is a minimum cut with one
 * side constraint; giving that a price per byte and leaving it out bounds the
 * time from below, at every price. The best x and price count. */
#include "passes/plan/remat.h"

#include <stdlib.h>

#include "passes/plan/cut.h"

enum { MOST_NODES = 4000, CANDIDATES = 8, PRICES = 10 };

typedef struct Bound {
    Arena *arena;
    const CostGraph *g;
    int64_t limit;
    int x;
    int64_t room;     /* for what lives across x */
    bool *before;     /* an ancestor of x */
    bool *after;      /* a descendant */
    bool *here;       /* x, or an input of x */
    bool *needed;     /* by a descendant */
    int64_t crossing; /* bytes of what is needed */
} Bound;

typedef struct Candidate {
    int x;
    int64_t missing; /* bytes */
} Candidate;

static void
look_at(Bound *b, int x)
{
    const CostGraph *g = b->g;
    size_t bytes = sizeof(bool) * (size_t)g->n;
    memset(b->before, 0, bytes);
    memset(b->after, 0, bytes);
    memset(b->here, 0, bytes);
    memset(b->needed, 0, bytes);
    b->x = x;
    b->room = b->limit;
    b->crossing = 0;
    b->here[x] = b->before[x] = b->after[x] = true;
    for (int i = 0; i < g->nodes[x].n_inputs; i++)
        b->here[g->nodes[x].inputs[i]] = true;
    for (int v = x; v >= 0; v--) {
        b->room -= b->here[v] ? g->nodes[v].bytes : 0;
        for (int i = 0; b->before[v] && i < g->nodes[v].n_inputs; i++)
            b->before[g->nodes[v].inputs[i]] = true;
    }
    b->before[x] = false;
    for (int w = x + 1; w < g->n; w++)
        for (int i = 0; i < g->nodes[w].n_inputs; i++)
            b->after[w] |= b->after[g->nodes[w].inputs[i]];
    for (int w = x + 1; w < g->n; w++) {
        for (int i = 0; b->after[w] && i < g->nodes[w].n_inputs; i++) {
            int v = g->nodes[w].inputs[i];
            if (b->before[v] && !b->here[v] && !b->needed[v]) {
                b->needed[v] = true;
                b->crossing += g->nodes[v].bytes;
            }
        }
    }
}

/* The least of time + price * bytes that x asks for, and the bytes. */
static double
cheapest(Bound *b, double price, double *bytes)
{
    const CostGraph *g = b->g;
    Arena *a = arena_new();
    Cut c;
    int source = 2 * b->x, sink = source + 1;
    cut_init(&c, a, 2 * b->x + 2); /* v: 2 v made, 2 v + 1 at hand */
    for (int v = 0; v < b->x; v++) {
        if (!b->before[v] || b->here[v])
            continue;
        cut_edge(&c, source, 2 * v, (double)g->nodes[v].time);
        int64_t bytes_v = g->nodes[v].bytes;
        cut_edge(&c, 2 * v, 2 * v + 1,
                 bytes_v > b->room ? cut_endless : price * (double)bytes_v);
        if (b->needed[v])
            cut_edge(&c, 2 * v + 1, sink, 4 * cut_endless);
        for (int i = 0; i < g->nodes[v].n_inputs; i++)
            if (!b->here[g->nodes[v].inputs[i]])
                cut_edge(&c, 2 * g->nodes[v].inputs[i] + 1, 2 * v,
                         4 * cut_endless);
    }
    double flow = cut_run(&c, source, sink);
    *bytes = 0;
    for (int v = 0; v < b->x; v++)
        if (b->before[v] && !b->here[v] && c.level[2 * v] >= 0 &&
            c.level[2 * v + 1] < 0)
            *bytes += (double)g->nodes[v].bytes;
    arena_free(a);
    return flow;
}

/* The best price by halving: more bytes than room ask for a higher one. */
static double
extra_time(Bound *b)
{
    double low = 0, high = 0, best = 0, bytes = 0;
    double room = (double)b->room;
    double price = (double)b->g->time / (double)(b->g->peak + 1);
    for (int i = 0; i < PRICES; i++) {
        double extra = cheapest(b, price, &bytes) - price * room;
        best = extra > best ? extra : best;
        if (bytes > room)
            low = price;
        else
            high = price;
        price = high > 0 ? (low > 0 ? (low + high) / 2 : high / 4) : 4 * low;
    }
    return best;
}

static int
compare(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    if (a->missing != b->missing)
        return a->missing < b->missing ? 1 : -1;
    return a->x - b->x;
}

/* Times are whole; a hundredth and a billionth stand for what rounding may
 * have added. */
static int64_t
round_up(double time)
{
    double least = time * (1 - 1e-9) - 0.01;
    int64_t whole = (int64_t)least;
    return whole + ((double)whole < least);
}

int64_t
remat_bound(Arena *a, const CostGraph *g, int64_t limit)
{
    Bound b = {a, g, .limit = limit};
    Candidate *list = ARENA_ARRAY(a, Candidate, g->n);
    double best = 0;
    if (limit < 0 || limit >= g->peak || g->n > MOST_NODES)
        return g->time;
    b.before = ARENA_ARRAY(a, bool, g->n);
    b.after = ARENA_ARRAY(a, bool, g->n);
    b.here = ARENA_ARRAY(a, bool, g->n);
    b.needed = ARENA_ARRAY(a, bool, g->n);
    for (int x = 0; x < g->n; x++) {
        look_at(&b, x);
        list[x] = (Candidate){x, b.crossing - b.room};
    }
    qsort(list, (size_t)g->n, sizeof *list, compare);
    for (int i = 0; i < CANDIDATES && i < g->n && list[i].missing > 0; i++) {
        look_at(&b, list[i].x);
        double extra = extra_time(&b);
        best = extra > best ? extra : best;
    }
    return g->time + (best > 0.01 ? round_up(best) : 0);
}
