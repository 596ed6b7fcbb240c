#include "passes/plan/ahead.h"

#include "ir/scratch.h"
#include "passes/plan/cost.h"
#include "passes/plan/flow.h"
#include "passes/plan/life.h"

/* A copy in a graph whose other nodes have numbers 0 .. n - 1. */
typedef struct Copy {
    Node *node;
    Node *handle; /* fetch: the read before it; NULL: there is none */
    Node *write;  /* offload: behind it; NULL: there is none */
    int need; /* fetch: the first reader; offload: the node behind its maker */
    int begin, wait; /* stand before the node of this number */
    int group;       /* copies with one `need` */
} Copy;

typedef struct Ahead {
    Arena *a;
    Graph *g;
    Node **nodes; /* those that are no copies */
    int n;
    double *start; /* by node: when it would run if no copy were waited for */
    VEC(Copy) in, out;
} Ahead;

/* ---- what there is ---- */

static bool
is_handle(const Node *n)
{
    return n->op == OP_read && n->tensor->space != SPACE_device;
}

static bool
is_away_write(const Node *n)
{
    return n->op == OP_write && n->args[0]->def->op == OP_offload;
}

static bool
is_copy(const Node *n)
{
    return n->op == OP_offload || n->op == OP_fetch;
}

static void
list_nodes(Ahead *x)
{
    int n = 0;
    double now = 0;
    graph_each(x->g, node)
        n++;
    x->nodes = ARENA_ARRAY(x->a, Node *, n + 1);
    x->start = ARENA_ARRAY(x->a, double, n + 2);
    graph_each(x->g, node) {
        node->mark = x->n;
        if (is_copy(node) || is_handle(node) || is_away_write(node))
            continue;
        x->start[x->n] = now;
        now += (double)cost_kernel(node);
        x->nodes[x->n++] = node;
    }
    x->start[x->n] = now;
}

/* Node.mark of a copy: the node that follows. */
static void
list_copies(Ahead *x)
{
    graph_each(x->g, n) {
        Copy c = {.node = n, .need = n->mark};
        if (n->op == OP_fetch) {
            c.handle = is_handle(n->args[0]->def) ? n->args[0]->def : NULL;
            vec_push(x->a, &x->in, c);
        } else if (n->op == OP_offload) {
            c.write = n->next && is_away_write(n->next) ? n->next : NULL;
            vec_push(x->a, &x->out, c);
        }
    }
    for (int i = 0; i < x->in.n; i++)
        x->in.at[i].group =
            i == 0 ? 0
                   : x->in.at[i - 1].group +
                         (x->in.at[i].need != x->in.at[i - 1].need);
    for (int i = 0; i < x->out.n; i++)
        x->out.at[i].group =
            i == 0 ? 0
                   : x->out.at[i - 1].group +
                         (x->out.at[i].need != x->out.at[i - 1].need);
}

/* ---- in time ---- */

