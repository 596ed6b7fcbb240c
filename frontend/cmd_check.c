#include "frontend/lower_session.h"

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
        LowerOptions o;
        Modules models = {0};
        if (lower_options(s, in->at[i], &o))
            lower_file(s->arena, s->interner, s->diag, &o, &models);
    }
    return STATUS_DONE;
}
