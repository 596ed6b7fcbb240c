#include "passes/plan/drop.h"

#include "ir/lend.h"
#include "ir/scratch.h"
#include "passes/plan/cost.h"
#include "passes/plan/early.h"

/* One thing that drop_add set, and what to put back. */
typedef struct DropStep {
    enum { STEP_value, STEP_atom, STEP_kernel } kind;
    int at;
    int64_t ns, saved;
} DropStep;

/* ---- what there is ---- */

static void
list_nodes(Drop *d, Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            list_nodes(d, n->body);
            continue;
        }
        n->mark = d->atoms.n;
        vec_push(d->a, &d->atoms, n);
        for (int i = 0; i < n->n_results; i++) {
            n->results[i]->mark = d->values.n;
            vec_push(d->a, &d->values, n->results[i]);
        }
    }
}

static void
list_kernels(Drop *d)
{
    graph_number(d->g);
    graph_each(d->g, n)
        vec_push(d->a, &d->kernels, n);
}

/* The old value of a state is there only if it is stashed: the forward pass
 * changes the state before the backward pass could read it again. */
static void
find_old(Drop *d)
{
    Module *m = d->g->module;
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    graph_each(d->g, n)
        if (n->op == OP_write)
            n->tensor->mark = 1;
    for (int i = 0; i < d->values.n; i++) {
        const Node *n = d->values.at[i]->def;
        d->old[i] = n->op == OP_read && n->tensor->kind == TENSOR_state &&
                    n->tensor->mark;
    }
}

static bool
is_view(const Node *n)
{
    return op_info[n->op].flags & OP_VIEW;
}

/* From the end, so that all readers of a view are known at its node. */
static void
find_views(Drop *d)
{
    bool *wanted = ARENA_ARRAY(d->a, bool, d->atoms.n + 1);
    for (int i = d->atoms.n - 1; i >= 0; i--) {
        const Node *n = d->atoms.at[i];
        bool wants = n->phase == PHASE_backward || (wanted[i] && is_view(n));
        for (int k = 0; wants && k < n->n_args; k++)
            if (n->args[k]->def->phase == PHASE_forward)
                wanted[n->args[k]->def->mark] = true;
        if (n->phase != PHASE_forward || !wanted[i] || !is_view(n))
            continue;
        int base = n->args[0]->def->mark;
        d->next_view[i] = d->view[base];
        d->view[base] = i + 1;
    }
}

static void
find_stash(Drop *d, const Module *stashed)
{
    const Graph *forward = module_graph(stashed, "forward");
    for (const Node *n = forward ? forward->first : NULL; n; n = n->next) {
        if (n->op != OP_write || n->tensor->kind != TENSOR_stash)
            continue;
        const Value *v = map_get(&d->g->values, n->args[0]->name);
        if (v)
            d->stash[v->mark] += n->tensor->bytes;
    }
    for (int i = 0; i < stashed->tensors.n; i++) {
        const Tensor *t = stashed->tensors.at[i];
        if (t->kind == TENSOR_stash && t->space == SPACE_device)
            d->all += t->bytes;
    }
}

/* Of the gradients of `stashed` that lend; each is written once, or first
 * where it is not `more`. */
static void
find_written(Drop *d, const Module *stashed)
{
    Lend lend = lend_find(d->a, stashed);
    Map bytes = {0};
    for (int i = 0; i < stashed->tensors.n; i++) {
        const Tensor *t = stashed->tensors.at[i];
        if (t->kind == TENSOR_grad && lend.first[i] >= 0)
            map_put(d->a, &bytes, t->name, (void *)(intptr_t)t->bytes);
    }
    for (int i = 0; i < d->atoms.n; i++) {
        const Node *n = d->atoms.at[i];
        if (n->op != OP_accumulate || n->phase != PHASE_backward ||
            node_flag(n, "more"))
            continue;
        const Node *kernel = n->graph->owner ? n->graph->owner : n;
        int64_t more = (intptr_t)map_get(&bytes, n->tensor->name);
        d->written[kernel->order] += more;
        d->lent += more;
    }
    EarlyParams early = early_find(d->a, d->g->module);
    for (int i = 0; i < early.n; i++) {
        const Node *n = early.at[i].accumulate;
        const Node *kernel = n->graph->owner ? n->graph->owner : n;
        int64_t more = (intptr_t)map_get(&bytes, n->tensor->name);
        d->soon[kernel->order] += more;
        d->all_soon += more;
    }
}

