#include "frontend/load.h"

#include <stdlib.h>

#include "frontend/lower_session.h"
#include "frontend/size.h"
#include "ir/text.h"
#include "ir/verify.h"

bool
load_has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

static Module *
load_text(Session *s, const char *path)
{
    const char *text;
    size_t n;
    if (!session_read(s, path, &text, &n))
        return NULL;
    Module *m = text_read(s->arena, s->diag, path, text, n);
    return m && verify_module(m) ? m : NULL;
}

static Module *
load_model(Session *s, const char *path)
{
    LowerOptions o;
    if (!lower_options(s, path, &o))
        return NULL;
    return lower_model(s->arena, s->interner, s->diag, &o);
}

static bool
take_limit(Session *s, Module *m)
{
    const char *text = s->options->memory;
    char *end;
    if (!text)
        return true;
    double share = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0 && share > 0 && share < 1e9) {
        module_set_option(m, "limit", text);
        return true;
    }
    int64_t bytes = size_parse(text);
    if (bytes > 0) {
        module_set_option(m, "limit",
                          arena_printf(s->arena, "%lld", (long long)bytes));
        return true;
    }
    diag_error(s->diag, (Span){0},
               "--memory=%s: expected a size as 3GiB, or 80%%", text);
    return false;
}

bool
load_plan(Session *s, Module *m)
{
    if (s->options->recompute)
        module_set_option(m, "recompute", s->options->recompute);
    return take_limit(s, m);
}

Module *
load_module(Session *s, const char *path)
{
    Module *m = load_has_suffix(path, ".edl") ? load_model(s, path)
                                              : load_text(s, path);
    return m && load_plan(s, m) ? m : NULL;
}
