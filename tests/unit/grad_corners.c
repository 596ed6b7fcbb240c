/* Gradients where mathematics has none, or where arithmetic loses it: the
 * rulings of the language. A row: op, operands, attributes, and what the
 * derivative of the result's sum must be for each operand. */
#include <math.h>
#include <stdio.h>

#include "ir/eval.h"
#include "passes/pass.h"

enum { MOST = 3 };

typedef struct Row {
    Op op;
    int n; /* elements of each operand */
    double a[MOST], b[MOST];
    double da[MOST], db[MOST]; /* db is read where the op has two operands */
    Attr attrs[2];
} Row;

static const int64_t axis0[] = {0};

#define NUM(key, v) {key, ATTR_float, 0, v, NULL, NULL}
#define REDUCE {"axes", ATTR_ints, 1, 0, NULL, axis0},                         \
               {"keep", ATTR_bool, 0, 0, NULL, NULL}

static const Row rows[] = {
    {OP_relu, 3, {-1, 0, 2}, {0}, {0, 0, 1}, {0}, {{0}}},
    {OP_abs, 3, {-1, 0, 2}, {0}, {-1, 0, 1}, {0}, {{0}}},
    {OP_sqrt, 2, {0, 4}, {0}, {0, 0.25}, {0}, {{0}}},
    {OP_clamp, 3, {-1, 1, 2}, {0}, {1, 1, 0}, {0},
     {NUM("lo", -1), NUM("hi", 1)}},
    {OP_gelu_tanh, 3, {100, -100, 0}, {0}, {1, 0, 0.5}, {0}, {{0}}},
    {OP_gelu_erf, 3, {100, -100, 0}, {0}, {1, 0, 0.5}, {0}, {{0}}},
    {OP_silu, 3, {1000, -1000, 0}, {0}, {1, 0, 0.5}, {0}, {{0}}},
    {OP_softplus, 3, {1000, -1000, 0}, {0}, {1, 0, 0.5}, {0}, {{0}}},
    {OP_sigmoid, 3, {1000, -1000, 0}, {0}, {0, 0, 0.25}, {0}, {{0}}},
    {OP_tanh, 3, {1000, -1000, 0}, {0}, {0, 0, 1}, {0}, {{0}}},
    {OP_floor, 2, {0.5, 1}, {0}, {0, 0}, {0}, {{0}}},
    {OP_maximum, 3, {1, 2, 3}, {2, 2, 2}, {0, 1, 1}, {1, 0, 0}, {{0}}},
    {OP_minimum, 3, {1, 2, 3}, {2, 2, 2}, {1, 1, 0}, {0, 0, 1}, {{0}}},
    {OP_pow, 3, {0, 0, 0}, {0, 1, 2}, {0, 1, 0}, {0, 0, 0}, {{0}}},
    {OP_pow, 2, {-2, -1}, {2, 3}, {-4, 3}, {0, 0}, {{0}}},
    {OP_div, 2, {1e200, 0}, {1e200, 2}, {1e-200, 0.5}, {-1e-200, 0}, {{0}}},
    {OP_reduce_max, 3, {2, 2, 1}, {0}, {1, 0, 0}, {0}, {REDUCE}},
    {OP_reduce_min, 3, {2, 1, 1}, {0}, {0, 1, 0}, {0}, {REDUCE}},
    {OP_logsumexp, 2, {1000, 1000}, {0}, {0.5, 0.5}, {0}, {REDUCE}},
    {OP_logsumexp, 2, {-INFINITY, -INFINITY}, {0}, {0, 0}, {0}, {REDUCE}},
};

static Module *
build(Arena *arena, const Row *r)
{
    Module *m = module_new(arena, diag_new(arena), "corner");
    module_set_option(m, "mode", "train");
    Graph *g = module_add_graph(m, "main");
    Type t = {DT_f64, 1, {r->n}}, scalar = type_scalar(DT_f64);
    Value *args[2];
    for (int i = 0; i < op_info[r->op].min_args; i++)
        args[i] = graph_read(g, i ? "b" : "a",
                             module_add_tensor(m, TENSOR_param, i ? "b" : "a",
                                               &t));
    int n_attrs = r->attrs[0].key ? 2 : 0;
    Value *y = graph_add(g, r->op, "y", args, op_info[r->op].min_args,
                         r->attrs, n_attrs)->results[0];
    if (y->type.rank) {
        Attr attrs[] = {attr_ints("axes", axis0, 1), attr_bool("keep", false)};
        y = graph_add(g, OP_reduce_sum, "loss", &y, 1, attrs, 2)->results[0];
    }
    graph_write(g, OP_write, module_add_tensor(m, TENSOR_output, "loss",
                                               &scalar), y);
    return m;
}

static int
compare(Eval *e, const Row *r, const char *name, const double *want)
{
    int faults = 0;
    const double *got = eval_tensor(e, name)->at;
    for (int i = 0; i < r->n; i++) {
        if (fabs(got[i] - want[i]) <= 1e-12 * (1e-300 + fabs(want[i])))
            continue;
        printf("%s %s[%d]: %g, expected %g\n", op_info[r->op].name, name, i,
               got[i], want[i]);
        faults++;
    }
    return faults;
}

static int
check(const Row *r)
{
    Arena *arena = arena_new();
    Module *m = build(arena, r);
    bool two = op_info[r->op].min_args > 1;
    const char *why;
    if (!pass_grad(m) || !pass_simplify(m))
        return 1;
    Eval *e = eval_new(m, 1);
    for (int i = 0; i < r->n; i++) {
        eval_tensor(e, "a")->at[i] = r->a[i];
        if (two)
            eval_tensor(e, "b")->at[i] = r->b[i];
    }
    if (!eval_graph(e, "main", 0, &why))
        return 1;
    int faults = compare(e, r, "a.grad", r->da);
    if (two)
        faults += compare(e, r, "b.grad", r->db);
    eval_free(e);
    arena_free(arena);
    return faults;
}

int
main(void)
{
    int faults = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        faults += check(&rows[i]);
    return faults != 0;
}
