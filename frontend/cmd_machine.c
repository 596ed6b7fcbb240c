#include "frontend/cmd_machine.h"

#include "frontend/profile_file.h"
#include "passes/plan/machine.h"

/* The flag wins over the plan block. */
static const char *
machine_file(const Session *s, const Module *m)
{
    return s->options->machine ? s->options->machine : m->machine_file;
}

/* A plan for another target would be made with rates that mean nothing. */
static bool
check_target(Session *s, const Module *m, const Machine *k)
{
    const char *target = module_option(m, "target");
    if (!target || strcmp(target, k->target) == 0)
        return true;
    diag_error(s->diag, (Span){0}, "%s is of target %s, this is compiled for %s",
               machine_file(s, m), k->target, target);
    return false;
}

static bool
take_file(Session *s, Module *m)
{
    const char *path = machine_file(s, m), *text;
    size_t n;
    if (!path)
        return true;
    if (!session_read(s, path, &text, &n))
        return false;
    m->machine = machine_read(s->arena, s->diag, path, text, n);
    return m->machine && check_target(s, m, m->machine);
}

/* Evaluation runs nodes of the same names, in fewer kernels. */
static bool
is_training(const ProfileEntry *e)
{
    return strcmp(e->graph, "evaluate") != 0;
}

/* --profile: what was measured stands in the machine. */
static bool
take_times(Session *s, Module *m)
{
    ProfileFile file;
    const char *path = s->options->profile;
    if (!path)
        return true;
    if (!profile_read(s, path, &file))
        return false;
    Machine *k = ARENA_NEW(s->arena, Machine);
    Map *times = ARENA_NEW(s->arena, Map);
    *k = *machine_of(m);
    k->measured = times;
    for (int i = 0; i < file.entries.n; i++) {
        const ProfileEntry *e = &file.entries.at[i];
        MeasuredKernel *t = ARENA_NEW(s->arena, MeasuredKernel);
        *t = (MeasuredKernel){e->ns, e->bytes};
        if (is_training(e))
            map_put(s->arena, times, e->node, t);
    }
    m->machine = k;
    return true;
}

bool
cmd_take_machine(Session *s, Module *m)
{
    return take_file(s, m) && take_times(s, m);
}
