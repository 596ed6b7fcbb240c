#include "passes/plan/ladder_moves.h"

#include <stdlib.h>

#include "ir/optimizer.h"
#include "ir/storage.h"
#include "passes/plan/ahead.h"
#include "passes/plan/cost.h"
#include "passes/plan/ladder_parts.h"
#include "passes/plan/order.h"

enum {
    BASES = 8,   /* rungs at most from which things are moved */
    PARTS = 8,   /* steps from no value moved to all */
    PARAMS = 4,  /* steps from no parameter moved to all, states and weights */
    PAD = 64,    /* a tensor takes a multiple of it */
    SMALL = 64   /* what is below this part of the largest stays */
};

static const int aheads[] = {AHEAD_all, AHEAD_two, AHEAD_next, AHEAD_free};

enum { MOST_SLOTS = 3, N_AHEADS = sizeof aheads / sizeof *aheads };

Space
moves_space(const Module *m)
{
    const char *text = module_option(m, "offload");
    if (!text || strcmp(text, "none") == 0)
        return SPACE_device;
    return strcmp(text, "host") == 0 ? SPACE_host : SPACE_disk;
}

typedef VEC(int) Values;

typedef struct Make {
    Ladder *l;
    Space space;
    Link link;
    double forward, backward, update; /* ns of a call that makes nothing
                                       * again */
    int *in_order; /* of the ladder's params: as the module has them */
} Make;

/* ---- what can go ---- */

static int
by_bytes(const void *a, const void *b)
{
    const MovedParam *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->at - y->at;
}

/* all: by Tensor.mark. */
static void
find_back(const Graph *g, MovedParam *all)
{
    graph_each(g, n) {
        if (n->body)
            find_back(n->body, all);
        for (int i = 0; i < n->n_args && n->phase == PHASE_backward; i++) {
            const Tensor *t = order_tensor(n->args[i]);
            if (t)
                all[t->mark].back = true;
        }
    }
}

/* Parameters that are trained, the largest first: few kernels are split off
 * the sweep. */
static void
find_params(Ladder *l)
{
    const Module *m = l->m;
    MovedParam *all = ARENA_ARRAY(l->a, MovedParam, m->tensors.n + 1);
    bool *trained = ARENA_ARRAY(l->a, bool, m->tensors.n + 1);
    for (int i = 0; i < m->tensors.n; i++) {
        m->tensors.at[i]->mark = i;
        all[i].at = i;
        all[i].bytes = type_bytes(&m->tensors.at[i]->type);
    }
    find_back(l->drop->g, all);
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (optimizer_moves(t)) {
            all[t->owner->mark].states.bytes += all[i].bytes;
            all[t->owner->mark].states.n++;
        }
        if (t->kind == TENSOR_grad)
            trained[t->owner->mark] = true;
    }
    for (int i = 0; i < m->tensors.n; i++)
        if (trained[i])
            vec_push(l->a, &l->params, all[i]);
    if (l->params.n)
        qsort(l->params.at, (size_t)l->params.n, sizeof(MovedParam), by_bytes);
    while (l->params.n &&
           l->params.at[l->params.n - 1].bytes * SMALL < l->params.at[0].bytes)
        l->params.n--;
}

static void
find_order(Make *k)
{
    const Ladder *l = k->l;
    int n = 0, *number = ARENA_ARRAY(l->a, int, l->m->tensors.n + 1);
    k->in_order = ARENA_ARRAY(l->a, int, l->params.n + 1);
    for (int i = 0; i < l->params.n; i++)
        number[l->params.at[i].at] = i + 1;
    for (int i = 0; i < l->m->tensors.n; i++)
        if (number[i])
            k->in_order[n++] = number[i] - 1;
}

/* Values that the chosen rung stashes, in the order in which they are made:
 * what is made first is away for longest. */
static Values
stashed(Make *k)
{
    Drop *d = k->l->drop;
    Values list = {0};
    int64_t largest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < d->values.n; i++) {
            const Value *v = d->values.at[i];
            bool gone = d->dropped[i] || d->again[v->def->mark];
            if (d->stash[i] == 0 || gone || v->def->op == OP_read)
                continue;
            if (pass == 0)
                largest = d->stash[i] > largest ? d->stash[i] : largest;
            else if (d->stash[i] * SMALL >= largest)
                vec_push(k->l->a, &list, i);
        }
    return list;
}

