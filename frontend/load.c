#include "frontend/load.h"

#include <stdlib.h>

#include "frontend/cmd_machine.h"
#include "frontend/lower_session.h"
#include "frontend/schedule.h"
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
    if (m && schedule_lost_table(m))
        return schedule_place(m) ? m : NULL;
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

static void
take_limit(Session *s, Module *m)
{
    const char *text = s->options->memory;
    bool share = text && size_share(text) > 0;
    if (text)
        module_set_option(
            m, "limit",
            share ? text
                  : arena_printf(s->arena, "%lld",
                                 (long long)size_parse(text)));
}

/* What others need of the memory is not the program's. */
static bool
take_reserve(Session *s, Module *m)
{
    const char *text = s->options->reserve, *why = NULL;
    const char *limit = module_option(m, "limit");
    if (!text)
        return true;
    long long left = limit ? strtoll(limit, NULL, 10) - size_parse(text) : 0;
    if (!limit)
        why = "there is no limit that it could be taken from (--memory=SIZE)";
    else if (strchr(limit, '%'))
        why = "it is taken from a limit in bytes, not from a share";
    else if (left <= 0)
        why = arena_printf(s->arena, "it leaves nothing of the limit of %s "
                           "bytes", limit);
    if (!why) {
        module_set_option(m, "limit", arena_printf(s->arena, "%lld", left));
        return true;
    }
    diag_error(s->diag, (Span){0}, "--reserve=%s: %s", text, why);
    return false;
}

/* Said before a plan is made. */
static bool
check_target(Session *s, const Module *m)
{
    const char *to = module_option(m, "offload"), *why = NULL;
    if (!module_option_is(m, "target", "cuda"))
        return true;
    if (to && strncmp(to, "disk", 4) == 0)
        why = "the CUDA target has no disk: offload to the host";
    else if (module_option_is(m, "quantize", "optimizer:i8"))
        why = "the CUDA target keeps optimizer states in f32: no --quantize";
    if (why)
        diag_error(s->diag, (Span){0}, "%s", why);
    return !why;
}

Status
load_plan(Session *s, Module *m)
{
    if (s->options->target)
        module_set_option(m, "target", s->options->target);
    if (s->options->precision)
        module_set_option(m, "precision", s->options->precision);
    if (s->options->quantize)
        module_set_option(m, "quantize", s->options->quantize);
    if (s->options->recompute)
        module_set_option(m, "recompute", s->options->recompute);
    if (s->options->offload)
        module_set_option(m, "offload", s->options->offload);
    take_limit(s, m);
    if (s->options->grads && module_option(m, "limit"))
        module_set_option(m, "gradients", "kept");
    if (!take_reserve(s, m) || !check_target(s, m))
        return STATUS_USAGE;
    return cmd_take_machine(s, m) ? STATUS_DONE : STATUS_INPUT;
}

Module *
load_module(Session *s, const char *path)
{
    Module *m = load_has_suffix(path, ".edl") ? load_model(s, path)
                                              : load_text(s, path);
    return m && load_plan(s, m) == STATUS_DONE ? m : NULL;
}
