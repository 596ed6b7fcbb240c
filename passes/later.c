/* The rows of passes.def whose pass is not written yet. */
#include "passes/pass.h"

static bool
missing(Module *m, const char *pass)
{
    diag_error(m->diag, (Span){0}, "edlc has no pass `%s` yet", pass);
    return false;
}

#define LATER(pass)                                                            \
    bool pass_##pass(Module *m)                                                \
    {                                                                          \
        return missing(m, #pass);                                              \
    }
LATER(update)
LATER(fold)
LATER(simplify)
LATER(cse)
LATER(dce)
