/* Makes the rungs: equal blocks step by step, segments, chunks of heads. */
#include "passes/plan/ladder.h"

#include <stdlib.h>

#include "ir/copy.h"
#include "ir/scratch.h"
#include "passes/pass.h"
#include "passes/place.h"
#include "passes/plan/ahead.h"
#include "passes/plan/cost.h"
#include "passes/plan/drop_cost.h"
#include "passes/plan/early.h"
#include "passes/plan/ladder_careful.h"
#include "passes/plan/ladder_moves.h"
#include "passes/plan/ladder_parts.h"
#include "passes/plan/ladder_steps.h"

enum {
    PARTS = 24, /* rungs at most for a step of equal blocks */
    ATOMS = 16000, /* in larger graphs that take longer, fewer */
    LEAST_PARTS = 6,
    BETWEEN = 4, /* parts of the bytes of a step of one block, at most */
    RUNGS = 64, /* rungs at most, about, for what is in no block */
    HALVINGS = 3,
    SPACED = 8,
    CAREFUL = 120, /* so many values, or fewer, are dropped with care */
    FEW_BLOCKS = 4, /* fewer are not gathered in segments */
    ALIKE = 8 /* rungs of one bound, at most */
};

/* A kind of blocks goes from one choice to a later one. */
typedef struct Step {
    double price; /* ns for a byte */
    int kind, to; /* a choice */
} Step;

typedef struct Make {
    Ladder *l;
    Arena *a;
    DropCost *cost;
    Blocks *blocks;
    int *choice; /* by block */
    VEC(Step) steps;
    int64_t others[HALVINGS + 1];    /* of the other regions */
    int64_t workspace[HALVINGS + 1]; /* of what no choice lowers */
    int64_t head[HALVINGS + 1];      /* ns of the heads */
    int n_halvings;                  /* those that lower the workspace, + 1 */
    bool early;                      /* rungs are made that keep gradients
                                      * for a moment only */
} Make;

/* ---- rungs ---- */

typedef VEC(int) Values;

static void
add_values_of(Make *k, Values *list, int block)
{
    const Block *b = &k->blocks->at.at[block];
    const BlockKind *kind = &k->blocks->kinds.at[b->kind];
    const Choice *c = &kind->choices.at[k->choice[block]];
    for (int v = 0; v < c->n; v++)
        vec_push(k->a, list, b->large.at[c->at[v]]);
}

static void
add_values(Make *k, Values *list)
{
    for (int i = 0; i < k->blocks->at.n; i++)
        add_values_of(k, list, i);
}

static void
add_rung(Make *k, const Values *list)
{
    Drop *d = k->l->drop;
    Rung r = {.values = list->at, .n = list->n, .total = -1};
    r.early = k->early;
    ladder_choose(d, &r);
    r.ns = drop_cost(k->cost) + (k->early ? k->l->early_ns : 0);
    r.load = drop_load(d);
    r.kept = drop_kept(d);
    drop_undo(d, 0);
    vec_push(k->a, &k->l->at, r);
}

static void
add_state(Make *k)
{
    Values list = {0};
    add_values(k, &list);
    if (list.n > 0 || k->early)
        add_rung(k, &list);
}

/* ---- steps by price ---- */

static double
price_between(const Choice *x, const Choice *y)
{
    return (double)(y->ns - x->ns) / (double)(y->saved - x->saved);
}

/* Equal blocks step from one corner of the front to the next; what is there
 * once takes the choices between as well, at the price of the whole edge. */
static void
add_steps(Make *k, int kind)
{
    const BlockKind *b = &k->blocks->kinds.at[kind];
    const Choice *c = b->choices.at;
    int64_t grain = c[b->choices.n - 1].saved / RUNGS, last = c[0].saved;
    for (int i = 1; i < b->hull.n; i++) {
        int from = b->hull.at[i - 1], to = b->hull.at[i];
        double price = price_between(&c[from], &c[to]);
        for (int x = b->members.n > 1 ? to : from + 1; x <= to; x++) {
            if (x < to && c[x].saved - last < grain)
                continue;
            last = c[x].saved;
            vec_push(k->a, &k->steps, ((Step){price, kind, x}));
        }
    }
}

static int
by_price(const void *a, const void *b)
{
    const Step *x = a, *y = b;
    if (x->price != y->price)
        return x->price < y->price ? -1 : 1;
    return x->kind != y->kind ? x->kind - y->kind : x->to - y->to;
}

static int
count_parts(const Make *k)
{
    int n = k->l->drop->atoms.n;
    int parts = n > ATOMS ? (int)((int64_t)PARTS * ATOMS / n) : PARTS;
    return parts < LEAST_PARTS ? LEAST_PARTS : parts;
}