/* ---- rungs ---- */

static double
larger(double x, double y)
{
    return x > y ? x : y;
}

static double
above(double x, double y)
{
    return x > y ? x - y : 0;
}

/* What moves: values of the stash, parameters and their states; `back`: the
 * parameters that the backward pass reads. */
typedef struct Moves {
    CopyQueue values, weights, back, states;
} Moves;

static CopyQueue
joined(CopyQueue x, CopyQueue y)
{
    return (CopyQueue){x.bytes + y.bytes, x.n + y.n};
}

static double
queue_ns(const Link *l, CopyQueue q, double rate)
{
    return (double)q.bytes / rate + q.n * l->latency_ns;
}

/* What a step waits for copies at least. */
static int64_t
least_stall(const Make *k, const Rung *r, const Moves *m)
{
    Link l = k->link;
    double forward = larger(queue_ns(&l, m->values, l.out),
                            queue_ns(&l, m->weights, l.in));
    double first = above(forward, k->forward);
    double back = queue_ns(&l, joined(m->values, m->back), l.in);
    double backward = k->backward + (double)r->ns;
    CopyQueue update = joined(m->weights, m->states);
    double most = queue_ns(&l, update, l.out < l.in ? l.out : l.in);
    most = larger(most, 2 * (double)update.bytes / l.both);
    if (r->early) /* states move while the backward pass computes */
        return cost_whole(
            first + above(larger(back, most), backward + k->update));
    double pass = first + above(back, backward);
    return cost_whole(pass * (double)k->l->batches + above(most, k->update));
}

/* How many of the values make so many parts of their bytes. */
static int
prefix(const Drop *d, const Values *list, int part, int64_t *bytes)
{
    int64_t all = 0;
    int n = 0;
    for (int i = 0; i < list->n; i++)
        all += d->stash[list->at[i]];
    for (*bytes = 0; n < list->n && *bytes < all / PARTS * part; n++)
        *bytes += d->stash[list->at[n]];
    if (part == PARTS)
        for (; n < list->n; n++)
            *bytes += d->stash[list->at[n]];
    return n;
}

/* Level 0: no parameter; up to PARAMS: states of a part of them; beyond: all
 * states, and a part of the parameters themselves. */
static void
set_level(const Ladder *l, Rung *r, int level, Moves *m)
{
    int all = l->params.n;
    int states = level < PARAMS ? level : PARAMS;
    r->states = (all * states + PARAMS - 1) / PARAMS;
    r->weights = (all * (level - states) + PARAMS - 1) / PARAMS;
    for (int i = 0; i < r->states; i++)
        m->states = joined(m->states, l->params.at[i].states);
    for (int i = 0; i < r->weights; i++) {
        const MovedParam *p = &l->params.at[i];
        CopyQueue weight = {p->bytes, 1};
        m->weights = joined(m->weights, weight);
        if (p->back)
            m->back = joined(m->back, weight);
    }
}

static bool
is_large(const MovedParam *p, const MovedParam *least)
{
    return p->bytes > least->bytes ||
           (p->bytes == least->bytes && p->at <= least->at);
}

/* What the slots of an update take at least: states and weights that are
 * neighbours in the sweep, as many as are there at once. */
static int64_t
slot_bytes(const Make *k, const Rung *r, int slots)
{
    const Ladder *l = k->l;
    int64_t most = 0, now[MOST_SLOTS] = {0};
    int n = 0;
    for (int i = 0; i < l->params.n && r->states > 0; i++) {
        const MovedParam *p = &l->params.at[k->in_order[i]];
        if (!is_large(p, &l->params.at[r->states - 1]))
            continue;
        bool weight = r->weights > 0 &&
                      is_large(p, &l->params.at[r->weights - 1]);
        now[n++ % slots] = p->states.bytes + (weight ? p->bytes : 0);
        int64_t sum = 0;
        for (int s = 0; s < slots; s++)
            sum += now[s];
        most = sum > most ? sum : most;
    }
    return most;
}

static int
slots_of(int ahead)
{
    return ahead < 0 ? 1 : ahead + 1;
}

