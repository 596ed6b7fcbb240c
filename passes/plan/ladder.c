#include "passes/plan/ladder.h"

#include <limits.h>

#include "ir/copy.h"
#include "passes/pass.h"
#include "passes/place.h"
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

static bool
run_passes(Module *m, int from, int end)
{
    for (int i = from; i < end; i++)
        if (!pass_info[i].run(m))
            return false;
    return true;
}

Module *
ladder_scheduled(Arena *a, Ladder *l, const Rung *r)
{
    Module *copy = module_copy(a, diag_new(a), l->m);
    module_set_option(copy, "limit", "");
    if (r)
        apply(l, r, copy);
    return run_passes(copy, PASS_phases, PASS_place) ? copy : NULL;
}

void
ladder_bound(Rung *r)
{
    int64_t kept = r->kept > 0 ? r->kept : 0, bytes = kept + r->work;
    r->least = r->others + (r->load > bytes ? r->load : bytes);
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

static int64_t
rung_ns(const Ladder *l, const Rung *r)
{
    return cost_plus(without_stall(l, r), r->stall);
}

/* The time without copies is exact beforehand; with them it is now. What takes
 * more bytes or as much time is not placed, which is most of the work. */
static void
judge(Ladder *l, Rung *r, int64_t limit, int64_t ns)
{
    Module *m = ladder_scheduled(l->judging, l, r);
    if (m && ladder_moves(r))
        r->stall = flow_program(m, "step") - without_stall(l, r);
    r->timed = true;
    int64_t least = m ? place_least(m) : -1;
    r->least = least >= 0 ? least : INT64_MAX;
    if (least < 0)
        r->total = INT64_MAX;
    else if (least <= limit && rung_ns(l, r) < ns)
        r->total = pass_place(m) ? place_bytes(m) : INT64_MAX;
    arena_reset(l->judging);
}

void
ladder_free(Ladder *l)
{
    if (l)
        arena_free(l->judging);
}

int64_t
ladder_total(Ladder *l, int rung)
{
    Rung *r = &l->at.at[rung];
    if (r->total < 0)
        judge(l, r, INT64_MAX, INT64_MAX);
    return r->total;
}

int64_t
ladder_ns(const Ladder *l, int rung)
{
    return rung_ns(l, &l->at.at[rung]);
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

/* It takes at most so many bytes, and less time. */
static bool
is_better(Ladder *l, int rung, int64_t limit, int64_t ns)
{
    Rung *r = &l->at.at[rung];
    bool slow = r->timed ? rung_ns(l, r) >= ns : l->step_ns + r->floor >= ns;
    if (slow || r->least > limit)
        return false;
    if (r->total < 0)
        judge(l, r, limit, ns);
    return r->total >= 0 && r->total <= limit && rung_ns(l, r) < ns;
}

bool
ladder_fits(Ladder *l, int rung, int64_t limit)
{
    return is_better(l, rung, limit, INT64_MAX);
}

/* Rungs stand by the time that they take at least; what takes no less than the
 * best so far is not judged. */
int
ladder_fastest(Ladder *l, int64_t limit, bool again)
{
    int best = -1;
    int64_t ns = INT64_MAX;
    for (int i = 0; i < l->at.n; i++)
        if (is_open(&l->at.at[i], again) && is_better(l, i, limit, ns)) {
            best = i;
            ns = ladder_ns(l, i);
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
        if (ladder_fits(l, i, bytes))
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
    return ladder_fastest(l, fewest_bytes(l, again, INT_MAX), again);
}
