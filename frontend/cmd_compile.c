#include "frontend/parse.h"
#include "frontend/session.h"

/* edlc FILE -o DIR. */
Status
cmd_compile(Session *s)
{
    const char *path, *text;
    size_t n;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (!session_read(s, path, &text, &n))
        return STATUS_INPUT;
    parse_file(s->arena, s->interner, s->diag, path, text, n);
    if (!diag_count(s->diag))
        bug("this edlc cannot generate code yet");
    return STATUS_INPUT;
}
