/* Orders the nodes of each graph. Program order stays, but for two moves that
 * never need more memory at any moment, and that only what is near decides:
 *
 *   - a node that keeps nothing (a gradient's product that is accumulated)
 *     comes right after what it needs, for its operands may die there;
 *   - a node whose results are larger than the operands that it would keep
 *     alive comes right before its first reader; views do so always. */
#include "passes/pass.h"
#include "passes/plan/life.h"
#include "passes/plan/order.h"

/* Value.mark of a home: the last moment at which it is needed.
 * Node.mark: what order.h says. */
typedef struct Schedule {
    Graph *g;
    int *moment; /* by Node.order: when the node will run */
    int *reader; /* by Node.order: its first reader's moment */
    int n;
} Schedule;

static bool
is_shared_view(const Node *n)
{
    return (op_info[n->op].flags & OP_VIEW) &&
           n->results[0]->home != n->results[0];
}

static int64_t
kept_bytes(const Value *v)
{
    return v->tensor ? 0 : life_extent(&v->type, &v->layout);
}

static bool
has_effect(const Node *n)
{
    if (op_info[n->op].flags & (OP_PINNED | OP_TENSOR))
        return true;
    if (n->body)
        graph_each(n->body, inner)
            if (has_effect(inner))
                return true;
    return false;
}

static int64_t
result_bytes(const Node *n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->n_results; i++)
        if (n->results[i]->home == n->results[i])
            bytes += kept_bytes(n->results[i]);
    return bytes;
}

/* Operands that would live longer if n ran at `at`. */
static int64_t
extended_bytes(const Node *n, int at)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->n_args; i++) {
        Value *h = life_home(n->args[i]);
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= life_home(n->args[k]) == h;
        if (!again && h->mark < at)
            bytes += kept_bytes(h);
    }
    return bytes;
}

static bool
runs_late(const Schedule *s, const Node *n)
{
    int at = s->reader[n->order];
    if (has_effect(n) || at > s->n)
        return false;
    if (is_shared_view(n))
        return true;
    int64_t bytes = result_bytes(n);
    return bytes > 0 && bytes >= extended_bytes(n, at);
}

/* From the end, so that the moments of all readers are known. */
static void
decide(Schedule *s, Node *n)
{
    int now = n->order;
    n->mark = ORDER_STAY;
    if (runs_late(s, n)) {
        n->mark = ORDER_LATE;
        now = s->reader[n->order];
    } else if (n->n_results == 0 && n->op == OP_fused) {
        n->mark = ORDER_EARLY;
    }
    s->moment[n->order] = now;
    for (int i = 0; i < n->n_args; i++) {
        Value *h = life_home(n->args[i]);
        int *first = &s->reader[value_node(n->args[i])->order];
        if (now > h->mark)
            h->mark = now;
        if (now < *first)
            *first = now;
    }
}

static void
run(Graph *g)
{
    Arena *a = arena_new();
    Schedule s = {.g = g};
    graph_number(g);
    s.n = g->last ? g->last->order : 0;
    s.moment = ARENA_ARRAY(a, int, s.n + 1);
    s.reader = ARENA_ARRAY(a, int, s.n + 1);
    graph_each(g, n) {
        s.reader[n->order] = s.n + 1;
        for (int i = 0; i < n->n_results; i++)
            life_home(n->results[i])->mark = -1;
    }
    graph_each_reverse(g, n)
        decide(&s, n);
    order_sort_marked(g);
    arena_free(a);
}

bool
pass_schedule(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        run(m->graphs.at[i]);
    return true;
}
