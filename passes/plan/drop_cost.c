#include "passes/plan/drop_cost.h"

#include "passes/plan/cost.h"

/* Who reads a value, and from where: the kernel that makes it or others. */
enum { READ_inside = 1, READ_outside = 2, COPY_inside = 4, COPY_outside = 8 };

/* A kernel as it is when nothing is dropped, and whether that has changed. */
typedef struct Kernel {
    const Node *node;
    int64_t ns;
    bool changed;
} Kernel;

struct DropCost {
    Arena *a;
    const Drop *d;
    Kernel *kernels;      /* by Node.order */
    unsigned char *reads; /* by value: a set of the above */
    unsigned char *whole; /* by value: the same when nothing is dropped */
    int *seen;            /* by value: the last part that reads it */
    int stamp;
};

static const Node *
kernel_of(const Node *n)
{
    return n->graph->owner ? n->graph->owner : n;
}

static bool
is_again(const DropCost *c, const Value *v)
{
    return v->def->phase == PHASE_forward && c->d->again[v->def->mark];
}

/* ---- who reads what ---- */

/* copy: n stands for its copy. */
static void
read_args(DropCost *c, const Node *n, bool copy)
{
    bool copies = copy || n->phase == PHASE_backward;
    for (int i = 0; i < n->n_args; i++) {
        const Value *v = n->args[i];
        bool same = kernel_of(v->def) == kernel_of(n);
        if (copies && is_again(c, v))
            c->reads[v->mark] |= copy && same ? COPY_inside : COPY_outside;
        else
            c->reads[v->mark] |= !copy && same ? READ_inside : READ_outside;
    }
}

static bool
is_read(const DropCost *c, const Node *n, int set)
{
    for (int i = 0; i < n->n_results; i++)
        if (c->reads[n->results[i]->mark] & set)
            return true;
    return false;
}

static bool
is_copied(const DropCost *c, const Node *n)
{
    return c->d->again[n->mark] && is_read(c, n, COPY_inside | COPY_outside);
}

static bool
is_left(const DropCost *c, const Node *n)
{
    return (op_info[n->op].flags & OP_PINNED) ||
           is_read(c, n, READ_inside | READ_outside);
}

/* From the end: readers come first. */
static void
find_reads(DropCost *c)
{
    const Drop *d = c->d;
    memset(c->reads, 0, (size_t)d->values.n);
    for (int i = d->atoms.n - 1; i >= 0; i--) {
        const Node *n = d->atoms.at[i];
        bool forward = n->phase == PHASE_forward;
        if (forward && is_copied(c, n))
            read_args(c, n, true);
        if (!forward || is_left(c, n))
            read_args(c, n, false);
    }
}

/* ---- kernels ---- */

/* A kernel's nodes that are copied, or those that are left of it. */
typedef struct Part {
    Work work;
    const Value *last; /* of what others read */
    const Node *node;  /* one of n */
    int n;
} Part;

static void
add_operands(DropCost *c, Part *p, const Node *n, bool copy)
{
    const Node *kernel = kernel_of(n);
    for (int i = 0; i < n->n_args; i++) {
        const Value *v = n->args[i];
        bool inside = kernel_of(v->def) == kernel && (!copy || is_again(c, v));
        if (inside || c->seen[v->mark] == c->stamp)
            continue;
        c->seen[v->mark] = c->stamp;
        p->work.bytes += type_bytes(&v->type);
    }
}

static void
add_atom(DropCost *c, Part *p, const Node *n, bool copy)
{
    if (!(copy ? is_copied(c, n) : is_left(c, n)))
        return;
    int outside = copy ? COPY_outside : READ_outside;
    work_add(&p->work, n);
    add_operands(c, p, n, copy);
    for (int i = 0; i < n->n_results; i++) {
        const Value *v = n->results[i];
        if (!(c->reads[v->mark] & outside))
            continue;
        p->work.bytes += type_bytes(&v->type);
        p->last = v;
    }
    p->node = n;
    p->n++;
}

/* A copy of one node is that node; what is left of a group stays a group. */
static Part
part_of(DropCost *c, const Node *kernel, bool copy)
{
    Part p = {0};
    c->stamp++;
    if (kernel->body)
        graph_each(kernel->body, n)
            add_atom(c, &p, n, copy);
    else
        add_atom(c, &p, kernel, copy);
    if (p.n == 1 && (copy || !kernel->body)) {
        p.work = work_kernel(p.node);
        p.last = p.node->results[p.node->n_results - 1];
    }
    return p;
}

static int64_t
copy_ns(DropCost *c, const Part *left, const Part *copy)
{
    const Machine *k = machine_of(c->d->g->module);
    if (!k->measured)
        return cost_ns(&copy->work, k);
    const char *name = arena_printf(c->a, "%s.re", copy->last->name);
    if (map_get(k->measured, name) || !is_left(c, copy->last->def))
        return cost_named(k, name, &copy->work);
    return cost_part(k, left->last->name, &left->work, &copy->work);
}

static int64_t
kernel_ns(DropCost *c, const Node *kernel)
{
    const Machine *k = machine_of(c->d->g->module);
    Part left = part_of(c, kernel, false), copy = part_of(c, kernel, true);
    int64_t ns =
        left.n ? cost_named(k, left.last ? left.last->name : "", &left.work)
               : 0;
    return copy.n ? ns + copy_ns(c, &left, &copy) : ns;
}

static void
find_changed(DropCost *c)
{
    const Drop *d = c->d;
    for (int i = 0; i < d->atoms.n; i++) {
        const Node *n = d->atoms.at[i];
        bool changed = d->again[i];
        for (int k = 0; k < n->n_results; k++) {
            int v = n->results[k]->mark;
            changed |= c->reads[v] != c->whole[v];
        }
        if (n->phase == PHASE_forward && changed)
            c->kernels[kernel_of(n)->order].changed = true;
    }
}

int64_t
drop_cost(DropCost *c)
{
    int64_t ns = 0;
    find_reads(c);
    find_changed(c);
    for (int i = 0; i < c->d->kernels.n; i++) {
        Kernel *k = &c->kernels[i];
        if (k->changed)
            ns += kernel_ns(c, k->node) - k->ns;
        k->changed = false;
    }
    return ns;
}

DropCost *
drop_cost_new(Arena *a, const Drop *d)
{
    DropCost *c = ARENA_NEW(a, DropCost);
    *c = (DropCost){.a = a, .d = d};
    c->kernels = ARENA_ARRAY(a, Kernel, d->kernels.n + 1);
    c->reads = ARENA_ARRAY(a, unsigned char, d->values.n + 1);
    c->whole = ARENA_ARRAY(a, unsigned char, d->values.n + 1);
    c->seen = ARENA_ARRAY(a, int, d->values.n + 1);
    for (int i = 0; i < d->kernels.n; i++)
        c->kernels[i] =
            (Kernel){.node = d->kernels.at[i],
                     .ns = cost_kernel(d->kernels.at[i])};
    find_reads(c);
    memcpy(c->whole, c->reads, (size_t)d->values.n);
    return c;
}
