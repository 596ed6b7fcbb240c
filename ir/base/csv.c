#include "ir/base/csv.h"

#include "ir/base/map.h"
#include "ir/base/utf8.h"

/* Where reading stands in a row. */
typedef struct Cursor {
    Csv *t;
    size_t at; /* bytes, and */
    int col;   /* characters before it, and one */
} Cursor;

static char
here(const Cursor *c)
{
    return c->at < c->t->row_bytes ? c->t->row[c->at] : '\0';
}

static void
forward(Cursor *c)
{
    const Csv *t = c->t;
    c->at += (size_t)utf8_decode(t->row + c->at, t->row_bytes - c->at, NULL);
    c->col++;
}

static Span
span(const Csv *t, int from, int to)
{
    return (Span){t->file, t->line, from, t->line, to > from ? to : from + 1};
}

static bool
wrong(const Csv *t, int col, const char *what)
{
    diag_error(t->diag, span(t, col, col), "%s", what);
    return false;
}

/* No byte of the row is anything but text. */
static bool
is_text(Csv *t)
{
    int col = 1;
    for (size_t i = 0; i < t->row_bytes; col++) {
        uint32_t code = 0;
        int bytes = utf8_decode(t->row + i, t->row_bytes - i, &code);
        if (bytes == 0)
            return wrong(t, col, "expected UTF-8");
        if ((code < 0x20 && code != '\t') || code == 0x7f) {
            diag_error(t->diag, span(t, col, col),
                       "expected text, found the control character %u",
                       (unsigned)code);
            return false;
        }
        i += (size_t)bytes;
    }
    return true;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* "…": two quotes are one. */
static bool
read_quoted(Cursor *c, CsvCell *cell)
{
    Csv *t = c->t;
    int col = c->col;
    char *text = arena_alloc(t->arena, t->row_bytes - c->at + 1), *to = text;
    forward(c);
    for (; c->at < t->row_bytes; forward(c)) {
        if (here(c) == '"') {
            forward(c);
            if (here(c) != '"') {
                cell->text = text;
                return true;
            }
        }
        size_t from = c->at;
        Cursor next = *c;
        forward(&next);
        memcpy(to, t->row + from, next.at - from);
        to += next.at - from;
    }
    return wrong(t, col, "the quote that begins here does not end on its line");
}

static bool
read_plain(Cursor *c, CsvCell *cell)
{
    Csv *t = c->t;
    size_t from = c->at;
    while (c->at < t->row_bytes && here(c) != ',') {
        bool blank = is_blank(here(c));
        if (here(c) == '"')
            return wrong(t, c->col, "expected no quote within a cell that "
                         "does not begin with one");
        forward(c);
        if (!blank) {
            cell->to = c->at;
            cell->at.end_col = c->col;
        }
    }
    cell->text = arena_strndup(t->arena, t->row + from, cell->to - from);
    return true;
}

/* One cell, and the comma behind it. */
static bool
read_cell(Cursor *c)
{
    Csv *t = c->t;
    while (is_blank(here(c)))
        forward(c);
    CsvCell cell = {.at = span(t, c->col, c->col), .from = c->at, .to = c->at};
    if (here(c) != '"') {
        if (!read_plain(c, &cell))
            return false;
    } else {
        if (!read_quoted(c, &cell))
            return false;
        cell.to = c->at;
        cell.at.end_col = c->col;
        while (is_blank(here(c)))
            forward(c);
        if (c->at < t->row_bytes && here(c) != ',')
            return wrong(t, c->col, "expected a comma or the end of the line "
                         "behind the quoted cell");
    }
    vec_push(t->arena, &t->cells, cell);
    return true;
}

static bool
read_cells(Csv *t)
{
    Cursor c = {t, 0, 1};
    t->cells.n = 0;
    for (;;) {
        if (!read_cell(&c))
            return false;
        if (c.at == t->row_bytes)
            return true;
        forward(&c);
    }
}

/* The next line in which there is something. */
static bool
next_line(Csv *t)
{
    while (t->next < t->end) {
        const char *from = t->next;
        const char *to = memchr(from, '\n', (size_t)(t->end - from));
        t->next = to ? to + 1 : t->end;
        to = to ? to : t->end;
        to -= to > from && to[-1] == '\r';
        t->line++;
        t->row = from;
        t->row_bytes = (size_t)(to - from);
        while (from < to && is_blank(*from))
            from++;
        if (from < to)
            return true;
    }
    return false;
}

static bool
names_differ(const Csv *t)
{
    Map seen = {0};
    bool differ = true;
    for (int i = 0; i < t->cells.n; i++) {
        CsvCell *c = &t->cells.at[i];
        const CsvCell *before = map_get(&seen, c->text);
        map_put(t->arena, &seen, c->text, c);
        if (!*c->text || !before)
            continue;
        diag_error(t->diag, c->at, "a second column `%.60s`", c->text);
        diag_note(t->diag, before->at, "the first one");
        differ = false;
    }
    return differ;
}

bool
csv_open(Csv *t, Arena *a, Diag *d, const char *name, const char *text,
         size_t n)
{
    *t = (Csv){.arena = a, .diag = d, .next = text, .end = text + n};
    t->file = diag_add_source(d, name, text, n);
    if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
        t->next += 3;
    if (!next_line(t)) {
        t->line = 1;
        return wrong(t, 1, "expected a head line with the names of columns");
    }
    if (!is_text(t) || !read_cells(t) || !names_differ(t))
        return false;
    t->width = t->cells.n;
    return true;
}

int
csv_column(const Csv *t, const char *name)
{
    for (int i = 0; i < t->cells.n; i++)
        if (!strcmp(t->cells.at[i].text, name))
            return i;
    return -1;
}

int
csv_need_column(const Csv *t, const char *name)
{
    int i = csv_column(t, name);
    if (i < 0)
        diag_error(t->diag, span(t, 1, 1), "expected a column `%s`", name);
    return i;
}

bool
csv_next(Csv *t)
{
    while (next_line(t)) {
        if (!is_text(t) || !read_cells(t))
            continue;
        if (t->cells.n == t->width)
            return true;
        Span at = t->cells.at[t->cells.n - 1].at;
        if (t->cells.n > t->width)
            at = t->cells.at[t->width].at;
        diag_error(t->diag, at, "expected %d cells as in the head, found %d",
                   t->width, t->cells.n);
    }
    return false;
}
