/* edlc run: compiles into a temporary folder, builds the trainer there with
 * cc, and becomes it. The folder is gone before training begins. */
#include "frontend/cmd_build.h"
#include "frontend/compile.h"
#include "frontend/lower_session.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- running ---- */

static void
pass_text(const Build *b, Words *w, const char *flag, const char *value)
{
    if (value)
        build_add(b, w, arena_printf(b->s->arena, "%s=%s", flag, value));
}

static Words
trainer_words(const Build *b, const char *name, const char *seed)
{
    const Options *o = b->s->options;
    Words w = {0};
    build_add(b, &w, name);
    pass_text(b, &w, "--steps", o->steps);
    pass_text(b, &w, "--threads", o->threads);
    pass_text(b, &w, "--seed", o->seed ? o->seed : seed);
    pass_text(b, &w, "--inputs", o->inputs_file);
    pass_text(b, &w, "--outputs", o->outputs);
    if (o->grads)
        build_add(b, &w, "--grads");
    pass_text(b, &w, "--init", o->init);
    pass_text(b, &w, "--names", o->names);
    pass_text(b, &w, "--resume", o->resume);
    pass_text(b, &w, "--save", o->save);
    pass_text(b, &w, "--metrics", o->metrics);
    if (o->quiet)
        build_add(b, &w, "--quiet");
    build_add(b, &w, NULL);
    return w;
}

/* Does not come back when all is well. */
static Status
become(const Build *b, const char *name, const char *seed)
{
    extern char **environ;
    const char *path = build_path(b, "trainer");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Words w = trainer_words(b, name, seed);
    build_remove(b);
    if (fd >= 0)
        fexecve(fd, (char *const *)w.at, environ);
    diag_error(b->s->diag, (Span){0}, "cannot run the trainer: %s",
               strerror(errno));
    return STATUS_INPUT;
}

static Status
build_and_run(Session *s, const OutFiles *files, const char *name,
              const char *seed)
{
    Build b = {.s = s, .files = files};
    return build_make(&b, "run") ? become(&b, name, seed) : STATUS_INPUT;
}

/* A program that does not train knows nothing of the train block. */
static const char *
seed_of(Session *s, const LowerOptions *o, const Module *m)
{
    if (m->train || s->options->resume)
        return NULL;
    return arena_printf(s->arena, "%llu",
                        (unsigned long long)lower_seed(s, o, m));
}

/* The model to train: of several the only one that has a train block. */
static Module *
choose_model(Session *s, const LowerOptions *o)
{
    Modules all = {0};
    Module *found = NULL;
    int n = 0;
    if (!o->model && lower_file(s->arena, s->interner, s->diag, o, &all)) {
        for (int i = 0; i < all.n; i++) {
            found = all.at[i]->train ? all.at[i] : found;
            n += all.at[i]->train != NULL;
        }
        if (n == 1)
            return found;
    }
    return diag_count(s->diag) ? NULL
                               : lower_model(s->arena, s->interner, s->diag, o);
}

Status
cmd_run(Session *s)
{
    const char *path;
    LowerOptions o;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (!lower_options(s, path, &o))
        return STATUS_INPUT;
    if (s->options->grads && o.mode == LOWER_train)
        o.mode = LOWER_grads;
    Module *m = choose_model(s, &o);
    if (!m)
        return STATUS_INPUT;
    OutFiles files = {0};
    Status status = compile_model(s, m, &files);
    if (status != STATUS_DONE || files.files.n == 0)
        return status;
    return build_and_run(s, &files, m->name, seed_of(s, &o, m));
}
