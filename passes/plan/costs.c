#include "passes/plan/costs.h"

#include <math.h>
#include <stdlib.h>

#include "ir/base/map.h"

/* ---- reading ---- */

typedef enum Column {
    COLUMN_name,
    COLUMN_time,
    COLUMN_bytes,
    COLUMN_inputs,
    COLUMN_phase, /* may be missing, as it is not used */
    COLUMN_COUNT
} Column;

static const char *const column_name[COLUMN_COUNT] = {
    [COLUMN_name] = "name",     [COLUMN_time] = "time",
    [COLUMN_bytes] = "bytes",   [COLUMN_inputs] = "inputs",
    [COLUMN_phase] = "phase",
};

/* Sums of times and of bytes stay exact in a double. */
static const double most_total = 4e15;

enum { MOST_NODES = 100000, MOST_SCALE = 1000000 };

typedef struct Field {
    const char *text;
    int col;
} Field;

typedef struct Reader {
    Arena *arena;
    Diag *diag;
    int file, line;
    int column[COLUMN_COUNT]; /* which field of a row it is, or -1 */
    VEC(Field) fields;        /* of the row */
    Map rows;                 /* name -> row + 1 */
    VEC(CostNode) nodes;
    VEC(double) times;
    double time, bytes; /* sums */
} Reader;

static void
complain(Reader *r, int col, const char *fmt, const char *found)
{
    Span at = {r->file, r->line, col, r->line, col + 1};
    diag_error(r->diag, at, fmt, found);
}

/* One field, in quotes or not; what follows it, or NULL at the end. */
static char *
read_field(char *at, char **text)
{
    char *to = at;
    *text = at;
    if (*at != '"') {
        at = strchr(at, ',');
        if (at)
            *at++ = 0;
        return at;
    }
    for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
        at += *at == '"';
        *to++ = *at;
    }
    at += *at == '"';
    bool more = *at == ',';
    *to = 0;
    return more ? at + 1 : NULL;
}

static void
read_fields(Reader *r, char *line)
{
    r->fields.n = 0;
    for (char *at = line; at;) {
        Field f = {NULL, (int)(at - line) + 1};
        char *text;
        at = read_field(at, &text);
        f.text = text;
        vec_push(r->arena, &r->fields, f);
    }
}

static void
read_head(Reader *r)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        r->column[c] = -1;
        for (int i = 0; i < r->fields.n; i++) {
            if (strcmp(r->fields.at[i].text, column_name[c]))
                continue;
            if (r->column[c] >= 0)
                complain(r, r->fields.at[i].col, "a second column `%s`",
                         column_name[c]);
            r->column[c] = i;
        }
        if (r->column[c] < 0 && c != COLUMN_phase)
            complain(r, 1, "expected a column `%s`", column_name[c]);
    }
}

/* NULL after an error, or where a phase is missing. */
static const Field *
field(Reader *r, Column c)
{
    if (r->column[c] >= 0 && r->column[c] < r->fields.n)
        return &r->fields.at[r->column[c]];
    if (c != COLUMN_phase)
        complain(r, 1, "the row has no %s", column_name[c]);
    return NULL;
}

/* A number of at least 0; -1 after an error. */
static double
number(Reader *r, Column c, double *sum)
{
    const Field *f = field(r, c);
    if (!f)
        return -1;
    char *end;
    double x = strtod(f->text, &end);
    if (!*f->text || *end || strspn(f->text, "0123456789.eE+-") !=
        strlen(f->text) || !(x >= 0 && x <= most_total - *sum)) {
        complain(r, f->col, "expected a number from 0 to 4e15 in all, found "
                 "'%.60s'", f->text);
        return -1;
    }
    *sum += x;
    return x;
}

static void
read_inputs(Reader *r, CostNode *node)
{
    VEC(int) inputs = {0};
    const Field *f = field(r, COLUMN_inputs);
    char *text = f ? arena_strndup(r->arena, f->text, strlen(f->text)) : NULL;
    for (char *at = text ? strtok(text, " \t") : NULL; at;
         at = strtok(NULL, " \t")) {
        intptr_t row = (intptr_t)map_get(&r->rows, at);
        if (row == 0)
            complain(r, f->col, "expected inputs from rows above, found "
                     "'%.60s'", at);
        else
            vec_push(r->arena, &inputs, (int)row - 1);
    }
    node->inputs = inputs.at;
    node->n_inputs = inputs.n;
}

