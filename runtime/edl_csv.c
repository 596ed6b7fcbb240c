/* Tables of numbers: a sample a line, cells between commas. */
#include "edl_data.h"

#include <stdlib.h>
#include <string.h>

typedef struct Csv {
    const char *at, *end;
    int64_t line;
    double *cells;
    int64_t count, room;
    int64_t columns; /* -1 before the first row */
    const char *what;
    EdlError *error;
} Csv;

static EdlStatus
add_cell(Csv *c, double x)
{
    if (c->count == c->room) {
        int64_t room = c->room ? c->room * 2 : 1024;
        double *p = (double *)realloc(c->cells, (size_t)room * sizeof *p);
        if (!p)
            return edl_error(c->error, EDL_ENOMEM, "%s: out of memory",
                             c->what);
        c->cells = p;
        c->room = room;
    }
    c->cells[c->count++] = x;
    return EDL_OK;
}

static int
blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The cell at c->at without spaces and quotes; past it. */
static void
next_cell(Csv *c, const char **from, size_t *n)
{
    const char *a = c->at;
    while (c->at < c->end && *c->at != ',' && *c->at != '\n')
        c->at++;
    const char *b = c->at;
    while (a < b && blank(*a))
        a++;
    while (b > a && blank(b[-1]))
        b--;
    if (b - a >= 2 && *a == '"' && b[-1] == '"') {
        a++;
        b--;
    }
    *from = a;
    *n = (size_t)(b - a);
}

static EdlStatus
read_cell(Csv *c, int64_t column)
{
    char text[64], *end = text;
    const char *from;
    size_t n;
    next_cell(c, &from, &n);
    double x = 0;
    if (n > 0 && n < sizeof text) {
        memcpy(text, from, n);
        text[n] = '\0';
        x = strtod(text, &end);
    }
    if (end == text || *end)
        return edl_error(c->error, EDL_EFORMAT,
                         "%s:%lld: column %lld is no number: '%.*s'", c->what,
                         (long long)c->line, (long long)column,
                         (int)(n < 40 ? n : 40), from);
    return add_cell(c, x);
}

static EdlStatus
read_row(Csv *c)
{
    int64_t column = 0;
    for (;;) {
        EdlStatus s = read_cell(c, ++column);
        if (s != EDL_OK)
            return s;
        if (c->at == c->end || *c->at == '\n')
            break;
        c->at++;
    }
    if (c->columns >= 0 && column != c->columns)
        return edl_error(c->error, EDL_EFORMAT,
                         "%s:%lld: %lld columns, the first row has %lld",
                         c->what, (long long)c->line, (long long)column,
                         (long long)c->columns);
    c->columns = column;
    return EDL_OK;
}

static int
empty_line(const Csv *c)
{
    const char *p = c->at;
    while (p < c->end && blank(*p))
        p++;
    return p == c->end || *p == '\n';
}

static void
next_line(Csv *c)
{
    while (c->at < c->end && *c->at != '\n')
        c->at++;
    if (c->at < c->end)
        c->at++;
    c->line++;
}

static EdlStatus
read_rows(Csv *c, int64_t skip)
{
    while (c->at < c->end) {
        if (c->line > skip && !empty_line(c)) {
            EdlStatus s = read_row(c);
            if (s != EDL_OK)
                return s;
        }
        next_line(c);
    }
    if (c->columns < 0)
        return edl_error(c->error, EDL_EFORMAT, "%s: no rows", c->what);
    return EDL_OK;
}

EdlStatus
edl_csv_parse(const unsigned char *bytes, uint64_t size, int64_t skip,
              const char *what, double **cells, int64_t *rows, int64_t *columns,
              EdlError *e)
{
    Csv c;
    memset(&c, 0, sizeof c);
    c.at = (const char *)bytes;
    c.end = c.at + size;
    c.line = 1;
    c.columns = -1;
    c.what = what;
    c.error = e;
    EdlStatus s = size ? read_rows(&c, skip)
                       : edl_error(e, EDL_EFORMAT, "%s: no rows", what);
    if (s != EDL_OK) {
        free(c.cells);
        return s;
    }
    *cells = c.cells;
    *columns = c.columns;
    *rows = c.count / c.columns;
    return EDL_OK;
}
