/* One call of a graph, node by node. */
#include <inttypes.h>

#include "ir/extent.h"
#include "ir/scratch.h"
#include "ir/storage.h"
#include "passes/plan/check_parts.h"

static Held *
held(const Value *v)
{
    return v->note;
}

static bool
has_memory(const Value *v)
{
    return v->home->tensor || v->home->place >= 0;
}

/* Printed where it is read. */
static bool
is_printed(const Value *v)
{
    return v->def->op == OP_const && !v->mark;
}

/* ---- notes ---- */

static void
make_notes(Check *c, Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            make_notes(c, n->body);
            continue;
        }
        for (int i = 0; i < n->n_results; i++) {
            Held *h = ARENA_NEW(c->arena, Held);
            h->value = n->results[i];
            h->last = -1;
            n->results[i]->note = h;
        }
    }
}

void
check_prepare(Check *c, Graph *g)
{
    graph_number(g);
    storage_mark_constants(g);
    make_notes(c, g);
    graph_each(g, n)
        for (int i = 0; i < n->n_args; i++)
            held(n->args[i])->last = n->order;
}

static void
reset_notes(Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            reset_notes(n->body);
        for (int i = 0; i < n->n_results; i++) {
            Held *h = held(n->results[i]);
            h->number = NO_NUMBER;
            h->read = -1;
            h->there = false;
            h->lost = NULL;
            h->renewed = NULL;
        }
    }
}

/* x has its bytes from now on. */
static void
hold(Check *c, Value *x)
{
    Held *h = held(x);
    const Tensor *t = x->home->tensor;
    if (t && t->type.dtype != x->type.dtype)
        check_fault_at(c, value_node(x),
                       "%s lies in %s, which is of another "
                       "type",
                       x->name, t->name);
    h->there = true;
    h->lost = NULL;
    check_hold(c, h);
}

/* ---- in place ---- */

/* The rows of x are those of the whole group: each is written once. */
static bool
has_all_rows(const Node *fused, const Type *x)
{
    Type space = {0};
    graph_each(fused->body, b)
        for (int i = 0; i < b->n_args; i++)
            if (!type_broadcast(&space, &b->args[i]->type, &space))
                return false;
    if (x->rank != space.rank)
        return false;
    for (int i = 0; i + 1 < x->rank; i++)
        if (x->dim[i] != space.dim[i])
            return false;
    return true;
}

static bool
product_reads(const Node *fused, const Value *u)
{
    graph_each(fused->body, b)
        for (int i = 0; b->op == OP_matmul && i < b->n_args; i++)
            if (b->args[i] == u)
                return true;
    return false;
}

/* Kernels that read an element, or a row, before they write it. */
static bool
runs_in_place(const Node *n, const Value *x, const Value *u)
{
    if (op_info[n->op].flags & OP_ELEMENT)
        return true;
    if (op_info[n->op].flags & OP_ROW)
        return x == n->results[0];
    if (n->op == OP_cross_entropy_grad)
        return u == n->args[1];
    if (n->op == OP_rope)
        return u == n->args[0];
    if (n->op != OP_fused)
        return false;
    const char *kind = node_word(n, "kind", "");
    if (strcmp(kind, "row") == 0)
        return has_all_rows(n, &x->type);
    if (strcmp(kind, "matmul") == 0)
        return !product_reads(n, u);
    return strcmp(kind, "element") == 0;
}

bool
check_in_place(const Node *n, const Value *x, const Value *u)
{
    return check_shares_home(x, u) && type_equal(&x->type, &u->type) &&
           extent_same(&x->type, &x->layout, &u->layout) &&
           runs_in_place(n, x, u);
}

/* ---- reading ---- */

static void
need(Check *c, const Node *n, Value *u)
{
    Held *h = held(u);
    if (is_printed(u))
        return;
    h->read = n->order;
    if (h->renewed && n->op != OP_wait && n->op != OP_offload &&
        n->op != OP_write)
        check_fault_at(c, n, "reads %s, which an optimizer has changed",
                       u->name);
    if (!h->there)
        check_fault_at(c, n, "reads %s, which has no bytes", u->name);
    else if (h->lost) {
        check_fault_at(c, n, "reads %s, which %s has overwritten", u->name,
                       check_name(c, h->lost));
        check_note(c, h->lost->loc, "overwritten here");
        h->lost = NULL;
    }
}

static bool
read_stash(Check *c, const Node *n, const Cell *cell)
{
    const char *name = n->tensor->name;
    if (!c->steps || c->phase == PHASE_update)
        check_fault_at(c, n, "reads stash %s outside of a microbatch", name);
    else if (!cell->filled)
        check_fault_at(c, n, "reads stash %s before it is written", name);
    else if (cell->mb != c->mb)
        check_fault_at(c, n, "stash %s is of another microbatch", name);
    else
        return true;
    return false;
}

