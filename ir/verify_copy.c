/* Copies between spaces: `offload` and `fetch` begin one, `wait COPY, SOURCE`
 * ends it. In between its source keeps its bytes, which a wait that reads it
 * sees to, and nobody may look at its result. A wait stands in the graph of
 * its copy, so a call ends without copies under way. */
#include "ir/extent.h"
#include "ir/verify_check.h"

static bool
is_copy(const Node *n)
{
    return n->op == OP_offload || n->op == OP_fetch;
}

/* ---- one run of bytes, the same on both sides ---- */

static bool
is_one_run(const Value *x)
{
    int64_t first, last;
    if (!extent_range(&x->type, &x->layout, &first, &last) ||
        extent_repeats(&x->type, &x->layout))
        return false;
    return last - first + 1 ==
           type_elements(&x->type) * dtype_info[x->type.dtype].bits;
}

static void
verify_run(Verifier *v, const Node *n)
{
    const Value *x = n->args[0], *y = n->results[0];
    Layout from = x->layout, to = y->layout;
    from.offset = to.offset = 0;
    if (!is_one_run(x))
        verify_fault(v, "%s is no single run of bytes", x->name);
    else if (!extent_same(&x->type, &from, &to))
        verify_fault(v, "does not lie as %s does", x->name);
    if (x->layout.tile[0] || y->layout.tile[0])
        verify_fault(v, "a packed value is not copied");
}

/* ---- waits; Value.mark of a copy's result: is it waited for? ---- */

enum { UNDER_WAY = 1, DONE = 2, REPORTED = 3 };

static void
verify_wait(Verifier *v, const Node *n)
{
    Value *x = n->args[0];
    if (!is_copy(x->def))
        verify_fault(v, "%s is no copy", x->name);
    else if (x->def->args[0] != n->args[1])
        verify_fault(v, "%s is a copy of %s, not of %s", x->name,
                     x->def->args[0]->name, n->args[1]->name);
    else if (x->mark == DONE)
        verify_fault(v, "%s is waited for twice", x->name);
    else if (x->mark != REPORTED)
        x->mark = DONE;
}

/* The first that reads it says so, and nobody else. */
static void
verify_use(Verifier *v, const Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Value *x = n->args[i];
        if (x->mark != UNDER_WAY)
            continue;
        verify_fault(v, "reads %s, which is not waited for", x->name);
        x->mark = REPORTED;
    }
}

/* What a tensor off the device holds comes there by a copy. */
static void
verify_away(Verifier *v, const Node *n)
{
    const Value *x = n->args[0];
    if (n->tensor->space == SPACE_device && x->space == SPACE_device)
        return;
    if (n->tensor->space != x->space || x->home->tensor != n->tensor)
        verify_fault(v, "%s does not lie in %s, which is in another space",
                     x->name, n->tensor->name);
}

static void
verify_under_way(Verifier *v, const Graph *g)
{
    graph_each(g, n) {
        if (!is_copy(n) || n->results[0]->mark != UNDER_WAY)
            continue;
        verify_at(v, n);
        verify_fault(v, "is never waited for");
    }
}

static void
verify_stores(Verifier *v, const Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            verify_stores(v, n->body);
        verify_at(v, n);
        if (n->op == OP_write || n->op == OP_accumulate)
            verify_away(v, n);
    }
}

/* How long bytes are wanted follows from the waits. */
void
verify_copies(Verifier *v, Graph *g)
{
    int before = v->faults;
    if (!verify_is_placed(v->m))
        return;
    graph_forget(g);
    graph_each(g, n) {
        verify_at(v, n);
        if (n->op == OP_wait)
            verify_wait(v, n);
        else
            verify_use(v, n);
        if (!is_copy(n))
            continue;
        verify_run(v, n);
        n->results[0]->mark = UNDER_WAY;
    }
    verify_under_way(v, g);
    verify_stores(v, g);
    v->unsound |= v->faults != before;
    graph_forget(g);
}
