/* Homes and layouts, and that nothing is written while it is still read.
 *
 * The walk keeps, for each storage (a home or a tensor), the values in it
 * that are read later. Whatever is written must miss all of them, but for
 * those that the node itself reads in place. What a tensor holds is read
 * later as well: values are made in it only on their way to its `write`. */
#include "ir/extent.h"
#include "ir/optimizer.h"
#include "ir/verify_check.h"

typedef struct Storage {
    VEC(Value *) live;
    /* of a tensor: */
    const Value *made; /* the last value made in it that is not written yet */
    bool lost;         /* its old value is overwritten */
    bool written;      /* its new value is there */
    bool dies;         /* a stash that nobody reads after this graph */
} Storage;

typedef struct Walk {
    Verifier *v;
    Graph *g;
    Storage *tensors; /* by Tensor.mark */
    bool placed;
} Walk;

/* ---- homes ---- */

static bool
home_is_sound(Walk *w, const Value *x)
{
    const Value *h = x->home;
    if (!h || map_get(&w->g->values, h->name) != h) {
        verify_fault(w->v, "the home of %s is no value of the graph", x->name);
        return false;
    }
    if (h->home != h) {
        verify_fault(w->v, "%s lies in %s, which lies in another", x->name,
                     h->name);
        return false;
    }
    if (x->tensor &&
        (h != x || module_tensor(w->v->m, x->tensor->name) != x->tensor)) {
        verify_fault(w->v, "%s is no tensor for %s to lie in", x->tensor->name,
                     x->name);
        return false;
    }
    if (x->def->op == OP_read && x->tensor != x->def->tensor) {
        verify_fault(w->v, "a read lies in its tensor");
        return false;
    }
    return true;
}

static int64_t
home_bytes(const Value *h)
{
    if (h->tensor)
        return extent_bytes(&h->tensor->type, &h->tensor->layout);
    return extent_bytes(&h->type, &h->layout);
}

static bool
layout_is_sound(Walk *w, const Value *x)
{
    const Layout *l = &x->layout;
    int64_t first, last, bytes = home_bytes(x->home);
    bool tiled = l->tile[0] || l->tile[1];
    if (!extent_range(&x->type, l, &first, &last) || l->pad < 0 || bytes < 0) {
        verify_fault(w->v, "the layout of %s is out of bounds", x->name);
        return false;
    }
    if (last / 8 >= bytes) {
        verify_fault(w->v, "%s goes beyond the storage of %s", x->name,
                     x->home->tensor ? x->home->tensor->name : x->home->name);
        return false;
    }
    if (tiled && (l->tile[0] < 1 || l->tile[1] < 1 || x->type.rank < 2)) {
        verify_fault(w->v, "a tile needs rows and columns");
        return false;
    }
    if (x->home == x && !x->tensor && l->offset != 0) {
        verify_fault(w->v, "%s begins at the start of its own storage",
                     x->name);
        return false;
    }
    return true;
}

static void
verify_homes(Walk *w, Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            verify_homes(w, n->body);
            continue;
        }
        verify_at(w->v, n);
        for (int i = 0; i < n->n_results; i++)
            if (home_is_sound(w, n->results[i]))
                layout_is_sound(w, n->results[i]);
    }
}

/* ---- what lies where, and until when ---- */

static Storage *
storage_of(Walk *w, Value *x)
{
    Value *h = x->home;
    if (h->tensor)
        return &w->tensors[h->tensor->mark];
    if (!h->note)
        h->note = ARENA_NEW(w->v->arena, Storage);
    return h->note;
}

/* Value.mark: the last node that reads it, by Node.order; -1: none. */
static void
note_uses(Graph *g, int at)
{
    graph_each(g, n) {
        int here = at < 0 ? n->order : at;
        for (int i = 0; i < n->n_results; i++) {
            if (!n->body)
                n->results[i]->mark = -1;
            n->results[i]->note = NULL;
        }
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->mark = here;
        if (n->body)
            note_uses(n->body, here);
    }
}

/* ---- views ---- */

/* It shows its operand: nothing is written. */
static bool
is_shown(Walk *w, const Node *n, int i)
{
    Layout l;
    Value *x = n->results[i];
    if (n->op == OP_read)
        return x->home == x && x->tensor == n->tensor;
    return n->n_args && storage_of(w, x) == storage_of(w, n->args[0]) &&
           extent_of_view(n, i, &l) && extent_same(&x->type, &l, &x->layout);
}

