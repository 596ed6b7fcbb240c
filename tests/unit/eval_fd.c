/* Every derivative against central differences, in f64: a row of cases is an
 * op with operands and attributes; the loss is a weighted sum of its results.
 * An op with OP_DIFF and without a case fails. */
#include "ir/eval.h"
#include "ir/graph.h"
#include "passes/pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Operands, one word each, a letter and the sizes:
 *   x 2,3    parameter, away from 0     p  parameter above 0
 *   u        parameter between 0 and 1  =0 operand 0 once more
 *   k        no parameter: 1, 2, 3, 1, 2, 3, ...
 *   i 2,3<7  integers below 7           b  bool, by turns
 *   m        bool, the first row of the last axis all false
 *   s        i32 scalar: s2 is 2 */
typedef struct Case {
    Op op;
    const char *operands;
    Attr attrs[6];
    const char *given; /* result type of ops that do not infer it */
} Case;

#define FLAG(key) {key, ATTR_bool, 1, 0, NULL, NULL}
#define OFF(key) {key, ATTR_bool, 0, 0, NULL, NULL}
#define INT(key, v) {key, ATTR_int, v, 0, NULL, NULL}
#define NUM(key, v) {key, ATTR_float, 0, v, NULL, NULL}
#define WORD(key, v) {key, ATTR_word, 0, 0, v, NULL}
#define STR(key, v) {key, ATTR_str, 0, 0, v, NULL}
#define INTS(key, ...)                                                     \
    {key, ATTR_ints, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),   \
     0, NULL, (const int64_t[]){__VA_ARGS__}}
#define REDUCE(keep, ...) INTS("axes", __VA_ARGS__), keep("keep")
#define ATTEND(causal, mask, bias)                                         \
    causal("causal"), NUM("scale", 0.5), mask("mask"), bias("bias")

