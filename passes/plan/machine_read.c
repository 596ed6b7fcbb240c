#include "passes/plan/machine.h"

#include "ir/algorithm.h"
#include "ir/text.h"
#include "passes/plan/toml.h"

enum { VERSION = 1 };

static const double LEAST_RATE = 1e-3, MOST = 1e15; /* of any number */

/* A number of the file: its table, name, and place in Machine. */
static const struct NumberInfo {
    const char *table, *key, *help;
    double least;
    size_t field;
} number_info[] = {
#define NUMBER(table, key, least, c, h200, help)                               \
    {#table, #key, help, least, offsetof(Machine, table##_##key)},
#include "passes/plan/machine.def"
#undef NUMBER
};

enum { N_NUMBERS = sizeof number_info / sizeof *number_info };

static const struct RateInfo {
    const char *key, *help;
} rate_info[WORK_COUNT] = {
#define WORK(id, unit) [WORK_##id] = {#id, unit},
#include "ir/work.def"
#undef WORK
};

typedef struct Read {
    Arena *a;
    Diag *d;
    int file;
    Machine *k;
    double version;
} Read;

static Span
span(const Read *r, TomlPlace at)
{
    return (Span){r->file, at.line, at.col, at.end_line, at.end_col};
}

/* ---- unknown names ---- */

/* The legal keys of a table ("" for the top); 0: there is no such table. */
static int
legal_keys(const char *table, const char *legal[N_NUMBERS + WORK_COUNT])
{
    int n = 0;
    if (!*table) {
        legal[n++] = "edl_machine", legal[n++] = "name", legal[n++] = "target";
    } else if (strcmp(table, "rates") == 0) {
        for (int i = 0; i < WORK_COUNT; i++)
            legal[n++] = rate_info[i].key;
    } else {
        for (int i = 0; i < N_NUMBERS; i++)
            if (strcmp(number_info[i].table, table) == 0)
                legal[n++] = number_info[i].key;
    }
    return n;
}

static void
unknown(Read *r, const TomlEntry *e, const char *what, const char *word,
        const char *const *legal, int n)
{
    const char *near = diag_nearest(word, legal, n);
    const char *list = "";
    for (int i = 0; i < n; i++)
        list = arena_printf(r->a, "%s%s%s", list, i ? ", " : "", legal[i]);
    diag_error(r->d, span(r, e->key_at), "a machine file has no %s `%s`", what,
               word);
    if (near)
        diag_note(r->d, (Span){0}, "did you mean `%s`?", near);
    else
        diag_note(r->d, (Span){0}, "there are %s", list);
}

/* Its keys are products in words. */
static bool
is_products(const TomlEntry *e)
{
    return strcmp(e->table, "products") == 0;
}

static bool
known_table(Read *r, const TomlEntry *e)
{
    static const char *const tables[] = {"device", "rates", "host", "disk",
                                         "products"};
    const char *legal[N_NUMBERS + WORK_COUNT];
    if (legal_keys(e->table, legal) > 0 || is_products(e))
        return true;
    if (!e->key)
        unknown(r, e, "table", e->table, tables, 5);
    return false;
}

/* ---- values ---- */

static void
take_number(Read *r, const TomlEntry *e, double least, double *out)
{
    if (e->kind == TOML_NUMBER && e->number >= least &&
        e->number <= MOST)
        *out = e->number;
    else
        diag_error(r->d, span(r, e->at), "`%s` takes a number from %g to %g",
                   e->key, least, MOST);
}

static void
take_text(Read *r, const TomlEntry *e, const char **out)
{
    if (e->kind == TOML_TEXT)
        *out = arena_strndup(r->a, e->text, strlen(e->text));
    else
        diag_error(r->d, span(r, e->at), "`%s` takes text in quotes", e->key);
}

/* More work takes longer: else a plan could gain by doing more. */
static bool
good_points(const double *p, int n)
{
    for (int i = 0; i < n; i++) {
        double work = p[2 * i], rate = p[2 * i + 1];
        if (!(work > 0 && work <= MOST && rate >= LEAST_RATE && rate <= MOST))
            return false;
        if (i > 0 && (work <= p[2 * i - 2] ||
                      work / rate < p[2 * i - 2] / p[2 * i - 1]))
            return false;
    }
    return n > 0 && n <= RATE_POINTS;
}

static void
take_rate(Read *r, const TomlEntry *e, RateCurve *out)
{
    const double one[2] = {1, e->number};
    bool single = e->kind == TOML_NUMBER;
    const double *p = single ? one : e->pairs;
    int n = single ? 1 : e->kind == TOML_PAIRS ? e->n_pairs : 0;
    if (!good_points(p, n)) {
        diag_error(r->d, span(r, e->at),
                   "`%s` takes a rate above 0, or 1 to %d pairs [work, rate] "
                   "of more and more work that takes no less time", e->key,
                   RATE_POINTS);
        return;
    }
    for (int i = 0; i < n; i++)
        out->at[i] = (RatePoint){p[2 * i], p[2 * i + 1]};
    out->n = n;
}

static bool
take_top(Read *r, const TomlEntry *e)
{
    if (strcmp(e->key, "name") == 0)
        take_text(r, e, &r->k->name);
    else if (strcmp(e->key, "target") == 0)
        take_text(r, e, &r->k->target);
    else if (strcmp(e->key, "edl_machine") == 0)
        take_number(r, e, VERSION, &r->version);
    else
        return false;
    return true;
}

static void
take_product(Read *r, const TomlEntry *e)
{
    ProductChoice c = {.product = arena_strndup(r->a, e->key, strlen(e->key)),
                       .loc = span(r, e->at)};
    Algorithm x;
    take_text(r, e, &c.algorithm);
    const char *why =
        c.algorithm ? algorithm_read(r->a, c.algorithm, &x) : NULL;
    if (why)
        diag_error(r->d, c.loc, "%s", why);
    vec_push(r->a, &r->k->products, c);
}

static bool
take_known(Read *r, const TomlEntry *e)
{
    if (!*e->table)
        return take_top(r, e);
    if (is_products(e)) {
        take_product(r, e);
        return true;
    }
    for (int i = 0; i < N_NUMBERS; i++) {
        const struct NumberInfo *x = &number_info[i];
        if (strcmp(x->table, e->table) != 0 || strcmp(x->key, e->key) != 0)
            continue;
        take_number(r, e, x->least, (double *)((char *)r->k + x->field));
        return true;
    }
    for (int i = 0; i < WORK_COUNT && strcmp(e->table, "rates") == 0; i++) {
        if (strcmp(rate_info[i].key, e->key) != 0)
            continue;
        take_rate(r, e, &r->k->rate[i]);
        return true;
    }
    return false;
}

static void
take(void *user, const TomlEntry *e)
{
    Read *r = user;
    const char *legal[N_NUMBERS + WORK_COUNT];
    if (known_table(r, e) && e->key && !take_known(r, e))
        unknown(r, e, "key", e->key, legal, legal_keys(e->table, legal));
}

/* The target says which defaults hold, so it is looked for first. */
static void
find_target(void *user, const TomlEntry *e)
{
    Read *r = user;
    if (e->key && !*e->table && strcmp(e->key, "target") == 0 &&
        e->kind == TOML_TEXT) {
        bool known = !strcmp(e->text, "c") || !strcmp(e->text, "cuda");
        *r->k = *machine_default(e->text);
        if (!known)
            diag_error(r->d, span(r, e->at), "`target` is c or cuda");
    }
}

static void
syntax_error(void *user, TomlPlace at, const char *text)
{
    Read *r = user;
    diag_error(r->d, span(r, at), "%s", text);
}

static void
nothing(void *user, TomlPlace at, const char *text)
{
    (void)user, (void)at, (void)text;
}

/* The library reads tables of Unicode beyond their end (3.3.0), so it gets
 * nothing but ASCII. */
static bool
is_ascii(Read *r, const char *text, size_t n)
{
    TomlPlace at = {1, 1, 1, 2};
    for (size_t i = 0; i < n; i++, at.col++) {
        if (text[i] == '\n')
            at.line++, at.col = 0;
        if (text[i] & 0x80) {
            at.end_line = at.line, at.end_col = at.col + 1;
            diag_error(r->d, span(r, at), "a machine file is plain ASCII");
            return false;
        }
    }
    return true;
}

Machine *
machine_read(Arena *a, Diag *d, const char *name, const char *text, size_t n)
{
    Machine *k = ARENA_NEW(a, Machine);
    Read r = {a, d, diag_add_source(d, name, text, n), k, 0};
    int errors = diag_count(d);
    *k = *machine_default("c");
    if (!is_ascii(&r, text, n))
        return NULL;
    toml_read(text, n, &(TomlReader){find_target, nothing, &r});
    toml_read(text, n, &(TomlReader){take, syntax_error, &r});
    if (diag_count(d) == errors && r.version != VERSION)
        diag_error(d, (Span){r.file, 1, 1, 1, 1},
                   "a machine file says `edl_machine = %d`", VERSION);
    return diag_count(d) == errors ? k : NULL;
}

/* ---- writing ---- */

static void
print_quoted(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text < 32 || *text == 127)
            fprintf(to, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, to);
    fputc('"', to);
}