/* The last of the blocks that step together goes there by the choices between,
 * so that a little memory is not worth as much time as a whole block. */
static void
go_between(Make *k, const BlockKind *b, int block, int to)
{
    const Choice *c = b->choices.at;
    int from = k->choice[block];
    int64_t grain = (c[to].saved - c[from].saved) / BETWEEN;
    int64_t last = c[from].saved;
    for (int x = from + 1; x < to; x++) {
        if (c[x].saved - last < grain || c[to].saved - c[x].saved < grain)
            continue;
        last = c[x].saved;
        k->choice[block] = x;
        add_state(k);
    }
    k->choice[block] = to;
}

/* Early blocks first: what they make again they need last. */
static void
take_step(Make *k, const Step *s)
{
    const BlockKind *b = &k->blocks->kinds.at[s->kind];
    int parts = count_parts(k), part = (b->members.n + parts - 1) / parts;
    for (int i = 0; i < b->members.n; i++) {
        bool last = (i + 1) % part == 0 || i + 1 == b->members.n;
        if (last && b->members.n > 1)
            go_between(k, b, b->members.at[i], s->to);
        k->choice[b->members.at[i]] = s->to;
        if (last)
            add_state(k);
    }
}

static void
find_steps(Make *k)
{
    for (int i = 0; i < k->blocks->kinds.n; i++)
        add_steps(k, i);
    qsort(k->steps.at, (size_t)k->steps.n, sizeof(Step), by_price);
}

static void
add_steps_of_all(Make *k)
{
    for (int i = 0; i < k->blocks->at.n; i++)
        k->choice[i] = 0;
    add_state(k);
    for (int i = 0; i < k->steps.n; i++)
        take_step(k, &k->steps.at[i]);
}

/* ---- segments: of every so many blocks only the last one's result ---- */

static int
count_bordered(const Blocks *b)
{
    int n = 0;
    for (int i = 0; i < b->at.n; i++)
        n += b->at.at[i].borders.n > 0;
    return n;
}

static void
add_segments(Make *k, int length)
{
    Values list = {0};
    int at = 0;
    add_values(k, &list);
    for (int i = 0; i < k->blocks->at.n; i++) {
        const Block *b = &k->blocks->at.at[i];
        if (b->borders.n == 0 || ++at % length == 0)
            continue;
        for (int v = 0; v < b->borders.n; v++)
            vec_push(k->a, &list, b->borders.at[v]);
    }
    add_rung(k, &list);
}

static void
add_all_segments(Make *k)
{
    int n = count_bordered(k->blocks);
    for (int length = 2; n >= FEW_BLOCKS && length <= n / 2;
         length += (length + 1) / 2)
        add_segments(k, length);
}

/* ---- what is in no block: every so many values one is kept ---- */

/* Of the first `end` values. */
static void
add_spaced(Make *k, int block, int length, int end)
{
    Values list = {0};
    const Block *b = &k->blocks->at.at[block];
    for (int i = 0; i < k->blocks->at.n; i++)
        if (i != block)
            add_values_of(k, &list, i);
    for (int v = 0; v < end; v++)
        if ((v + 1) % length != 0)
            vec_push(k->a, &list, b->large.at[v]);
    add_rung(k, &list);
}

static void
add_all_spaced(Make *k)
{
    for (int i = 0; i < k->blocks->at.n; i++) {
        const Block *b = &k->blocks->at.at[i];
        for (int length = 2; !b->name && length <= b->large.n / 2;
             length += (length + 1) / 2)
            for (int part = 1; part <= SPACED; part++)
                add_spaced(k, i, length, b->large.n * part / SPACED);
    }
}

static void
add_careful(Make *k, int block, bool others, bool at_any_price)
{
    const Block *b = &k->blocks->at.at[block];
    Values list = {0};
    for (int i = 0; others && i < k->blocks->at.n; i++)
        if (i != block)
            add_values_of(k, &list, i);
    Careful c = {.d = k->l->drop, .from = b->large.at, .n = b->large.n,
                 .at_any_price = at_any_price};
    c.workspace = k->workspace[k->n_halvings - 1];
    int *order = ARENA_ARRAY(k->a, int, b->large.n + 1);
    ladder_choose(c.d, &(Rung){.values = list.at, .n = list.n});
    int n = careful_find(k->a, &c, order);
    drop_undo(c.d, 0);
    for (int i = 0; i < n; i++) {
        vec_push(k->a, &list, order[i]);
        int *values = ARENA_ARRAY(k->a, int, list.n);
        memcpy(values, list.at, sizeof *values * (size_t)list.n);
        add_rung(k, &(Values){.at = values, .n = list.n});
    }
}