static void
run_read(Check *c, Node *n)
{
    Value *x = n->results[0];
    const Tensor *t = n->tensor;
    bool stash = t->kind == TENSOR_stash;
    Cell *cell = &check_track(c, t)->cell[stash ? c->slot : 0];
    bool good = stash ? read_stash(c, n, cell) : check_effects_read(c, n);
    if (good && cell->lost) {
        check_fault_at(c, n, "reads %s, which %s has overwritten", t->name,
                       check_name(c, cell->lost));
        check_note(c, cell->lost->loc, "overwritten here");
        good = false;
    }
    if (!extent_same(&x->type, &x->layout, &t->layout))
        check_fault_at(c, n, "does not lie as %s does", t->name);
    if (good)
        held(x)->number = stash ? cell->number : check_number(c, n, NULL);
    hold(c, x);
}

/* ---- numbers ---- */

static int
number_one(Check *c, const Node *n)
{
    int *args = ARENA_ARRAY(c->arena, int, n->n_args + 1);
    for (int i = 0; i < n->n_args; i++)
        args[i] = held(n->args[i])->number;
    bool same = n->op == OP_offload || n->op == OP_fetch ||
                n->op == OP_wait || check_is_write_back(n) ||
                (n->op == OP_write && n->tensor->kind == TENSOR_stash);
    if (check_is_early(c, n))
        args[1] = check_early_number(c, n, args[1]);
    int first = same ? args[0] : check_number(c, n, args);
    for (int i = 0; i < n->n_results; i++)
        held(n->results[i])->number =
            first == NO_NUMBER ? NO_NUMBER : first + i;
    return first;
}

/* ---- writing ---- */

static void
write_scratch(Check *c, const Node *n)
{
    if (!node_scratch(n))
        return;
    Place p = check_place_scratch(c, n);
    check_overwrite(c, n, &p, NULL, NULL);
}

static void
make(Check *c, const Node *n, Value *x)
{
    Place p = check_place_value(c, x), s;
    if (node_scratch(n)) {
        s = check_place_scratch(c, n);
        if (check_overlaps(&p, &s))
            check_fault_at(c, n, "its scratch lies over %s", x->name);
    }
    check_overwrite(c, n, &p, x, NULL);
    hold(c, x);
}

static void
show(Check *c, const Node *n, int i)
{
    Value *x = n->results[i];
    Layout l;
    if (!extent_of_view(n, i, &l) || !extent_same(&x->type, &l, &x->layout))
        check_fault_at(c, n, "%s does not lie where %s of %s is", x->name,
                       op_info[n->op].name, n->args[0]->name);
    hold(c, x);
}

static void
run_concat(Check *c, const Node *n)
{
    Value *x = n->results[0];
    Place whole = check_place_value(c, x);
    for (int i = 0; i < n->n_args; i++) {
        const Value *u = n->args[i];
        Layout l = extent_of_part(n, i);
        if (check_shares_home(u, x) && extent_same(&u->type, &l, &u->layout))
            continue;
        Place p = whole;
        p.type = u->type;
        p.layout.offset += l.offset - x->layout.offset;
        extent_range(&p.type, &p.layout, &p.first, &p.last);
        check_overwrite(c, n, &p, x, NULL);
    }
    hold(c, x);
}

static void
run_results(Check *c, Node *n)
{
    bool view = op_info[n->op].flags & OP_VIEW;
    if (n->op == OP_concat && has_memory(n->results[0])) {
        run_concat(c, n);
        return;
    }
    for (int i = 0; i < n->n_results; i++) {
        Value *x = n->results[i];
        if (is_printed(x) || !has_memory(x))
            continue;
        if (view && check_shares_home(n->args[0], x))
            show(c, n, i);
        else
            make(c, n, x);
    }
}

/* What stays inside a group has no bytes. */
static void
check_inner(Check *c, const Node *fused, const Node *b)
{
    for (int i = 0; i < b->n_results; i++) {
        const Value *x = b->results[i];
        bool leaves = false;
        for (int k = 0; k < fused->n_results; k++)
            leaves |= fused->results[k] == x;
        if (!leaves && has_memory(x))
            check_fault_at(c, b, "does not leave its group, but has a place");
    }
}

/* ---- effects ---- */

