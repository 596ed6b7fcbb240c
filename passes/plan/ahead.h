/* Where in a graph copies off the device and back begin and are waited for. */
#ifndef EDL_PASSES_PLAN_AHEAD_H
#define EDL_PASSES_PLAN_AHEAD_H

#include "ir/graph.h"

/* How far copies go ahead of the computation. */
enum {
    AHEAD_none,     /* a copy is waited for where it begins: one slot */
    AHEAD_next,     /* a fetch begins behind the last reader before: two */
    AHEAD_two,      /* beside it: three slots; and so on */
    AHEAD_all = -1, /* in time by the predicted times, however many slots */
    AHEAD_free = -2 /* so far as the bytes at the fullest moment that
                     * AHEAD_none has have room for */
};

/* The fetches of g stand right before their first readers and its offloads
 * right behind what makes their operands, writes of their results behind
 * them; there are no waits. Moves them, and adds the waits. */
void ahead_place(Graph *g, int ahead);

#endif
