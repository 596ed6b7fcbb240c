#include "codegen/c_ops.h"

/* The broadcast of all that a group computes. */
static Type
full_type(const Node *n)
{
    if (n->op != OP_fused)
        return n->n_results ? n->results[0]->type : n->args[0]->type;
    Type t = type_scalar(DT_f32);
    graph_each(n->body, b) {
        if (b->op == OP_const)
            continue;
        const Value *v = b->n_results ? b->results[0] : b->args[0];
        Type sum;
        if (!type_broadcast(&t, &v->type, &sum))
            bug("codegen: the shapes of an element group do not broadcast");
        t = sum;
    }
    return t;
}

void
store_results(Cells *c, const Node *n)
{
    for (int i = 0; i < n->n_results; i++)
        if (has_memory(n->results[i]))
            cells_store(c, cells_value(c, n->results[i]),
                        loops_value(c->loops, n->results[i], true));
}

/* "h.0.x = mul, add: f32[4, 64]". */
static const char *
comment_of(Kernel *k, const Node *n)
{
    Arena *a = k->cg->arena;
    Emit e = emit_new(a);
    if (n->n_results)
        emit(&e, "%s = ", n->results[0]->name);
    int count = 0;
    if (n->op == OP_fused)
        graph_each(n->body, b) {
            if (b->op != OP_const && count < 12)
                emit(&e, "%s%s", count ? ", " : "", op_info[b->op].name);
            else if (b->op != OP_const && count == 12)
                emit(&e, ", ...");
            count += b->op != OP_const;
        }
    else
        emit(&e, "%s", op_info[n->op].name);
    Type t = full_type(n);
    Value shape = {.type = t};
    if (n->n_results)
        shape.type.dtype = n->results[0]->type.dtype;
    emit(&e, ": %s", describe(k->cg, &shape));
    return emit_string(&e);
}

static void
element_node(Cells *c, const Node *n)
{
    if (n->op == OP_const)
        return;
    if (n->op == OP_write || n->op == OP_accumulate)
        cells_write(c, n, loops_tensor(c->loops, n->tensor, true));
    else
        cells_bind(c, n->results[0], cells_element(c, n));
}

static void
element_body(Kernel *k)
{
    const Node *n = k->node;
    Type t = full_type(n);
    Loops s = loops_new(k, &t, 0);
    s.wide = true;
    Cells c = cells_new(k, &s);
    if (n->op == OP_fused)
        graph_each(n->body, b)
            element_node(&c, b);
    else
        element_node(&c, n);
    store_results(&c, n);
    k->comment = comment_of(k, n);
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_element(Cg *cg, const Node *n)
{
    bool alone = n->op != OP_fused;
    const Value *v = n->n_results ? n->results[0] : n->args[0];
    kernel_emit(cg, n, alone ? op_info[n->op].name : "element", v->name,
                element_body, NULL);
}

/* ---- write and accumulate by themselves ---- */

static bool
already_there(const Node *n)
{
    const Value *v = n->args[0];
    return v->home->tensor == n->tensor;
}

/* The mean of a scalar over the microbatches of a step. */
static void
mean_body(Kernel *k)
{
    const Node *n = k->node;
    const char *v = kernel_name(k, kernel_value(k, n->args[0], 0, false));
    const char *t = kernel_name(k, kernel_tensor(k, n->tensor, true));
    kernel_scalar(k, "int64_t", "mb", "mb");
    k->cg->uses_mb = true;
    k->comment = "the mean over the microbatches of a step";
    emit_line(&k->out, "const %s sum = mb > 0 ? *%s + *%s : *%s;",
              c_compute(n->tensor->type.dtype), t, v, v);
    emit_line(&k->out, "*%s = mb == %lld ? sum / %lld : sum;", t,
              (long long)(k->cg->m->train->accumulate - 1),
              (long long)k->cg->m->train->accumulate);
}

/* The count of valid targets is the sum over the microbatches of a step. */
static void
sum_body(Kernel *k)
{
    const Node *n = k->node;
    const char *v = kernel_name(k, kernel_value(k, n->args[0], 0, false));
    const char *t = kernel_name(k, kernel_tensor(k, n->tensor, true));
    const char *add = kernel_add(k, n);
    k->comment = "the sum over the microbatches of a step";
    emit_line(&k->out, "*%s = %s ? *%s + *%s : *%s;", t, add, t, v, v);
}

static bool
is_sum(const Node *n)
{
    return n->op == OP_write && strcmp(n->tensor->name, "edl.valid") == 0;
}

static bool
is_mean(const Cg *cg, const Node *n)
{
    const Type *t = &n->tensor->type;
    return n->op == OP_write && n->tensor->kind == TENSOR_output &&
           t->rank == 0 && (t->dtype == DT_f32 || t->dtype == DT_f64) &&
           cg->m->train && cg->m->train->accumulate > 1 &&
           strcmp(cg->graph->name, "forward") == 0;
}

void
c_write(Cg *cg, const Node *n)
{
    if (is_mean(cg, n) && !already_there(n)) {
        kernel_emit(cg, n, "mean", n->tensor->name, mean_body, NULL);
        return;
    }
    if (is_sum(n) && !already_there(n)) {
        kernel_emit(cg, n, "sum", n->tensor->name, sum_body, NULL);
        return;
    }
    if (!already_there(n)) {
        c_element(cg, n);
        return;
    }
    bool adds = is_mean(cg, n) || is_sum(n) ||
                (n->op == OP_accumulate &&
                 (node_flag(n, "more") ||
                  (cg->m->train && cg->m->train->accumulate > 1)));
    if (adds)
        cg_refuse(cg, n,
                  "a value made in the tensor's place cannot be added "
                  "to it");
}

/* ---- const and iota ---- */

static void
fill_body(Kernel *k)
{
    const Value *v = k->node->results[0];
    Loops s = loops_new(k, &v->type, 0);
    Cells c = cells_new(k, &s);
    int cell;
    if (k->node->op == OP_const) {
        cell = cells_value(&c, v);
    } else {
        int axis = (int)node_int(k->node, "axis", 0);
        int64_t stride[MAX_RANK] = {0};
        stride[axis] = 1;
        cell = cells_stride(&c, stride);
        cell = cells_expr1(&c, v->type.dtype, "place", "(%t)%0", cell);
    }
    cells_store(&c, cell, loops_value(&s, v, true));
    k->comment = arena_printf(k->cg->arena, "%s: %s", op_info[k->node->op].name,
                              describe(k->cg, v));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static void
zero_body(Kernel *k)
{
    const Value *v = k->aux;
    Loops s = loops_new(k, &v->type, 0);
    Cells c = cells_new(k, &s);
    const char *zero = c_number(k->cg->arena, v->type.dtype, 0);
    cells_store(&c, cells_literal(&c, v->type.dtype, zero),
                loops_value(&s, v, true));
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
c_zero(Cg *cg, const Node *n, const Value *v)
{
    kernel_emit(cg, n, "fill", v->name, zero_body, v);
}

void
c_fill(Cg *cg, const Node *n)
{
    if (has_memory(n->results[0]))
        kernel_emit(cg, n, op_info[n->op].name, n->results[0]->name, fill_body,
                    NULL);
}
