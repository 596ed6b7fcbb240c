#include "frontend/schedule.h"

#include "frontend/lower_session.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

Module *
schedule_read(Session *s, const char *path)
{
    const char *text;
    size_t n;
    if (!session_read(s, path, &text, &n))
        return NULL;
    return text_read(s->arena, s->diag, path, text, n);
}

/* ---- placing ---- */

static bool
is_placed(const Graph *g)
{
    graph_each(g, n) {
        if (n->scratch >= 0)
            return true;
        for (int i = 0; i < n->n_results; i++)
            if (n->results[i]->region != REGION_none)
                return true;
    }
    return false;
}

static bool
has_table(const Module *m)
{
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->region != REGION_none)
            return true;
    for (int i = 0; i < m->graphs.n; i++)
        if (is_placed(m->graphs.at[i]))
            return true;
    return false;
}

bool
schedule_lost_table(const Module *m)
{
    for (Region r = REGION_none; r < REGION_COUNT; r++)
        if (m->region_bytes[r] > 0)
            return !has_table(m);
    return false;
}

bool
schedule_place(Module *m)
{
    if (has_table(m))
        return true;
    for (Region r = REGION_none; r < REGION_COUNT; r++)
        m->region_bytes[r] = 0;
    for (int i = 0; i < m->graphs.n; i++)
        m->graphs.at[i]->workspace = m->graphs.at[i]->stash = 0;
    PassOptions only = {.only = "place", .verify = true, .out = stdout};
    return verify_module(m) && passes_run(m, &only);
}

/* ---- the model ---- */

static LowerMode
mode_of(const Module *schedule)
{
    if (module_option_is(schedule, "mode", "infer"))
        return LOWER_infer;
    return schedule->train ? LOWER_train : LOWER_grads;
}

/* As edlc does it before it plans. */
static Module *
lower_for(Session *s, const Module *schedule, const char *path)
{
    LowerOptions o;
    if (!lower_options(s, path, &o))
        return NULL;
    o.model = schedule->name;
    o.mode = mode_of(schedule);
    o.dims = schedule->dims.at;
    o.n_dims = schedule->dims.n;
    Module *m = lower_model(s->arena, s->interner, s->diag, &o);
    if (!m)
        return NULL;
    for (int i = 0; i < schedule->options.n; i++)
        if (strcmp(schedule->options.at[i].key, "mode") != 0)
            module_set_option(m, schedule->options.at[i].key,
                              schedule->options.at[i].value);
    PassOptions before = {.stop_after = "narrow", .out = stdout};
    return passes_run(m, &before) ? m : NULL;
}

static bool
same_mode(Session *s, const Module *schedule, const Module *model)
{
    const char *mode = module_option(schedule, "mode");
    const char *is = module_option(model, "mode");
    if (mode && is && strcmp(mode, is) == 0)
        return true;
    diag_error(s->diag, mode ? module_stated(schedule, "mode")->loc : (Span){0},
               "the mode of the schedule is %s, but the model "
               "has mode %s",
               mode ? mode : "not there", is ? is : "none");
    return false;
}

bool
schedule_check(Session *s, Module *schedule, const char *model_path,
               CheckReport *out)
{
    if (!has_table(schedule)) {
        diag_error(s->diag, (Span){0},
                   "the schedule has no placement table; "
                   "edlc %s --schedule=FILE -o DIR places it again",
                   model_path);
        return false;
    }
    Module *model = lower_for(s, schedule, model_path);
    return model && same_mode(s, schedule, model) &&
           check_schedule(schedule, model, out);
}
