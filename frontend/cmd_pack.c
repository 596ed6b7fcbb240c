/* edlc pack: rows of id,lower,upper,size with a column offset added. */
#include <errno.h>
#include <stdlib.h>

#include "frontend/cmd_pack_buffers.h"
#include "frontend/session.h"

enum { FIT_EFFORT = 3000000, LOWEST_EFFORT = 4000000 };

typedef struct Table {
    Session *s;
    const char *path;
    Buffers b;
} Table;

static bool
read_table(Table *t)
{
    const char *text;
    size_t n;
    return session_read(t->s, t->path, &text, &n) &&
           buffers_read(t->s->arena, t->s->diag, t->path, text, n, &t->b);
}

/* A row with its offset: in the place of an old one, or at the end. */
static void
print_row(const Table *t, const BufferRow *r, const char *offset)
{
    if (!t->b.has_offset) {
        printf("%.*s,%s\n", (int)r->n, r->at, offset);
        return;
    }
    printf("%.*s%s%.*s\n", (int)r->from, r->at, offset,
           (int)(r->n - r->to), r->at + r->to);
}

static void
print_table(const Table *t)
{
    char text[24];
    print_row(t, &t->b.head, "offset");
    for (int i = 0; i < t->b.rows.n; i++) {
        snprintf(text, sizeof text, "%lld",
                 (long long)t->b.items.at[i].offset);
        print_row(t, &t->b.rows.at[i], text);
    }
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
    if (*text && !*end && !errno && *out > 0 && *out <= buffers_most_bytes)
        return true;
    diag_error(s->diag, (Span){0}, "%s=%s: expected a number of bytes above 0",
               flag, text);
    return false;
}

static Status
does_not_fit(Table *t, int64_t align, int64_t capacity)
{
    int n = t->b.items.n;
    int64_t bound = pack_bound(t->b.items.at, n, align);
    diag_error(t->s->diag, (Span){0}, "%s: found no placement in %lld bytes",
               t->path, (long long)capacity);
    diag_note(t->s->diag, (Span){0},
              "at the fullest moment %lld bytes are alive%s", (long long)bound,
              align > 1 ? ", in whole multiples of --align" : "");
    if (bound <= capacity)
        diag_note(t->s->diag, (Span){0}, "the lowest found takes %lld bytes",
                  (long long)pack_lowest(t->b.items.at, n, align, 0, NULL));
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
    if (align > 1 && t.b.items.n > buffers_most_bytes / align) {
        diag_error(s->diag, (Span){0}, "--align is too large");
        return STATUS_INPUT;
    }
    if (capacity == 0)
        pack_lowest(t.b.items.at, t.b.items.n, align, LOWEST_EFFORT, NULL);
    else if (pack_fit(t.b.items.at, t.b.items.n, align, capacity,
                      FIT_EFFORT) != PACK_FITS)
        return does_not_fit(&t, align, capacity);
    print_table(&t);
    return STATUS_DONE;
}
