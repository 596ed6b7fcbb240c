/* A part of a placement, and what it leaves to the items that are not placed:
 * below which offset none of them can lie. A part of plan/pack.h's search. */
#ifndef EDL_PASSES_PLAN_PACK_STATE_H
#define EDL_PASSES_PLAN_PACK_STATE_H

#include "passes/plan/pack_problem.h"

typedef struct Raised {
    int item;
    int64_t old;
} Raised;

/* Sections that something has to do with. */
typedef struct Range {
    int lo, hi;
} Range;

typedef struct Excluded {
    int item;
    int64_t old;
    Range because;
} Excluded;

/* The lowest offset of what is open in a section. */
typedef struct Floor {
    int section;
    int64_t at;
} Floor;

enum { STATE_TIGHT = 12 };

typedef struct State {
    const PackProblem *p;
    int64_t *limit;    /* of an item: the highest top that it may have */
    int64_t *capacity; /* of a section: the highest of these */
    int64_t *offset; /* -1: not placed */
    int64_t *least;  /* smallest offset that the placed ones leave; an item is
                      * placed nowhere else */
    int64_t *never;  /* a least offset at which it will not be placed, */
    Range *because;  /* for what the sections of this range are like */
    int64_t *lifted; /* least, or what unplaced neighbours lift it to */
    int *open;       /* unplaced items, by lifted after state_settle */
    int n_open;
    int *low; /* those that have to be lifted */
    int64_t *rest;  /* of a section: sizes not placed yet */
    uint64_t *busy; /* sections with such sizes, as bits */
    uint64_t *left; /* of these, the ones that have no floor yet */
    int n_words;
    int64_t window; /* the lowest top that an open item could have */
    int64_t room;   /* of the sections in which least may stay empty, */
    Floor tight[STATE_TIGHT]; /* and some of these */
    int n_tight;
    VEC(Raised) raised;
    VEC(Excluded) excluded;
    int64_t *fails; /* of a section: failures that it had part in */
    Range blame;    /* of the last failure */
} State;

State *state_new(const PackProblem *p, int64_t capacity);
void state_clear(State *s);
/* False when sections are too full, or an item too large. */
bool state_may_fit(const State *s);

/* Places an item at its least offset: all that is open and alive together
 * with it lies above it. Returns what state_take_back needs. */
typedef struct Placed {
    int item, at, n_raised;
} Placed;

Placed state_place(State *s, int i);
void state_take_back(State *s, Placed x);

/* Item i will not be placed at its least offset as it is now. */
void state_exclude(State *s, int i, Range because);
/* Until there are n of these again. */
void state_include(State *s, int n);
bool state_is_excluded(const State *s, int i);

/* Draws conclusions; with low, none of what is open is placed below that.
 * False, and blame set, where what is open cannot be placed. */
bool state_settle(State *s, int64_t low);

#endif