/* What a concat finds in its part stays, and the rest is copied beside u. */
static bool
is_kept(Walk *w, const Node *n, const Value *u)
{
    for (int i = 0; i < n->n_args; i++) {
        Value *x = n->args[i];
        Layout l = extent_of_part(n, i);
        bool there = storage_of(w, x) == storage_of(w, n->results[0]) &&
                     extent_same(&x->type, &l, &x->layout);
        if (!there && !extent_disjoint(&x->type, &l, &u->type, &u->layout))
            return false;
    }
    return true;
}

/* ---- writes ---- */

/* Ops that read element i, or row i, of an operand before they write it. */
static bool
runs_in_place(const Node *n)
{
    return (op_info[n->op].flags & (OP_ELEMENT | OP_ROW)) ||
           n->op == OP_fused || n->op == OP_cross_entropy_grad ||
           n->op == OP_all_reduce || n->op == OP_rope;
}

static bool
may_replace(const Node *n, const Value *x, const Value *u)
{
    Type t = u->type;
    t.dtype = x->type.dtype;
    return runs_in_place(n) && type_equal(&t, &x->type) &&
           dtype_info[u->type.dtype].bits == dtype_info[t.dtype].bits &&
           extent_same(&x->type, &x->layout, &u->layout);
}

static void
drop_dead(Storage *s, int now)
{
    int n = 0;
    for (int i = 0; i < s->live.n; i++)
        if (s->live.at[i]->mark >= now)
            s->live.at[n++] = s->live.at[i];
    s->live.n = n;
}

/* n makes x at time `now`. */
static void
verify_made(Walk *w, const Node *n, Value *x, int now)
{
    Storage *s = storage_of(w, x);
    drop_dead(s, now);
    for (int i = 0; i < s->live.n; i++) {
        const Value *u = s->live.at[i];
        if (u == x ||
            extent_disjoint(&x->type, &x->layout, &u->type, &u->layout))
            continue;
        if (n->op == OP_concat && is_kept(w, n, u))
            continue;
        if (u->mark > now)
            verify_fault(w->v, "overwrites %s, which is read later", u->name);
        else if (!may_replace(n, x, u))
            verify_fault(w->v, "overwrites %s while it reads it", u->name);
    }
}

/* x is made in the storage of a tensor. */
static void
verify_made_in(Walk *w, const Value *x)
{
    const Tensor *t = x->home->tensor;
    Storage *s = &w->tensors[t->mark];
    if (s->written)
        verify_fault(w->v, "overwrites %s, which has its new value", t->name);
    s->lost = true;
    if (!s->dies)
        s->made = x;
}

static void
verify_all_written(Walk *w)
{
    for (int i = 0; i < w->v->m->tensors.n; i++) {
        const Value *x = w->tensors[i].made;
        if (!x)
            continue;
        verify_at(w->v, x->def);
        w->v->what = x->name;
        verify_fault(w->v, "is made in %s, but %s is not written",
                     x->home->tensor->name, x->home->tensor->name);
    }
}

/* n changes all of a tensor's storage. */
static void
verify_changed(Walk *w, const Node *n, const Tensor *t, int now)
{
    Storage *s = &w->tensors[t->mark];
    if (s->written)
        verify_fault(w->v, "%s is written twice", t->name);
    s->written = true;
    drop_dead(s, now + 1);
    for (int i = 0; i < s->live.n; i++)
        verify_fault(w->v, "%s %s overwrites %s, which is read later",
                     op_info[n->op].name, t->name, s->live.at[i]->name);
}

/* The operand was made where it belongs. */
static void
verify_arrived(Walk *w, const Node *n)
{
    const Value *x = n->args[0];
    Storage *s = &w->tensors[n->tensor->mark];
    if (!type_equal(&x->type, &n->tensor->type) ||
        !extent_same(&x->type, &x->layout, &n->tensor->layout))
        verify_fault(w->v, "%s does not lie as %s does", x->name,
                     n->tensor->name);
    bool adds = node_flag(n, "more") ||
                (w->v->m->train && w->v->m->train->accumulate > 1);
    if (n->op == OP_accumulate && adds && !n->graph->owner)
        verify_fault(w->v, "%s is made over the sum so far", x->name);
    if (x->def->op == OP_read)
        verify_fault(w->v, "%s is there already", x->name);
    s->made = NULL;
    s->written = true;
}

