/* grad_model FILE.edl [DIM=N...]: the gradient of every parameter of a model
 * against the difference of losses along one direction, in float64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/lower.h"
#include "ir/eval.h"
#include "passes/pass.h"

static const double step = 1e-5, tolerance = 1e-6;

/* The model with its gradients, and without, which is quicker to run. */
typedef struct Check {
    Arena *arena;
    Module *module, *plain;
    Eval *eval, *forward;
    uint64_t state;
} Check;

/* In (-1, 1). */
static double
draw(Check *c)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(c->state ^ (c->state << 21)) * 0x1p-63;
}

static char *
read_file(Arena *a, const char *path, size_t *n)
{
    char *text = arena_alloc(a, 1 << 20);
    FILE *f = fopen(path, "rb");
    if (!f)
        exit(2);
    *n = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static Module *
lower(Arena *a, Diag *d, char **argv, int n_dims)
{
    LowerOptions o = {.file = argv[0], .mode = LOWER_train, .n_dims = n_dims};
    Dim *dims = ARENA_ARRAY(a, Dim, n_dims + 1);
    for (int i = 0; i < n_dims; i++) {
        const char *eq = strchr(argv[1 + i], '=');
        dims[i].name = arena_strndup(a, argv[1 + i],
                                     (size_t)(eq - argv[1 + i]));
        dims[i].value = atoi(eq + 1);
    }
    o.dims = dims;
    o.text = read_file(a, argv[0], &o.n);
    return lower_model(a, interner_new(a), d, &o);
}

/* Ids below 2, so that any table has them; numbers else. Parameters that
 * start as one constant get something to tell their elements apart. */
static void
fill(Check *c, Module *m, Eval *e)
{
    c->state = 1;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        Array *x = eval_tensor(e, t->name);
        for (int64_t k = 0; k < type_elements(&t->type); k++) {
            if (t->kind == TENSOR_input)
                x->at[k] = type_is_float(&t->type) ? draw(c) : draw(c) > 0;
            else if (t->kind == TENSOR_param)
                x->at[k] += 0.3 * draw(c);
        }
    }
}

static double
loss(Check *c, Eval *e)
{
    const char *why;
    if (!eval_graph(e, "main", 0, &why)) {
        printf("%s\n", why);
        exit(1);
    }
    return eval_tensor(e, c->module->train->minimize)->at[0];
}

static void
move(Array *x, const double *from, const double *direction, double by)
{
    for (int64_t i = 0; i < type_elements(&x->type); i++)
        x->at[i] = from[i] + by * direction[i];
}

static int
check_tensor(Check *c, const Tensor *grad)
{
    Array *x = eval_tensor(c->forward, grad->owner->name);
    int64_t n = type_elements(&x->type);
    double *from = ARENA_ARRAY(c->arena, double, n), slope = 0;
    double *direction = ARENA_ARRAY(c->arena, double, n), size = 0;
    const double *g = eval_tensor(c->eval, grad->name)->at;
    for (int64_t i = 0; i < n; i++) {
        from[i] = x->at[i];
        direction[i] = draw(c);
        slope += g[i] * direction[i];
        size += fabs(g[i] * direction[i]);
    }
    move(x, from, direction, step);
    double above = loss(c, c->forward);
    move(x, from, direction, -step);
    double difference = (above - loss(c, c->forward)) / (2 * step);
    move(x, from, direction, 0);
    if (fabs(slope - difference) <= tolerance * (1e-3 + size))
        return 0;
    printf("%s: slope %.9g, difference %.9g, of %.9g\n", grad->name, slope,
           difference, size);
    return 1;
}

int
main(int argc, char **argv)
{
    Check c = {.arena = arena_new()};
    Diag *d = diag_new(c.arena);
    c.module = lower(c.arena, d, argv + 1, argc - 2);
    c.plain = lower(c.arena, d, argv + 1, argc - 2);
    if (!c.module || !c.plain || !pass_grad(c.module) ||
        !pass_simplify(c.module) || !pass_cse(c.module) ||
        !pass_dce(c.module)) {
        diag_print(d, stdout, DIAG_TEXT);
        return 1;
    }
    c.eval = eval_new(c.module, 1);
    c.forward = eval_new(c.plain, 1);
    fill(&c, c.module, c.eval);
    fill(&c, c.plain, c.forward);
    loss(&c, c.eval);
    int faults = 0, n = 0;
    for (int i = 0; i < c.module->tensors.n; i++) {
        const Tensor *t = c.module->tensors.at[i];
        if (t->kind != TENSOR_grad)
            continue;
        n++;
        faults += check_tensor(&c, t);
    }
    printf("%d parameters, %d faults\n", n, faults);
    eval_free(c.eval);
    eval_free(c.forward);
    arena_free(c.arena);
    return faults != 0;
}
