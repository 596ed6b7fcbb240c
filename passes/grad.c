/* grad: reverse mode on graph `main`.
 *
 * A value is on the way when a parameter reaches it through floating results
 * of differentiable ops and it reaches the loss; only such values get a
 * gradient. Backward nodes stand after all others, those of the last forward
 * node first. What several uses give to a value is added in program order of
 * the uses, and then, where the value is a parameter, accumulated. */
#include "passes/grad.h"
#include "passes/pass.h"

const GradRule grad_rule[OP_COUNT] = {
#define GRAD(op) [OP_##op] = grad_##op,
#include "passes/grad.def"
#undef GRAD
};

/* Value.mark while this pass looks for the way. */
enum { FROM_PARAM = 1, TO_LOSS = 2, ON_THE_WAY = 3 };

static bool
any_arg(const Node *n, int mark)
{
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i]->mark & mark)
            return true;
    return false;
}

static bool
on_the_way(const Value *v)
{
    return (v->mark & ON_THE_WAY) == ON_THE_WAY;
}

static void
mark_from_params(Graph *g)
{
    graph_each(g, n) {
        bool from = n->op == OP_read ? n->tensor->kind == TENSOR_param
                                     : n->op != OP_stop &&
                                           any_arg(n, FROM_PARAM);
        for (int i = 0; i < n->n_results; i++) {
            Value *v = n->results[i];
            v->note = NULL;
            v->mark = from && type_is_float(&v->type) ? FROM_PARAM : 0;
        }
    }
}

static void
mark_to_loss(Graph *g, Value *loss)
{
    loss->mark |= TO_LOSS;
    graph_each_reverse(g, n) {
        bool way = false;
        for (int i = 0; i < n->n_results; i++)
            way |= on_the_way(n->results[i]);
        for (int i = 0; way && i < n->n_args; i++)
            n->args[i]->mark |= TO_LOSS;
    }
}

/* ---- what cannot be differentiated ---- */

/* Of the ops with several results all but split have one to differentiate;
 * the others are there for the gradient op. */
static bool
has_rule(const Node *n, int result)
{
    return n->op == OP_read ||
           (grad_rule[n->op] && (result == 0 || n->op == OP_split));
}

static void
check_rules(Graph *g)
{
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++)
            if (on_the_way(n->results[i]) && !has_rule(n, i))
                diag_error(g->module->diag, n->loc,
                           "%s is on the way from a parameter to the loss and "
                           "has no derivative", op_info[n->op].name);
}

/* A declaration that was used twelve times is one mistake. */
static const char *
place_key(Module *m, Span at)
{
    return intern(m->interner, arena_printf(m->arena, "%d:%d:%d", at.file,
                                            at.line, at.col));
}

static void
say_unreached(Module *m, const Tensor *t, int others, const char *loss)
{
    const char *more = others ? arena_printf(m->arena, " (nor on %d more that "
                                             "are declared here)", others)
                              : "";
    diag_error(m->diag, t->loc,
               "`%s` does not depend on parameter `%s`%s, which is to be "
               "trained", loss, t->name, more);
    diag_note(m->diag, t->loc,
              "use it, or write `param frozen` to keep it as it is");
}

static void
check_params(Graph *g, const char *loss)
{
    Module *m = g->module;
    Map places = {0};
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = m->tensors.at[i]->kind != TENSOR_param;
    graph_each(g, n)
        if (n->op == OP_read && on_the_way(n->results[0]))
            n->tensor->mark = 1;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->mark)
            continue;
        const char *key = place_key(m, t->loc);
        map_put(m->arena, &places, key,
                (void *)((intptr_t)map_get(&places, key) + 1));
    }
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->mark)
            continue;
        const char *key = place_key(m, t->loc);
        intptr_t n = (intptr_t)map_get(&places, key);
        if (n == 0)
            continue;
        say_unreached(m, t, (int)n - 1, loss);
        map_put(m->arena, &places, key, NULL);
    }
}

/* ---- gradients ---- */

