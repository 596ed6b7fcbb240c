#include "frontend/cmd_pack_buffers.h"

#include <errno.h>
#include <stdlib.h>

#include "ir/base/csv.h"
#include "ir/base/map.h"

const int64_t buffers_most_bytes = INT64_MAX / 4;

enum { LOWER, UPPER, SIZE, COLUMNS };

static const char *const column_name[COLUMNS] = {"lower", "upper", "size"};

typedef struct Reader {
    Csv csv;
    int column[COLUMNS]; /* which column of the file it is */
    int id, offset;      /* -1: none */
    Map ids;             /* id -> Span of the first */
    int64_t total;
    Buffers *out;
} Reader;

/* Columns that other programs read as a part of the problem. */
static void
refuse_columns(Reader *t)
{
    static const char *const names[] = {"alignment", "gaps"};
    for (int k = 0; k < 2; k++) {
        int i = csv_column(&t->csv, names[k]);
        if (i < 0)
            continue;
        diag_error(t->csv.diag, t->csv.cells.at[i].at,
                   "buffers that differ in `%s` are not placed", names[k]);
        diag_note(t->csv.diag, (Span){0},
                  "all have one alignment, --align=BYTES, and take all of "
                  "their size as long as they live");
    }
}

static BufferRow
row_of(const Reader *t)
{
    BufferRow r = {t->csv.row, t->csv.row_bytes, 0, 0};
    if (t->offset >= 0) {
        r.from = t->csv.cells.at[t->offset].from;
        r.to = t->csv.cells.at[t->offset].to;
    }
    return r;
}

static bool
read_head(Reader *t)
{
    int before = diag_count(t->csv.diag);
    for (int c = 0; c < COLUMNS; c++)
        t->column[c] = csv_need_column(&t->csv, column_name[c]);
    t->id = csv_column(&t->csv, "id");
    t->offset = csv_column(&t->csv, "offset");
    t->out->has_offset = t->offset >= 0;
    t->out->head = row_of(t);
    refuse_columns(t);
    return diag_count(t->csv.diag) == before;
}

static const CsvCell *
cell(const Reader *t, int c)
{
    return &t->csv.cells.at[t->column[c]];
}

static bool
number(Reader *t, int c, int64_t *out)
{
    const char *text = cell(t, c)->text;
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    bool whole = *text && !*end && strspn(text, "-0123456789") == strlen(text);
    if (whole && !errno)
        return true;
    diag_error(t->csv.diag, cell(t, c)->at,
               whole ? "the number is too large for %s: %.60s"
                     : "expected a whole number as %s, found '%.60s'",
               column_name[c], text);
    return false;
}

static bool
is_possible(Reader *t, const int64_t *v)
{
    Diag *d = t->csv.diag;
    if (v[LOWER] >= v[UPPER])
        diag_error(d, cell(t, LOWER)->at, "lower must be below upper");
    else if (v[SIZE] < 1)
        diag_error(d, cell(t, SIZE)->at, "size must be above 0");
    else if (v[SIZE] > buffers_most_bytes - t->total)
        diag_error(d, cell(t, SIZE)->at, "the sum of the sizes is too large");
    else
        return true;
    return false;
}

static bool
is_new(Reader *t)
{
    if (t->id < 0)
        return true;
    const CsvCell *id = &t->csv.cells.at[t->id];
    const Span *before = map_get(&t->ids, id->text);
    if (before) {
        diag_error(t->csv.diag, id->at, "a second buffer '%.60s'", id->text);
        diag_note(t->csv.diag, *before, "the first one");
        return false;
    }
    Span *at = ARENA_NEW(t->csv.arena, Span);
    *at = id->at;
    map_put(t->csv.arena, &t->ids, id->text, at);
    return true;
}

static void
read_row(Reader *t)
{
    int64_t v[COLUMNS];
    bool good = is_new(t);
    for (int c = 0; c < COLUMNS && good; c++)
        good = number(t, c, &v[c]);
    if (!good || !is_possible(t, v))
        return;
    t->total += v[SIZE];
    vec_push(t->csv.arena, &t->out->rows, row_of(t));
    vec_push(t->csv.arena, &t->out->items,
             ((PackItem){v[LOWER], v[UPPER], v[SIZE], 0}));
}

bool
buffers_read(Arena *a, Diag *d, const char *path, const char *text, size_t n,
             Buffers *out)
{
    Reader t = {.out = out};
    int before = diag_count(d);
    *out = (Buffers){0};
    if (!csv_open(&t.csv, a, d, path, text, n) || !read_head(&t))
        return false;
    while (csv_next(&t.csv))
        read_row(&t);
    return diag_count(d) == before;
}
