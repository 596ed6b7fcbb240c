#include "frontend/cmd_machine.h"

#include "passes/plan/machine.h"

/* A plan for another target would be made with rates that mean nothing. */
static bool
check_target(Session *s, const Module *m, const Machine *k)
{
    const char *target = module_option(m, "target");
    if (!target || strcmp(target, k->target) == 0)
        return true;
    diag_error(s->diag, (Span){0}, "%s is of target %s, this is compiled for %s",
               s->options->machine, k->target, target);
    return false;
}

bool
cmd_take_machine(Session *s, Module *m)
{
    const char *path = s->options->machine, *text;
    size_t n;
    if (!path)
        return true;
    if (!session_read(s, path, &text, &n))
        return false;
    m->machine = machine_read(s->arena, s->diag, path, text, n);
    return m->machine && check_target(s, m, m->machine);
}