static const Case cases[] = {
    {OP_neg, "x2,3", {{0}}, 0},
    {OP_abs, "x2,3", {{0}}, 0},
    {OP_sign, "x2,3", {{0}}, 0},
    {OP_floor, "u2,3", {{0}}, 0},
    {OP_exp, "x2,3", {{0}}, 0},
    {OP_log, "p2,3", {{0}}, 0},
    {OP_log1p, "p2,3", {{0}}, 0},
    {OP_sqrt, "p2,3", {{0}}, 0},
    {OP_rsqrt, "p2,3", {{0}}, 0},
    {OP_sin, "x2,3", {{0}}, 0},
    {OP_cos, "x2,3", {{0}}, 0},
    {OP_tanh, "x2,3", {{0}}, 0},
    {OP_sigmoid, "x2,3", {{0}}, 0},
    {OP_erf, "x2,3", {{0}}, 0},
    {OP_softplus, "x2,3", {{0}}, 0},
    {OP_relu, "x2,3", {{0}}, 0},
    {OP_silu, "x2,3", {{0}}, 0},
    {OP_gelu_tanh, "x2,3", {{0}}, 0},
    {OP_gelu_erf, "x2,3", {{0}}, 0},
    {OP_exp, "x", {{0}}, 0},
    {OP_clamp, "x3,4", {NUM("lo", -0.5), NUM("hi", 0.7)}, 0},
    {OP_cast, "x2,3", {WORD("to", "f64")}, 0},
    {OP_dropout, "x4,5", {NUM("p", 0.4), STR("key", "here")}, 0},

    {OP_add, "x2,3 x2,3", {{0}}, 0},
    {OP_add, "x3,1 x1,4", {{0}}, 0},
    {OP_add, "x2,3 x", {{0}}, 0},
    {OP_add, "x =0", {{0}}, 0},
    {OP_sub, "x2,1,3 x4,1", {{0}}, 0},
    {OP_sub, "x2,3 =0", {{0}}, 0},
    {OP_mul, "x2,3 x3", {{0}}, 0},
    {OP_mul, "x2,3 =0", {{0}}, 0},
    {OP_mul, "x x2,3", {{0}}, 0},
    {OP_div, "x2,3 p2,3", {{0}}, 0},
    {OP_div, "x3 x2,1", {{0}}, 0},
    {OP_div, "x2,3 =0", {{0}}, 0},
    {OP_pow, "p2,3 x2,3", {{0}}, 0},
    {OP_pow, "p2,1 x3", {{0}}, 0},
    {OP_pow, "x2,3 k3", {{0}}, 0},
    {OP_maximum, "x2,3 x2,3", {{0}}, 0},
    {OP_maximum, "x2,3 x1,3", {{0}}, 0},
    {OP_minimum, "x2,3 x2,3", {{0}}, 0},
    {OP_minimum, "x x2,3", {{0}}, 0},
    {OP_bce_with_logits, "x2,3 u2,3", {{0}}, 0},
    {OP_bce_with_logits, "x2,3 k1", {{0}}, 0},
    {OP_where, "b2,3 x2,3 x2,3", {{0}}, 0},
    {OP_where, "b3 x2,1 x", {{0}}, 0},
    {OP_where, "b2,3 x2,3 =1", {{0}}, 0},

    {OP_reduce_sum, "x2,3,4", {REDUCE(OFF, 1)}, 0},
    {OP_reduce_sum, "x2,3,4", {REDUCE(FLAG, 0, 2)}, 0},
    {OP_reduce_sum, "x2,3,4", {REDUCE(OFF, 0, 1, 2)}, 0},
    {OP_reduce_max, "x2,3,4", {REDUCE(OFF, 2)}, 0},
    {OP_reduce_max, "x2,3,4", {REDUCE(OFF, 0, 1, 2)}, 0},
    {OP_reduce_max, "x2,3,4", {REDUCE(FLAG, 0, 2)}, 0},
    {OP_reduce_min, "x2,3,4", {REDUCE(OFF, 1, 2)}, 0},
    {OP_reduce_min, "x2,3,4", {REDUCE(FLAG, 0)}, 0},
    {OP_variance, "x2,3,4", {REDUCE(OFF, 2), INT("ddof", 0)}, 0},
    {OP_variance, "x2,3,4", {REDUCE(FLAG, 0, 2), INT("ddof", 1)}, 0},
    {OP_variance, "x7", {REDUCE(OFF, 0), INT("ddof", 1)}, 0},
    {OP_logsumexp, "x2,3,4", {REDUCE(OFF, 1)}, 0},
    {OP_logsumexp, "x2,3,4", {REDUCE(FLAG, 0, 2)}, 0},

    {OP_matmul, "x2,3 x3,4", {{0}}, 0},
    {OP_matmul, "x3,2 x3,4", {FLAG("ta")}, 0},
    {OP_matmul, "x2,3 x4,3", {FLAG("tb")}, 0},
    {OP_matmul, "x3,2 x4,3", {FLAG("ta"), FLAG("tb")}, 0},
    {OP_matmul, "x3,3 =0", {{0}}, 0},
    {OP_matmul, "x2,3 =0", {FLAG("tb")}, 0},
    {OP_matmul, "x2,5,3 x3,4", {{0}}, 0},
    {OP_matmul, "x2,5,3 x4,3", {FLAG("tb")}, 0},
    {OP_matmul, "x2,2,5,3 x3,4", {{0}}, 0},
    {OP_matmul, "x2,5,3 x2,3,4", {{0}}, 0},
    {OP_matmul, "x2,3,5 x2,3,4", {FLAG("ta")}, 0},
    {OP_matmul, "x2,5,3 x2,4,3", {FLAG("tb")}, 0},
    {OP_matmul, "x2,3,5 x2,4,3", {FLAG("ta"), FLAG("tb")}, 0},
    {OP_matmul, "x5,3 x2,3,4", {{0}}, 0},
    {OP_matmul, "x2,1,5,3 x3,3,4", {{0}}, 0},
    {OP_matmul, "x2,1,3,5 x1,3,4,3", {FLAG("ta"), FLAG("tb")}, 0},
    {OP_matmul, "x2,3,5 x3,4", {FLAG("ta")}, 0},

    {OP_softmax, "x2,3,4", {INT("axis", 2)}, 0},
    {OP_softmax, "x2,3,4", {INT("axis", 0)}, 0},
    {OP_log_softmax, "x2,3,4", {INT("axis", 2)}, 0},
    {OP_log_softmax, "x2,3,4", {INT("axis", 1)}, 0},
    {OP_layernorm, "x2,3,5", {NUM("eps", 1e-5)}, 0},
    {OP_layernorm, "x4", {NUM("eps", 0.1)}, 0},
    {OP_rmsnorm, "x2,3,5", {NUM("eps", 1e-5)}, 0},
    {OP_rmsnorm, "x4", {NUM("eps", 0.1)}, 0},

    {OP_embedding, "x7,3 i2,4<7", {{0}}, 0},
    {OP_embedding, "x2,3 i9<2", {{0}}, 0},
    {OP_take, "x4,3 i2,2<4", {INT("axis", 0)}, 0},
    {OP_take, "x2,4,3 i5<4", {INT("axis", 1)}, 0},
    {OP_take_along, "x3,4 i3,2<4", {INT("axis", 1)}, 0},
    {OP_take_along, "x3,4 i6,3<3", {INT("axis", 0)}, 0},

    {OP_attention, "x2,3,4 x2,3,4 x2,3,4", {ATTEND(OFF, OFF, OFF)}, 0},
    {OP_attention, "x2,3,4 =0 =0", {ATTEND(FLAG, OFF, OFF)}, 0},
    {OP_attention, "x2,4,3,2 x2,2,3,2 x2,2,3,2", {ATTEND(FLAG, OFF, OFF)}, 0},
    {OP_attention, "x4,3,2 x1,5,2 x1,5,2",
     {ATTEND(FLAG, OFF, OFF), WORD("align", "end")}, 0},
    {OP_attention, "x2,3,2 x2,5,2 x2,5,2",
     {ATTEND(FLAG, OFF, OFF), WORD("align", "start")}, 0},
    {OP_attention, "x2,5,2 x2,3,2 x2,3,2",
     {ATTEND(FLAG, OFF, OFF), WORD("align", "end")}, 0},
    {OP_attention, "x2,2,3,2 x2,2,4,2 x2,2,4,2 m3,4",
     {ATTEND(OFF, FLAG, OFF)}, 0},
    {OP_attention, "x2,2,3,2 x2,1,4,2 x2,1,4,2 x2,1,1,4",
     {ATTEND(OFF, OFF, FLAG)}, 0},
    {OP_attention, "x2,2,3,2 x2,1,3,2 x2,1,3,2 m2,1,1,3 x2,3,3",
     {ATTEND(FLAG, FLAG, FLAG)}, 0},
    {OP_rope, "x2,3,4", {WORD("style", "half"), NUM("base", 100)}, 0},
    {OP_rope, "x2,3,6", {WORD("style", "interleaved"), NUM("base", 100)}, 0},
    {OP_rope, "x2,2,3,4 i3<50", {WORD("style", "half"), NUM("base", 10)}, 0},
    {OP_rope, "x2,2,3,4 i2,3<50",
     {WORD("style", "interleaved"), NUM("base", 10), FLAG("inverse")}, 0},
    {OP_cross_entropy, "x5,4 i5<4", {WORD("reduction", "mean")}, 0},
    {OP_cross_entropy, "x2,3,4 i2,3<4", {WORD("reduction", "sum")}, 0},
    {OP_cross_entropy, "x6,4 i6<4",
     {WORD("reduction", "mean"), INT("ignore", 1)}, 0},
    {OP_cross_entropy, "x2,3,4 i2,3<4",
     {WORD("reduction", "none"), INT("ignore", 2), NUM("smoothing", 0.1)}, 0},
    {OP_cross_entropy, "x4 s2", {WORD("reduction", "mean")}, 0},

    {OP_reshape, "x2,3,4", {INTS("shape", 4, 6)}, 0},
    {OP_transpose, "x2,3,4", {INTS("perm", 2, 0, 1)}, 0},
    {OP_broadcast, "x3,1", {INTS("shape", 2, 3, 4)}, 0},
    {OP_broadcast, "x", {INTS("shape", 2, 3)}, 0},
    {OP_slice, "x4,5",
     {INTS("start", 1, 4), INTS("stop", 4, -1), INTS("step", 2, -2)}, 0},
    {OP_slice_grad, "x2,3",
     {INTS("start", 1, 4), INTS("stop", 4, -1), INTS("step", 2, -2)}, "x4,5"},
    {OP_slice_at, "x4,5 s2", {INT("axis", 1), INT("size", 3)}, 0},
    {OP_split, "x2,7", {INT("axis", 1), INTS("sizes", 2, 4, 1)}, 0},
    {OP_concat, "x2,3 x2,1 x2,2", {INT("axis", 1)}, 0},
    {OP_concat, "x2,3 =0", {INT("axis", 0)}, 0},
    {OP_pad, "x2,3",
     {INTS("before", 1, 0), INTS("after", 0, 2), NUM("value", 3)}, 0},
};

