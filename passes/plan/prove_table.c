/* The states of a search for a proof: found again by what they are, and taken
 * by their bounds. */
#include "passes/plan/prove_parts.h"

enum { FIRST_BUCKETS = 1 << 12 };

static uint64_t
mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static int *
bucket(const Prover *p, const ProveState *s)
{
    uint64_t h = mix(1, (uint64_t)(s->last + 1));
    for (int i = 0; i < PROVE_NODES / 64; i++)
        h = mix(mix(h, s->done.w[i]), s->live.w[i]);
    return &p->buckets[h >> 8 & (uint64_t)(p->n_buckets - 1)];
}

static void
more_buckets(Prover *p)
{
    p->n_buckets = p->n_buckets ? 4 * p->n_buckets : FIRST_BUCKETS;
    p->buckets = ARENA_ARRAY(p->arena, int, p->n_buckets);
    p->chain = ARENA_ARRAY(p->arena, int, p->n_buckets);
    for (int i = 0; i < p->n_buckets; i++)
        p->buckets[i] = -1;
    for (int i = 0; i < p->states.n; i++) {
        int *b = bucket(p, &p->states.at[i]);
        p->chain[i] = *b;
        *b = i;
    }
}

/* The least total first; then what has run most, then the oldest. */
static bool
sooner(const Prover *p, int a, int b)
{
    const ProveState *x = &p->states.at[a], *y = &p->states.at[b];
    if (x->total != y->total)
        return x->total < y->total;
    if (x->depth != y->depth)
        return x->depth > y->depth;
    return a < b;
}

void
prove_push(Prover *p, int state)
{
    vec_push(p->arena, &p->open, state);
    int i = p->open.n - 1;
    for (; i > 0 && sooner(p, state, p->open.at[(i - 1) / 2]); i = (i - 1) / 2)
        p->open.at[i] = p->open.at[(i - 1) / 2];
    p->open.at[i] = state;
}

int
prove_pop(Prover *p)
{
    if (p->open.n == 0)
        return -1;
    int first = p->open.at[0], moved = p->open.at[--p->open.n], i = 0;
    for (int k = 1; k < p->open.n; k = 2 * i + 1) {
        if (k + 1 < p->open.n && sooner(p, p->open.at[k + 1], p->open.at[k]))
            k++;
        if (!sooner(p, p->open.at[k], moved))
            break;
        p->open.at[i] = p->open.at[k];
        i = k;
    }
    if (p->open.n > 0)
        p->open.at[i] = moved;
    return first;
}

void
prove_add(Prover *p, const ProveState *s)
{
    if (p->states.n >= p->n_buckets)
        more_buckets(p);
    int *b = bucket(p, s);
    for (int i = *b; i >= 0; i = p->chain[i]) {
        ProveState *t = &p->states.at[i];
        if (t->old || t->last != s->last || t->again != s->again ||
            !set_equal(&t->done, &s->done) ||
            !set_equal(&t->live, &s->live))
            continue;
        if (t->extra <= s->extra)
            return;
        t->old = true;
    }
    p->chain[p->states.n] = *b;
    *b = p->states.n;
    vec_push(p->arena, &p->states, *s);
    prove_push(p, p->states.n - 1);
}
