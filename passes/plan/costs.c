#include "passes/plan/costs.h"

#include <math.h>
#include <stdlib.h>

#include "ir/base/csv.h"
#include "ir/base/map.h"

/* ---- reading ---- */

typedef enum Column {
    COLUMN_name,
    COLUMN_time,
    COLUMN_bytes,
    COLUMN_inputs,
    COLUMN_phase, /* may be missing */
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

typedef struct Reader {
    Csv csv;
    int column[COLUMN_COUNT]; /* which cell of a row it is, or -1 */
    Map rows;                 /* name -> row + 1 */
    VEC(CostNode) nodes;
    VEC(Span) places; /* of their names */
    VEC(double) times;
    double time, bytes; /* sums */
} Reader;

static bool
read_head(Reader *r)
{
    int before = diag_count(r->csv.diag);
    for (int c = 0; c < COLUMN_COUNT; c++)
        r->column[c] = c == COLUMN_phase
                           ? csv_column(&r->csv, column_name[c])
                           : csv_need_column(&r->csv, column_name[c]);
    return diag_count(r->csv.diag) == before;
}

static const CsvCell *
cell(const Reader *r, Column c)
{
    return &r->csv.cells.at[r->column[c]];
}

static bool
complain(Reader *r, Column c, const char *fmt, const char *found)
{
    diag_error(r->csv.diag, cell(r, c)->at, fmt, found);
    return false;
}

/* Of at least 0. */
static bool
read_number(Reader *r, Column c, double sum, double *x)
{
    const char *text = cell(r, c)->text;
    char *end;
    *x = strtod(text, &end);
    if (*text && !*end && strspn(text, "0123456789.eE+-") == strlen(text) &&
        *x >= 0 && *x <= most_total - sum)
        return true;
    return complain(r, c, "expected a number from 0 to 4e15 in all, found "
                    "'%.60s'", text);
}

static bool
read_inputs(Reader *r, CostNode *node)
{
    VEC(int) inputs = {0};
    const char *list = cell(r, COLUMN_inputs)->text;
    char *text = arena_strndup(r->csv.arena, list, strlen(list));
    for (char *at = strtok(text, " \t"); at; at = strtok(NULL, " \t")) {
        intptr_t row = (intptr_t)map_get(&r->rows, at);
        if (row == 0)
            return complain(r, COLUMN_inputs, "expected inputs from rows "
                            "above, found '%.60s'", at);
        vec_push(r->csv.arena, &inputs, (int)row - 1);
    }
    node->inputs = inputs.at;
    node->n_inputs = inputs.n;
    return true;
}

static bool
read_name(Reader *r, CostNode *node)
{
    node->name = cell(r, COLUMN_name)->text;
    if (!*node->name || strpbrk(node->name, " \t"))
        return complain(r, COLUMN_name, "expected a name without blanks, "
                        "found '%.60s'", node->name);
    intptr_t before = (intptr_t)map_get(&r->rows, node->name);
    if (before == 0)
        return true;
    complain(r, COLUMN_name, "a second node `%.60s`", node->name);
    diag_note(r->csv.diag, r->places.at[before - 1], "the first one");
    return false;
}

/* Nothing depends on a phase; one that is misspelled is a mistake all the
 * same. */
static bool
check_phase(Reader *r)
{
    static const char *const known[] = {"", "forward", "loss", "backward",
                                        "update"};
    if (r->column[COLUMN_phase] < 0)
        return true;
    const char *phase = cell(r, COLUMN_phase)->text;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(phase, known[i]))
            return true;
    return complain(r, COLUMN_phase, "expected forward, loss, backward or "
                    "update as phase, found '%.60s'", phase);
}

/* A row with a mistake still names a node, for those that read it. */
static void
read_row(Reader *r)
{
    CostNode node = {0};
    double time = 0, bytes = 0;
    Arena *a = r->csv.arena;
    if (!read_name(r, &node))
        return;
    if (check_phase(r) && read_number(r, COLUMN_time, r->time, &time) &&
        read_number(r, COLUMN_bytes, r->bytes, &bytes) &&
        read_inputs(r, &node)) {
        r->time += time;
        r->bytes += bytes;
        node.bytes = (int64_t)ceil(bytes);
    }
    vec_push(a, &r->nodes, node);
    vec_push(a, &r->times, time);
    vec_push(a, &r->places, cell(r, COLUMN_name)->at);
    map_put(a, &r->rows, node.name, (void *)(intptr_t)r->nodes.n);
}

static void
read_rows(Reader *r)
{
    int before = diag_count(r->csv.diag), head = r->csv.line;
    while (r->nodes.n < MOST_NODES && csv_next(&r->csv))
        read_row(r);
    if (r->nodes.n == MOST_NODES && csv_next(&r->csv))
        complain(r, COLUMN_name, "expected at most 100000 rows%s", "");
    if (r->nodes.n == 0 && diag_count(r->csv.diag) == before)
        diag_error(r->csv.diag, (Span){r->csv.file, head, 1, head, 2},
                   "expected rows below the head");
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
    Reader r = {0};
    int before = diag_count(d);
    if (!csv_open(&r.csv, a, d, name, text, n) || !read_head(&r))
        return NULL;
    read_rows(&r);
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
