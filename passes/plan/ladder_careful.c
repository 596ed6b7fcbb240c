#include "passes/plan/ladder_careful.h"

/* The most that is in use at once, about. */
static int64_t
in_use(const Careful *c)
{
    int64_t kept = c->workspace + drop_kept(c->d), load = drop_load(c->d);
    return kept > load ? kept : load;
}

/* ns for a byte, or what stands for that; negative: nothing falls. */
static double
price(const Careful *c, int value, int64_t now)
{
    Drop *d = c->d;
    int mark = drop_mark(d);
    int64_t ns = d->total_ns;
    drop_add(d, value);
    int64_t falls = now - in_use(c);
    double costs = c->at_any_price ? 1 : (double)(d->total_ns - ns);
    double price = falls > 0 ? costs / (double)falls : -1;
    drop_undo(d, mark);
    return price;
}

int
careful_find(Arena *a, const Careful *c, int *order)
{
    bool *done = ARENA_ARRAY(a, bool, c->n + 1);
    int mark = drop_mark(c->d), n = 0;
    for (;;) {
        int64_t now = in_use(c);
        double least = -1;
        int best = -1;
        for (int i = 0; i < c->n; i++) {
            double p = done[i] ? -1 : price(c, c->from[i], now);
            if (p < 0 || (best >= 0 && p >= least))
                continue;
            best = i;
            least = p;
        }
        if (best < 0)
            break;
        done[best] = true;
        drop_add(c->d, c->from[best]);
        order[n++] = c->from[best];
    }
    drop_undo(c->d, mark);
    return n;
}