/* Scalars of microbatches that the emitted program averages or adds up. */
static bool
collects(const Check *c, const Node *n)
{
    const Tensor *t = n->tensor;
    if (n->op != OP_write || t->kind != TENSOR_output || c->microbatches == 1)
        return false;
    if (strcmp(t->name, "edl.valid") == 0)
        return true;
    return c->steps && t->type.rank == 0 && type_is_float(&t->type);
}

/* outer: the node of the graph that e is, or whose body it is in. */
static void
store(Check *c, const Node *outer, const Node *e)
{
    const Value *v = e->args[0];
    const Tensor *t = e->tensor;
    Cell *cell =
        &check_track(c, t)->cell[t->kind == TENSOR_stash ? c->slot : 0];
    bool adds = e->op == OP_accumulate
                    ? node_flag(e, "more") || c->microbatches > 1
                    : collects(c, e);
    bool old = adds && (c->mb > 0 || node_flag(e, "more"));
    if (old && (!cell->filled || cell->lost))
        check_fault_at(c, e, "adds to %s, which does not hold the sum so far",
                       t->name);
    if (v->home->tensor != t) {
        Place p = check_place_tensor(c, t);
        check_overwrite(c, outer, &p, NULL, t);
    } else if (adds) {
        check_fault_at(c, e, "%s is made over the sum so far", v->name);
    } else if (!type_equal(&v->type, &t->type) ||
               !extent_same(&v->type, &v->layout, &t->layout)) {
        check_fault_at(c, e, "%s does not lie as %s does", v->name, t->name);
    }
    cell->filled = true;
    cell->lost = NULL;
    cell->mb = c->mb;
    cell->number = held(v)->number;
}

static void
change(Check *c, const Node *outer, const Tensor *t)
{
    Place p = check_place_tensor(c, t);
    Track *track = check_track(c, t);
    check_overwrite(c, outer, &p, NULL, t);
    track->changed = true;
    track->cell[0].lost = NULL;
}

static void
update_operand(Check *c, const Node *outer, Value *x, int i)
{
    const Tensor *t = value_tensor(x);
    if (!t || (t->kind != TENSOR_opt && (t->kind != TENSOR_param || i > 0)))
        return;
    if (x->def->op == OP_read)
        change(c, outer, t);
    else
        check_copy_renew(c, outer, held(x));
}

static void
run_effect(Check *c, const Node *outer, const Node *e, int number)
{
    bool stash = e->tensor && e->tensor->kind == TENSOR_stash;
    if (check_is_write_back(e)) {
        check_write_back(c, e);
        return;
    }
    if (stash && (!c->steps || c->phase == PHASE_update)) {
        check_fault_at(c, e, "only the passes of a step have a stash");
        return;
    }
    if (e->op == OP_write || e->op == OP_accumulate)
        store(c, outer, e);
    else if (e->op == OP_count)
        change(c, outer, e->tensor);
    else if (op_info[e->op].flags & OP_OPTIMIZER)
        for (int i = 0; i < e->n_args; i++)
            update_operand(c, outer, e->args[i], i);
    if (!stash)
        check_effect(c, e, number);
}

/* ---- a node ---- */

static bool
is_supported(Check *c, const Node *n)
{
    switch ((int)n->op) {
    case OP_send:
    case OP_recv:
    case OP_all_reduce:
    case OP_reduce_scatter:
    case OP_all_gather:
        check_fault_at(c, n, "a schedule with %s cannot be verified",
                       op_info[n->op].name);
        return false;
    default:
        return true;
    }
}

static void
run_body(Check *c, Node *n)
{
    graph_each(n->body, b) {
        int number = number_one(c, b);
        check_inner(c, n, b);
        b->mark = number;
    }
    run_results(c, n);
    graph_each(n->body, b)
        if (b->n_results == 0)
            run_effect(c, n, b, b->mark);
}

static void
run_node(Check *c, Node *n)
{
    check_forget(c, n->order);
    if (!is_supported(c, n))
        return;
    if (n->op == OP_read) {
        run_read(c, n);
        return;
    }
    for (int i = 0; i < n->n_args; i++)
        need(c, n, n->args[i]);
    if (n->op == OP_wait)
        return;
    write_scratch(c, n);
    if (n->body) {
        run_body(c, n);
        return;
    }
    int number = number_one(c, n);
    run_results(c, n);
    if (n->op == OP_offload || n->op == OP_fetch)
        check_copy(n);
    if (n->n_results == 0)
        run_effect(c, n, n, number);
}

void
check_call(Check *c, Graph *g)
{
    c->graph = g;
    check_forget_all(c);
    reset_notes(g);
    graph_each(g, n)
        run_node(c, n);
    check_forget_all(c);
}