enum { OPERANDS = 5 };

/* ---- building ---- */

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double
unit(uint32_t *state)
{
    return ((double)next_random(state) + 0.5) / 16777216;
}

/* "x2,3<7": sizes and, behind <, the bound. */
static Type
operand_type(const char *word, int64_t *below)
{
    Type t = {.dtype = strchr("bm", *word) ? DT_bool
                       : strchr("is", *word) ? DT_i32 : DT_f32};
    const char *at = word + 1;
    *below = 0;
    while (*at && *at != ' ') {
        char *end;
        int64_t v = strtol(at + (*at == ',' || *at == '<'), &end, 10);
        if (*at == '<' || *word == 's')
            *below = v;
        else
            t.dim[t.rank++] = v;
        at = end;
    }
    return t;
}

static double
element(const char *word, const Type *t, int64_t below, int64_t i,
        uint32_t *state)
{
    double u = unit(state);
    switch (*word) {
    case 'x':
        return (next_random(state) & 1 ? -1 : 1) * (0.2 + 1.3 * u);
    case 'p':
        return 0.4 + u;
    case 'u':
        return 0.1 + 0.8 * u;
    case 'k':
        return (double)(i % 3 + 1);
    case 'i':
        return (double)(next_random(state) % below);
    case 's':
        return (double)below;
    case 'b':
        return (double)(i % 2);
    default: /* m */
        return i >= t->dim[t->rank - 1] && u > 0.4;
    }
}

