/* Makes values of the forward pass again in the backward pass, where a limit
 * of memory (option `limit`) asks for it or option `recompute` does:
 *
 *     y = gelu_tanh x              y = gelu_tanh x
 *     phase backward         =>    phase backward
 *     dw = matmul y, dz            y.re = gelu_tanh x (recomputed)
 *                                  dw = matmul y.re, dz
 *
 * plan/ladder.h says which plans there are; the fastest that fits is taken.
 * Where none does it is the smallest, and `place` says that it is too large. */
#include "ir/copy.h"
#include "passes/pass.h"
#include "passes/plan/ladder.h"
#include "passes/plan/limit.h"

static bool
has_backward(const Graph *g)
{
    graph_each(g, n)
        if (n->phase == PHASE_backward)
            return true;
    return false;
}

/* -1: there is no limit. A share of what the unplanned program takes becomes
 * a number of bytes. */
static int64_t
find_limit(Module *m, Ladder *l)
{
    int64_t limit = limit_bytes(m, ladder_total(l, 0));
    if (limit >= 0)
        module_set_option(m, "limit",
                          arena_printf(m->arena, "%lld", (long long)limit));
    return limit;
}

static int64_t
lowest_if_moved(Module *m, bool again)
{
    int64_t bytes = 0;
    if (module_option(m, "offload"))
        return 0;
    Arena *a = arena_new();
    Module *copy = module_copy(a, diag_new(a), m);
    module_set_option(copy, "offload", "host");
    Ladder *l = ladder_make(a, copy);
    if (l)
        bytes = ladder_enough(l, again);
    ladder_free(l);
    arena_free(a);
    return bytes;
}

static int
pick(Module *m, Ladder *l)
{
    int64_t limit = find_limit(m, l);
    if (module_option_is(m, "recompute", "all"))
        return l->last;
    if (limit < 0)
        return 0;
    bool again = !module_option_is(m, "recompute", "none");
    int rung = ladder_fastest(l, limit, again);
    if (rung >= 0)
        return rung;
    if (!again)
        m->planned.lowest = ladder_total(l, ladder_smallest(l, true));
    m->planned.moved = lowest_if_moved(m, again);
    return ladder_smallest(l, again);
}

bool
pass_recompute(Module *m)
{
    Graph *g = module_graph(m, "main");
    if (!g || m->programs.n > 0 || !has_backward(g) ||
        (!module_option(m, "limit") &&
         !module_option_is(m, "recompute", "all")))
        return true;
    Arena *a = arena_new();
    Ladder *l = ladder_make(a, m);
    if (l) {
        int rung = pick(m, l);
        m->planned.kept_bytes = ladder_total(l, 0);
        m->planned.kept_ns = ladder_ns(l, 0);
        m->planned.ns = ladder_ns(l, rung);
        ladder_apply(l, rung, m);
    }
    ladder_free(l);
    arena_free(a);
    return true;
}