/* The last node that starts at or before a moment. */
static int
node_at(const Ahead *x, double when)
{
    int low = 0, high = x->n;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (x->start[middle] <= when)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The first that starts at or behind it; n: the end. */
static int
node_after(const Ahead *x, double when)
{
    int low = 0, high = x->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x->start[middle] >= when)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* From the end: a fetch is done when its reader starts and when the one
 * behind it begins. */
static void
fetch_in_time(Ahead *x)
{
    double next = x->start[x->n];
    for (int i = x->in.n - 1; i >= 0; i--) {
        Copy *c = &x->in.at[i];
        double end = x->start[c->need] < next ? x->start[c->need] : next;
        next = end - (double)flow_copy_ns(c->node);
        c->begin = node_at(x, next > 0 ? next : 0);
        if (c->begin > c->need)
            c->begin = c->need;
        c->wait = c->need;
    }
}

static void
offload_in_time(Ahead *x)
{
    double now = 0;
    for (int i = 0; i < x->out.n; i++) {
        Copy *c = &x->out.at[i];
        double begin = x->start[c->need] > now ? x->start[c->need] : now;
        now = begin + (double)flow_copy_ns(c->node);
        c->begin = c->need;
        c->wait = node_after(x, now);
        if (c->wait < c->need)
            c->wait = c->need;
    }
}

/* ---- in slots ---- */

/* The `need` of the group that is `by` groups from that of list[at]. */
static int
need_of_group(const Copy *list, int n, int at, int by, int otherwise)
{
    int group = list[at].group + by;
    while (at > 0 && list[at].group > group)
        at--;
    while (at + 1 < n && list[at].group < group)
        at++;
    return list[at].group == group ? list[at].need : otherwise;
}

static void
limit_fetch(Ahead *x, int i, int ahead)
{
    Copy *c = &x->in.at[i];
    int by = ahead > 1 ? ahead - 1 : ahead;
    int least = ahead == 0
                    ? c->need
                    : need_of_group(x->in.at, x->in.n, i, -by, 0) +
                          (ahead == 1 && c->group > 0);
    if (c->begin < least)
        c->begin = least;
}

static void
limit_offload(Ahead *x, int i, int ahead)
{
    Copy *c = &x->out.at[i];
    int by = ahead > 1 ? ahead - 1 : ahead;
    int most = ahead == 0
                   ? c->need
                   : need_of_group(x->out.at, x->out.n, i, by, x->n);
    if (c->wait > most)
        c->wait = most;
}

/* ---- in the bytes that are there anyway ---- */

enum { SLACK = 256 };

typedef struct Room {
    Ahead *x;
    Lives lives;
    int *index; /* by Node.order: of the node, or of the one that follows */
    bool *real; /* by Node.order: no copy */
    int64_t *load; /* by node */
    int64_t most;
} Room;

static int
end_index(const Room *r, int order)
{
    return r->index[order] + r->real[order];
}

static void
add_load(Room *r, int first, int end, int64_t bytes)
{
    if (first >= end)
        return;
    r->load[first] += bytes;
    r->load[end] -= bytes;
}

/* A tensor that is written is there from then on, one that is only read until
 * the last time. */
static void
add_stash(Room *r)
{
    Module *m = r->x->g->module;
    int n = m->tensors.n, *first = ARENA_ARRAY(r->x->a, int, n + 1);
    int *last = ARENA_ARRAY(r->x->a, int, n + 1);
    bool *written = ARENA_ARRAY(r->x->a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        m->tensors.at[i]->mark = i;
        last[i] = -1;
    }
    graph_each(r->x->g, node)
        for (int i = -1; i < node->n_args + node->n_results; i++) {
            const Value *v = i < 0 ? NULL
                             : i < node->n_args
                                 ? node->args[i]
                                 : node->results[i - node->n_args];
            const Tensor *t = v ? life_home((Value *)v)->tensor : node->tensor;
            if (!t || t->kind != TENSOR_stash || t->space != SPACE_device)
                continue;
            if (last[t->mark] < 0)
                first[t->mark] = node->order;
            last[t->mark] = node->order;
            written[t->mark] |= node->op == OP_write && node->tensor == t;
        }
    for (int i = 0; i < n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (last[i] >= 0)
            add_load(r, written[i] ? r->index[first[i]] : 0,
                     written[i] ? r->x->n : end_index(r, last[i]),
                     scratch_part(type_bytes(&t->type)));
    }
}

static void
find_room(Room *r)
{
    Ahead *x = r->x;
    r->lives = life_find(x->a, x->g);
    r->index = ARENA_ARRAY(x->a, int, r->lives.n_nodes + 1);
    r->real = ARENA_ARRAY(x->a, bool, r->lives.n_nodes + 1);
    r->load = ARENA_ARRAY(x->a, int64_t, x->n + 2);
    graph_each(x->g, n) {
        r->index[n->order] = n->mark;
        r->real[n->order] = n->mark < x->n && x->nodes[n->mark] == n;
    }
    for (int i = 0; i < r->lives.at.n; i++) {
        const Life *l = &r->lives.at.at[i];
        add_load(r, r->index[l->first], end_index(r, l->end - 1), l->bytes);
    }
    add_stash(r);
    for (int i = 0; i < x->n; i++) {
        r->load[i + 1] += r->load[i];
        r->most = r->load[i] > r->most ? r->load[i] : r->most;
    }
    r->most += r->most / SLACK; /* for scalars */
}

/* The source is kept beyond its last reader. */
static void
room_offload(Room *r, Copy *c)
{
    int64_t bytes = scratch_part(type_bytes(&c->node->results[0]->type));
    int life = life_home(c->node->args[0])->mark - 1, i = c->need;
    if (life >= 0 && end_index(r, r->lives.at.at[life].end - 1) > i)
        i = end_index(r, r->lives.at.at[life].end - 1);
    while (i < c->wait && r->load[i] + bytes <= r->most)
        r->load[i++] += bytes;
    c->wait = c->wait < i ? c->wait : i;
}

static void
room_fetch(Room *r, Copy *c, int least)
{
    int64_t bytes = scratch_part(type_bytes(&c->node->results[0]->type));
    int i = c->need;
    if (least < c->begin)
        least = c->begin;
    while (i > least && r->load[i - 1] + bytes <= r->most)
        r->load[--i] += bytes;
    c->begin = i;
}

static void
use_room(Ahead *x)
{
    Room r = {.x = x};
    find_room(&r);
    for (int i = 0; i < x->out.n; i++)
        room_offload(&r, &x->out.at[i]);
    for (int i = x->out.n - 2; i >= 0; i--)
        if (x->out.at[i].wait > x->out.at[i + 1].wait)
            x->out.at[i].wait = x->out.at[i + 1].wait;
    for (int i = 0; i < x->in.n; i++)
        room_fetch(&r, &x->in.at[i], i ? x->in.at[i - 1].begin : 0);
}

/* ---- the new order ---- */

/* In the place of the node before which it stands, or at the end. */
static void
set_context(Ahead *x, int at)
{
    const Node *n = x->n ? x->nodes[at < x->n ? at : x->n - 1] : NULL;
    x->g->at = at < x->n ? x->nodes[at] : NULL;
    if (n)
        x->g->context = (Context){n->phase, n->stage, n->block, n->loc};
}

static void
put(Ahead *x, Node *n)
{
    if (!n)
        return;
    node_move_before(n, x->g, x->g->at);
    n->phase = x->g->context.phase;
    n->stage = x->g->context.stage;
    n->block = x->g->context.block;
}

static void
put_wait(Ahead *x, const Copy *c)
{
    Value *args[] = {c->node->results[0], c->node->args[0]};
    x->g->context.loc = c->node->loc;
    graph_add(x->g, OP_wait, NULL, args, 2, NULL, 0);
    put(x, c->write);
}

/* The next of each kind: begins and waits ascend in the order of the copies,
 * as the queues do. */
typedef struct Next {
    int out_wait, out_begin, in_begin, in_wait;
} Next;

/* Before the node `at`: what frees a slot, what fills one, what is needed. */
static void
put_copies(Ahead *x, Next *k, int at)
{
    const Copy *in = x->in.at, *out = x->out.at;
    set_context(x, at);
    for (; k->out_wait < k->out_begin && out[k->out_wait].wait == at;
         k->out_wait++)
        put_wait(x, &out[k->out_wait]);
    for (; k->out_begin < x->out.n && out[k->out_begin].begin == at;
         k->out_begin++)
        put(x, out[k->out_begin].node);
    for (; k->out_wait < k->out_begin && out[k->out_wait].wait == at;
         k->out_wait++)
        put_wait(x, &out[k->out_wait]);
    for (; k->in_begin < x->in.n && in[k->in_begin].begin == at;
         k->in_begin++) {
        put(x, in[k->in_begin].handle);
        put(x, in[k->in_begin].node);
    }
    for (; k->in_wait < x->in.n && in[k->in_wait].wait == at; k->in_wait++)
        put_wait(x, &in[k->in_wait]);
}

void
ahead_place(Graph *g, int ahead)
{
    Ahead x = {.a = arena_new(), .g = g};
    list_nodes(&x);
    list_copies(&x);
    fetch_in_time(&x);
    offload_in_time(&x);
    if (ahead == AHEAD_free)
        use_room(&x);
    for (int i = 0; i < x.in.n && ahead >= 0; i++)
        limit_fetch(&x, i, ahead);
    for (int i = 0; i < x.out.n && ahead >= 0; i++)
        limit_offload(&x, i, ahead);
    Next next = {0};
    for (int i = 0; i <= x.n && x.in.n + x.out.n > 0; i++)
        put_copies(&x, &next, i);
    g->at = NULL;
    g->context = (Context){0};
    arena_free(x.a);
}
