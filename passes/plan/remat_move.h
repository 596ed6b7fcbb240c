/* One random change of a sequence, for the search in remat.c. */
#ifndef EDL_PASSES_PLAN_REMAT_MOVE_H
#define EDL_PASSES_PLAN_REMAT_MOVE_H

#include "passes/plan/sequence.h"

/* Random numbers: the same ones on every machine. */
typedef struct Random {
    uint64_t state;
} Random;

uint32_t random_below(Random *x, uint32_t n);

typedef struct Mover {
    Sequence q;
    Random random;
    int again;         /* of four dead inputs, how many run again as well */
    int64_t most_time; /* a move gives up when the time is above it */
} Mover;

/* Edits q, between its sequence_begin and what the caller makes of it; false
 * when nothing came of it (q may still have changed). */
bool remat_move(Mover *m);

#endif
