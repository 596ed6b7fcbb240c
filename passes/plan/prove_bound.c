/* How much a state of the search for a proof must still take.
 *
 * Values that are gone and still read run again: that is certain. Beyond
 * that, take a node x that has not run. When it runs first, all its ancestors
 * have run and none of its descendants: what the latter read is alive across
 * x, or made again afterwards, which asks the same of what it is made from.
 * At most the limit without x and its inputs is alive across x. As in
 * remat_bound.c this is a minimum cut, with a price for a byte in place of
 * the limit: a bound at every price. What runs again anyway, and not before
 * x for certain, costs nothing more in the cut. */
#include "passes/plan/prove_parts.h"

enum { CANDIDATES = 4, PRICES = 7 };

const int64_t prove_never = INT64_MAX / 4;

int64_t
prove_time(const Prover *p, const NodeSet *s)
{
    int64_t time = 0;
    for (int v = 0; v < p->g->n; v++)
        time += set_has(s, v) ? p->g->nodes[v].time : 0;
    return time;
}

int64_t
prove_bytes(const Prover *p, const NodeSet *s)
{
    int64_t bytes = 0;
    for (int v = 0; v < p->g->n; v++)
        bytes += set_has(s, v) ? p->g->nodes[v].bytes : 0;
    return bytes;
}

NodeSet
prove_forced(const Prover *p, const NodeSet *done, const NodeSet *live,
             const NodeSet *readers)
{
    NodeSet forced = {0}, want = *readers, gone = set_less(*done, *live);
    for (int v = p->g->n - 1; v >= 0; v--) {
        if (!set_has(&gone, v) || !set_meets(&p->readers[v], &want))
            continue;
        set_add(&forced, v);
        set_add(&want, v);
    }
    return forced;
}

typedef struct Question {
    const ProveState *s;
    NodeSet forced; /* run again, at any time from now on */
    NodeSet early;  /* of these, before x */
    int64_t time;   /* of the forced ones */
    int x;
    NodeSet there; /* made before x */
    NodeSet needed;
} Question;

static void
ask(const Prover *p, Question *q, int x)
{
    NodeSet early = set_less(p->before[x], q->s->done);
    q->x = x;
    set_add(&early, x);
    q->early = prove_forced(p, &q->s->done, &q->s->live, &early);
    q->there = set_or(q->s->done, p->before[x]);
    q->needed = set_and(q->there, p->crossing[x]);
}

/* Vertices 2 v: v is made after x, when on the sink's side; 2 v + 1: v is
 * wanted after x. */
static void
add_vertex(Prover *p, const Question *q, int v, double price)
{
    const CostNode *node = &p->g->nodes[v];
    int source = 2 * p->g->n, sink = source + 1, x = q->x;
    bool forced = set_has(&q->forced, v), gone =
        set_has(&q->s->done, v) && !set_has(&q->s->live, v);
    if (gone && !forced)
        cut_edge(&p->cut, source, 2 * v + 1, (double)node->time);
    if (!gone || set_has(&q->early, v))
        cut_edge(&p->cut, source, 2 * v, (double)node->time);
    cut_edge(&p->cut, 2 * v, 2 * v + 1,
             node->bytes > p->room[x] ? cut_endless
                                      : price * (double)node->bytes);
    if (set_has(&q->needed, v))
        cut_edge(&p->cut, 2 * v + 1, sink, 4 * cut_endless);
    for (int i = 0; i < node->n_inputs; i++) {
        int u = node->inputs[i];
        if (!set_has(&p->inputs[x], u))
            cut_edge(&p->cut, 2 * u + 1, 2 * v, 4 * cut_endless);
    }
}

