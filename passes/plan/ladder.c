#include "passes/plan/ladder.h"

#include "ir/copy.h"
#include "passes/pass.h"
#include "passes/plan/ladder_parts.h"

enum { LEAST_CHUNK = 32 };

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
    const char *target = module_option(m, "target");
    if (target && strcmp(target, "cuda") == 0)
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

Module *
ladder_judge(Arena *a, Module *m, const Drop *d, int halved)
{
    Module *copy = module_copy(a, diag_new(a), m);
    module_set_option(copy, "limit", "");
    ladder_halve(copy, halved);
    if (d)
        drop_apply(d, copy);
    for (int i = PASS_phases; i < PASS_COUNT; i++)
        if (!pass_info[i].run(copy))
            return NULL;
    return copy;
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

int64_t
ladder_total(Ladder *l, int rung)
{
    Rung *r = &l->at.at[rung];
    if (r->total < 0) {
        Arena *a = arena_new();
        ladder_choose(l->drop, r);
        const Module *m = ladder_judge(a, l->m, l->drop, r->halved);
        r->total = m ? ladder_bytes(m) : INT64_MAX;
        arena_free(a);
    }
    return r->total;
}

int64_t
ladder_ns(const Ladder *l, int rung)
{
    return l->step_ns + l->batches * l->at.at[rung].ns;
}

void
ladder_apply(Ladder *l, int rung, Module *m)
{
    ladder_halve(m, l->at.at[rung].halved);
    if (l->at.at[rung].n == 0)
        return;
    ladder_choose(l->drop, &l->at.at[rung]);
    drop_apply(l->drop, m);
}

/* ---- choosing ---- */

int
ladder_fastest(Ladder *l, int64_t limit)
{
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].least <= limit && ladder_total(l, i) <= limit)
            return i;
    return -1;
}

/* One that is not judged and may take fewer bytes; -1: none. */
static int
most_promising(const Ladder *l, int64_t bytes)
{
    int best = -1;
    for (int i = 0; i < l->at.n; i++) {
        const Rung *r = &l->at.at[i];
        if (r->total < 0 && r->least < bytes &&
            (best < 0 || r->least < l->at.at[best].least))
            best = i;
    }
    return best;
}

int
ladder_smallest(Ladder *l)
{
    int64_t bytes = ladder_total(l, 0);
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].total >= 0 && l->at.at[i].total < bytes)
            bytes = l->at.at[i].total;
    for (int i; (i = most_promising(l, bytes)) >= 0;)
        if (ladder_total(l, i) < bytes)
            bytes = ladder_total(l, i);
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].total == bytes)
            return i;
    return 0;
}
