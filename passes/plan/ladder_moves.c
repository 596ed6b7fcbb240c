#include "passes/plan/ladder_moves.h"

#include <stdlib.h>

#include "passes/plan/ahead.h"
#include "passes/plan/cost.h"
#include "passes/plan/ladder_parts.h"

enum {
    BASES = 16,  /* rungs at most from which things are moved */
    PARTS = 8,   /* steps from no value moved to all */
    STATES = 4,  /* steps from no optimizer state moved to all */
    SMALL = 64   /* what is below this part of the largest stays */
};

static const int aheads[] = {AHEAD_all, AHEAD_two + 1, AHEAD_two, AHEAD_next,
                             AHEAD_none};

enum { N_AHEADS = sizeof aheads / sizeof *aheads };

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
    Link link;
    double forward, backward, update; /* ns of a call that makes nothing
                                       * again */
} Make;

/* ---- what can go ---- */

static int
by_bytes(const void *a, const void *b)
{
    const MovedState *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->at - y->at;
}

/* Parameters with states, the largest first: few kernels are split off the
 * sweep. */
static void
find_states(Ladder *l)
{
    const Module *m = l->m;
    int64_t *bytes = ARENA_ARRAY(l->a, int64_t, m->tensors.n + 1);
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = i;
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_opt)
            bytes[m->tensors.at[i]->owner->mark] +=
                type_bytes(&m->tensors.at[i]->type);
    for (int i = 0; i < m->tensors.n; i++)
        if (bytes[i] > 0)
            vec_push(l->a, &l->states, ((MovedState){i, bytes[i]}));
    if (l->states.n)
        qsort(l->states.at, (size_t)l->states.n, sizeof(MovedState), by_bytes);
    while (l->states.n &&
           l->states.at[l->states.n - 1].bytes * SMALL < l->states.at[0].bytes)
        l->states.n--;
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
above(double x, double y)
{
    return x > y ? x - y : 0;
}

/* What a step waits for copies at least. */
static int64_t
least_stall(const Make *k, const Rung *r, int64_t values, int64_t states)
{
    double out = (double)values / k->link.out, in = (double)values / k->link.in;
    double pass = above(out, k->forward) +
                  above(in, k->backward + (double)r->ns);
    double both = 2 * (double)states / k->link.both;
    double back = (double)states / k->link.out;
    double there = (double)states / k->link.in;
    double most = back > there ? back : there;
    most = both > most ? both : most;
    return (int64_t)(pass * (double)k->l->batches + above(most, k->update));
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

static int64_t
states_bytes(const Ladder *l, int n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += l->states.at[i].bytes;
    return bytes;
}

static void
add_rungs(Make *k, const Rung *base, const Values *list, int part, int states)
{
    Ladder *l = k->l;
    int64_t values = 0, other = states_bytes(l, states);
    int n = part ? prefix(l->drop, list, part, &values) : 0;
    if (n == 0 && states == 0)
        return;
    for (int i = 0; i < N_AHEADS; i++) {
        Rung r = *base;
        r.moved = list->at;
        r.n_moved = n;
        r.states = states;
        r.ahead = aheads[i];
        r.order = i;
        r.least -= values + other;
        r.stall = least_stall(k, base, values, other);
        r.total = -1;
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
        for (int s = 0; s <= STATES; s++)
            if (s == 0 || l->states.n > 0)
                add_rungs(k, &r, &list, part,
                          (l->states.n * s + STATES - 1) / STATES);
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
    Make k = {.l = l, .link = machine_link(machine_of(l->m), space)};
    k.forward = graph_ns(kept, "forward");
    k.backward = graph_ns(kept, "backward");
    k.update = graph_ns(kept, "update");
    find_states(l);
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
mark_states(const Ladder *l, const Rung *r, Module *m)
{
    for (int i = 0; i < r->states; i++) {
        const Tensor *p = m->tensors.at[l->states.at[i].at];
        for (int k = 0; k < m->tensors.n; k++)
            if (m->tensors.at[k]->kind == TENSOR_opt &&
                m->tensors.at[k]->owner == p)
                m->tensors.at[k]->space = moves_space(m);
    }
}

void
moves_apply(const Ladder *l, const Rung *r, Module *m)
{
    Graph *g = module_graph(m, l->drop->g->name);
    if (r->n_moved == 0 && r->states == 0)
        return;
    for (int i = 0; i < r->n_moved; i++) {
        const char *name = l->drop->values.at[r->moved[i]]->name;
        Value *v = map_get(&g->values, name);
        if (v)
            mark_value(g, v, moves_space(m));
    }
    mark_states(l, r, m);
    graph_count_uses(g);
    if (r->ahead != AHEAD_all)
        module_set_option(m, "ahead",
                          arena_printf(m->arena, "%d", r->ahead));
}
