#include "passes/plan/ladder.h"

#include <limits.h>

#include "ir/copy.h"
#include "passes/pass.h"
#include "passes/plan/cost.h"
#include "passes/plan/early.h"
#include "passes/plan/flow.h"
#include "passes/plan/ladder_moves.h"
#include "passes/plan/ladder_parts.h"

enum { LEAST_CHUNK = 32 };

/* Of ladder_enough: rungs that are judged, fewer in larger graphs. */
enum { MOST_TRIES = 12, FEW_ATOMS = 4000 };

/* ---- judging: the later passes on a copy ---- */

bool
ladder_is_head(const Node *n)
{
    return n->body && strcmp(node_word(n, "kind", ""), "head") == 0;
}

/* Chunks that are half as large give the same bits, but not on a device: its
 * library adds up a smaller product in another order. There they stay. */
void
ladder_halve(Module *m, int times)
{
    if (module_option_is(m, "target", "cuda"))
        return;
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n) {
            int64_t chunk = ladder_is_head(n) ? node_int(n, "chunk", 0) : 0;
            for (int k = 0; k < times && chunk >= 2 * LEAST_CHUNK; k++)
                chunk /= 2;
            if (chunk > 0)
                node_set_attr(n, attr_int("chunk", chunk));
        }
}

static void
apply(Ladder *l, const Rung *r, Module *m)
{
    ladder_halve(m, r->halved);
    if (r->n > 0) {
        ladder_choose(l->drop, r);
        drop_apply(l->drop, m);
    }
    moves_apply(l, r, m);
    if (r->early)
        early_apply(m);
}

Module *
ladder_judge(Arena *a, Ladder *l, const Rung *r)
{
    Module *copy = module_copy(a, diag_new(a), l->m);
    module_set_option(copy, "limit", "");
    if (r)
        apply(l, r, copy);
    for (int i = PASS_phases; i < PASS_COUNT; i++)
        if (!pass_info[i].run(copy))
            return NULL;
    return copy;
}

void
ladder_bound(Rung *r)
{
    int64_t kept = r->kept > 0 ? r->kept : 0, bytes = kept + r->work;
    r->least = r->others + (r->load > bytes ? r->load : bytes);
}

int64_t
ladder_bytes(const Module *m)
{
    int64_t bytes = 0;
    for (int r = 0; r < REGION_COUNT; r++)
        if (r != REGION_host && r != REGION_disk)
            bytes += m->region_bytes[r];
    return bytes;
}

void
ladder_choose(Drop *d, const Rung *r)
{
    drop_undo(d, 0);
    for (int i = 0; i < r->n; i++)
        drop_add(d, r->values[i]);
}

static int64_t
without_stall(const Ladder *l, const Rung *r)
{
    return cost_plus(l->step_ns, cost_times(r->ns, l->batches));
}

/* The time without copies is exact beforehand; with them it is now. */
static void
judge(Ladder *l, Rung *r)
{
    Arena *a = arena_new();
    const Module *m = ladder_judge(a, l, r);
    r->total = m ? ladder_bytes(m) : INT64_MAX;
    if (m && ladder_moves(r))
        r->stall = flow_program(m, "step") - without_stall(l, r);
    arena_free(a);
}

int64_t
ladder_total(Ladder *l, int rung)
{
    Rung *r = &l->at.at[rung];
    if (r->total < 0)
        judge(l, r);
    return r->total;
}

int64_t
ladder_ns(const Ladder *l, int rung)
{
    const Rung *r = &l->at.at[rung];
    return cost_plus(without_stall(l, r), r->stall);
}

bool
ladder_moves(const Rung *r)
{
    return r->n_moved > 0 || r->states > 0 || r->weights > 0;
}

void
ladder_apply(Ladder *l, int rung, Module *m)
{
    apply(l, &l->at.at[rung], m);
}

/* ---- choosing ---- */

static bool
is_open(const Rung *r, bool again)
{
    return again || (r->n == 0 && r->halved == 0);
}

static bool
fits(Ladder *l, int rung, int64_t limit)
{
    return l->at.at[rung].least <= limit && ladder_total(l, rung) <= limit;
}

/* Rungs stand by the time that they take at least; what takes no less than the
 * best so far is not judged. */
int
ladder_fastest(Ladder *l, int64_t limit, bool again)
{
    int best = -1;
    for (int i = 0; i < l->at.n; i++) {
        const Rung *r = &l->at.at[i];
        if (best >= 0 && l->step_ns + r->floor >= ladder_ns(l, best))
            continue;
        if (is_open(r, again) && fits(l, i, limit) &&
            (best < 0 || ladder_ns(l, i) < ladder_ns(l, best)))
            best = i;
    }
    return best;
}

/* One that is not judged and may take fewer bytes; -1: none. */
static int
most_promising(const Ladder *l, int64_t bytes, bool again)
{
    int best = -1;
    for (int i = 0; i < l->at.n; i++) {
        const Rung *r = &l->at.at[i];
        if (r->total < 0 && r->least < bytes && is_open(r, again) &&
            (best < 0 || r->least < l->at.at[best].least))
            best = i;
    }
    return best;
}

/* The fewest that any takes, once so many more are judged at most. */
static int64_t
fewest_bytes(Ladder *l, bool again, int tries)
{
    int64_t bytes = ladder_total(l, 0);
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].total >= 0 && l->at.at[i].total < bytes &&
            is_open(&l->at.at[i], again))
            bytes = l->at.at[i].total;
    for (int i; tries > 0; tries--) {
        if ((i = most_promising(l, bytes, again)) < 0)
            break;
        if (ladder_total(l, i) < bytes)
            bytes = ladder_total(l, i);
    }
    return bytes;
}

int64_t
ladder_enough(Ladder *l, bool again)
{
    int n = l->drop->atoms.n, tries = MOST_TRIES;
    if (n > FEW_ATOMS)
        tries = (int)((int64_t)MOST_TRIES * FEW_ATOMS / n);
    return fewest_bytes(l, again, tries > 1 ? tries : 1);
}

/* Of those that take as few bytes the fastest. */
int
ladder_smallest(Ladder *l, bool again)
{
    int64_t bytes = fewest_bytes(l, again, INT_MAX);
    int best = 0;
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].total == bytes && is_open(&l->at.at[i], again) &&
            (l->at.at[best].total != bytes ||
             ladder_ns(l, i) < ladder_ns(l, best)))
            best = i;
    return best;
}
