#include "frontend/parse.h"
#include "frontend/session.h"

/* edlc check FILE...: every error of the files. */
Status
cmd_check(Session *s)
{
    const Texts *in = &s->options->inputs;
    if (!in->n) {
        fprintf(stderr, "edlc: expected a file\n");
        return STATUS_USAGE;
    }
    for (int i = 0; i < in->n; i++) {
        const char *text;
        size_t n;
        if (session_read(s, in->at[i], &text, &n))
            parse_file(s->arena, s->interner, s->diag, in->at[i], text, n);
    }
    return STATUS_DONE;
}
