#include "frontend/compile.h"

#include "frontend/cmd_limit.h"
#include "frontend/cmd_passes.h"
#include "frontend/cmd_products.h"
#include "frontend/load.h"
#include "frontend/lower_session.h"
#include "frontend/output.h"
#include "frontend/schedule.h"
#include "passes/pass.h"

/* The options that the schedule states. */
static Status
take_options(Session *s, Module *m)
{
    const char *target = s->options->target;
    if (target && !codegen_target(target)) {
        diag_error(s->diag, (Span){0}, "--target=%s: the targets are %s",
                   target, codegen_targets(s->arena));
        return STATUS_USAGE;
    }
    module_set_option(m, "target", target ? target : "c");
    return load_plan(s, m);
}

static Status
run_passes(Session *s, Module *m)
{
    const Options *in = s->options;
    PassOptions o = {.dump = in->dump,
                     .stop_after = in->stop_after,
                     .only = in->only,
                     .time = in->time,
                     .out = stdout};
    if (passes_run(m, &o))
        return STATUS_DONE;
    if (!m->over_limit)
        return STATUS_INPUT;
    cmd_limit_help(s, m);
    return STATUS_LIMIT;
}

static Status
emit_model(Session *s, Module *m, OutFiles *out)
{
    bool installed =
        s->options->runtime && strcmp(s->options->runtime, "installed") == 0;
    CodegenOptions o = {.copy_runtime = !installed};
    const char *name = module_option(m, "target");
    Codegen emit = codegen_target(name ? name : "c");
    if (!emit) {
        diag_error(s->diag, (Span){0}, "option target = %s: the targets are %s",
                   name, codegen_targets(s->arena));
        return STATUS_INPUT;
    }
    return cmd_take_products(s, m) && emit(m, &o, out) ? STATUS_DONE
                                                       : STATUS_INPUT;
}

Status
compile_model(Session *s, Module *m, OutFiles *out)
{
    Status status = take_options(s, m);
    if (status != STATUS_DONE)
        return status;
    status = run_passes(s, m);
    if (status != STATUS_DONE || s->options->stop_after || s->options->only)
        return status;
    return emit_model(s, m, out);
}

/* ---- a schedule that was edited ---- */

/* What the head of a schedule states, no flag says: these are of the rest.
 * --target may say the same as the head. */
static const char *const schedule_flags[] = {
    "-o",        "-I",         "--model",       "--target",
    "--runtime", "--schedule", "--diagnostics", NULL};

static bool
flags_fit(const Session *s)
{
    const char *flag = options_given(s->options, schedule_flags, false);
    if (flag)
        fprintf(stderr,
                "edlc: %s does not go with --schedule, whose head states what "
                "holds\n", flag);
    return !flag;
}

static bool
target_fits(const Session *s, const Module *schedule)
{
    const char *asked = s->options->target;
    const char *stated = module_option(schedule, "target");
    if (!stated)
        stated = "c";
    if (!asked || strcmp(asked, stated) == 0)
        return true;
    fprintf(stderr,
            "edlc: --target=%s does not go with --schedule, whose head states "
            "target = %s\n", asked, stated);
    return false;
}

static Status
compile_schedule(Session *s, Module *m, const char *model, OutFiles *out)
{
    CheckReport report;
    if (!schedule_place(m))
        return m->over_limit ? STATUS_LIMIT : STATUS_INPUT;
    if (!schedule_check(s, m, model, &report))
        return STATUS_INPUT;
    return emit_model(s, m, out);
}

/* Two models of a file share the runtime's files. */
static void
add_files(Session *s, OutFiles *all, const OutFiles *one)
{
    for (int i = 0; i < one->files.n; i++) {
        bool there = false;
        for (int k = 0; k < all->files.n; k++)
            there = there ||
                    strcmp(all->files.at[k].name, one->files.at[i].name) == 0;
        if (!there)
            vec_push(s->arena, &all->files, one->files.at[i]);
    }
}

static char
folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* They differ in case alone, so that their macros are one; or a is b_main,
 * the name of b's trainer. */
static bool
clash(const char *a, const char *b)
{
    int n = 0;
    while (a[n] && folded(a[n]) == folded(b[n]))
        n++;
    return !b[n] && (!a[n] || strcmp(a + n, "_main") == 0);
}

static bool
have_names(Session *s, const Modules *models)
{
    for (int i = 0; i < models->n; i++)
        for (int k = 0; k < models->n; k++) {
            const char *a = models->at[i]->name, *b = models->at[k]->name;
            if (i == k || !clash(a, b))
                continue;
            diag_error(s->diag, (Span){0},
                       "the outputs of models %s and %s have the same names: "
                       "rename one, or compile them apart with --model",
                       a, b);
            return false;
        }
    return true;
}

/* schedule: NULL, or that of one of the models. */
static Status
compile_all(Session *s, const char *path, const Modules *models,
            Module *schedule, OutFiles *all)
{
    bool found = !schedule;
    if (!have_names(s, models))
        return STATUS_INPUT;
    for (int i = 0; i < models->n; i++) {
        OutFiles one = {0};
        bool mine =
            schedule && strcmp(schedule->name, models->at[i]->name) == 0;
        Status status = mine ? compile_schedule(s, schedule, path, &one)
                             : compile_model(s, models->at[i], &one);
        if (status != STATUS_DONE)
            return status;
        found |= mine;
        add_files(s, all, &one);
    }
    if (found)
        return STATUS_DONE;
    diag_error(s->diag, (Span){0}, "the schedule is of model %s, which is not "
               "compiled here", schedule->name);
    return STATUS_INPUT;
}

/* With --dump the IR is what is asked for; files only where they are too. */
static bool
wants_files(const Options *o)
{
    return o->output || !o->dump;
}

/* edlc FILE -o DIR: every model of the file, or --model. */
Status
cmd_compile(Session *s)
{
    const char *path, *edited = s->options->schedule;
    LowerOptions o;
    Modules models = {0};
    OutFiles all = {0};
    Module *schedule = NULL;
    if (!session_one_input(s, &path) || !cmd_passes_known(s) ||
        (edited && !flags_fit(s)))
        return STATUS_USAGE;
    if (edited && !(schedule = schedule_read(s, edited)))
        return STATUS_INPUT;
    if (schedule && !target_fits(s, schedule))
        return STATUS_USAGE;
    if (!lower_options(s, path, &o) ||
        !lower_file(s->arena, s->interner, s->diag, &o, &models))
        return STATUS_INPUT;
    if (models.n == 0)
        diag_error(s->diag, (Span){0}, "%s has no model", path);
    Status status = compile_all(s, path, &models, schedule, &all);
    if (status != STATUS_DONE)
        return status;
    const char *folder = s->options->output ? s->options->output : ".";
    if (all.files.n && wants_files(s->options) &&
        !output_write(s, folder, &all))
        return STATUS_INPUT;
    return STATUS_DONE;
}
