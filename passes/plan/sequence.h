/* A sequence of runs with what follows from it, kept true under edits.
 *
 * Accounting as in plan/costs.h. The steps of a sequence are slots, some of
 * them empty, so that an edit moves few runs; nothing is renumbered. An edit
 * costs the stretch of slots whose load it changes. All edits since
 * sequence_begin can be taken back by sequence_undo.
 *
 * Bytes are whole units of FlatGraph.unit bytes, rounded up. */
#ifndef EDL_PASSES_PLAN_SEQUENCE_H
#define EDL_PASSES_PLAN_SEQUENCE_H

#include <stdbool.h>

#include "passes/plan/costs.h"

/* A cost graph, flat; an input that is named twice counts once.
 * Inputs of v: inputs[start[v]] .. inputs[start[v + 1] - 1]; its readers in
 * the same way. */
typedef struct FlatGraph {
    int n;
    int *start, *inputs;
    int *reader_start, *readers;
    int64_t *time;
    int32_t *bytes;
    int64_t unit;
} FlatGraph;

typedef struct SequenceChange SequenceChange;

typedef struct Sequence {
    const FlatGraph *g;
    int capacity;  /* of runs */
    int n;         /* runs */
    int slots;
    int32_t *at;   /* of a slot: its run, or -1 */
    int32_t *over; /* of a slot: load - limit; of an empty one, what lives
                    * across it, - limit - SEQUENCE_EMPTY */
    int32_t *node; /* of a run */
    int32_t *slot;        /* -1: it was taken out */
    int32_t *prev, *next; /* of a run: the same node's runs beside it, or -1 */
    int32_t *last;        /* of a run: the last run that reads it, or itself */
    int32_t *final;       /* of a node: its last run */
    int32_t *spare;       /* runs that are free, as a stack */
    int n_spare;
    int32_t limit;
    int64_t time;
    int64_t excess; /* sum over steps of load - limit, where positive */
    SequenceChange *log;
    int n_log, most_log, edit_log; /* edit_log: what one edit may take */
    int32_t *old_over;            /* at sequence_begin, as all that follows */
    int touched_from, touched_to; /* where it may differ from over */
    int64_t old_time, old_excess;
    int old_n, old_spare;
    int64_t work; /* grows with what edits cost, the same on every machine */
    int full; /* slot at which an edit found no room, or -1 */
} Sequence;

enum { SEQUENCE_EMPTY = 1 << 30 };

FlatGraph *flat_graph(Arena *a, const CostGraph *g);
bool flat_reads(const FlatGraph *g, int u, int v);

void sequence_init(Sequence *q, Arena *a, const FlatGraph *g);
/* The sequence becomes these n runs of nodes. */
void sequence_set(Sequence *q, const int *order, int n);
/* Writes the nodes in the order of their runs; returns how many. */
int sequence_order(const Sequence *q, int *order);
void sequence_set_limit(Sequence *q, int32_t limit);
int32_t sequence_peak(const Sequence *q);
/* Spreads the empty slots evenly. Slots get other numbers. */
void sequence_spread(Sequence *q);
/* In the same way, around q->full, and not between begin and undo. */
void sequence_make_room(Sequence *q);

/* The run of node v that a reader at slot t reads, or -1. */
static inline int
sequence_latest(const Sequence *q, int v, int t)
{
    int r = q->final[v];
    while (r >= 0 && q->slot[r] >= t)
        r = q->prev[r];
    return r;
}

/* The first slot behind t whose run reads the run r. */
int sequence_next_read(const Sequence *q, int r, int t);
/* The slots before which the run r may go with the same readers: from behind
 * its inputs (their first runs) and the last reader of the node's run before,
 * to the first reader or the node's next run. */
int sequence_earliest(const Sequence *q, int r);
int sequence_latest_place(const Sequence *q, int r);
bool sequence_redundant(const Sequence *q, int r);

/* ---- edits ---- */

void sequence_begin(Sequence *q);
void sequence_undo(Sequence *q);
/* Runs v again before what is at slot t or behind it; each input must have
 * run before. Returns the run, or -1 when there is no room. */
int sequence_insert(Sequence *q, int t, int v);
/* Takes out a run; the node must have another one that can serve its
 * readers: before it, or, if nothing reads it, anywhere. */
void sequence_remove(Sequence *q, int r);
/* Takes out r when nothing reads it and its node has another run; then, in
 * the same way, what only r read. */
void sequence_drop(Sequence *q, int r);
/* Moves a run before what is at slot t or behind it; t lies within
 * earliest .. latest_place. False when there is no room. */
bool sequence_move(Sequence *q, int r, int t);

#endif