static void
print_rate(Arena *a, const char *key, const RateCurve *r, FILE *to)
{
    fprintf(to, "%s = ", key);
    if (r->n == 1) {
        fprintf(to, "%s\n", text_double(a, r->at[0].per_us));
        return;
    }
    for (int i = 0; i < r->n; i++)
        fprintf(to, "%s[%s, %s]", i ? ", " : "[",
                text_double(a, r->at[i].work),
                text_double(a, r->at[i].per_us));
    fputs("]\n", to);
}

void
machine_print(const Machine *k, FILE *to)
{
    Arena *a = arena_new();
    fprintf(to, "edl_machine = %d\nname = ", VERSION);
    print_quoted(k->name, to);
    fputs("\ntarget = ", to);
    print_quoted(k->target, to);
    fputc('\n', to);
    for (int i = 0; i < N_NUMBERS; i++) {
        const struct NumberInfo *x = &number_info[i];
        double value = *(const double *)((const char *)k + x->field);
        if (i == 0 || strcmp(x->table, number_info[i - 1].table) != 0)
            fprintf(to, "\n[%s]\n", x->table);
        fprintf(to, "# %s\n%s = %s\n", x->help, x->key, text_double(a, value));
    }
    fputs("\n# units of work a microsecond\n[rates]\n", to);
    for (int i = 0; i < WORK_COUNT; i++) {
        fprintf(to, "# %s\n", rate_info[i].help);
        print_rate(a, rate_info[i].key, &k->rate[i], to);
    }
    if (k->products.n)
        fputs("\n# the fastest algorithms of cuBLASLt\n[products]\n", to);
    for (int i = 0; i < k->products.n; i++) {
        print_quoted(k->products.at[i].product, to);
        fputs(" = ", to);
        print_quoted(k->products.at[i].algorithm, to);
        fputc('\n', to);
    }
    arena_free(a);
}