static double
answer(Prover *p, const Question *q, double price, double *bytes)
{
    int n = p->g->n;
    cut_clear(&p->cut);
    for (int v = 0; v < n; v++)
        if (set_has(&q->there, v) && !set_has(&p->inputs[q->x], v) &&
            v != q->x)
            add_vertex(p, q, v, price);
    double flow = cut_run(&p->cut, 2 * n, 2 * n + 1);
    *bytes = 0;
    for (int v = 0; v < n; v++)
        if (p->cut.level[2 * v] >= 0 && p->cut.level[2 * v + 1] < 0)
            *bytes += (double)p->g->nodes[v].bytes;
    return flow - price * (double)p->room[q->x];
}

/* Extra times are sums of times: whole multiples of `common`. */
static int64_t
round_up(const Prover *p, double time)
{
    if (time >= cut_endless / 2)
        return prove_never;
    double least = time * (1 - 1e-9) - 0.01;
    if (least <= 0)
        return 0;
    int64_t parts = (int64_t)(least / (double)p->common);
    return ((double)parts * (double)p->common < least ? parts + 1 : parts) *
           p->common;
}

static void
raise(const Prover *p, ProveState *s, int64_t forced, double more)
{
    int64_t total = s->extra + forced, rest = round_up(p, more);
    total = rest >= prove_never ? prove_never : total + rest;
    if (total > s->total)
        s->total = total;
}

static Question
question(const Prover *p, const ProveState *s)
{
    NodeSet undone = set_less(p->all, s->done);
    Question q = {.s = s};
    q.forced = prove_forced(p, &s->done, &s->live, &undone);
    q.time = prove_time(p, &q.forced);
    return q;
}

void
prove_glance(Prover *p, ProveState *s)
{
    double bytes;
    Question q = question(p, s);
    raise(p, s, q.time, 0);
    if (s->x < 0 || set_has(&s->done, s->x) || s->total >= p->below)
        return;
    ask(p, &q, s->x);
    raise(p, s, q.time, answer(p, &q, s->price, &bytes));
}

/* The best price by halving: more bytes than room ask for a higher one. */
static void
try_prices(Prover *p, ProveState *s, Question *q, double *best)
{
    double low = 0, high = 0, bytes = 0, room = (double)p->room[q->x];
    double price = s->price;
    for (int i = 0; i < PRICES && s->total < p->below; i++) {
        double more = answer(p, q, price, &bytes);
        if (more > *best) {
            *best = more;
            s->price = price;
            s->x = (int16_t)q->x;
            raise(p, s, q->time, more);
        }
        if (bytes == room)
            break;
        if (bytes > room)
            low = price;
        else
            high = price;
        price = high > 0 ? (low > 0 ? (low + high) / 2 : high / 2) : 2 * low;
    }
}

typedef struct Candidate {
    int x;
    int64_t missing;
} Candidate;

static int
candidates(const Prover *p, const ProveState *s, Candidate *list)
{
    int n = 0;
    for (int x = 0; x < p->g->n; x++) {
        NodeSet there = set_or(s->done, p->before[x]);
        NodeSet needed = set_and(there, p->crossing[x]);
        Candidate c = {x, prove_bytes(p, &needed) - p->room[x]};
        if (set_has(&s->done, x) || c.missing <= 0)
            continue;
        if (n == CANDIDATES && list[n - 1].missing >= c.missing)
            continue;
        int at = n < CANDIDATES ? n++ : n - 1;
        for (; at > 0 && list[at - 1].missing < c.missing; at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
    return n;
}

void
prove_look(Prover *p, ProveState *s)
{
    Candidate list[CANDIDATES];
    Question q = question(p, s);
    double best = 0;
    int was = s->x;
    int n = candidates(p, s, list);
    s->looked = true;
    raise(p, s, q.time, 0);
    if (was >= 0 && !set_has(&s->done, was)) {
        ask(p, &q, was);
        try_prices(p, s, &q, &best);
    }
    for (int i = 0; i < n && s->total < p->below; i++) {
        if (list[i].x == was)
            continue;
        ask(p, &q, list[i].x);
        try_prices(p, s, &q, &best);
    }
}
