#include "edl_flags.h"

#include <stdio.h>
#include <string.h>

typedef enum { FLAG_TEXT, FLAG_COUNT, FLAG_SWITCH } FlagKind;

typedef enum {
    F_STEPS,
    F_THREADS,
    F_SEED,
    F_INPUTS,
    F_OUTPUTS,
    F_GRADS,
    F_INIT,
    F_NAMES,
    F_RESUME,
    F_SAVE,
    F_METRICS,
    F_DISK,
    F_TRACE,
    F_PROFILE,
    F_QUIET,
    F_HELP
} FlagId;

typedef struct FlagRow {
    FlagId id;
    const char *name;
    FlagKind kind;
    const char *value, *help;
} FlagRow;

static const FlagRow rows[] = {
    {F_STEPS, "--steps", FLAG_COUNT, "N",
     "stop when N steps are done, those before a resume included"},
    {F_THREADS, "--threads", FLAG_COUNT, "N",
     "threads to compute with (all processors); changes no result"},
    {F_SEED, "--seed", FLAG_COUNT, "N", "instead of the model's seed"},
    {F_INPUTS, "--inputs", FLAG_TEXT, "FILE",
     "take the batches from a safetensors file, not from `data`"},
    {F_OUTPUTS, "--outputs", FLAG_TEXT, "FILE",
     "write the outputs of the last step"},
    {F_GRADS, "--grads", FLAG_SWITCH, NULL,
     "with --outputs: the mean gradients too, as grad/NAME"},
    {F_INIT, "--init", FLAG_TEXT, "FILE",
     "start from these parameters, by name, all of them"},
    {F_NAMES, "--names", FLAG_TEXT, "FILE",
     "with --init: lines `theirs = ours`, * allowed"},
    {F_RESUME, "--resume", FLAG_TEXT, "FILE",
     "continue from a checkpoint, with the same bits"},
    {F_SAVE, "--save", FLAG_TEXT, "FILE", "write a checkpoint at the end"},
    {F_METRICS, "--metrics", FLAG_TEXT, "FILE",
     "a line of JSON for every step and validation"},
    {F_DISK, "--disk", FLAG_TEXT, "FOLDER",
     "where the temporary file of --offload=disk goes"},
    {F_TRACE, "--trace", FLAG_TEXT, "FILE",
     "`make profile` only: when each kernel ran, for Perfetto"},
    {F_PROFILE, "--profile", FLAG_TEXT, "FILE",
     "`make profile` only: the time of every node, for edlc"},
    {F_QUIET, "--quiet", FLAG_SWITCH, NULL, "no progress"},
    {F_HELP, "--help", FLAG_SWITCH, NULL, "this text"},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static int
wrong(const char *what, const char *arg)
{
    fprintf(stderr, "error: %s%s; see --help\n", arg, what);
    return 0;
}

static int
parse_count(const char *s, uint64_t *out)
{
    uint64_t n = 0;
    if (!*s)
        return 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || n > (INT64_MAX - 9) / 10)
            return 0;
        n = n * 10 + (uint64_t)(*s - '0');
    }
    *out = n;
    return 1;
}

static const char **
text_of(EdlFlags *f, FlagId id)
{
    switch (id) {
    case F_INPUTS:
        return &f->inputs;
    case F_OUTPUTS:
        return &f->outputs;
    case F_INIT:
        return &f->init;
    case F_NAMES:
        return &f->names;
    case F_RESUME:
        return &f->resume;
    case F_SAVE:
        return &f->save;
    case F_DISK:
        return &f->disk;
    case F_TRACE:
        return &f->trace;
    case F_PROFILE:
        return &f->profile;
    default:
        return &f->metrics;
    }
}

static int
set_count(EdlFlags *f, const FlagRow *row, const char *value)
{
    uint64_t n = 0;
    if (!parse_count(value, &n))
        return wrong(": not a whole number", value);
    if (row->id == F_STEPS) {
        f->steps = (int64_t)n;
    } else if (row->id == F_SEED) {
        f->seed = n;
        f->has_seed = 1;
    } else {
        if (n < 1 || n > 4096)
            return wrong(": not between 1 and 4096", value);
        f->threads = (int64_t)n;
    }
    return 1;
}

static void
set_switch(EdlFlags *f, const FlagRow *row)
{
    if (row->id == F_GRADS)
        f->grads = 1;
    else if (row->id == F_QUIET)
        f->quiet = 1;
    else
        f->help = 1;
}

/* The row that arg names, its value after '=' in *value or NULL. */
static const FlagRow *
find_row(const char *arg, const char **value)
{
    const char *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    *value = equals ? equals + 1 : NULL;
    for (int i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == n && !strncmp(arg, rows[i].name, n))
            return &rows[i];
    }
    return NULL;
}

static int
check(const EdlFlags *f)
{
    if (f->help)
        return 1;
    if (f->grads && !f->outputs)
        return wrong("--grads needs --outputs", "");
    if (f->names && !f->init)
        return wrong("--names needs --init", "");
#ifndef EDL_PROFILE
    if (f->trace || f->profile)
        return wrong("--trace and --profile need a program that is built by "
                     "`make profile`", "");
#endif
    if (f->resume && f->init)
        return wrong("--resume and --init exclude each other", "");
    if (f->resume && f->has_seed)
        return wrong("--resume has its own seed; leave --seed out", "");
    return 1;
}

int
edl_flags_parse(EdlFlags *f, int argc, char **argv)
{
    memset(f, 0, sizeof *f);
    f->steps = -1;
    for (int i = 1; i < argc; i++) {
        const char *value;
        const FlagRow *row = find_row(argv[i], &value);
        if (!row)
            return wrong(": unknown argument", argv[i]);
        if (row->kind == FLAG_SWITCH && value)
            return wrong(": takes no value", argv[i]);
        if (row->kind != FLAG_SWITCH && !value) {
            if (++i == argc)
                return wrong(": a value is missing", row->name);
            value = argv[i];
        }
        if (row->kind == FLAG_SWITCH)
            set_switch(f, row);
        else if (row->kind == FLAG_TEXT)
            *text_of(f, row->id) = value;
        else if (!set_count(f, row, value))
            return 0;
    }
    return check(f);
}

void
edl_flags_help(const EdlModel *model, const char *program)
{
    printf("usage: %s [options]\n\n%s the model %s.\n\n", program,
           model->step ? "Trains" : "Runs", model->name);
    for (int i = 0; i < N_ROWS; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s%s%s", rows[i].name,
                 rows[i].value ? "=" : "", rows[i].value ? rows[i].value : "");
        printf("  %-16s  %s\n", left, rows[i].help);
    }
    printf("\nSIGINT and SIGTERM end a run after the running step, with its "
           "checkpoint written.\n"
           "Exit status: 0 done, 1 the input is wrong, 2 wrong usage, 3 not "
           "enough memory.\n");
}