static void
read_row(Reader *r)
{
    const Field *name = field(r, COLUMN_name), *phase = field(r, COLUMN_phase);
    CostNode node = {.phase = phase ? phase->text : ""};
    if (!name)
        return;
    if (!*name->text || strpbrk(name->text, " \t") ||
        map_get(&r->rows, name->text)) {
        complain(r, name->col, "expected a new name without blanks, found "
                 "'%.60s'", name->text);
        return;
    }
    node.name = name->text;
    double time = number(r, COLUMN_time, &r->time);
    node.bytes = (int64_t)ceil(number(r, COLUMN_bytes, &r->bytes));
    read_inputs(r, &node);
    vec_push(r->arena, &r->nodes, node);
    vec_push(r->arena, &r->times, time);
    map_put(r->arena, &r->rows, node.name, (void *)(intptr_t)r->nodes.n);
    if (r->nodes.n == MOST_NODES + 1)
        complain(r, 1, "expected at most 100000 rows%s", "");
}

static void
read_lines(Reader *r, const char *text, size_t n)
{
    size_t at = n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (at < n && r->nodes.n <= MOST_NODES) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        char *line = arena_strndup(r->arena, text + at, len);
        at += len + 1;
        r->line++;
        line[strcspn(line, "\r")] = 0;
        if (strlen(line) + 1 < len) {
            complain(r, 1, "expected text%s", "");
            return;
        }
        bool empty = !*line;
        read_fields(r, line);
        if (r->line == 1)
            read_head(r);
        else if (!empty)
            read_row(r);
        if (r->line == 1 && diag_count(r->diag) > 0)
            return;
    }
    if (r->nodes.n == 0)
        complain(r, 1, "expected a head with name, time, bytes, inputs, and "
                 "rows%s", "");
}

int64_t
costs_gcd(int64_t x, int64_t y)
{
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

static double
nearest(double x)
{
    return (double)(int64_t)(x + 0.5);
}

/* Times become whole numbers of a unit that fits them all. */
static void
scale_times(Reader *r, CostGraph *g)
{
    bool whole = false;
    for (g->scale = 1; !whole && g->scale < MOST_SCALE &&
                       r->time * (double)g->scale * 10 < most_total;) {
        whole = true;
        for (int i = 0; i < g->n && whole; i++) {
            double x = r->times.at[i] * (double)g->scale, d = x - nearest(x);
            whole = (d < 0 ? -d : d) <= 1e-9 * x;
        }
        if (!whole)
            g->scale *= 10;
    }
    for (int i = 0; i < g->n; i++)
        g->nodes[i].time =
            (int64_t)nearest(r->times.at[i] * (double)g->scale);
}

CostGraph *
costs_read(Arena *a, Diag *d, const char *name, const char *text, size_t n)
{
    Reader r = {.arena = a, .diag = d};
    int before = diag_count(d);
    r.file = diag_add_source(d, name, text, n);
    read_lines(&r, text, n);
    if (diag_count(d) > before)
        return NULL;
    CostGraph *g = ARENA_NEW(a, CostGraph);
    g->nodes = r.nodes.at;
    g->n = r.nodes.n;
    scale_times(&r, g);
    int *order = ARENA_ARRAY(a, int, g->n);
    for (int i = 0; i < g->n; i++)
        order[i] = i;
    CostResult unplanned;
    costs_check(a, g, order, g->n, &unplanned);
    g->time = unplanned.time;
    g->peak = unplanned.peak;
    return g;
}

/* ---- accounting ---- */

bool
costs_check(Arena *a, const CostGraph *g, const int *order, int n,
            CostResult *out)
{
    int *latest = ARENA_ARRAY(a, int, g->n);
    int *last = ARENA_ARRAY(a, int, n + 1);
    int64_t *change = ARENA_ARRAY(a, int64_t, n + 1);
    for (int i = 0; i < g->n; i++)
        latest[i] = -1;
    *out = (CostResult){0};
    for (int t = 0; t < n; t++) {
        const CostNode *node = &g->nodes[order[t]];
        for (int i = 0; i < node->n_inputs; i++) {
            if (latest[node->inputs[i]] < 0)
                return false;
            last[latest[node->inputs[i]]] = t;
        }
        latest[order[t]] = last[t] = t;
        out->time += node->time;
    }
    for (int t = 0; t < n; t++) {
        change[t] += g->nodes[order[t]].bytes;
        change[last[t] + 1] -= g->nodes[order[t]].bytes;
    }
    int64_t live = 0;
    for (int t = 0; t < n; t++) {
        live += change[t];
        out->peak = live > out->peak ? live : out->peak;
    }
    for (int i = 0; i < g->n; i++)
        if (latest[i] < 0)
            return false;
    return true;
}

int64_t
costs_least_peak(const CostGraph *g, int *node)
{
    int64_t most = -1;
    for (int i = 0; i < g->n; i++) {
        int64_t need = g->nodes[i].bytes;
        const CostNode *x = &g->nodes[i];
        for (int k = 0; k < x->n_inputs; k++) {
            int same = 0; /* an input that is named twice is there once */
            while (x->inputs[same] != x->inputs[k])
                same++;
            need += same == k ? g->nodes[x->inputs[k]].bytes : 0;
        }
        if (need > most) {
            most = need;
            *node = i;
        }
    }
    return most;
}