typedef struct Built {
    Arena *arena;
    Module *module;
    Graph *graph;
    Eval *eval;
    Value *args[OPERANDS];
    int n_args;
    int n_weights;
} Built;

static void
add_operands(Built *b, const char *operands)
{
    for (const char *at = operands; *at; at += strcspn(at, " ")) {
        at += *at == ' ';
        int i = b->n_args++;
        if (*at == '=') {
            b->args[i] = b->args[at[1] - '0'];
            continue;
        }
        int64_t below;
        Type t = operand_type(at, &below);
        const char *name = arena_printf(b->arena, "a%d", i);
        TensorKind kind = strchr("xpu", *at) ? TENSOR_param : TENSOR_input;
        Tensor *tensor = module_add_tensor(b->module, kind, name, &t);
        b->args[i] = graph_read(b->graph, name, tensor);
    }
}

static void
fill_operands(Built *b, const char *operands)
{
    int i = 0;
    uint32_t state = 7;
    for (const char *at = operands; *at; at += strcspn(at, " "), i++) {
        at += *at == ' ';
        int64_t below;
        if (*at == '=')
            continue;
        Type t = operand_type(at, &below);
        Array *a = eval_tensor(b->eval, arena_printf(b->arena, "a%d", i));
        for (int64_t k = 0; k < type_elements(&t); k++)
            a->at[k] = element(at, &t, below, k, &state);
    }
}

/* sum(v * w) with an input w of v's shape. */
static Value *
weighted(Built *b, Value *v)
{
    const char *name = arena_printf(b->arena, "w%d", b->n_weights++);
    Tensor *w = module_add_tensor(b->module, TENSOR_input, name, &v->type);
    Value *p = graph_binary(b->graph, OP_mul, "p", v,
                            graph_read(b->graph, name, w));
    int64_t axes[MAX_RANK];
    for (int k = 0; k < MAX_RANK; k++)
        axes[k] = k;
    Attr attrs[] = {attr_ints("axes", axes, v->type.rank),
                    attr_bool("keep", false)};
    return graph_add(b->graph, OP_reduce_sum, "sum", &p, 1, attrs, 2)
        ->results[0];
}

