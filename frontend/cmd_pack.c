/* edlc pack: rows of id,lower,upper,size with a column offset added. */
#include <errno.h>
#include <stdlib.h>

#include "frontend/cmd_pack_buffers.h"
#include "frontend/session.h"

enum { EFFORT = 30000 /* steps for a per cent of --effort */ };

typedef struct Table {
    Session *s;
    const char *path;
    Buffers b;
} Table;

typedef struct Problem {
    Table t;
    int64_t align, capacity; /* capacity 0: as little as can be */
    int64_t effort;
} Problem;

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
does_not_fit(const Problem *p, PackAnswer answer)
{
    Diag *d = p->t.s->diag;
    PackItem *items = p->t.b.items.at;
    int n = p->t.b.items.n;
    int64_t bound = pack_bound(items, n, p->align);
    diag_error(d, (Span){0}, "%s: found no placement in %lld bytes", p->t.path,
               (long long)p->capacity);
    diag_note(d, (Span){0},
              "at the fullest moment %lld bytes are alive%s", (long long)bound,
              p->align > 1 ? ", in whole multiples of --align" : "");
    if (bound > p->capacity)
        return STATUS_LIMIT;
    if (answer == PACK_NEVER)
        diag_note(d, (Span){0}, "it is proved that there is none");
    diag_note(d, (Span){0}, "the lowest found takes %lld bytes",
              (long long)pack_lowest(items, n, p->align, p->effort, NULL));
    return STATUS_LIMIT;
}

/* Beside the table: how good its offsets are. */
static void
place_lowest(const Problem *p)
{
    PackItem *items = p->t.b.items.at;
    int64_t bound;
    int64_t height = pack_lowest(items, p->t.b.items.n, p->align, p->effort,
                                 &bound);
    if (height <= bound)
        fprintf(stderr, "edlc: %lld bytes; no placement takes less\n",
                (long long)height);
    else
        fprintf(stderr, "edlc: %lld bytes; at least %lld are needed "
                "(gap %.2f %%)\n", (long long)height, (long long)bound,
                100 * ((double)height / (double)bound - 1));
}

static bool
read_flags(Session *s, Problem *p)
{
    int percent;
    if (!size_flag(s, "--align", s->options->align, &p->align) ||
        !size_flag(s, "--capacity", s->options->capacity, &p->capacity) ||
        !session_effort(s, &percent))
        return false;
    p->effort = EFFORT * (int64_t)percent;
    return true;
}

Status
cmd_pack(Session *s)
{
    Problem p = {.t.s = s, .align = 1};
    const Buffers *b = &p.t.b;
    if (!session_one_input(s, &p.t.path) || !read_flags(s, &p))
        return STATUS_USAGE;
    if (!read_table(&p.t))
        return STATUS_INPUT;
    if (p.align > 1 && b->items.n > buffers_most_bytes / p.align) {
        diag_error(s->diag, (Span){0}, "--align is too large");
        return STATUS_INPUT;
    }
    if (p.capacity == 0) {
        place_lowest(&p);
    } else {
        PackAnswer answer = pack_fit(b->items.at, b->items.n, p.align,
                                     p.capacity, p.effort);
        if (answer != PACK_FITS)
            return does_not_fit(&p, answer);
    }
    print_table(&p.t);
    return STATUS_DONE;
}
