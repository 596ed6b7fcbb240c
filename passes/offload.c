/* Tensors that lie off the device are reached by copies:
 *
 *     write x = x                 x.out = offload x : T @host in tensor x
 *                          =>     wait x.out, x
 *                                 write x = x.out
 *
 *     x = read x                  x = read x             (off the device)
 *     y = gelu_tanh x      =>     x.in = fetch x : T
 *                                 wait x.in, x
 *                                 y = gelu_tanh x.in
 *
 * An optimizer changes a copy, which goes back. It leaves the sweep over all
 * parameters and is a kernel of its own. plan/ahead.h says where copies begin
 * and end; option `ahead` how far they go ahead of the computation.
 *
 * A value that is part of another, or is no run of bytes, stays on the
 * device. */
#include "ir/optimizer.h"
#include "passes/pass.h"
#include "passes/plan/ahead.h"
#include "passes/plan/life.h"
#include "passes/plan/order.h"

#include <stdlib.h>

static bool
is_away(const Tensor *t)
{
    return t && t->space != SPACE_device;
}

static bool
is_one_run(const Value *v)
{
    return !v->layout.tile[0] && v->layout.offset == 0 &&
           life_extent(&v->type, &v->layout) - v->layout.pad ==
               type_bytes(&v->type);
}

/* ---- tensors that cannot go ---- */

static void
keep(Module *m, Tensor *t)
{
    t->space = SPACE_device;
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n)
            if (n->op == OP_read && n->tensor == t)
                n->results[0]->space = SPACE_device;
}

/* A stash tensor is moved if it is the storage of its value. */
static void
keep_parts(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n) {
            if (n->op != OP_write || n->tensor->kind != TENSOR_stash ||
                !is_away(n->tensor) || n->args[0]->def->op == OP_offload)
                continue;
            const Value *v = n->args[0];
            if (v->tensor != n->tensor || v->home != v || !is_one_run(v))
                keep(m, n->tensor);
        }
}

/* ---- copies ---- */

/* Of a copy that was fetched: of what it is a copy. */
static const char *
moved_name(Graph *g, const Value *v, const char *suffix)
{
    if (v->def->op == OP_fetch)
        v = v->def->args[0];
    return graph_derive(g, v->name, suffix);
}

static Attr
queue(int number)
{
    return attr_int("queue", number);
}

/* Value.note: the first node that reads it. */
static void
note_readers(Graph *g)
{
    graph_forget_notes(g);
    graph_each(g, n)
        for (int i = 0; i < n->n_args; i++)
            if (!n->args[i]->note)
                n->args[i]->note = n;
}

/* What is on the device, or comes there; readers are noted. */
static bool
is_reached(const Node *n)
{
    const Node *reader = n->results[0]->note;
    return !is_away(n->tensor) || (reader && reader->op == OP_fetch);
}

/* The read becomes the fetch, so that all that lies in its value stays. */
static void
fetch_read(Graph *g, Node *n)
{
    Value *x = n->results[0];
    Attr in = queue(1);
    g->at = n;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    Value *handle = graph_read(g, x->name, n->tensor);
    value_swap_names(x, handle);
    value_rename(x, moved_name(g, handle, "in"));
    node_become(n, OP_fetch, &handle, 1, &in, 1);
    n->tensor = NULL;
    x->tensor = NULL;
    x->space = SPACE_device;
    g->at = NULL;
}

static Value *
add_offload(Graph *g, Value *v, Tensor *t)
{
    Attr out = queue(0);
    Node *n = graph_add(g, OP_offload, moved_name(g, v, "out"), &v, 1, &out, 1);
    Value *x = n->results[0];
    x->layout = t->layout;
    x->space = t->space;
    x->tensor = t;
    return x;
}

static void
offload_write(Graph *g, Node *n)
{
    Value *v = n->args[0];
    g->at = n;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    v->tensor = NULL;
    node_set_arg(n, 0, add_offload(g, v, n->tensor));
    g->at = NULL;
}

/* ---- optimizers ---- */

static bool
changes_copy(const Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        if (optimizer_changes(n, i) && n->args[i]->def->op == OP_fetch)
            return true;
    return false;
}

/* What n has changed goes back, behind n. */
static void
send_back(Graph *g, Node *n)
{
    g->at = n->next;
    g->context = (Context){n->phase, n->stage, n->block, n->loc};
    for (int i = 0; i < n->n_args; i++) {
        Value *v = n->args[i];
        if (!optimizer_changes(n, i) || v->def->op != OP_fetch)
            continue;
        Tensor *t = value_tensor(v);
        graph_write(g, OP_write, t, add_offload(g, v, t));
    }
    g->at = NULL;
}

static void
leave_sweep(Graph *g, Node *sweep)
{
    Node *after = sweep->next, *next;
    for (Node *n = sweep->body->first; n; n = next) {
        next = n->next;
        if (!changes_copy(n))
            continue;
        node_move_before(n, g, after);
        n->phase = sweep->phase;
        send_back(g, n);
    }
    graph_count_uses(g);
    if (sweep->body->first)
        fused_refresh(sweep);
    else
        node_remove(sweep);
}

/* ---- a fetch stands before the first node that needs it ---- */

static void
move_late(Graph *g, Node *fetch)
{
    Node *handle = fetch->args[0]->def, *at = fetch->results[0]->note;
    if (!at)
        return;
    node_move_before(handle, g, at);
    node_move_before(fetch, g, at);
}

static void
move_all_late(Graph *g)
{
    Arena *a = arena_new();
    VEC(Node *) fetches = {0};
    graph_each(g, n)
        if (n->op == OP_fetch)
            vec_push(a, &fetches, n);
    note_readers(g);
    for (int i = 0; i < fetches.n; i++)
        move_late(g, fetches.at[i]);
    graph_forget_notes(g);
    arena_free(a);
}

static bool
already_copies(const Graph *g)
{
    graph_each(g, n)
        if (n->op == OP_wait)
            return true;
    return false;
}

static bool
reaches_away(const Graph *g)
{
    graph_each(g, n)
        if (is_away(n->tensor))
            return true;
    return false;
}

static void
run(Graph *g, int ahead)
{
    Node *next;
    if (already_copies(g) || !reaches_away(g))
        return;
    note_readers(g);
    for (Node *n = g->first; n; n = next) {
        next = n->next;
        if (n->op == OP_read && !is_reached(n))
            fetch_read(g, n);
        else if (n->op == OP_write && is_away(n->tensor) &&
                 n->args[0]->def->op != OP_offload)
            offload_write(g, n);
    }
    for (Node *n = g->first; n; n = next) {
        next = n->next;
        if (n->body && strcmp(node_word(n, "kind", ""), "sweep") == 0)
            leave_sweep(g, n);
        else if (!n->body && changes_copy(n))
            send_back(g, n);
    }
    move_all_late(g);
    ahead_place(g, ahead);
    graph_count_uses(g);
}

bool
pass_offload(Module *m)
{
    const char *ahead = module_option(m, "ahead");
    keep_parts(m);
    for (int i = 0; i < m->graphs.n; i++)
        run(m->graphs.at[i], ahead ? atoi(ahead) : AHEAD_all);
    return true;
}