static void
add_rungs(Make *k, const Rung *base, const Values *list, int part, int level)
{
    Ladder *l = k->l;
    Moves m = {0};
    Rung r = *base;
    r.n_moved = part ? prefix(l->drop, list, part, &m.values.bytes) : 0;
    r.moved = list->at;
    m.values.n = r.n_moved;
    set_level(l, &r, level, &m);
    int64_t off = m.states.bytes + m.weights.bytes;
    if (m.values.bytes + off == 0)
        return;
    r.kept -= m.values.bytes;
    r.load -= m.values.bytes;
    r.others -= off + (PAD - 1) * (m.states.n + m.weights.n);
    if (k->space == SPACE_disk)
        r.others += storage_room_for(m.values.bytes + off);
    r.stall = least_stall(k, base, &m);
    r.total = -1;
    for (int i = 0; i < N_AHEADS; i++) {
        int n_slots = base->early ? 1 : slots_of(aheads[i]);
        int64_t slots = slot_bytes(k, &r, n_slots);
        r.ahead = aheads[i];
        r.work = slots > base->work ? slots : base->work;
        ladder_bound(&r);
        vec_push(l->a, &l->at, r);
    }
}

static void
add_moved(Make *k, int base)
{
    Ladder *l = k->l;
    Rung r = l->at.at[base];
    ladder_choose(l->drop, &r);
    Values list = stashed(k);
    drop_undo(l->drop, 0);
    for (int part = 0; part <= PARTS; part++)
        for (int level = 0; level <= 2 * PARAMS; level++)
            if (level == 0 || part % (PARTS / 2) == 0)
                add_rungs(k, &r, &list, part, level);
}

/* Of the rungs that no other beats in time and bytes, some. */
static void
add_all(Make *k)
{
    Ladder *l = k->l;
    Values front = {0};
    for (int i = 0; i < l->at.n; i++)
        if (front.n == 0 ||
            l->at.at[i].least < l->at.at[front.at[front.n - 1]].least)
            vec_push(l->a, &front, i);
    int n = front.n < BASES ? front.n : BASES;
    for (int i = 0; i < n; i++)
        add_moved(k, front.at[n > 1 ? i * (front.n - 1) / (n - 1) : 0]);
}

static double
graph_ns(const Module *m, const char *name)
{
    const Graph *g = module_graph(m, name);
    return g ? (double)cost_graph(g) : 0;
}

void
moves_add(Ladder *l, const Module *kept)
{
    Space space = moves_space(l->m);
    if (space == SPACE_device)
        return;
    Make k = {.l = l, .space = space};
    k.link = machine_link(machine_of(l->m), space);
    k.forward = graph_ns(kept, "forward");
    k.backward = graph_ns(kept, "backward");
    k.update = graph_ns(kept, "update");
    find_params(l);
    find_order(&k);
    add_all(&k);
}

/* ---- marks ---- */

/* An offload that nothing reads, behind the value: `phases` takes it. */
static void
mark_value(Graph *g, Value *v, Space space)
{
    const Node *n = value_node(v);
    Attr out = attr_int("queue", 0);
    g->at = n->next;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    Node *copy = graph_add(g, OP_offload, graph_derive(g, v->name, "out"), &v,
                           1, &out, 1);
    copy->results[0]->space = space;
    g->at = NULL;
}

static void
mark_params(const Ladder *l, const Rung *r, Module *m)
{
    Space space = moves_space(m);
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    for (int i = 0; i < r->states; i++)
        m->tensors.at[l->params.at[i].at]->mark = 1;
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        if (optimizer_moves(t) && t->owner->mark)
            t->space = space;
    }
    for (int i = 0; i < r->weights; i++)
        m->tensors.at[l->params.at[i].at]->space = space;
}

void
moves_apply(const Ladder *l, const Rung *r, Module *m)
{
    Graph *g = module_graph(m, l->drop->g->name);
    if (!ladder_moves(r))
        return;
    for (int i = 0; i < r->n_moved; i++) {
        const char *name = l->drop->values.at[r->moved[i]]->name;
        Value *v = map_get(&g->values, name);
        if (v)
            mark_value(g, v, moves_space(m));
    }
    mark_params(l, r, m);
    graph_count_uses(g);
    if (r->ahead != AHEAD_all)
        module_set_option(m, "ahead",
                          arena_printf(m->arena, "%d", r->ahead));
}
