#include "passes/plan/order.h"

#include "ir/optimizer.h"

/* Depends on the nodes in deps; all are visited before it is put. */
typedef struct Item {
    Node *node;
    VEC(int) deps;
    VEC(int) waiting; /* early nodes that need it */
    int missing;      /* of an early node: what it waits for */
    int next;         /* dependency to visit */
    int when;         /* ORDER_ */
    bool entered, put;
} Item;

/* Last link of each list + 1; 0: none. A gradient is read after it has been
 * accumulated (late), any other tensor before it changes. */
typedef struct Access {
    int readers, writers, late;
} Access;

typedef struct Link {
    int item, before;
} Link;

typedef struct Sort {
    Arena *a;
    Graph *g;
    Item *items;
    int n;
    VEC(Link) links;
    VEC(int) ready;
    Access *access; /* by Tensor.mark - 1 */
    int n_tensors;
} Sort;

Tensor *
order_tensor(const Value *v)
{
    const Node *n = v->def;
    while ((op_info[n->op].flags & OP_VIEW) && n->n_args == 1)
        n = n->args[0]->def;
    return n->op == OP_read ? n->tensor : NULL;
}

static void
depend(Sort *s, int item, int on)
{
    if (item != on)
        vec_push(s->a, &s->items[item].deps, on);
}

static int
link_to(Sort *s, int item, int before)
{
    if (before && s->links.at[before - 1].item == item)
        return before;
    vec_push(s->a, &s->links, ((Link){item, before}));
    return s->links.n;
}

static Access *
access_of(Sort *s, Tensor *t)
{
    return &s->access[t->mark - 1];
}

static void
note_access(Sort *s, Node *n, int item)
{
    if (n->body) {
        graph_each(n->body, inner)
            note_access(s, inner, item);
        return;
    }
    if (n->op == OP_read && n->tensor->kind == TENSOR_grad)
        access_of(s, n->tensor)->late =
            link_to(s, item, access_of(s, n->tensor)->late);
    for (int i = 0; i < n->n_args; i++) {
        Tensor *t = order_tensor(n->args[i]);
        if (!t || t->kind == TENSOR_grad)
            continue;
        Access *x = access_of(s, t);
        if (optimizer_changes(n, i))
            x->writers = link_to(s, item, x->writers);
        else
            x->readers = link_to(s, item, x->readers);
    }
    if ((op_info[n->op].flags & OP_PINNED) && n->tensor) {
        Access *x = access_of(s, n->tensor);
        x->writers = link_to(s, item, x->writers);
    }
}

/* Readers of a later phase see the old value by other means (phases.c). */
static void
depend_on_readers(Sort *s, int writer, int readers)
{
    for (int r = readers; r; r = s->links.at[r - 1].before) {
        int item = s->links.at[r - 1].item;
        if (s->items[item].node->phase == s->items[writer].node->phase)
            depend(s, writer, item);
    }
}

/* Writers of a tensor come after its readers, and in the order they have. */
static void
depend_on_storage(Sort *s)
{
    for (int t = 0; t < s->n_tensors; t++) {
        Access *x = &s->access[t];
        for (int w = x->writers; w; w = s->links.at[w - 1].before) {
            int item = s->links.at[w - 1].item;
            int older = s->links.at[w - 1].before;
            if (older)
                depend(s, item, s->links.at[older - 1].item);
            else
                depend_on_readers(s, item, x->readers);
        }
        for (int r = x->late; r && x->writers; r = s->links.at[r - 1].before)
            depend(s, s->links.at[r - 1].item,
                   s->links.at[x->writers - 1].item);
    }
}

static void
build(Sort *s)
{
    Module *m = s->g->module;
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = i + 1;
    s->n_tensors = m->tensors.n;
    s->access = ARENA_ARRAY(s->a, Access, m->tensors.n + 1);
    graph_number(s->g);
    graph_each(s->g, n)
        s->n++;
    s->items = ARENA_ARRAY(s->a, Item, s->n + 1);
    graph_each(s->g, n) {
        s->items[n->order].node = n;
        for (int i = 0; i < n->n_args; i++)
            depend(s, n->order, value_node(n->args[i])->order);
        note_access(s, n, n->order);
    }
    depend_on_storage(s);
}

/* Reads and views come along with whoever needs them. */
static bool
comes_along(const Item *x)
{
    return x->node->op == OP_read ||
           (x->when == ORDER_LATE && (op_info[x->node->op].flags & OP_VIEW));
}

static void
wait_for(Sort *s, int early, int on)
{
    Item *x = &s->items[on];
    if (comes_along(x)) {
        for (int k = 0; k < x->deps.n; k++)
            wait_for(s, early, x->deps.at[k]);
        return;
    }
    s->items[early].missing++;
    vec_push(s->a, &x->waiting, early);
}

static void
find_waiting(Sort *s)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->items[i].deps.n; k++)
            if (s->items[i].when == ORDER_EARLY)
                wait_for(s, i, s->items[i].deps.at[k]);
}

/* Early nodes that waited for nothing else are ready. */
static void
put_one(Sort *s, Item *x)
{
    x->put = true;
    node_move_before(x->node, s->g, NULL);
    for (int k = 0; k < x->waiting.n; k++)
        if (--s->items[x->waiting.at[k]].missing == 0)
            vec_push(s->a, &s->ready, x->waiting.at[k]);
}

/* Puts item and, before it, all that it needs. */
static void
put(Sort *s, int item, int *stack)
{
    int top = 0;
    stack[top++] = item;
    s->items[item].entered = true;
    while (top > 0) {
        Item *x = &s->items[stack[top - 1]];
        if (x->next < x->deps.n) {
            int d = x->deps.at[x->next++];
            Item *y = &s->items[d];
            if (y->put)
                continue;
            if (y->entered)
                bug("%s: nodes of a circle cannot be ordered", s->g->name);
            y->entered = true;
            stack[top++] = d;
            continue;
        }
        put_one(s, x);
        top--;
    }
}

static void
put_with_ready(Sort *s, int item, int *stack)
{
    put(s, item, stack);
    for (int i = 0; i < s->ready.n; i++)
        if (!s->items[s->ready.at[i]].put)
            put(s, s->ready.at[i], stack);
    s->ready.n = 0;
}

static void
sort(Graph *g, bool marked)
{
    Sort s = {.a = arena_new(), .g = g};
    build(&s);
    for (int i = 0; i < s.n && marked; i++)
        s.items[i].when = s.items[i].node->mark;
    find_waiting(&s);
    int *stack = ARENA_ARRAY(s.a, int, s.n + 1);
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < s.n; i++)
            if (!s.items[i].put && (late || s.items[i].when != ORDER_LATE))
                put_with_ready(&s, i, stack);
    graph_number(g);
    arena_free(s.a);
}

void
order_sort(Graph *g)
{
    sort(g, false);
}

void
order_sort_marked(Graph *g)
{
    sort(g, true);
}
