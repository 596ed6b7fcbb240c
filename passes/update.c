/* update: what happens after the last microbatch of a step, as nodes of phase
 * update at the end of `main`:
 *
 *     update.lr = learning_rate updates
 *     update.norm, update.norm.finite = global_norm G... (scale = 1/N)
 *     update.scale = where(norm > c, c / norm, 1) / N
 *     adamw P, G, P.m, P.v, updates, update.lr, update.scale, go
 *     count updates go
 *
 * With the option quantize = optimizer:i8, P.m and P.v are i8, and P.m.scale
 * and P.v.scale stand behind go (ir/optimizer.h).
 *
 * The norm is there where clip_norm or skip_nonfinite ask for it; go is its
 * second result. What the metrics of a step report is written to outputs with
 * the names edl.*, which are no outputs of the model. */
#include "ir/optimizer.h"
#include "passes/pass.h"

typedef VEC(Tensor *) Tensors;

typedef struct Update {
    Module *m;
    Graph *g;
    const Train *train;
    Tensors params, grads; /* pairs, in the order of the parameters */
    Value **read;          /* the value of parameter i as `main` read it */
    Value **grad;          /* of gradient i */
    Value *updates, *lr, *scale;
    Value *go; /* NULL: always */
} Update;

static Tensor *
new_tensor(Update *u, TensorKind kind, const char *name, Type t)
{
    Tensor *x = module_add_tensor(u->m, kind, module_fresh(u->m, name), &t);
    if (kind == TENSOR_opt)
        x->init.kind = INIT_constant;
    return x;
}

static Value *
number(Update *u, const char *name, double x)
{
    Type f32 = type_scalar(DT_f32);
    return graph_const(u->g, name, &f32, x);
}

/* ---- operands ---- */

static void
find_tensors(Update *u)
{
    Module *m = u->m;
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = -1;
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_grad)
            continue;
        t->owner->mark = u->grads.n;
        vec_push(m->arena, &u->grads, t);
        vec_push(m->arena, &u->params, t->owner);
    }
}

/* The parameters as `main` read them for its forward pass: they are changed in
 * place. */
static void
find_reads(Update *u)
{
    int n = u->grads.n;
    u->read = ARENA_ARRAY(u->m->arena, Value *, n);
    u->grad = ARENA_ARRAY(u->m->arena, Value *, n);
    graph_each(u->g, node)
        if (node->op == OP_read && node->tensor->kind == TENSOR_param &&
            node->tensor->mark >= 0)
            u->read[node->tensor->mark] = node->results[0];
    for (int i = 0; i < n; i++) {
        Tensor *p = u->params.at[i];
        u->g->context.loc = p->loc;
        if (!u->read[i])
            u->read[i] = graph_read(u->g, p->name, p);
        u->grad[i] = graph_read(u->g, u->grads.at[i]->name, u->grads.at[i]);
    }
    u->g->context.loc = (Span){0};
}

/* ---- scale, predicate ---- */

/* A number of the update that the metrics of a step report. */
static void
report(Update *u, const char *name, Value *v)
{
    Tensor *t = new_tensor(u, TENSOR_output, name, v->type);
    graph_write(u->g, OP_write, t, v);
}

/* c / norm where norm > c, else 1 */
static Value *
clip_factor(Update *u, Value *norm)
{
    Value *c = number(u, "update.clip_norm", u->train->clip_norm);
    Value *args[] = {graph_binary(u->g, OP_gt, "update.clips", norm, c),
                     graph_binary(u->g, OP_div, "update.shrink", c, norm),
                     number(u, "update.one", 1)};
    return graph_add(u->g, OP_where, "update.clip", args, 3, NULL, 0)
        ->results[0];
}

static void
add_scale(Update *u)
{
    double mean = 1 / (double)(u->train->accumulate ? u->train->accumulate : 1);
    bool clips = u->train->clip_norm > 0;
    if (clips || u->train->skip_nonfinite) {
        Attr scale = attr_float("scale", mean);
        Node *norm = graph_add(u->g, OP_global_norm, "update.norm", u->grad,
                               u->grads.n, &scale, 1);
        u->go = norm->results[1];
        report(u, "edl.grad_norm", norm->results[0]);
        report(u, "edl.finite", u->go);
        u->scale = clips ? clip_factor(u, norm->results[0]) : NULL;
    }
    Value *share = number(u, "update.mean", mean);
    u->scale = u->scale ? graph_binary(u->g, OP_mul, "update.scale", u->scale,
                                       share)
                        : share;
}

/* ---- parameters ---- */

static Value *
optimizer_tensor(Update *u, int i, const char *role, Type type)
{
    Tensor *p = u->params.at[i];
    const char *name = arena_printf(u->m->arena, "%s.%s", p->name, role);
    Tensor *t = new_tensor(u, TENSOR_opt, name, type);
    t->owner = p;
    t->role = role;
    t->loc = p->loc;
    return graph_read(u->g, t->name, t);
}

static bool
codes_states(const Module *m)
{
    return module_option_is(m, "quantize", "optimizer:i8");
}

static bool
in_few_bits(const Update *u, int i)
{
    return codes_states(u->m) && optimizer_can_code(&u->grads.at[i]->type);
}

/* Puts the state into args[at], and behind *n what its scales are read as,
 * where it has some. */
