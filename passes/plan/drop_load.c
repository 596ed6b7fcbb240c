/* How much memory the copies and what is still stashed take at once, beside
 * the gradients that are not written yet: their lifetimes in the order that
 * the backward pass has, which later passes change only where that helps. */
#include "passes/plan/drop.h"

#include <limits.h>

#include "ir/scratch.h"

typedef struct Load {
    const Drop *d;
    int *first; /* by kernel: its copy stands before this kernel */
    int *last;  /* by value: the last kernel that reads its copy */
    int64_t *change;
} Load;

static bool
is_again(const Drop *d, const Value *v)
{
    return v->def->phase == PHASE_forward && d->again[v->def->mark];
}

static bool
is_view(const Node *n)
{
    return op_info[n->op].flags & OP_VIEW;
}

static bool
is_kept(const Drop *d, const Value *v)
{
    return d->stash[v->mark] > 0 && !d->dropped[v->mark] &&
           v->def->phase == PHASE_forward && !d->again[v->def->mark];
}

/* Who reads a view reads what it shows. */
static int
last_read(const Load *x, const Node *n, int at)
{
    int last = at;
    for (int i = 0; is_view(n) && i < n->n_results; i++)
        if (x->last[n->results[i]->mark] > last)
            last = x->last[n->results[i]->mark];
    return last;
}

/* A view that is not copied itself. */
static const Value *
shown(const Load *x, const Value *v)
{
    while (!is_again(x->d, v) && !is_kept(x->d, v) && is_view(v->def))
        v = v->def->args[0];
    return v;
}

static void
add_reads(Load *x, const Node *n, int at)
{
    int last = last_read(x, n, at);
    for (int i = 0; i < n->n_args; i++) {
        const Value *v = shown(x, n->args[i]);
        bool again = is_again(x->d, v);
        if (!again && !is_kept(x->d, v))
            continue;
        int kernel = value_node(v)->order;
        if (again && at < x->first[kernel])
            x->first[kernel] = at;
        if (last > x->last[v->mark])
            x->last[v->mark] = last;
    }
}

/* From the end, so that all readers of a value come first. */
static void
find_lifetimes(Load *x)
{
    const Drop *d = x->d;
    for (int i = d->atoms.n - 1; i >= 0; i--) {
        const Node *n = d->atoms.at[i];
        const Node *kernel = n->graph->owner ? n->graph->owner : n;
        if (n->phase == PHASE_backward)
            add_reads(x, n, kernel->order);
        else if (d->again[i] && x->first[kernel->order] < INT_MAX)
            add_reads(x, n, x->first[kernel->order]);
    }
}

static void
add_kernel(Load *x, const Node *kernel)
{
    int first = x->first[kernel->order];
    for (int i = 0; first < INT_MAX && i < kernel->n_results; i++) {
        const Value *v = kernel->results[i];
        if (!is_again(x->d, v) || is_view(v->def) || v->def->op == OP_const ||
            x->last[v->mark] < 0)
            continue;
        int64_t bytes = scratch_part(type_bytes(&v->type));
        x->change[first] += bytes;
        x->change[x->last[v->mark] + 1] -= bytes;
    }
}

/* What is stashed is there from the start. */
static void
add_stash(Load *x)
{
    const Drop *d = x->d;
    for (int i = 0; i < d->values.n; i++) {
        if (x->last[i] < 0 || !is_kept(d, d->values.at[i]))
            continue;
        x->change[0] += d->stash[i];
        x->change[x->last[i] + 1] -= d->stash[i];
    }
}

/* Gradients lend all their bytes until they are written; those that are not
 * kept are there for a moment. */
static void
add_lent(Load *x)
{
    const Drop *d = x->d;
    x->change[0] -= d->lent - (d->early ? d->all_soon : 0);
    for (int i = 0; i < d->kernels.n; i++) {
        x->change[i] += d->written[i];
        x->change[i + 1] -= d->early ? d->soon[i] : 0;
    }
}

int64_t
drop_load(const Drop *d)
{
    Arena *a = arena_new();
    Load x = {.d = d,
              .first = ARENA_ARRAY(a, int, d->kernels.n + 1),
              .last = ARENA_ARRAY(a, int, d->values.n + 1),
              .change = ARENA_ARRAY(a, int64_t, d->kernels.n + 2)};
    for (int i = 0; i < d->kernels.n; i++)
        x.first[i] = INT_MAX;
    for (int i = 0; i < d->values.n; i++)
        x.last[i] = -1;
    find_lifetimes(&x);
    for (int i = 0; i < d->kernels.n; i++)
        add_kernel(&x, d->kernels.at[i]);
    add_stash(&x);
    add_lent(&x);
    int64_t now = 0, most = 0;
    for (int i = 0; i < d->kernels.n; i++) {
        now += x.change[i];
        most = now > most ? now : most;
    }
    arena_free(a);
    return most;
}
