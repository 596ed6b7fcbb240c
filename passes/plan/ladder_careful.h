/* An order of drops in which the bytes in use at once fall with each. */
#ifndef EDL_PASSES_PLAN_LADDER_CAREFUL_H
#define EDL_PASSES_PLAN_LADDER_CAREFUL_H

#include "passes/plan/drop.h"

typedef struct Careful {
    Drop *d;         /* with what is dropped already */
    const int *from; /* the values to take from */
    int n;
    int64_t workspace; /* bytes that no choice lowers */
    bool at_any_price; /* the one that lowers it most, whatever it costs */
} Careful;

/* The values one after the other, each time the one that costs least time for
 * a byte by which the most that is in use at once falls; until none lowers
 * it. What copies of many values need together counts, as prices of single
 * values do not see. order has room for n; returns how many there are. d is
 * as before. */
int careful_find(Arena *a, const Careful *c, int *order);

#endif