/* With all that the other blocks may drop, and with none of it; and so that
 * the smallest rung is the same whatever the rates of the machine are. */
static void
add_all_careful(Make *k)
{
    for (int i = 0; i < k->blocks->at.n; i++) {
        const Block *b = &k->blocks->at.at[i];
        if (b->name || b->large.n > CAREFUL)
            continue;
        add_careful(k, i, true, false);
        add_careful(k, i, true, true);
        if (k->blocks->at.n > 1)
            add_careful(k, i, false, false);
    }
}

/* ---- the ladder ---- */

/* The first rung stays the first. */
static int
by_time(const void *a, const void *b)
{
    const Rung *x = a, *y = b;
    bool x_first = !x->n && !x->halved && !x->early && !ladder_moves(x);
    bool y_first = !y->n && !y->halved && !y->early && !ladder_moves(y);
    if (x_first != y_first)
        return x_first ? -1 : 1;
    if (x->floor != y->floor)
        return x->floor < y->floor ? -1 : 1;
    if (ladder_moves(x) != ladder_moves(y))
        return ladder_moves(y) ? -1 : 1;
    if (x->least != y->least)
        return (x->least < y->least) == ladder_moves(x) ? 1 : -1;
    if (x->ahead != y->ahead)
        return x->ahead - y->ahead;
    if (x->early != y->early)
        return x->early - y->early;
    if (x->halved != y->halved)
        return x->halved - y->halved;
    if (x->n_moved != y->n_moved)
        return x->n_moved - y->n_moved;
    if (x->states != y->states)
        return x->states - y->states;
    if (x->weights != y->weights)
        return x->weights - y->weights;
    if (x->n != y->n)
        return x->n - y->n;
    return x->n ? memcmp(x->values, y->values, sizeof(int) * (size_t)x->n) : 0;
}

static void
add_others(Make *k, Rung *r)
{
    r->ns += k->head[r->halved] - k->head[0];
    r->work = k->workspace[r->halved];
    r->others = k->others[r->halved] - (r->early ? k->l->early_bytes : 0);
    ladder_bound(r);
}

/* All that has been found, with smaller chunks as well. */
static void
add_halved(Make *k)
{
    Ladder *l = k->l;
    int n = l->at.n;
    for (int h = 1; h < k->n_halvings; h++)
        for (int i = 0; i < n; i++) {
            Rung r = l->at.at[i];
            r.halved = h;
            vec_push(k->a, &l->at, r);
        }
    for (int i = 0; i < l->at.n; i++)
        add_others(k, &l->at.at[i]);
}

static void
sort_rungs(Ladder *l)
{
    for (int i = 0; i < l->at.n; i++) {
        Rung *r = &l->at.at[i];
        r->floor = cost_plus(cost_times(r->ns, l->batches), r->stall);
    }
    qsort(l->at.at, (size_t)l->at.n, sizeof(Rung), by_time);
}

static void
find_last(Ladder *l, const Values *values)
{
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i].n == values->n && !l->at.at[i].halved &&
            !l->at.at[i].early && !ladder_moves(&l->at.at[i]) &&
            (values->n == 0 || memcmp(l->at.at[i].values, values->at,
                                      sizeof(int) * (size_t)values->n) == 0))
            l->last = i;
}

static bool
are_alike(const Rung *a, const Rung *b)
{
    return a->least == b->least && a->halved == b->halved &&
           a->early == b->early;
}

/* Where gradients lend enough for all that is stashed, rungs differ in time
 * and in nothing else: of those some stay, evenly, the first and the last
 * among them. */
static void
thin_out(Make *k)
{
    Ladder *l = k->l;
    int n = 0, *size = ARENA_ARRAY(k->a, int, l->at.n);
    int *place = ARENA_ARRAY(k->a, int, l->at.n);
    int *group = ARENA_ARRAY(k->a, int, l->at.n);
    for (int i = 0; i < l->at.n; i++) {
        group[i] = 0;
        while (!are_alike(&l->at.at[group[i]], &l->at.at[i]))
            group[i]++;
        place[i] = size[group[i]]++;
    }
    for (int i = 0; i < l->at.n; i++) {
        int m = size[group[i]], at = place[i], steps = ALIKE - 1;
        bool stays = m <= ALIKE || at == 0 || i == l->last ||
                     at * steps / (m - 1) > (at - 1) * steps / (m - 1);
        if (stays)
            l->at.at[n++] = l->at.at[i];
    }
    l->at.n = n;
}

