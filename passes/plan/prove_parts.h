/* What prove.c, prove_bound.c and prove_table.c share. */
#ifndef EDL_PASSES_PLAN_PROVE_PARTS_H
#define EDL_PASSES_PLAN_PROVE_PARTS_H

#include "passes/plan/cut.h"
#include "passes/plan/prove.h"

/* Nodes of a graph of at most PROVE_NODES. */
typedef struct NodeSet {
    uint64_t w[PROVE_NODES / 64];
} NodeSet;

static inline bool
set_has(const NodeSet *s, int v)
{
    return s->w[v / 64] >> v % 64 & 1;
}

static inline void
set_add(NodeSet *s, int v)
{
    s->w[v / 64] |= (uint64_t)1 << v % 64;
}

static inline void
set_drop(NodeSet *s, int v)
{
    s->w[v / 64] &= ~((uint64_t)1 << v % 64);
}

static inline NodeSet
set_and(NodeSet a, NodeSet b)
{
    return (NodeSet){{a.w[0] & b.w[0], a.w[1] & b.w[1]}};
}

static inline NodeSet
set_or(NodeSet a, NodeSet b)
{
    return (NodeSet){{a.w[0] | b.w[0], a.w[1] | b.w[1]}};
}

static inline NodeSet
set_less(NodeSet a, NodeSet b)
{
    return (NodeSet){{a.w[0] & ~b.w[0], a.w[1] & ~b.w[1]}};
}

static inline bool
set_meets(const NodeSet *a, const NodeSet *b)
{
    return (a->w[0] & b->w[0]) || (a->w[1] & b->w[1]);
}

static inline bool
set_within(const NodeSet *a, const NodeSet *b)
{
    return !(a->w[0] & ~b->w[0]) && !(a->w[1] & ~b->w[1]);
}

static inline bool
set_equal(const NodeSet *a, const NodeSet *b)
{
    return a->w[0] == b->w[0] && a->w[1] == b->w[1];
}

/* After some runs: what has run, what is alive. All else that came before
 * does not matter, but the time. */
typedef struct ProveState {
    NodeSet done, live;
    int64_t extra; /* time of the runs that repeated one */
    int64_t total; /* no end takes less extra time than this */
    double price;  /* of a byte across x: gave the bound */
    int32_t parent;
    int16_t last; /* the node that ran; -1: none */
    int16_t x;    /* -1: none */
    int16_t depth; /* runs */
    bool again;   /* the last run repeated one */
    bool looked;  /* all was done for its bound */
    bool old;     /* one that is as good is there */
} ProveState;

typedef struct Prover {
    Arena *arena, *plan_arena;
    const CostGraph *g;
    int64_t limit;
    int64_t below;  /* extra times from here on are of no use */
    int64_t common; /* divides all times */
    NodeSet inputs[PROVE_NODES], readers[PROVE_NODES];
    NodeSet before[PROVE_NODES], after[PROVE_NODES]; /* ancestors ... */
    NodeSet crossing[PROVE_NODES]; /* what something after it reads, without
                                    * itself and its inputs */
    int64_t room[PROVE_NODES];     /* for what lives across it */
    NodeSet all;
    Cut cut;
    VEC(ProveState) states;
    VEC(int) open; /* a heap */
    int *buckets;
    int *chain; /* of a state: the next one in its bucket */
    int n_buckets, chain_cap;
} Prover;

/* ---- prove_bound.c ---- */

extern const int64_t prove_never;

/* Values that are gone and that something reads that has not run; and so on
 * for what makes them. Each runs again, at least once. */
NodeSet prove_forced(const Prover *p, const NodeSet *done, const NodeSet *live,
                     const NodeSet *readers);
int64_t prove_time(const Prover *p, const NodeSet *s);
int64_t prove_bytes(const Prover *p, const NodeSet *s);
/* Raises s->total by what is known of x and its price. */
void prove_glance(Prover *p, ProveState *s);
/* By the best x and price that are found. */
void prove_look(Prover *p, ProveState *s);

/* ---- prove_table.c ---- */

/* Puts in a state unless one that is as good is there. */
void prove_add(Prover *p, const ProveState *s);
/* The open state of the least total, or -1. */
int prove_pop(Prover *p);
void prove_push(Prover *p, int state);

#endif
