#include "passes/plan/remat_anneal.h"

/* Moves between two looks at the temperature, and the work of a move beside
 * that of its edits. */
enum { STRIDE = 256, MOVE_WORK = 9, SPREAD = 32 };

/* Logarithm and exponential from basic arithmetic: libm's may differ in the
 * last bit from machine to machine, and a plan must not. */
static double
log_of(double x)
{
    double halvings = 0;
    while (x < 0.5) {
        x *= 2;
        halvings++;
    }
    double y = (x - 1) / (x + 1), square = y * y, sum = 0;
    for (int k = 41; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * y * sum - halvings * 0.69314718055994530942;
}

static double
exp_of(double x)
{
    double sum = 1, y = x / 1024;
    for (int k = 12; k >= 1; k--)
        sum = 1 + y / k * sum;
    for (int k = 0; k < 10; k++)
        sum *= sum;
    return sum;
}

/* from at 0, to at 1, by equal factors. */
static double
between(double from, double log_ratio, double x)
{
    return from * exp_of(log_ratio * x);
}

static double
log_ratio(double from, double to)
{
    return from > to ? log_of(to / from) : -log_of(from / to);
}

void
remat_search_init(RematSearch *s, Arena *a, const FlatGraph *g, int32_t target)
{
    int64_t time = 0;
    for (int v = 0; v < g->n; v++)
        time += g->time[v];
    *s = (RematSearch){.flat = g, .target = target, .best_time = INT64_MAX,
                       .enough = time, .tight_peak = INT32_MAX};
    s->mean = (double)time / g->n;
    s->mover.random.state = 1;
    for (int i = 0; i < REMAT_QUANTILES; i++)
        s->fear[i] = -log_of((i + 0.5) / REMAT_QUANTILES);
    sequence_init(&s->mover.q, a, g);
    s->tight = ARENA_ARRAY(a, int, s->mover.q.capacity);
    s->best = ARENA_ARRAY(a, int, s->mover.q.capacity);
}

static void
consider_best(RematSearch *s)
{
    const Sequence *q = &s->mover.q;
    if (q->excess > 0 || q->time >= s->best_time || q->limit > s->target)
        return;
    s->n_best = sequence_order(q, s->best);
    s->best_time = q->time;
}

static void
consider_tight(RematSearch *s)
{
    int32_t peak = sequence_peak(&s->mover.q);
    if (peak >= s->tight_peak)
        return;
    s->n_tight = sequence_order(&s->mover.q, s->tight);
    s->tight_peak = peak;
}

static void
try_move(RematSearch *s)
{
    Sequence *q = &s->mover.q;
    uint32_t i = random_below(&s->mover.random, REMAT_QUANTILES);
    double most = s->temperature * s->fear[i];
    s->mover.most_time =
        q->time + (int64_t)(most + s->weight * (double)q->excess);
    sequence_begin(q);
    q->work += MOVE_WORK;
    if (remat_move(&s->mover)) {
        double worse = (double)(q->time - q->old_time) +
                       s->weight * (double)(q->excess - q->old_excess);
        if (worse <= most) {
            consider_best(s);
            return;
        }
    }
    sequence_undo(q);
    if (q->full >= 0)
        sequence_make_room(q);
}

static void
set_state(RematSearch *s, const RematCooling *c, int32_t first, double x)
{
    Sequence *q = &s->mover.q;
    double down = x < c->shrink ? 1 - x / c->shrink : 0;
    double up = x > c->rise ? (x - c->rise) / (1 - c->rise) : 0;
    int32_t limit = s->target;
    s->temperature =
        s->mean * between(c->hot, log_ratio(c->hot, c->cold), x);
    s->weight = s->mean / s->target *
                between(c->weight, log_ratio(1, c->steeper), up);
    if (first > s->target)
        limit += (int32_t)((double)(first - s->target) * down);
    double under = x < c->shrink ? x / c->shrink
                                 : (c->back - x) / (c->back - c->shrink);
    if (under > 0)
        limit -= (int32_t)(under * c->under * s->target);
    sequence_set_limit(q, limit);
}

void
remat_anneal(RematSearch *s, const RematCooling *c, const int *order, int n,
             int64_t work)
{
    Sequence *q = &s->mover.q;
    sequence_set_limit(q, s->target);
    sequence_set(q, order, n);
    consider_best(s);
    int32_t first = sequence_peak(q);
    q->work = 0;
    for (int round = 0; q->work < work && s->best_time > s->enough; round++) {
        set_state(s, c, first, (double)q->work / (double)work);
        if (round % SPREAD == 0)
            sequence_spread(q);
        for (int i = 0; i < STRIDE; i++)
            try_move(s);
        consider_tight(s);
    }
}
