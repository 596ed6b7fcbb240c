#include "passes/plan/fit.h"

#include "passes/plan/cost.h"

enum { ROUNDS = 40, MEMORY = WORK_COUNT, FITTED };

static const double MOST_CHANGE = 2, FIRST_POINT = 1e5;

typedef struct Fit {
    Machine *k;
    const FitKernel *kernels;
    int n;
    int *leader; /* by kernel: the class that takes the most time, or MEMORY */
    int *point;  /* by kernel: the point of its curve, of the leader */
} Fit;

/* ---- the points of a curve ---- */

/* A point for every power of ten that has kernels, at their mean work. */
static void
make_points(Fit *f, WorkClass class)
{
    RateCurve *curve = &f->k->rate[class];
    double rate = curve->at[0].per_us;
    curve->n = 0;
    for (double low = 0, high = FIRST_POINT; curve->n < RATE_POINTS;
         low = high, high *= 10) {
        double sum = 0, more = 0;
        int n = 0;
        for (int i = 0; i < f->n; i++) {
            double work = f->kernels[i].work.amount[class];
            more += work > high;
            if (work > low && work <= high)
                sum += work, n++;
        }
        if (n > 0)
            curve->at[curve->n++] = (RatePoint){sum / n, rate};
        if (more <= 0)
            break;
    }
    if (curve->n == 0)
        curve->at[curve->n++] = (RatePoint){1, rate};
}

static int
nearest_point(const RateCurve *r, double work)
{
    int at = 0;
    while (at + 1 < r->n && work * work > r->at[at].work * r->at[at + 1].work)
        at++;
    return at;
}

/* More work may not take less time. */
static void
make_rise(RateCurve *r)
{
    for (int i = 1; i < r->n; i++) {
        double least = r->at[i - 1].work / r->at[i - 1].per_us;
        if (r->at[i].work / r->at[i].per_us < least)
            r->at[i].per_us = r->at[i].work / least;
    }
}

/* ---- who leads ---- */

static double
class_ns(const Fit *f, const Work *w, int class)
{
    if (class == MEMORY)
        return (double)w->bytes / f->k->device_memory;
    if (w->amount[class] <= 0)
        return 0;
    return machine_work_ns(f->k, (WorkClass)class, w->amount[class]);
}

static void
find_leaders(Fit *f)
{
    for (int i = 0; i < f->n; i++) {
        const Work *w = &f->kernels[i].work;
        double most = 0;
        f->leader[i] = -1;
        for (int c = 0; c < FITTED; c++) {
            double ns = class_ns(f, w, c);
            if (ns <= most)
                continue;
            most = ns;
            f->leader[i] = c;
        }
        if (f->leader[i] >= 0 && f->leader[i] != MEMORY)
            f->point[i] = nearest_point(&f->k->rate[f->leader[i]],
                                        w->amount[f->leader[i]]);
    }
}

/* Measured over predicted time of the kernels that a rate leads. */
static double
ratio(const Fit *f, int class, int point)
{
    double measured = 0, predicted = 0;
    for (int i = 0; i < f->n; i++) {
        if (f->leader[i] != class || (class != MEMORY && f->point[i] != point))
            continue;
        measured += f->kernels[i].ns;
        predicted += (double)cost_ns(&f->kernels[i].work, f->k);
    }
    double r = predicted > 0 ? measured / predicted : 1;
    return r > MOST_CHANGE ? MOST_CHANGE
           : r < 1 / MOST_CHANGE ? 1 / MOST_CHANGE
                                 : r;
}

static void
improve(Fit *f)
{
    find_leaders(f);
    f->k->device_memory /= ratio(f, MEMORY, 0);
    for (int c = 0; c < WORK_COUNT; c++) {
        RateCurve *r = &f->k->rate[c];
        for (int p = 0; p < r->n; p++)
            r->at[p].per_us /= ratio(f, c, p);
        make_rise(r);
    }
}

void
fit_machine(Arena *a, Machine *k, const FitKernel *kernels, int n)
{
    Fit f = {.k = k, .kernels = kernels, .n = n};
    f.leader = ARENA_ARRAY(a, int, n + 1);
    f.point = ARENA_ARRAY(a, int, n + 1);
    for (int i = 0; i < n; i++)
        if (kernels[i].ns < k->device_start_ns)
            k->device_start_ns = kernels[i].ns;
    make_points(&f, WORK_product);
    make_points(&f, WORK_attention);
    for (int i = 0; i < ROUNDS; i++)
        improve(&f);
}
