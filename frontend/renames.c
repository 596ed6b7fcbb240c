#include "frontend/renames.h"

enum { STARS = 8 };

/* What each * of a pattern took. */
typedef struct Taken {
    const char *at[STARS];
    size_t n[STARS];
} Taken;

static int
count_stars(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += *s == '*';
    return n;
}

/* The first * takes as little as it can. */
static bool
fits(const char *pattern, const char *name, Taken *t, int star)
{
    while (*pattern && *pattern != '*' && *pattern == *name) {
        pattern++;
        name++;
    }
    if (*pattern != '*')
        return *pattern == *name;
    for (size_t n = 0;; n++) {
        t->at[star] = name;
        t->n[star] = n;
        if (fits(pattern + 1, name + n, t, star + 1))
            return true;
        if (!name[n])
            return false;
    }
}

static const char *
fill(Arena *a, const char *ours, const Taken *t)
{
    const char *out = "";
    for (int star = 0; *ours; star++) {
        int n = (int)strcspn(ours, "*");
        out = arena_printf(a, "%s%.*s", out, n, ours);
        ours += n;
        if (*ours == '*') {
            out = arena_printf(a, "%s%.*s", out, (int)t->n[star], t->at[star]);
            ours++;
        }
    }
    return out;
}

const char *
renames_apply(Arena *a, const Renames *r, const char *theirs)
{
    Taken t;
    for (int i = 0; i < r->n; i++)
        if (fits(r->at[i].theirs, theirs, &t, 0))
            return fill(a, r->at[i].ours, &t);
    return theirs;
}

/* ---- the file ---- */

/* Without the blanks at both ends. */
static const char *
trimmed(Arena *a, const char *s, size_t n)
{
    static const char blanks[] = " \t\r";
    while (n && strchr(blanks, s[n - 1]))
        n--;
    while (n && strchr(blanks, *s)) {
        s++;
        n--;
    }
    return arena_strndup(a, s, n);
}

static void
read_line(Session *s, Renames *out, Span at, const char *line, size_t n)
{
    const char *comment = memchr(line, '#', n);
    if (comment)
        n = (size_t)(comment - line);
    const char *equals = memchr(line, '=', n);
    if (!*trimmed(s->arena, line, n))
        return;
    if (!equals) {
        diag_error(s->diag, at, "expected `theirs = ours`");
        return;
    }
    size_t left = (size_t)(equals - line);
    Rename r = {trimmed(s->arena, line, left),
                trimmed(s->arena, equals + 1, n - left - 1)};
    int stars = count_stars(r.theirs);
    if (!*r.theirs || !*r.ours)
        diag_error(s->diag, at, "expected a name on both sides of `=`");
    else if (stars > STARS || count_stars(r.ours) > stars)
        diag_error(s->diag, at,
                   "expected at most %d * on the left, and no more of them "
                   "on the right",
                   STARS);
    else
        vec_push(s->arena, out, r);
}

bool
renames_read(Session *s, const char *path, Renames *out)
{
    const char *text;
    size_t n;
    int errors = diag_count(s->diag);
    if (!session_read(s, path, &text, &n))
        return false;
    int file = diag_add_source(s->diag, path, text, n);
    const char *end = text + n;
    for (int line = 1; text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        Span at = {file, line, 1, line, (int)length + 1};
        read_line(s, out, at, text, length);
        text += length + (stop != NULL);
    }
    return diag_count(s->diag) == errors;
}