/* Gradients of a tensor that is used twice are added up one by one. */
static bool
accumulates_again(Walk *w, const Node *n)
{
    return node_flag(n, "more") && w->tensors[n->tensor->mark].written;
}

/* Of a fetched copy only that changes: a write of it changes the tensor. */
static void
verify_operand_changed(Walk *w, const Node *n, int i, int now)
{
    const Node *def = n->args[i]->def;
    if (def->op == OP_read)
        verify_changed(w, n, def->tensor, now);
}

static void
verify_stored(Walk *w, const Node *n, int now)
{
    if (!w->placed) /* until there is an order that stays */
        return;
    if (n->op == OP_write || n->op == OP_accumulate) {
        if (n->args[0]->home->tensor == n->tensor)
            verify_arrived(w, n);
        else if (n->op == OP_write || !accumulates_again(w, n))
            verify_changed(w, n, n->tensor, now);
    } else if (n->op == OP_count) {
        verify_changed(w, n, n->tensor, now);
    }
    for (int i = 0; i < n->n_args; i++)
        if (optimizer_changes(n, i))
            verify_operand_changed(w, n, i, now);
}

/* Of a state and a parameter the old value is meant, of what is summed and
 * counted the new one. */
static void
verify_read(Walk *w, const Node *n)
{
    const Storage *s = &w->tensors[n->tensor->mark];
    TensorKind k = n->tensor->kind;
    bool old = k != TENSOR_grad && k != TENSOR_output && k != TENSOR_stash;
    if (w->placed && (s->written ? old : s->lost))
        verify_fault(w->v, "reads %s after it was overwritten",
                     n->tensor->name);
}

static void
verify_results(Walk *w, const Node *n)
{
    if (n->op == OP_read)
        verify_read(w, n);
    int all = 0;
    for (int i = 0; !n->body && i < n->n_results; i++)
        all += is_shown(w, n, i);
    if (all && all < n->n_results)
        verify_fault(w->v, "shows some of its results and moves others");
    for (int i = 0; i < n->n_results; i++) {
        Value *x = n->results[i];
        bool shown = !n->body && is_shown(w, n, i);
        if (x->home->tensor && !w->placed)
            continue;
        if (!shown && extent_repeats(&x->type, &x->layout))
            verify_fault(w->v, "%s has two elements at one place", x->name);
        if (!shown)
            verify_made(w, n, x, n->order);
        if (!shown && x->home->tensor)
            verify_made_in(w, x);
        if (x->mark > n->order)
            vec_push(w->v->arena, &storage_of(w, x)->live, x);
    }
}

/* Stash tensors that this graph alone reads, and does not write. */
static void
find_dying(Walk *w)
{
    for (int i = 0; i < w->v->m->graphs.n; i++) {
        const Graph *g = w->v->m->graphs.at[i];
        graph_each(g, n) {
            if (!n->tensor || n->tensor->kind != TENSOR_stash)
                continue;
            Storage *s = &w->tensors[n->tensor->mark];
            if (g == w->g)
                s->dies |= n->op == OP_read;
            if (n->op == OP_read ? g != w->g : g == w->g)
                s->written = true;
        }
    }
    for (int i = 0; i < w->v->m->tensors.n; i++) {
        Storage *s = &w->tensors[i];
        s->dies &= !s->written;
        s->written = false;
    }
}

static void
verify_writes(Walk *w)
{
    graph_each(w->g, n) {
        verify_at(w->v, n);
        verify_results(w, n);
        verify_stored(w, n, n->order);
        for (const Node *b = n->body ? n->body->first : NULL; b; b = b->next) {
            verify_at(w->v, b);
            verify_stored(w, b, n->order);
        }
    }
}

void
verify_storage(Verifier *v, Graph *g)
{
    Walk w = {.v = v, .g = g, .placed = verify_is_placed(v->m)};
    int before = v->faults;
    w.tensors = ARENA_ARRAY(v->arena, Storage, v->m->tensors.n + 1);
    for (int i = 0; i < v->m->tensors.n; i++)
        v->m->tensors.at[i]->mark = i;
    verify_homes(&w, g);
    if (v->faults != before) {
        v->unsound = true;
        return;
    }
    graph_number(g);
    note_uses(g, -1);
    find_dying(&w);
    verify_writes(&w);
    verify_all_written(&w);
    graph_forget(g);
}
