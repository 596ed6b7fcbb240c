#include "frontend/fmt.h"
#include "frontend/session.h"

#include <errno.h>
#include <sys/stat.h>

/* Replaces a file as a whole: nobody ever sees half of it. */
static bool
replace(Session *s, const char *path, const char *text)
{
    const char *temporary = arena_printf(s->arena, "%s.edlfmt", path);
    struct stat old;
    FILE *f = stat(path, &old) ? NULL : fopen(temporary, "wb");
    bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
    if (f && fclose(f))
        ok = false;
    if (ok)
        ok = !chmod(temporary, old.st_mode & 0777) && !rename(temporary, path);
    if (!ok)
        diag_error(s->diag, (Span){0}, "cannot write %s: %s", path,
                   strerror(errno));
    if (!ok && f)
        remove(temporary);
    return ok;
}

static void
format(Session *s, const char *path)
{
    const char *text, *out;
    size_t n;
    if (!session_read(s, path, &text, &n))
        return;
    out = fmt_text(s->arena, s->interner, s->diag, path, text, n);
    if (!out)
        return;
    bool same = strlen(out) == n && !memcmp(out, text, n);
    if (s->options->check && !same)
        diag_error(s->diag, (Span){0}, "%s is not in the canonical layout",
                   path);
    else if (s->options->in_place && !same)
        replace(s, path, out);
    else if (!s->options->check && !s->options->in_place)
        fputs(out, stdout);
}

/* edlc fmt FILE...: the canonical layout; --check, -i. */
Status
cmd_fmt(Session *s)
{
    const Texts *in = &s->options->inputs;
    if (!in->n || (s->options->check && s->options->in_place)) {
        fputs(in->n ? "edlc: --check writes nothing, -i does\n"
                    : "edlc: expected a file\n",
              stderr);
        return STATUS_USAGE;
    }
    for (int i = 0; i < in->n; i++)
        format(s, in->at[i]);
    return STATUS_DONE;
}