/* A parameter that a graph reads twice accumulates twice. */
static void
accumulate(Graph *g, Value *param)
{
    Tensor *t = g->module->tensors.at[param->def->tensor->mark];
    const char *name = graph_derive(g, param->name, "grad");
    Value *total = grad_total(param);
    if (!total)
        total = graph_const(g, name, &t->type, 0);
    if (total->type.dtype != t->type.dtype) {
        Attr to = attr_word("to", dtype_info[t->type.dtype].name);
        total = graph_add(g, OP_cast, name, &total, 1, &to, 1)->results[0];
    }
    Node *n = graph_write(g, OP_accumulate, t, total);
    if (t->mark++)
        node_set_attr(n, attr_bool("more", true));
}

static void
differentiate(Graph *g, Node *n)
{
    g->context = (Context){PHASE_backward, n->stage, n->block, n->loc};
    if (n->op == OP_read) {
        if (n->results[0]->note)
            accumulate(g, n->results[0]);
        return;
    }
    bool some = false;
    for (int i = 0; i < n->n_results; i++)
        some |= grad_total(n->results[i]) != NULL;
    if (some)
        grad_rule[n->op](&(Grad){.g = g, .node = n});
}

/* The gradients of 16-bit parameters are summed up in f32. A parameter's mark
 * becomes the index of its gradient. */
static void
add_tensors(Module *m)
{
    int n = m->tensors.n;
    for (int i = 0; i < n; i++) {
        Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_param)
            continue;
        Type type = t->type;
        if (dtype_info[type.dtype].bits < 32)
            type.dtype = DT_f32;
        t->mark = m->tensors.n;
        const char *name = arena_printf(m->arena, "%s.grad", t->name);
        Tensor *grad = module_add_tensor(m, TENSOR_grad,
                                         module_fresh(m, name), &type);
        grad->owner = t;
        grad->loc = t->loc;
    }
}

static void
differentiate_all(Graph *g, Value *loss)
{
    add_tensors(g->module);
    graph_number(g);
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++) {
            if (on_the_way(n->results[i]))
                grad_sum_new(n->results[i]);
            n->results[i]->mark = 0;
        }
    Context before = g->context;
    Node *last = g->last, *def = loss->def;
    g->at = NULL;
    g->context = (Context){PHASE_backward, def->stage, def->block, def->loc};
    grad_start(loss);
    for (Node *n = last; n; n = n->prev)
        differentiate(g, n);
    g->context = before;
}

/* ---- the loss ---- */

/* The value written to an output of that name; without a name, to the only
 * output that is a floating scalar. */
static Node *
find_loss(Graph *g, const char *name)
{
    Node *found = NULL;
    graph_each(g, n) {
        if (n->op != OP_write || n->tensor->kind != TENSOR_output)
            continue;
        const Type *t = &n->tensor->type;
        if (name ? strcmp(n->tensor->name, name) == 0
                 : t->rank == 0 && type_is_float(t)) {
            if (found)
                return NULL;
            found = n;
        }
    }
    return found;
}

static bool
loss_fits(Module *m, const Node *write)
{
    const Type *t = &write->args[0]->type;
    if (t->rank == 0 && type_is_float(t))
        return true;
    diag_error(m->diag, write->loc,
               "expected a floating scalar to minimize, `%s` has %d axes of "
               "%s", write->tensor->name, t->rank, dtype_info[t->dtype].name);
    return false;
}

/* Is there anything to differentiate? */
static bool
is_training(const Module *m)
{
    const char *mode = module_option(m, "mode");
    return mode ? strcmp(mode, "train") == 0 : m->train != NULL;
}

bool
pass_grad(Module *m)
{
    Graph *g = module_graph(m, "main");
    if (!g || !is_training(m))
        return true;
    if (g->last && g->last->phase != PHASE_forward) {
        diag_error(m->diag, g->last->loc, "`main` is differentiated already");
        return false;
    }
    int errors = diag_count(m->diag);
    const char *name = m->train ? m->train->minimize : NULL;
    Node *write = find_loss(g, name);
    if (!write) {
        diag_error(m->diag, (Span){0},
                   name ? "there is no output `%s` to minimize"
                        : "expected one output that is a floating scalar%s",
                   name ? name : "");
        return false;
    }
    if (!loss_fits(m, write))
        return false;
    mark_from_params(g);
    mark_to_loss(g, write->args[0]);
    check_rules(g);
    check_params(g, write->tensor->name);
    if (diag_count(m->diag) > errors)
        return false;
    differentiate_all(g, write->args[0]);
    return true;
}
