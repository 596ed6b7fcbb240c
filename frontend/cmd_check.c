#include "frontend/lower_session.h"
#include "frontend/parse.h"

/* All models of one file. Layers have shapes only where they are used: of a
 * file without a model there is only the syntax to check. */
static void
check_file(Session *s, const char *path)
{
    LowerOptions o;
    if (!lower_options(s, path, &o))
        return;
    int n;
    const char *const *models = lower_models(s->arena, s->interner, &o, &n);
    if (n == 0 && !o.model) {
        parse_file(s->arena, s->interner, s->diag, o.file, o.text, o.n);
        return;
    }
    if (o.model) {
        lower_model(s->arena, s->interner, s->diag, &o);
        return;
    }
    for (int i = 0; i < n; i++) {
        o.model = models[i];
        lower_model(s->arena, s->interner, s->diag, &o);
    }
}

/* edlc check FILE...: every error of the files. */
Status
cmd_check(Session *s)
{
    const Texts *in = &s->options->inputs;
    if (!in->n) {
        fprintf(stderr, "edlc: expected a file\n");
        return STATUS_USAGE;
    }
    for (int i = 0; i < in->n; i++)
        check_file(s, in->at[i]);
    return STATUS_DONE;
}
