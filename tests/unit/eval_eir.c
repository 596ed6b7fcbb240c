/* eval_eir FILE.eir: runs a module on the evaluator as its comments say, in
 * their order:
 *   # IN name = 1 2 3      sets a tensor; of an input, whole microbatches
 *   # PASS name            runs a pass
 *   # DO name [n]          runs a program n times
 *   # FAILS text           the next DO fails and says this
 *   # OUT name = 1 2 3     expects these elements, within 1e-6 of the largest
 *   # EXACT name = 1 2 3   expects just these
 *   # MEAN name = 1        expects this mean over the microbatches */
#include "ir/eval.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Script {
    Arena *arena;
    Module *module;
    Eval *eval;
    const char *path;
    const char *fails; /* of the next DO */
    int line;
    int faults;
    int checks;
} Script;

static void
say(Script *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
say(Script *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%s:%d: ", s->path, s->line);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    s->faults++;
}

typedef VEC(double) Numbers;

/* "name = 1 2 3": the name, and the numbers. */
static const char *
assignment(Script *s, const char *rest, Numbers *out)
{
    const char *name = arena_strndup(s->arena, rest, strcspn(rest, " "));
    const char *at = strchr(rest, '=');
    char *end;
    for (at = at ? at + 1 : ""; *at; at = end) {
        double x = strtod(at, &end);
        if (end == at)
            break;
        vec_push(s->arena, out, x);
    }
    if (!module_tensor(s->module, name)) {
        say(s, "no tensor %s", name);
        exit(1);
    }
    return name;
}

static void
set(Script *s, const char *rest)
{
    Numbers v = {0};
    const char *name = assignment(s, rest, &v);
    Tensor *t = module_tensor(s->module, name);
    int64_t n = type_elements(&t->type);
    if (v.n == 0 || v.n % n)
        say(s, "%d numbers for %s, which has %d", v.n, name, (int)n);
    else if (t->kind == TENSOR_input)
        eval_set_input(s->eval, name, v.at, v.n / n);
    else
        for (int i = 0; i < n; i++)
            eval_tensor(s->eval, name)->at[i] = v.at[i];
}

static bool
near(double found, double expected, double largest, bool exact)
{
    if (isnan(expected) || isinf(expected) || exact)
        return found == expected || (isnan(found) && isnan(expected));
    return fabs(found - expected) <= 1e-6 * largest + 1e-12;
}

static void
expect(Script *s, const char *rest, bool exact)
{
    Numbers v = {0};
    const char *name = assignment(s, rest, &v);
    const Array *a = eval_tensor(s->eval, name);
    double largest = 0;
    s->checks++;
    if (v.n != type_elements(&a->type)) {
        say(s, "%d numbers for %s, which has %d", v.n, name,
            (int)type_elements(&a->type));
        return;
    }
    for (int i = 0; i < v.n; i++)
        if (!isinf(v.at[i]))
            largest = fmax(largest, fabs(v.at[i]));
    for (int i = 0; i < v.n; i++)
        if (!near(a->at[i], v.at[i], largest, exact))
            say(s, "%s[%d] is %.17g, expected %.17g", name, i, a->at[i],
                v.at[i]);
}

static void
expect_mean(Script *s, const char *rest)
{
    Numbers v = {0};
    const char *name = assignment(s, rest, &v);
    double mean = eval_output_mean(s->eval, name);
    s->checks++;
    if (v.n != 1 || !near(mean, v.at[0], fabs(v.at[0]), false))
        say(s, "the mean of %s is %.17g", name, mean);
}

static void
run(Script *s, const char *rest)
{
    char *program = arena_strndup(s->arena, rest, strcspn(rest, " "));
    long times = strtol(rest + strlen(program), NULL, 10);
    const char *why, *fails = s->fails;
    s->fails = NULL;
    s->checks += fails != NULL;
    for (long i = 0; i < (times > 0 ? times : 1); i++) {
        bool ok = eval_run(s->eval, program, &why);
        if (ok && fails)
            say(s, "%s did not fail", program);
        if (!ok && (!fails || !strstr(why, fails)))
            say(s, "%s fails: %s", program, why);
    }
}

static void
run_pass(Script *s, const char *name)
{
    for (int i = 0; i < PASS_COUNT; i++)
        if (strcmp(pass_info[i].name, name) == 0) {
            if (!pass_info[i].run(s->module)) {
                diag_print(s->module->diag, stdout, DIAG_TEXT);
                say(s, "pass %s fails", name);
            }
            return;
        }
    say(s, "no pass %s", name);
}

static void
do_line(Script *s, const char *line)
{
    static const char *const words[] = {"IN", "PASS", "DO", "FAILS", "OUT",
                                        "EXACT", "MEAN"};
    size_t n = strcspn(line, " ");
    const char *rest = line + n + strspn(line + n, " ");
    int k = 0;
    while (k < 7 && (strlen(words[k]) != n || strncmp(line, words[k], n)))
        k++;
    if (k == 0)
        set(s, rest);
    else if (k == 1)
        run_pass(s, rest);
    else if (k == 2)
        run(s, rest);
    else if (k == 3)
        s->fails = rest;
    else if (k == 4 || k == 5)
        expect(s, rest, k == 5);
    else if (k == 6)
        expect_mean(s, rest);
}

static char *
read_file(Arena *a, const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(a, MOST);
    if (!f || fread(text, 1, MOST - 1, f) == 0) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    return text;
}

int
main(int argc, char **argv)
{
    Script s = {.arena = arena_new(), .path = argc > 1 ? argv[1] : ""};
    Diag *d = diag_new(s.arena);
    char *text = read_file(s.arena, s.path);
    s.module = text_read(s.arena, d, s.path, text, strlen(text));
    if (!s.module || !verify_module(s.module)) {
        diag_print(d, stdout, DIAG_TEXT);
        return 1;
    }
    s.eval = eval_new(s.module, 1);
    for (const char *at = text; *at; s.line++) {
        size_t n = strcspn(at, "\n");
        s.line += s.line == 0;
        if (strncmp(at, "# ", 2) == 0)
            do_line(&s, arena_strndup(s.arena, at + 2, n - 2));
        at += n + (at[n] == '\n');
    }
    if (s.checks == 0)
        say(&s, "nothing is expected");
    eval_free(s.eval);
    arena_free(s.arena);
    return s.faults != 0;
}
