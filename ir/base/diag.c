#include "ir/base/diag.h"

#include <stdlib.h>

#include "ir/base/diag_source.h"

/* More errors than anyone reads are counted, not kept. */
enum { KEEP = 100 };

typedef struct Note {
    Span at;
    const char *text;
} Note;

typedef struct Message {
    Span at;
    const char *text;
    VEC(Note) notes;
} Message;

struct Diag {
    Arena *arena;
    VEC(Source) sources;
    VEC(Message *) messages;
    int reported; /* repetitions and dropped ones included */
    int dropped;
    Message *last; /* NULL: the last error was a repetition, or dropped */
};

Diag *
diag_new(Arena *a)
{
    Diag *d = ARENA_NEW(a, Diag);
    d->arena = a;
    return d;
}

int
diag_add_source(Diag *d, const char *name, const char *text, size_t n)
{
    for (int i = 0; i < d->sources.n; i++) {
        const Source *s = &d->sources.at[i];
        if (s->n == n && !strcmp(s->name, name) && !memcmp(s->text, text, n))
            return i;
    }
    vec_push(d->arena, &d->sources, source_new(d->arena, name, text, n));
    return d->sources.n - 1;
}

static const Source *
source_of(const Diag *d, Span at)
{
    bool known = at.line > 0 && at.file >= 0 && at.file < d->sources.n;
    return known ? &d->sources.at[at.file] : NULL;
}

const char *
diag_source_name(const Diag *d, int file)
{
    return file >= 0 && file < d->sources.n ? d->sources.at[file].name : "?";
}

/* Nowhere comes first, as what belongs to no line heads the list. */
static int
compare_places(Span a, Span b)
{
    if (!a.line || !b.line)
        return (a.line > 0) - (b.line > 0);
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.col > b.col) - (a.col < b.col);
}

void
diag_error(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    d->last = NULL;
    d->reported++;
    for (int i = 0; i < d->messages.n; i++) {
        const Message *m = d->messages.at[i];
        if (!compare_places(m->at, at) && !strcmp(m->text, text))
            return;
    }
    if (d->messages.n >= KEEP) {
        d->dropped++;
        return;
    }
    d->last = ARENA_NEW(d->arena, Message);
    d->last->at = at;
    d->last->text = text;
    vec_push(d->arena, &d->messages, d->last);
}

void
diag_note(Diag *d, Span at, const char *fmt, ...)
{
    if (!d->last)
        return;
    va_list ap;
    va_start(ap, fmt);
    Note note = {at, arena_vprintf(d->arena, fmt, ap)};
    va_end(ap);
    vec_push(d->arena, &d->last->notes, note);
}

int
diag_count(const Diag *d)
{
    return d->reported;
}

/* Insertion keeps equal places in the order in which they were found, and
 * what was found is nearly sorted already. */
static Message **
sorted(const Diag *d)
{
    Message **list = ARENA_ARRAY(d->arena, Message *, d->messages.n + 1);
    for (int i = 0; i < d->messages.n; i++) {
        Message *m = d->messages.at[i];
        int k = i;
        for (; k > 0 && compare_places(list[k - 1]->at, m->at) > 0; k--)
            list[k] = list[k - 1];
        list[k] = m;
    }
    return list;
}

static void
print_one(const Diag *d, FILE *to, Span at, const char *what, const char *text)
{
    const Source *s = source_of(d, at);
    if (s)
        fprintf(to, "%s:%d:%d: ", s->name, at.line, at.col);
    fprintf(to, "%s: ", what);
    diag_text(text, to);
    fputc('\n', to);
    if (s)
        source_quote(s, at, to);
}

static void
print_text(const Diag *d, Message *const *list, FILE *to)
{
    for (int i = 0; i < d->messages.n; i++) {
        const Message *m = list[i];
        print_one(d, to, m->at, "error", m->text);
        for (int k = 0; k < m->notes.n; k++)
            print_one(d, to, m->notes.at[k].at, "note", m->notes.at[k].text);
    }
    if (d->dropped)
        fprintf(to, "and %d more errors\n", d->dropped);
}

/* The members that an error and a note share. */
static void
json_one(const Diag *d, FILE *to, Span at, const char *text)
{
    const Source *s = source_of(d, at);
    fputs("\"message\": ", to);
    diag_json_string(text, to);
    if (!s)
        return;
    fputs(", \"file\": ", to);
    diag_json_string(s->name, to);
    fprintf(to, ", \"line\": %d, \"column\": %d", at.line, at.col);
    fprintf(to, ", \"endLine\": %d, \"endColumn\": %d",
            at.end_line ? at.end_line : at.line,
            at.end_line ? at.end_col : at.col);
}

static void
print_json(const Diag *d, Message *const *list, FILE *to)
{
    fputs("[", to);
    for (int i = 0; i < d->messages.n; i++) {
        const Message *m = list[i];
        fprintf(to, "%s\n  {\"severity\": \"error\", ", i ? "," : "");
        json_one(d, to, m->at, m->text);
        fputs(", \"notes\": [", to);
        for (int k = 0; k < m->notes.n; k++) {
            fprintf(to, "%s{", k ? ", " : "");
            json_one(d, to, m->notes.at[k].at, m->notes.at[k].text);
            fputs("}", to);
        }
        fputs("]}", to);
    }
    fputs("\n]\n", to);
}

void
diag_print(const Diag *d, FILE *to, DiagFormat format)
{
    Message **list = sorted(d);
    if (format == DIAG_JSON)
        print_json(d, list, to);
    else
        print_text(d, list, to);
}

void
bug(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("edlc: a fault of the compiler itself: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputs("\n", stderr);
    va_end(ap);
    exit(4);
}
