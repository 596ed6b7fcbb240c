/* A schedule with some lines edited, as the bytes say, against its model: the
 * checker never crashes, and what it takes compiles. */
#include "codegen/codegen.h"
#include "frontend/lower.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "passes/plan/check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char model_text[] =
    "edl 1\n"
    "dim B = 4\n"
    "model m(x: f32[B, 8], y: i32[B]) {\n"
    "  param w: f32[8, 8] = normal(std = 0.5)\n"
    "  param b: f32[8] = zeros\n"
    "  state s: f32[8] = ones\n"
    "  h = dropout(relu(x @ w + b), 0.5) * s\n"
    "  if train_mode {\n"
    "    next s = 0.5*s + 0.5*stop(mean(h, axis = 0))\n"
    "  }\n"
    "  p, q = split(softmax(h @ w, axis = -1), 2, axis = 1)\n"
    "  output loss = cross_entropy(concat([q, p + tanh(q)], axis = 1), y)\n"
    "}\n"
    "train m {\n"
    "  data x, y = table(\"t.csv\", columns = [0, 1])\n"
    "  validate table(\"t.csv\", columns = [0, 1]) every 2 batches 2\n"
    "  minimize loss\n"
    "  optimizer adamw(lr = 0.1)\n"
    "  clip_norm 1.0\n"
    "  accumulate 2\n"
    "  steps 2\n"
    "}\n";

static Module *
model(Arena *a, Diag *d, const char *last)
{
    LowerOptions o = {
        .file = "m.edl", .text = model_text, .n = sizeof model_text - 1};
    Module *m = lower_model(a, interner_new(a), d, &o);
    PassOptions p = {.stop_after = last};
    if (m)
        module_set_option(m, "target", "c");
    if (!m || !passes_run(m, &p)) {
        diag_print(d, stderr, DIAG_TEXT);
        abort();
    }
    return m;
}

/* ---- lines ---- */

typedef VEC(const char *) Lines;

static Lines
schedule(Arena *a, Diag *d)
{
    char *text = NULL;
    size_t size = 0;
    Lines lines = {0};
    FILE *f = open_memstream(&text, &size);
    text_print(model(a, d, NULL), f);
    fclose(f);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        vec_push(a, &lines, arena_strndup(a, p, n));
        p += n + (p[n] != '\0');
    }
    free(text);
    return lines;
}

static void
insert(Arena *a, Lines *l, int at, const char *line)
{
    vec_push(a, l, line);
    memmove(l->at + at + 1, l->at + at,
            sizeof *l->at * (size_t)(l->n - 1 - at));
    l->at[at] = line;
}

static void delete (Lines *l, int at)
{
    memmove(l->at + at, l->at + at + 1,
            sizeof *l->at * (size_t)(l->n - 1 - at));
    l->n--;
}

static bool
is_name(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyz0123456789_.'", c);
}

/* The k-th word of a line, from the end of the one before. */
static const char *
word(const char *line, int k, size_t *n)
{
    for (;; k--) {
        while (*line && !is_name(*line))
            line++;
        for (*n = 0; is_name(line[*n]); (*n)++)
            ;
        if (k <= 0 || !line[*n])
            return line;
        line += *n;
    }
}

/* The k-th word of line i becomes that of line j. */
static void
replace(Arena *a, Lines *l, int i, int j, int k)
{
    size_t n, m;
    const char *old = word(l->at[i], k % 16, &n);
    const char *new = word(l->at[j], k / 16, &m);
    l->at[i] = arena_printf(a, "%.*s%.*s%s", (int)(old - l->at[i]), l->at[i],
                            (int)m, new, old + n);
}

static void
edit(Arena *a, Lines *l, const uint8_t *b)
{
    int i = (b[0] | b[1] << 8) % l->n, j = (i + b[2] + l->n - 128) % l->n;
    const char *line = l->at[i];
    switch (b[3] % 4) {
    case 0:
        delete (l, i);
        break;
    case 1:
        insert(a, l, j, line);
        break;
    case 2:
        delete (l, i);
        insert(a, l, j % l->n, line);
        break;
    case 3:
        replace(a, l, i, j, b[3] / 4);
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Lines l = schedule(a, d);
    for (; n >= 4 && l.n > 1; data += 4, n -= 4)
        edit(a, &l, data);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (int i = 0; i < l.n; i++)
        fprintf(f, "%s\n", l.at[i]);
    fclose(f);
    Module *m = text_read(a, d, "m.sched", text, size);
    CheckReport r;
    OutFiles out = {0};
    CodegenOptions o = {0};
    if (m && check_schedule(m, model(a, d, "narrow"), &r))
        codegen_c(m, &o, &out);
    arena_free(a);
    free(text);
    return 0;
}