static void
add_state(Update *u, int i, const char *role, Value **args, int at, int *n)
{
    Type t = u->grads.at[i]->type, scales = optimizer_scales(&t);
    if (!in_few_bits(u, i)) {
        args[at] = optimizer_tensor(u, i, role, t);
        return;
    }
    t.dtype = DT_i8;
    args[at] = optimizer_tensor(u, i, role, t);
    args[(*n)++] = optimizer_tensor(
        u, i, arena_printf(u->m->arena, "%s.scale", role), scales);
}

static void
add_adamw(Update *u, int i)
{
    const Tensor *p = u->params.at[i];
    Value *args[10] = {u->read[i], u->grad[i], NULL,     NULL,
                       u->updates, u->lr,      u->scale, u->go};
    int n = u->go ? 8 : 7;
    add_state(u, i, "m", args, 2, &n);
    add_state(u, i, "v", args, 3, &n);
    Attr attrs[] = {attr_float("beta1", u->train->beta1),
                    attr_float("beta2", u->train->beta2),
                    attr_float("eps", u->train->eps),
                    attr_float("weight_decay", p->weight_decay),
                    attr_float("lr_scale", p->lr_scale)};
    graph_add(u->g, OP_adamw, NULL, args, n, attrs, 5);
}

static void
add_sgd(Update *u, int i)
{
    const Tensor *p = u->params.at[i];
    Value *args[6] = {u->read[i], u->grad[i], u->lr, u->scale};
    int n = 4;
    if (u->train->momentum != 0)
        args[n++] = optimizer_tensor(u, i, "momentum",
                                     u->grads.at[i]->type);
    if (u->go)
        args[n++] = u->go;
    Attr attrs[] = {attr_float("momentum", u->train->momentum),
                    attr_bool("nesterov", u->train->nesterov),
                    attr_float("weight_decay", p->weight_decay),
                    attr_float("lr_scale", p->lr_scale),
                    attr_bool("go", u->go != NULL)};
    graph_add(u->g, OP_sgd, NULL, args, n, attrs, 5);
}

static void
add_update(Update *u)
{
    bool adam = strcmp(u->train->optimizer, "adamw") == 0;
    Tensor *count = new_tensor(u, TENSOR_counter, "updates",
                               type_scalar(DT_i64));
    u->updates = graph_read(u->g, "updates", count);
    u->lr = graph_unary(u->g, OP_learning_rate, "update.lr", u->updates);
    find_reads(u);
    add_scale(u);
    for (int i = 0; i < u->params.n; i++) {
        u->g->context.loc = u->params.at[i]->loc;
        if (adam)
            add_adamw(u, i);
        else
            add_sgd(u, i);
    }
    u->g->context.loc = (Span){0};
    graph_add(u->g, OP_count, NULL, &u->go, u->go ? 1 : 0, NULL, 0)->tensor =
        count;
}

/* ---- targets that count ---- */

/* mark 1: the output of that name is made of it */
static void
mark_sources(Graph *g, const char *output)
{
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
    graph_each_reverse(g, n) {
        bool used = n->op == OP_write && strcmp(n->tensor->name, output) == 0;
        for (int i = 0; i < n->n_results; i++)
            used |= n->results[i]->mark != 0;
        for (int i = 0; used && i < n->n_args; i++)
            n->args[i]->mark = 1;
    }
}

/* Nodes go to the end of the forward phase. */
static void
append_forward(Graph *g)
{
    g->at = g->first;
    while (g->at && g->at->phase == PHASE_forward)
        g->at = g->at->next;
    g->context = (Context){.phase = PHASE_forward};
}

/* edl.valid: how many targets count in the losses that `loss` is made of. One
 * output, which the first graph that needs it makes. */
static void
count_valid(Module *m, Graph *g, const char *loss, Tensor **output)
{
    Value *sum = NULL;
    mark_sources(g, loss);
    append_forward(g);
    graph_each(g, n) {
        if (n->op != OP_cross_entropy || !n->results[0]->mark)
            continue;
        Value *valid = n->results[2];
        sum = sum ? graph_binary(g, OP_add, "edl.valid", sum, valid) : valid;
    }
    if (sum && !*output)
        *output = module_add_tensor(m, TENSOR_output,
                                    module_fresh(m, "edl.valid"), &sum->type);
    if (sum)
        graph_write(g, OP_write, *output, sum);
    g->at = NULL;
}

/* Whether grad ran: a model without parameters has nothing to update. */
static bool
has_gradients(const Module *m)
{
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_grad)
            return true;
    return false;
}

bool
pass_update(Module *m)
{
    if (!m->train || !m->train->minimize)
        return true;
    Graph *g = module_graph(m, "main"), *evaluate = module_graph(m, "evaluate");
    Tensor *valid = NULL;
    if (g)
        count_valid(m, g, m->train->minimize, &valid);
    if (evaluate)
        count_valid(m, evaluate, m->train->minimize, &valid);
    if (!g || !m->train->optimizer || !has_gradients(m))
        return true;
    if (g->last && g->last->phase == PHASE_update) {
        diag_error(m->diag, g->last->loc, "`main` has an update already");
        return false;
    }
    if (codes_states(m) && strcmp(m->train->optimizer, "adamw") != 0) {
        diag_error(m->diag, m->train->loc,
                   "%s: 8-bit states are those of adamw, not of %s", m->name,
                   m->train->optimizer);
        return false;
    }
    Update u = {.m = m, .g = g, .train = m->train};
    g->context = (Context){.phase = PHASE_update};
    find_tensors(&u);
    add_update(&u);
    g->context = (Context){0};
    return true;
}
