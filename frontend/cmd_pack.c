/* edlc pack: rows of id,lower,upper,size with a column offset added. */
#include <errno.h>
#include <stdlib.h>

#include "frontend/session.h"
#include "passes/plan/pack.h"

enum { FIT_EFFORT = 3000000, LOWEST_EFFORT = 4000000 };

/* What is placed may be this large together. */
static const int64_t most_bytes = INT64_MAX / 4;

enum { LOWER, UPPER, SIZE, COLUMNS };

static const char *const column_name[COLUMNS] = {"lower", "upper", "size"};

typedef struct Row {
    const char *at;
    size_t n;
} Row;

typedef struct Table {
    Session *s;
    int file;
    const char *path;
    Row head;
    int column[COLUMNS]; /* which column of the file it is */
    VEC(Row) rows;
    VEC(PackItem) items;
    int64_t total;
    int line;
    bool failed;
} Table;

static void
fail(Table *t, int col, const char *fmt, const char *what)
{
    Span at = {t->file, t->line, col, t->line, col + 1};
    diag_error(t->s->diag, at, fmt, what);
    t->failed = true;
}

/* Field i of a row, without the spaces around it; false when it has fewer. */
static bool
field(Row r, int i, Row *out)
{
    const char *p = r.at, *end = r.at + r.n;
    for (; i > 0; i--) {
        p = memchr(p, ',', (size_t)(end - p));
        if (!p++)
            return false;
    }
    const char *q = memchr(p, ',', (size_t)(end - p));
    q = q ? q : end;
    while (p < q && *p == ' ')
        p++;
    while (p < q && q[-1] == ' ')
        q--;
    *out = (Row){p, (size_t)(q - p)};
    return true;
}

static void
read_head(Table *t, Row r)
{
    Row f;
    t->head = r;
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
number(Table *t, Row r, int c, int64_t *out)
{
    Row f;
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
read_row(Table *t, Row r)
{
    int64_t v[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        if (!number(t, r, c, &v[c]))
            return;
    if (v[LOWER] >= v[UPPER])
        fail(t, 1, "lower must be below %s", "upper");
    else if (v[SIZE] < 1)
        fail(t, 1, "%s must be above 0", "size");
    else if (v[SIZE] > most_bytes - t->total)
        fail(t, 1, "the sum of the %ss is too large", "size");
    if (t->failed)
        return;
    t->total += v[SIZE];
    vec_push(t->s->arena, &t->rows, r);
    vec_push(t->s->arena, &t->items,
             ((PackItem){v[LOWER], v[UPPER], v[SIZE], 0}));
}

static bool
read_table(Table *t)
{
    const char *text;
    size_t n;
    if (!session_read(t->s, t->path, &text, &n))
        return false;
    t->file = diag_add_source(t->s->diag, t->path, text, n);
    for (const char *p = text, *end = text + n; p < end;) {
        const char *q = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((q ? q : end) - p);
        Row r = {p, length && p[length - 1] == '\r' ? length - 1 : length};
        t->line++;
        if (t->line == 1)
            read_head(t, r);
        else if (r.n > 0 && !t->failed)
            read_row(t, r);
        p = q ? q + 1 : end;
    }
    if (t->line == 0)
        fail(t, 1, "expected a head line with %s, lower, upper, size", "id");
    return !t->failed;
}

static void
print_table(const Table *t)
{
    printf("%.*s,offset\n", (int)t->head.n, t->head.at);
    for (int i = 0; i < t->rows.n; i++)
        printf("%.*s,%lld\n", (int)t->rows.at[i].n, t->rows.at[i].at,
               (long long)t->items.at[i].offset);
}

/* *out stays as it is where the flag is not written. */
static bool
size_flag(Session *s, const char *flag, const char *text, int64_t *out)
{
    char *end;
    if (!text)
        return true;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (*text && !*end && !errno && *out > 0 && *out <= most_bytes)
        return true;
    diag_error(s->diag, (Span){0}, "%s=%s: expected a number of bytes above 0",
               flag, text);
    return false;
}

static Status
does_not_fit(Table *t, int64_t align, int64_t capacity)
{
    int n = t->items.n;
    int64_t bound = pack_bound(t->items.at, n, align);
    diag_error(t->s->diag, (Span){0}, "%s: found no placement in %lld bytes",
               t->path, (long long)capacity);
    diag_note(t->s->diag, (Span){0},
              "at the fullest moment %lld bytes are alive", (long long)bound);
    if (bound <= capacity)
        diag_note(t->s->diag, (Span){0}, "the lowest found takes %lld bytes",
                  (long long)pack_lowest(t->items.at, n, align, 0));
    return STATUS_LIMIT;
}

Status
cmd_pack(Session *s)
{
    Table t = {.s = s};
    int64_t align = 1, capacity = 0;
    if (!session_one_input(s, &t.path))
        return STATUS_USAGE;
    if (!size_flag(s, "--align", s->options->align, &align) ||
        !size_flag(s, "--capacity", s->options->capacity, &capacity))
        return STATUS_USAGE;
    if (!read_table(&t))
        return STATUS_INPUT;
    if (align > 1 && t.items.n > most_bytes / align) {
        diag_error(s->diag, (Span){0}, "--align is too large");
        return STATUS_INPUT;
    }
    if (capacity == 0)
        pack_lowest(t.items.at, t.items.n, align, LOWEST_EFFORT);
    else if (!pack_fit(t.items.at, t.items.n, align, capacity, FIT_EFFORT))
        return does_not_fit(&t, align, capacity);
    print_table(&t);
    return STATUS_DONE;
}
