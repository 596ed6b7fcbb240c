#include "frontend/cmd_passes.h"

#include <string.h>

#include "passes/pass.h"

/* One name, or several with commas between them. */
static bool
are_passes(Arena *a, const char *flag, const char *names)
{
    for (const char *p = names; p; p = strchr(p, ',')) {
        p += *p == ',';
        const char *name = arena_strndup(a, p, strcspn(p, ",")), *near;
        if (pass_exists(name, &near))
            continue;
        fprintf(stderr, "edlc: %s=%s: there is no pass %s%s%s%s\n", flag, names,
                name, near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
        return false;
    }
    return true;
}

bool
cmd_passes_known(const Session *s)
{
    const Options *o = s->options;
    return are_passes(s->arena, "--dump", o->dump) &&
           are_passes(s->arena, "--stop-after", o->stop_after) &&
           are_passes(s->arena, "--only", o->only);
}