/* ---- what follows from a choice ---- */

static bool
is_given(const Value *v)
{
    const Node *n = v->def;
    return n->op == OP_read ||
           (!n->graph->owner && (n->op == OP_const || n->op == OP_iota));
}

static bool
is_kept(const Drop *d, const Value *v)
{
    return v->def->phase != PHASE_forward || is_given(v) ||
           (d->stash[v->mark] > 0 && !d->dropped[v->mark]);
}

static bool
can_repeat(const Node *n)
{
    const Node *kernel = n->graph->owner ? n->graph->owner : n;
    return n->phase == PHASE_forward && !(op_info[n->op].flags & OP_PINNED) &&
           strcmp(node_word(kernel, "kind", ""), "head") != 0;
}

static void
note(Drop *d, int kind, int at)
{
    DropStep s = {kind, at, 0, d->saved};
    vec_push(d->a, &d->trail, s);
}

static void
push(Drop *d, const Node *n)
{
    if (d->again[n->mark])
        return;
    note(d, STEP_atom, n->mark);
    d->again[n->mark] = true;
    for (int i = 0; i < n->n_results; i++)
        d->saved += d->stash[n->results[i]->mark];
    vec_push(d->a, &d->stack, n->mark);
}

/* An old state that nothing else stashes counts against what is saved. */
static void
keep_state(Drop *d, const Value *v)
{
    if (d->stash[v->mark] > 0 || d->dropped[v->mark])
        return;
    note(d, STEP_value, v->mark);
    d->dropped[v->mark] = true;
    d->saved -= scratch_part(type_bytes(&v->type));
}

/* All that the atoms on the stack need; false when that cannot be. */
static bool
close_over(Drop *d)
{
    while (d->stack.n > 0) {
        const Node *n = d->atoms.at[d->stack.at[--d->stack.n]];
        if (!can_repeat(n)) {
            d->stack.n = 0;
            return false;
        }
        for (int i = d->view[n->mark]; i; i = d->next_view[i - 1])
            push(d, d->atoms.at[i - 1]);
        for (int i = 0; i < n->n_args; i++) {
            const Value *v = n->args[i];
            if (d->old[v->mark])
                keep_state(d, v);
            else if (!is_kept(d, v))
                push(d, v->def);
        }
    }
    return true;
}

/* ---- what it costs ---- */

typedef struct Part {
    const Drop *d;
    Work w;
    bool views_only;
} Part;

static bool
in_part(const Part *p, const Value *v, const Node *kernel)
{
    return v->def->phase == PHASE_forward && p->d->again[v->def->mark] &&
           value_node(v) == kernel;
}

static void
add_atom(Part *p, const Node *n, const Node *kernel)
{
    if (!p->d->again[n->mark])
        return;
    work_add(&p->w, n);
    p->views_only &= (op_info[n->op].flags & OP_VIEW) || n->op == OP_const;
    for (int i = 0; i < n->n_args; i++)
        if (!in_part(p, n->args[i], kernel) && n->op != OP_embedding)
            p->w.bytes += type_bytes(&n->args[i]->type);
}

