#include "frontend/cmd_pack_buffers.h"

#include <errno.h>
#include <stdlib.h>

const int64_t buffers_most_bytes = INT64_MAX / 4;

enum { LOWER, UPPER, SIZE, COLUMNS };

static const char *const column_name[COLUMNS] = {"lower", "upper", "size"};

typedef struct Reader {
    Arena *arena;
    Diag *diag;
    int file, line;
    int column[COLUMNS]; /* which column of the file it is */
    int64_t total;
    bool failed;
    Buffers *out;
} Reader;

static void
fail(Reader *t, int col, const char *fmt, const char *what)
{
    Span at = {t->file, t->line, col, t->line, col + 1};
    diag_error(t->diag, at, fmt, what);
    t->failed = true;
}

/* Field i of a row, without the spaces around it; false when it has fewer. */
static bool
field(BufferRow r, int i, BufferRow *out)
{
    const char *p = r.at, *end = r.at + r.n;
    for (; i > 0; i--) {
        p = memchr(p, ',', (size_t)(end - p));
        if (!p)
            return false;
        p++;
    }
    const char *q = memchr(p, ',', (size_t)(end - p));
    q = q ? q : end;
    while (p < q && *p == ' ')
        p++;
    while (p < q && q[-1] == ' ')
        q--;
    *out = (BufferRow){p, (size_t)(q - p)};
    return true;
}

static void
read_head(Reader *t, BufferRow r)
{
    BufferRow f;
    t->out->head = r;
    for (int c = 0; c < COLUMNS; c++) {
        t->column[c] = -1;
        for (int i = 0; field(r, i, &f); i++) {
            if (f.n != strlen(column_name[c]) ||
                memcmp(f.at, column_name[c], f.n) != 0)
                continue;
            if (t->column[c] >= 0)
                fail(t, (int)(f.at - r.at) + 1, "a second column `%s`",
                     column_name[c]);
            t->column[c] = i;
        }
        if (t->column[c] < 0)
            fail(t, 1, "expected a column `%s`", column_name[c]);
    }
}

static bool
number(Reader *t, BufferRow r, int c, int64_t *out)
{
    BufferRow f;
    char digits[24], *end;
    if (!field(r, t->column[c], &f)) {
        fail(t, (int)r.n + 1, "the row has no %s", column_name[c]);
        return false;
    }
    int col = (int)(f.at - r.at) + 1;
    size_t n = f.n < sizeof digits - 1 ? f.n : sizeof digits - 1;
    memcpy(digits, f.at, n);
    digits[n] = '\0';
    errno = 0;
    *out = strtoll(digits, &end, 10);
    if (f.n == 0 || *end || errno || n < f.n || digits[0] == '+') {
        fail(t, col, "%s is no whole number", column_name[c]);
        return false;
    }
    return true;
}

static void
read_row(Reader *t, BufferRow r)
{
    int64_t v[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        if (!number(t, r, c, &v[c]))
            return;
    if (v[LOWER] >= v[UPPER])
        fail(t, 1, "lower must be below %s", "upper");
    else if (v[SIZE] < 1)
        fail(t, 1, "%s must be above 0", "size");
    else if (v[SIZE] > buffers_most_bytes - t->total)
        fail(t, 1, "the sum of the %ss is too large", "size");
    if (t->failed)
        return;
    t->total += v[SIZE];
    vec_push(t->arena, &t->out->rows, r);
    vec_push(t->arena, &t->out->items,
             ((PackItem){v[LOWER], v[UPPER], v[SIZE], 0}));
}

bool
buffers_read(Arena *a, Diag *d, const char *path, const char *text, size_t n,
             Buffers *out)
{
    Reader t = {.arena = a, .diag = d, .out = out};
    *out = (Buffers){0};
    t.file = diag_add_source(d, path, text, n);
    for (const char *p = text, *end = text + n; p < end;) {
        const char *q = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((q ? q : end) - p);
        length -= length && p[length - 1] == '\r';
        BufferRow r = {p, length};
        t.line++;
        if (t.line == 1)
            read_head(&t, r);
        else if (r.n > 0 && !t.failed)
            read_row(&t, r);
        p = q ? q + 1 : end;
    }
    if (t.line == 0)
        fail(&t, 1, "expected a head line with %s, lower, upper, size", "id");
    return !t.failed;
}
