/* passes_keep FILE.eir [SEED]: the pipeline keeps what a module computes. The
 * module is evaluated as it is after `update`, and after every later pass;
 * outputs, gradients and states must agree, the verifier must accept all.
 * With a seed, independent nodes are shuffled before each pass. */
#include "ir/eval.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>

typedef struct Run {
    Arena *arena;
    Diag *diag;
    Module *m;
    Eval *e;
} Run;

static char *
slurp(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        bug("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *text = arena_alloc(a, *n + 1);
    *n = fread(text, 1, *n, f);
    fclose(f);
    return text;
}

/* Small numbers that every kind of input accepts. */
static void
set_inputs(Run *r)
{
    for (int i = 0; i < r->m->tensors.n; i++) {
        Tensor *t = r->m->tensors.at[i];
        if (t->kind != TENSOR_input)
            continue;
        int64_t n = type_elements(&t->type);
        double *x = ARENA_ARRAY(r->arena, double, 3 * n);
        for (int64_t k = 0; k < 3 * n; k++)
            x[k] = type_is_float(&t->type) ? sin((double)(k * 7 + i)) : (k % 2);
        eval_set_input(r->e, t->name, x, 3);
    }
}

static bool
compiled(Run *r, const char *path, const char *last, uint64_t shuffle)
{
    size_t n;
    r->arena = arena_new();
    r->diag = diag_new(r->arena);
    char *text = slurp(r->arena, path, &n);
    r->m = text_read(r->arena, r->diag, path, text, n);
    PassOptions o = {
        .stop_after = last, .verify = true, .shuffle = shuffle, .out = stdout};
    if (r->m && passes_run(r->m, &o))
        return true;
    diag_print(r->diag, stderr, DIAG_TEXT);
    fprintf(stderr, "%s: pass %s fails\n", path, last);
    return false;
}

static bool
evaluated(Run *r, const char *last)
{
    const char *why = NULL;
    const char *program = r->m->train ? "step" : "infer";
    r->e = eval_new(r->m, 7);
    set_inputs(r);
    for (int step = 0; step < 2; step++)
        if (!eval_run(r->e, program, &why)) {
            fprintf(stderr, "after %s: %s\n", last, why);
            return false;
        }
    return true;
}

static bool
same(Run *a, Run *b, const char *last)
{
    bool good = true;
    for (int i = 0; i < a->m->tensors.n; i++) {
        Tensor *t = a->m->tensors.at[i];
        const Array *x = eval_tensor(a->e, t->name);
        const Array *y = eval_tensor(b->e, t->name);
        if (t->kind == TENSOR_input || !x)
            continue;
        for (int64_t k = 0; k < type_elements(&t->type); k++) {
            double d = fabs(x->at[k] - y->at[k]);
            if (d <= 1e-9 * fabs(x->at[k]) + 1e-12 ||
                (isnan(x->at[k]) && isnan(y->at[k])))
                continue;
            fprintf(stderr, "after %s: %s[%lld] is %.17g, was %.17g\n", last,
                    t->name, (long long)k, y->at[k], x->at[k]);
            good = false;
            break;
        }
    }
    return good;
}

int
main(int argc, char **argv)
{
    uint64_t shuffle = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    Run first = {0};
    if (argc < 2 || !compiled(&first, argv[1], "update", 0) ||
        !evaluated(&first, "update"))
        return 1;
    int bad = 0;
    for (int i = PASS_update + 1; i < PASS_COUNT; i++) {
        Run now = {0};
        const char *last = pass_info[i].name;
        if (!compiled(&now, argv[1], last, shuffle) || !evaluated(&now, last) ||
            !same(&first, &now, last))
            bad++;
        eval_free(now.e);
        arena_free(now.arena);
    }
    eval_free(first.e);
    arena_free(first.arena);
    return bad > 0;
}