static void
fill_weights(Built *b)
{
    uint32_t state = 99;
    for (int i = 0; i < b->n_weights; i++) {
        Array *a = eval_tensor(b->eval, arena_printf(b->arena, "w%d", i));
        for (int64_t k = 0; k < type_elements(&a->type); k++)
            a->at[k] = unit(&state) - 0.3;
    }
}

static Node *
add_node(Built *b, const Case *c)
{
    int n_attrs = 0;
    int64_t unused;
    while (n_attrs < 6 && c->attrs[n_attrs].key)
        n_attrs++;
    if (!c->given)
        return graph_add(b->graph, c->op, "y", b->args, b->n_args, c->attrs,
                         n_attrs);
    Type t = operand_type(c->given, &unused);
    return graph_add_typed(b->graph, c->op, "y", &t, 1, b->args, b->n_args,
                           c->attrs, n_attrs);
}

static Built
build(const Case *c)
{
    Built b = {.arena = arena_new()};
    Diag *d = diag_new(b.arena);
    b.module = module_new(b.arena, d, "fd");
    module_set_option(b.module, "mode", "train");
    b.graph = module_add_graph(b.module, "main");
    add_operands(&b, c->operands);
    Node *n = add_node(&b, c);
    Value *loss = weighted(&b, n->results[0]);
    for (int i = 1; c->op == OP_split && i < n->n_results; i++)
        loss = graph_binary(b.graph, OP_add, "loss", loss,
                            weighted(&b, n->results[i]));
    Tensor *out = module_add_tensor(b.module, TENSOR_output, "out",
                                    &loss->type);
    graph_write(b.graph, OP_write, out, loss);
    if (!pass_grad(b.module))
        diag_print(d, stdout, DIAG_TEXT);
    b.eval = eval_new(b.module, 5);
    fill_operands(&b, c->operands);
    fill_weights(&b);
    return b;
}

/* ---- comparing ---- */

static int faults;

static void
say(const Case *c, const char *what)
{
    printf("%s %s: %s\n", op_info[c->op].name, c->operands, what);
    faults++;
}

static double
loss_at(Built *b, double *x, double value)
{
    const char *why;
    double old = *x;
    *x = value;
    if (!eval_run(b->eval, "infer", &why))
        printf("%s\n", why);
    *x = old;
    return eval_tensor(b->eval, "out")->at[0];
}

/* The gradient of parameter i, element by element. */
static void
compare(Built *b, const Case *c, int i)
{
    Array *x = eval_tensor(b->eval, arena_printf(b->arena, "a%d", i));
    Array *g = eval_tensor(b->eval, arena_printf(b->arena, "a%d.grad", i));
    const double h = 1e-5;
    for (int64_t k = 0; k < type_elements(&x->type); k++) {
        double v = x->at[k];
        double difference = (loss_at(b, &x->at[k], v + h) -
                             loss_at(b, &x->at[k], v - h)) / (2 * h);
        if (fabs(g->at[k] - difference) <= 1e-7 * (1 + fabs(difference)))
            continue;
        say(c, arena_printf(b->arena, "operand %d, element %d: gradient %.9g, "
                            "difference %.9g", i, (int)k, g->at[k],
                            difference));
    }
}

static void
run_case(const Case *c)
{
    Built b = build(c);
    const char *why;
    if (!eval_graph(b.eval, "main", 0, &why))
        say(c, why);
    int n_params = 0;
    for (int i = 0; i < b.n_args; i++) {
        const char *name = arena_printf(b.arena, "a%d", i);
        Tensor *t = module_tensor(b.module, name);
        if (!t || t->kind != TENSOR_param)
            continue;
        compare(&b, c, i);
        n_params++;
    }
    if (n_params == 0)
        say(c, "no parameter");
    eval_free(b.eval);
    arena_free(b.arena);
}

int
main(void)
{
    bool seen[OP_COUNT] = {0};
    int n = sizeof cases / sizeof *cases;
    for (int i = 0; i < n; i++) {
        seen[cases[i].op] = true;
        run_case(&cases[i]);
    }
    for (int op = 0; op < OP_COUNT; op++) {
        if (!(op_info[op].flags & OP_DIFF) || seen[op])
            continue;
        printf("%s has OP_DIFF and no case\n", op_info[op].name);
        faults++;
    }
    printf("%d cases, %d faults\n", n, faults);
    return faults != 0;
}
