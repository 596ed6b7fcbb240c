#include "frontend/cmd_passes.h"
#include "frontend/load.h"
#include "frontend/lower_session.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

#include <stdlib.h>

/* The passes of --only=A,B,... one after the other. */
static bool
run_only(Session *s, Module *m, PassOptions o)
{
    for (const char *p = s->options->only;; p++) {
        size_t n = strcspn(p, ",");
        o.only = arena_strndup(s->arena, p, n);
        if (!passes_run(m, &o))
            return false;
        p += n;
        if (!*p)
            return true;
    }
}

static bool
run_passes(Session *s, Module *m)
{
    const Options *in = s->options;
    PassOptions o = {.dump = in->dump,
                     .stop_after = in->stop_after,
                     .time = in->time,
                     .verify = true,
                     .shuffle =
                         in->shuffle ? strtoull(in->shuffle, NULL, 10) : 0,
                     .out = stdout};
    if (in->only)
        return run_only(s, m, o);
    return (!in->dump && !in->stop_after) || passes_run(m, &o);
}

/* A module as text, or a model: what the front end makes of it. */
static Module *
read_module(Session *s, const char *path)
{
    size_t end = strlen(path);
    if (end > 4 && strcmp(path + end - 4, ".edl") == 0) {
        LowerOptions o;
        return lower_options(s, path, &o)
                   ? lower_model(s->arena, s->interner, s->diag, &o)
                   : NULL;
    }
    const char *text;
    size_t n;
    if (!session_read(s, path, &text, &n))
        return NULL;
    return text_read(s->arena, s->diag, path, text, n);
}

/* edlc ir FILE: reads a module, verifies it, runs the passes asked for (the
 * verifier after each) and prints what came out: how passes are tested. */
Status
cmd_ir(Session *s)
{
    const char *path;
    if (!session_one_input(s, &path) || !cmd_passes_known(s))
        return STATUS_USAGE;
    Module *m = read_module(s, path);
    if (!m || load_plan(s, m) != STATUS_DONE || !verify_module(m))
        return STATUS_INPUT;
    bool done = run_passes(s, m);
    if (!done)
        return m->over_limit ? STATUS_LIMIT : STATUS_INPUT;
    if (!s->options->verify && !s->options->dump)
        text_print(m, stdout);
    return STATUS_DONE;
}
