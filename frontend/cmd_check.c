#include "frontend/lower_session.h"
#include "passes/pass.h"

/* What differentiation finds: a parameter that the loss does not reach. */
static void
check_gradients(const Modules *models)
{
    PassOptions o = {.stop_after = "grad"};
    for (int i = 0; i < models->n; i++)
        passes_run(models->at[i], &o);
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
    for (int i = 0; i < in->n; i++) {
        LowerOptions o;
        Modules models = {0};
        if (lower_options(s, in->at[i], &o) &&
            lower_file(s->arena, s->interner, s->diag, &o, &models))
            check_gradients(&models);
    }
    return STATUS_DONE;
}