static int64_t
part_ns(const Drop *d, const Node *kernel)
{
    Part p = {.d = d, .views_only = true};
    if (kernel->body)
        graph_each(kernel->body, n)
            add_atom(&p, n, kernel);
    else
        add_atom(&p, kernel, kernel);
    for (int i = 0; i < kernel->n_results; i++)
        if (d->again[kernel->results[i]->def->mark])
            p.w.bytes += type_bytes(&kernel->results[i]->type);
    if (p.views_only)
        return 0;
    Work whole = work_kernel(kernel);
    return cost_part(machine_of(d->g->module), work_name(kernel), &whole,
                     &p.w);
}

static void
count_ns(Drop *d, int from)
{
    for (int i = from, end = d->trail.n; i < end; i++) {
        if (d->trail.at[i].kind != STEP_atom)
            continue;
        const Node *n = d->atoms.at[d->trail.at[i].at];
        const Node *kernel = n->graph->owner ? n->graph->owner : n;
        int64_t ns = part_ns(d, kernel), *now = &d->ns[kernel->order];
        if (ns == *now)
            continue;
        note(d, STEP_kernel, kernel->order);
        d->trail.at[d->trail.n - 1].ns = *now;
        d->total_ns += ns - *now;
        *now = ns;
    }
}

/* ---- the choice ---- */

int
drop_mark(const Drop *d)
{
    return d->trail.n;
}

void
drop_undo(Drop *d, int mark)
{
    while (d->trail.n > mark) {
        DropStep s = d->trail.at[--d->trail.n];
        d->saved = s.saved;
        switch (s.kind) {
        case STEP_value:
            d->dropped[s.at] = false;
            break;
        case STEP_atom:
            d->again[s.at] = false;
            break;
        case STEP_kernel:
            d->total_ns += s.ns - d->ns[s.at];
            d->ns[s.at] = s.ns;
            break;
        }
    }
}

static bool
try_add(Drop *d, int value)
{
    int from = d->trail.n;
    if (!d->dropped[value]) {
        note(d, STEP_value, value);
        d->dropped[value] = true;
    }
    push(d, d->values.at[value]->def);
    bool good = close_over(d);
    if (good)
        count_ns(d, from);
    return good;
}

void
drop_add(Drop *d, int value)
{
    if (!d->may[value] || !try_add(d, value))
        bug("%s cannot be made again", d->values.at[value]->name);
}

int64_t
drop_kept(const Drop *d)
{
    int64_t lent = d->lent - (d->early ? d->all_soon : 0);
    int64_t bytes = d->all - d->saved - lent;
    return bytes > 0 ? bytes : 0;
}

static void
find_may(Drop *d)
{
    for (int i = 0; i < d->values.n; i++) {
        if (d->stash[i] == 0 || is_given(d->values.at[i]))
            continue;
        int mark = drop_mark(d);
        d->may[i] = try_add(d, i);
        drop_undo(d, mark);
    }
}

Drop *
drop_new(Arena *a, Graph *main, const Module *stashed)
{
    Drop *d = ARENA_NEW(a, Drop);
    d->a = a;
    d->g = main;
    list_nodes(d, main);
    list_kernels(d);
    d->stash = ARENA_ARRAY(a, int64_t, d->values.n + 1);
    d->may = ARENA_ARRAY(a, bool, d->values.n + 1);
    d->dropped = ARENA_ARRAY(a, bool, d->values.n + 1);
    d->again = ARENA_ARRAY(a, bool, d->atoms.n + 1);
    d->ns = ARENA_ARRAY(a, int64_t, d->kernels.n + 1);
    d->written = ARENA_ARRAY(a, int64_t, d->kernels.n + 1);
    d->soon = ARENA_ARRAY(a, int64_t, d->kernels.n + 1);
    d->old = ARENA_ARRAY(a, bool, d->values.n + 1);
    d->view = ARENA_ARRAY(a, int, d->atoms.n + 1);
    d->next_view = ARENA_ARRAY(a, int, d->atoms.n + 1);
    find_old(d);
    find_views(d);
    find_stash(d, stashed);
    find_written(d, stashed);
    find_may(d);
    return d;
}