static void
add_all(Make *k, bool early)
{
    k->early = k->l->drop->early = early;
    add_steps_of_all(k);
    add_all_segments(k);
    add_all_spaced(k);
    add_all_careful(k);
    k->l->drop->early = false;
}

static void
fill(Make *k, const Module *kept)
{
    Values last = {0};
    add_rung(k, &last);
    find_steps(k);
    add_all(k, false);
    add_values(k, &last);
    if (k->l->early_bytes > 0)
        add_all(k, true);
    add_halved(k);
    sort_rungs(k->l);
    find_last(k->l, &last);
    thin_out(k);
    moves_add(k->l, kept);
    sort_rungs(k->l);
    find_last(k->l, &last);
}

/* What the other graphs need of the workspace, no choice of values lowers;
 * nor what a kernel needs for itself. */
static int64_t
other_workspace(const Module *m)
{
    int64_t workspace = 0;
    for (int i = 0; i < m->graphs.n; i++) {
        const Graph *g = m->graphs.at[i];
        bool free =
            strcmp(g->name, "forward") == 0 || strcmp(g->name, "backward") == 0;
        int64_t least = free ? 0 : g->workspace;
        graph_each(g, n)
            if (node_scratch(n) > least)
                least = node_scratch(n);
        if (least > workspace)
            workspace = least;
    }
    return workspace;
}

static int64_t
head_ns(const Module *m)
{
    int64_t ns = 0;
    for (int i = 0; i < m->graphs.n; i++)
        if (strcmp(m->graphs.at[i]->name, "evaluate") != 0)
            graph_each(m->graphs.at[i], n)
                if (ladder_is_head(n))
                    ns += cost_kernel(n);
    return ns;
}

static bool
place_again(Module *m)
{
    for (int r = 0; r < REGION_COUNT; r++)
        m->region_bytes[r] = 0;
    for (int i = 0; i < m->graphs.n; i++)
        m->graphs.at[i]->workspace = 0;
    return pass_place(m);
}

/* The bytes and times of heads whose chunks are halved, in the module that
 * keeps all. */
static bool
measure_heads(Make *k, Module *kept)
{
    for (int h = 0; h <= HALVINGS; h++) {
        if (h > 0)
            ladder_halve(kept, 1);
        if (h > 0 && !place_again(kept))
            return false;
        k->head[h] = head_ns(kept);
        k->workspace[h] = other_workspace(kept);
        k->others[h] = place_bytes(kept) - kept->region_bytes[REGION_stash] -
                       kept->region_bytes[REGION_workspace];
        if (h > 0 && k->workspace[h] >= k->workspace[h - 1])
            break;
        k->n_halvings = h + 1;
    }
    return true;
}

static int64_t
main_ns(const Module *m)
{
    return cost_graph(module_graph(m, "main"));
}

/* Their kernels begin one by one, and numbers that all updates share are made
 * in another place; no choice of values changes that. */
static int64_t
early_ns(Module *m)
{
    Arena *a = arena_new();
    Module *copy = module_copy(a, diag_new(a), m);
    early_apply(copy);
    int64_t ns = main_ns(copy) - main_ns(m);
    arena_free(a);
    return ns;
}

static void
find_early(Ladder *l, const Module *kept)
{
    EarlyParams list = early_find(l->a, l->m);
    for (int i = 0; i < list.n; i++) {
        const Tensor *t = module_tensor(kept, list.at[i].grad->name);
        l->early_bytes += t->bytes;
    }
    l->early_ns = list.n > 0 ? early_ns(l->m) : 0;
}

Ladder *
ladder_make(Arena *a, Module *m)
{
    Ladder *l = ARENA_NEW(a, Ladder);
    *l = (Ladder){.a = a, .m = m};
    Module *kept = ladder_scheduled(a, l, NULL);
    if (!kept || !pass_place(kept))
        return NULL;
    l->drop = drop_new(a, module_graph(m, "main"), kept);
    l->step_ns = cost_program(kept, "step");
    l->batches = m->train ? m->train->accumulate : 1;
    find_early(l, kept);
    Make k = {.l = l, .a = a, .cost = drop_cost_new(a, l->drop)};
    k.blocks = blocks_find(a, l->drop);
    k.choice = ARENA_ARRAY(a, int, k.blocks->at.n + 1);
    int64_t total = place_bytes(kept);
    if (!measure_heads(&k, kept))
        return NULL;
    fill(&k, kept);
    l->at.at[0].total = l->at.at[0].least = total;
    l->judging = arena_new();
    return l;
}
