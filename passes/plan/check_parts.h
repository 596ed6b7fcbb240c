/* How the checker is cut in files: passes/plan/check*.c only.
 *
 *   check.c          the whole, and what is said
 *   check_module.c   head, tensors, train section
 *   check_number.c   which node of the model a node of the schedule is
 *   check_program.c  which graph runs when
 *   check_effect.c   what changes tensors: once each, in the model's order
 *   check_early.c    updates in the backward pass, of gradients not kept
 *   check_memory.c   bytes: who wrote them, who has overwritten them
 *   check_copy.c     copies between spaces that are under way
 *   check_node.c     one node of a call
 *
 * A program is run as it would run, but with numbers for values. Two values
 * have one number when the same op with the same attributes made them of
 * values with the same numbers: the numbers are those of the model's values,
 * and a node that has none is not of the model. */
#ifndef EDL_PASSES_PLAN_CHECK_PARTS_H
#define EDL_PASSES_PLAN_CHECK_PARTS_H

#include "passes/plan/check.h"

/* ---- memory ---- */

/* The bytes of a value: its layout counts from the start of the region. */
typedef struct Place {
    Region region;
    int64_t slot; /* of the stash, else 0 */
    Type type;
    Layout layout;
    int64_t first, last; /* bits, both inclusive */
} Place;

/* A value of the schedule while its graph runs: Value.note. */
typedef struct Held {
    Value *value;
    int number; /* NO_NUMBER: it is not of the model, which was said */
    int last;   /* Node.order of the last node that reads it; -1: none */
    int read;   /* Node.order of the latest that read it */
    bool there; /* it has bytes */
    Place place;
    const Node *lost; /* who overwrote it */
    const Tensor *renewed; /* an optimizer changed this copy of the tensor */
} Held;

/* What a tensor holds, per slot. */
typedef struct Cell {
    Place place;
    bool filled;
    int number; /* of a stash */
    int64_t mb;
    const Node *lost;
} Cell;

/* ---- effects ---- */

typedef struct Effect {
    int number;
    const Node *node; /* of the model */
} Effect;

typedef VEC(Held *) HeldList;

/* A tensor of the schedule: Tensor.mark is its index. */
typedef struct Track {
    Tensor *tensor;
    VEC(Effect) micro, update; /* of one microbatch, of a step */
    int64_t done;              /* of micro, since the step began */
    int updated;               /* of update */
    bool changed;              /* by an optimizer */
    const Node *owed;          /* who changed a copy that is not back yet */
    int found[2];              /* effects in the schedule, as those above */
    Cell *cell;                /* one a slot */
    HeldList live;             /* values in it that are read later */
} Track;

/* ---- numbers ---- */

enum { NO_NUMBER = -1 };

typedef struct Entry {
    uint64_t hash;
    const Node *node; /* of the model */
    int *args;
    int first; /* number of its first result, or of the effect */
} Entry;

/* Lists of tracks that lie apart: one a region, and one of what is stashed in
 * the region of the gradients. */
enum { CHECK_BORROWED = REGION_COUNT, CHECK_LISTS };

typedef struct Check {
    Module *m, *model;
    Arena *arena;
    int faults;
    VEC(Entry) entries;
    int *table; /* entry + 1 by hash */
    int table_size;
    VEC(const Value *) named; /* by number: the model's value; NULL: effect */
    Track *tracks;
    int n_tracks;
    Track **sorted[CHECK_LISTS]; /* by region, by place */
    int n_sorted[CHECK_LISTS];
    HeldList live;     /* values in no tensor that are read later */
    VEC(Track *) used; /* whose list of those is not empty */
    Map grads;   /* of the model: name -> what it does with it */
    Map lacking; /* name of a parameter -> its gradient tensor in the model,
                  * which the schedule has not */
    /* of the program that runs */
    const Graph *main; /* the model's graph that it computes */
    int64_t microbatches;
    bool steps;  /* it is the step */
    Phase phase; /* of the graph that is called */
    const Graph *graph;
    int64_t mb, slot;
} Check;

/* ---- check.c ---- */

void check_fault(Check *c, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "NAME: ..." at the node. */
void check_fault_at(Check *c, const Node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Belongs to the last fault. */
void check_note(Check *c, Span at, const char *text);
/* A node's name for people. */
const char *check_name(Check *c, const Node *n);

/* ---- check_module.c ---- */

void check_module(Check *c);
void check_totals(Check *c, CheckReport *out);

/* ---- check_number.c ---- */

/* Numbers the model. */
void check_number_model(Check *c);
/* The number of n's first result (of n itself where it makes nothing), or
 * NO_NUMBER after a fault. args: the numbers of its operands. */
int check_number(Check *c, const Node *n, const int *args);

/* ---- check_program.c ---- */

void check_programs(Check *c);

/* ---- check_effect.c ---- */

Track *check_track(Check *c, const Tensor *t);
void check_effects_begin(Check *c);
/* None of the model's is missing in the graphs of the program. */
void check_effects_count(Check *c, Graph *const *graphs, int n);
void check_effects_end(Check *c, Span at);
/* A tensor is read: is its value the one that the model means? */
bool check_effects_read(Check *c, const Node *n);
void check_effect(Check *c, const Node *n, int number);
/* As if `more` microbatches like the last one had run. */
void check_effects_skip(Check *c, int64_t more);

/* ---- check_early.c ---- */

/* Before the tensors are compared. */
void check_early_begin(Check *c);
/* May a schedule lack this gradient tensor of the model? */
bool check_may_lack(const Check *c, const Tensor *grad);
bool check_is_update(const Node *n);
/* n, an optimizer in a backward pass, reads its gradient where it was made. */
bool check_is_early(const Check *c, const Node *n);
/* number: of that value. The number of the complete gradient, which the model
 * reads of a tensor; NO_NUMBER after a fault. */
int check_early_number(Check *c, const Node *n, int number);

/* ---- check_memory.c ---- */

void check_memory_begin(Check *c);
Place check_place_value(Check *c, const Value *v);
Place check_place_tensor(Check *c, const Tensor *t);
Place check_place_scratch(Check *c, const Node *n);
bool check_shares_home(const Value *a, const Value *b);
/* n, at this time, writes p. x: the result that it is, or NULL. What lies
 * there is lost, but for the cell of `spare`. */
void check_overwrite(Check *c, const Node *n, const Place *p, const Value *x,
                     const Tensor *spare);
bool check_overlaps(const Place *a, const Place *b);
/* A value has its place from now on. */
void check_hold(Check *c, Held *h);
/* Forgets values in no tensor that no node from `now` on reads. */
void check_forget(Check *c, int now);
void check_forget_all(Check *c);
void check_memory_end(Check *c, Span at);

/* ---- check_copy.c ---- */

/* An offload or a fetch. */
void check_copy(const Node *n);
/* An optimizer changes a copy that was fetched of a tensor; it is written
 * back. */
void check_copy_renew(Check *c, const Node *n, Held *h);
bool check_is_write_back(const Node *n);
void check_write_back(Check *c, const Node *n);

/* ---- check_node.c ---- */

/* Makes the notes of a graph's values. */
void check_prepare(Check *c, Graph *g);
void check_call(Check *c, Graph *g);
/* May x, a result of n, lie over u, which n reads? */
bool check_in_place(const Node *n, const Value *x, const Value *u);

#endif
