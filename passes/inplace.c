/* Lets results take over the homes of operands that nothing reads any more,
 * and values that are written to a tensor lie there from the start.
 *
 * Only kernels that go through a row or an element once and write it last may
 * do so: elementwise and row kernels. A group's last result is written after
 * all operands of its element have been read; no other result is. */
#include "passes/pass.h"
#include "passes/plan/life.h"

typedef struct Inplace {
    Module *m;
    Graph *g;
} Inplace;

/* ---- when homes are read for the last time (Value.mark of the home) ---- */

static void
touch(Value *v, int at)
{
    Value *h = life_home(v);
    if (at > h->mark)
        h->mark = at;
}

static void
find_last(Graph *g)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_results; i++)
            life_home(n->results[i])->mark = n->order;
        for (int i = 0; i < n->n_args; i++)
            touch(n->args[i], n->order);
    }
}

/* ---- which operand a result may take over ---- */

static bool
same_layout(const Type *t, const Layout *a, const Layout *b)
{
    if (a->offset != b->offset || a->tile[0] || b->tile[0])
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] > 1 && a->stride[i] != b->stride[i])
            return false;
    return true;
}

static bool
same_place(const Value *a, const Value *b)
{
    return type_equal(&a->type, &b->type) &&
           same_layout(&a->type, &a->layout, &b->layout);
}

/* Passes over a row that come before the op's result. */
static int
passes_of(const Node *n)
{
    switch ((int)n->op) {
    case OP_layernorm:
    case OP_softmax:
    case OP_log_softmax:
    case OP_variance:
        return 2;
    default:
        return op_info[n->op].flags & OP_ELEMENT ? 0 : 1;
    }
}

/* Value.note of a body's value: passes over the row before it is known. */
static intptr_t
level_of(const Value *v)
{
    return (intptr_t)v->note;
}

static void
find_levels(Graph *body)
{
    graph_each(body, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->note = NULL;
    graph_each(body, n) {
        intptr_t level = 0;
        for (int i = 0; i < n->n_args; i++)
            if (n->args[i]->def->graph == body && level_of(n->args[i]) > level)
                level = level_of(n->args[i]);
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->note = (void *)(level + passes_of(n));
    }
}

static bool
is_written_last(const Node *n, int r)
{
    if (r != n->n_results - 1)
        return false;
    for (int i = 0; i < r; i++)
        if (level_of(n->results[i]) > level_of(n->results[r]))
            return false;
    return true;
}

static bool
writes_in_place(Node *n, int r)
{
    if (!n->body)
        return r == 0 && ((op_info[n->op].flags & OP_ELEMENT) ||
                          (op_info[n->op].flags & OP_ROW));
    const char *kind = node_word(n, "kind", "");
    if (strcmp(kind, "element") == 0)
        return r == n->n_results - 1;
    if (strcmp(kind, "row") != 0)
        return false;
    find_levels(n->body);
    return is_written_last(n, r);
}

/* Operands that lie in the same home must be the same elements. */
static bool
dies_here(const Node *n, const Value *a, const Value *r)
{
    const Value *h = life_home((Value *)a);
    if (h->tensor || h->def->op == OP_const || h->mark != n->order ||
        !same_place(a, r) || !same_place(h, r))
        return false;
    for (int i = 0; i < n->n_args; i++)
        if (life_home(n->args[i]) == h && !same_place(n->args[i], r))
            return false;
    return true;
}

static void
take_over(Node *n, int r)
{
    Value *v = n->results[r];
    if (v->home != v || v->tensor || !writes_in_place(n, r))
        return;
    for (int i = 0; i < n->n_args; i++) {
        Value *a = n->args[i];
        if (!dies_here(n, a, v))
            continue;
        Value *h = life_home(a);
        h->mark = v->mark;
        v->home = h;
        return;
    }
}

/* ---- tensors ---- */

static void
count_accesses(Module *m, Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            count_accesses(m, n->body);
        if (n->tensor)
            n->tensor->mark++;
    }
}

/* With one microbatch, the first accumulate of a tensor is its value. */
static bool
is_plain_store(const Inplace *p, const Node *n)
{
    if (n->op == OP_write)
        return n->tensor->kind == TENSOR_output;
    return n->op == OP_accumulate && !node_flag(n, "more") &&
           (!p->m->train || p->m->train->accumulate == 1);
}

/* A scalar output is a mean over microbatches: its write does work. */
static void
bind(Inplace *p, Node *n)
{
    if (!is_plain_store(p, n) || n->tensor->mark != 1 ||
        n->tensor->type.rank == 0)
        return;
    Value *v = n->args[0], *h = life_home(v);
    if (h->tensor || h->def->op == OP_const || !same_place(v, h) ||
        !type_equal(&h->type, &n->tensor->type) ||
        !same_layout(&h->type, &h->layout, &n->tensor->layout))
        return;
    h->tensor = n->tensor;
}

static void
flatten(Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            flatten(n->body);
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->home = life_home(n->results[i]);
    }
}

static void
run(Inplace *p)
{
    graph_number(p->g);
    find_last(p->g);
    for (int i = 0; i < p->m->tensors.n; i++)
        p->m->tensors.at[i]->mark = 0;
    count_accesses(p->m, p->g);
    graph_each(p->g, n) {
        for (int r = 0; r < n->n_results; r++)
            take_over(n, r);
        bind(p, n);
    }
    flatten(p->g);
    graph_forget_notes(p->g);
}

bool
pass_inplace(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++) {
        Inplace p = {m, m->graphs.at[i]};
        run(&p);
    }
    return true;
}
