/* Edits of a sequence, taken back or not, against the accounting afresh. */
#include <stdio.h>
#include <stdlib.h>

#include "passes/plan/sequence.h"

enum { NODES = 40, EDITS = 20000 };

static uint32_t
draw(uint32_t *x, uint32_t n)
{
    *x = *x * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*x * n) >> 32);
}

static CostGraph *
random_graph(Arena *a, uint32_t *x)
{
    CostGraph *g = ARENA_NEW(a, CostGraph);
    g->n = NODES;
    g->nodes = ARENA_ARRAY(a, CostNode, NODES);
    for (int v = 0; v < NODES; v++) {
        CostNode *node = &g->nodes[v];
        int *inputs = ARENA_ARRAY(a, int, 3);
        node->time = draw(x, 100);
        node->bytes = draw(x, 50);
        node->inputs = inputs;
        node->n_inputs = v < 3 ? 0 : (int)draw(x, 4);
        for (int i = 0; i < node->n_inputs; i++)
            inputs[i] = v - 1 - (int)draw(x, (uint32_t)(v < 12 ? v : 12));
    }
    return g;
}

static bool
wrong(const char *what, int edit)
{
    printf("edit %d: %s\n", edit, what);
    return false;
}

/* Everything that a sequence keeps, from its order alone. */
static bool
check(Arena *a, const CostGraph *g, const Sequence *q, int edit)
{
    int order[8 * NODES];
    int n = sequence_order(q, order);
    CostResult r;
    if (n != q->n || !costs_check(a, g, order, n, &r))
        return wrong("no order", edit);
    if (r.time != q->time)
        return wrong("time", edit);
    if (r.peak != (int64_t)sequence_peak(q) * q->g->unit)
        return wrong("peak", edit);
    Sequence *fresh = ARENA_NEW(a, Sequence);
    sequence_init(fresh, a, q->g);
    sequence_set_limit(fresh, q->limit);
    sequence_set(fresh, order, n);
    if (fresh->excess != q->excess)
        return wrong("excess", edit);
    for (int t = 0, k = 0; t < q->slots; t++) {
        if (q->at[t] < 0)
            continue;
        while (fresh->at[k] < 0)
            k++;
        if (fresh->over[k] != q->over[t])
            return wrong("load", edit);
        k++;
    }
    return true;
}

static int
any_run(const Sequence *q, uint32_t *x)
{
    for (;;) {
        int r = q->at[draw(x, (uint32_t)q->slots)];
        if (r >= 0)
            return r;
    }
}

static void
edit_once(Sequence *q, uint32_t *x)
{
    int r = any_run(q, x);
    uint32_t kind = draw(x, 3);
    if (kind == 0 && q->n < 3 * NODES) {
        int to = q->slot[r] + 1;
        sequence_insert(q, to + (int)draw(x, (uint32_t)(q->slots - to)),
                        q->node[r]);
    } else if (kind == 1 && q->prev[r] >= 0) {
        sequence_remove(q, r);
    } else if (kind == 2) {
        int lo = sequence_earliest(q, r), hi = sequence_latest_place(q, r);
        sequence_move(q, r, lo + (int)draw(x, (uint32_t)(hi - lo + 1)));
    }
    sequence_drop(q, any_run(q, x));
}

static bool
run(uint32_t x)
{
    Arena *a = arena_new();
    CostGraph *g = random_graph(a, &x);
    Sequence q;
    int order[NODES];
    bool ok = true;
    for (int v = 0; v < NODES; v++)
        order[v] = v;
    sequence_init(&q, a, flat_graph(a, g));
    sequence_set_limit(&q, 200);
    sequence_set(&q, order, NODES);
    ok = check(a, g, &q, 0);
    for (int edit = 1; ok && edit <= EDITS; edit++) {
        sequence_begin(&q);
        for (uint32_t k = draw(&x, 4); k < 4; k++)
            edit_once(&q, &x);
        if (draw(&x, 2))
            sequence_undo(&q);
        if (q.full >= 0)
            sequence_make_room(&q);
        Arena *scratch = arena_new();
        ok = edit % 20 > 0 || check(scratch, g, &q, edit);
        arena_free(scratch);
    }
    arena_free(a);
    return ok;
}

int
main(void)
{
    for (uint32_t seed = 1; seed <= 5; seed++)
        if (!run(seed))
            return 1;
    return 0;
}
