/* Updates in the backward pass. A gradient is complete when the model's one
 * accumulate of it has run, of the only microbatch: an optimizer that reads
 * what is accumulated there reads the gradient. */
#include "passes/plan/check_parts.h"

/* What the model does with a gradient. */
struct GradUses {
    const Node *accumulate, *read;
    int accumulates; /* one that adds to another counts twice */
    int updates, others; /* who reads it */
};

bool
check_is_update(const Node *n)
{
    return op_info[n->op].flags & OP_OPTIMIZER;
}

/* ---- the model's gradients ---- */

static struct GradUses *
uses_of(const Check *c, const Tensor *t)
{
    return t && t->kind == TENSOR_grad ? map_get(&c->grads, t->name) : NULL;
}

static void
find_reads(Check *c, const Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        const Node *def = n->args[i]->def;
        struct GradUses *u =
            uses_of(c, def->op == OP_read ? def->tensor : NULL);
        bool update = check_is_update(n) && i == 1;
        if (!u)
            continue;
        u->read = def;
        u->updates += update;
        u->others += !update;
    }
}

static void
find_uses(Check *c, const Graph *g)
{
    graph_each(g, n) {
        struct GradUses *u = n->op == OP_accumulate ? uses_of(c, n->tensor)
                                                    : NULL;
        if (n->body)
            find_uses(c, n->body);
        else
            find_reads(c, n);
        if (u) {
            u->accumulate = n;
            u->accumulates += 1 + node_flag(n, "more");
        }
    }
}

void
check_early_begin(Check *c)
{
    const Graph *main = module_graph(c->model, "main");
    for (int i = 0; i < c->model->tensors.n; i++) {
        const Tensor *t = c->model->tensors.at[i];
        if (t->kind == TENSOR_grad)
            map_put(c->arena, &c->grads, t->name,
                    ARENA_NEW(c->arena, struct GradUses));
        if (t->kind == TENSOR_grad && t->owner &&
            !module_tensor(c->m, t->name))
            map_put(c->arena, &c->lacking, t->owner->name, (void *)t);
    }
    if (main)
        find_uses(c, main);
}

bool
check_may_lack(const Check *c, const Tensor *grad)
{
    const struct GradUses *u = uses_of(c, grad);
    const Train *t = c->model->train;
    return u && t && t->accumulate <= 1 && u->accumulates == 1 &&
           u->updates == 1 && u->others == 0;
}

/* ---- the schedule's updates ---- */

bool
check_is_early(const Check *c, const Node *n)
{
    if (!check_is_update(n) || n->n_args < 2 || !c->steps ||
        c->phase != PHASE_backward)
        return false;
    const Tensor *t = value_tensor(n->args[1]);
    return !t || t->kind != TENSOR_grad;
}

int
check_early_number(Check *c, const Node *n, int number)
{
    const Tensor *param = value_tensor(n->args[0]);
    const Tensor *grad = param ? map_get(&c->lacking, param->name) : NULL;
    if (number == NO_NUMBER)
        return NO_NUMBER;
    if (!grad || !check_may_lack(c, grad)) {
        check_fault_at(c, n, "belongs to the update pass");
        return NO_NUMBER;
    }
    const struct GradUses *u = uses_of(c, grad);
    if (u->accumulate->args[0]->mark == number)
        return u->read->results[0]->mark;
    check_fault_at(c, n, "operand 2 is %s in the model, found %s",
                   u->accumulate->args[0]->name, n->args[1]->name);
    check_note(c, u->accumulate->loc, "the model has it from here");
    return NO_NUMBER;
}
