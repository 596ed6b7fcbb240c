/* Simulated annealing over sequences of runs: one cooling from a given order.
 * The same steps on every machine. */
#ifndef EDL_PASSES_PLAN_REMAT_ANNEAL_H
#define EDL_PASSES_PLAN_REMAT_ANNEAL_H

#include "passes/plan/remat_move.h"

enum { REMAT_QUANTILES = 4096 };

/* How a cooling goes, over its work from 0 to 1. Temperatures are in mean
 * node times; the weight is what one step's excess of a whole limit costs,
 * in the same unit. */
typedef struct RematCooling {
    double hot, cold;     /* temperature, at 0 and at 1 */
    double shrink;        /* by then the limit has come down to the target, */
    double under, back;   /* and this part of it below; no more at `back` */
    double weight;        /* of excess, up to `rise` */
    double rise, steeper; /* from `rise` on it grows, to `steeper` times */
} RematCooling;

typedef struct RematSearch {
    const FlatGraph *flat;
    Mover mover;
    int32_t target; /* the limit asked for, in units */
    double mean;    /* time of a node */
    double weight;  /* time per unit and step of excess */
    double temperature;
    double fear[REMAT_QUANTILES]; /* -log of numbers spread over 0 to 1 */
    int *best;                    /* the best runs within the target so far */
    int n_best;                   /* 0: none */
    int64_t best_time;
    int64_t enough; /* a best time of no more than this ends the search */
    int *tight; /* the runs of the smallest peak met, within the target or not */
    int n_tight;
    int32_t tight_peak;
} RematSearch;

void remat_search_init(RematSearch *s, Arena *a, const FlatGraph *g,
                       int32_t target);
/* Cools from an order; stops when nothing can be better. */
void remat_anneal(RematSearch *s, const RematCooling *c, const int *order,
                  int n, int64_t work);

#endif
