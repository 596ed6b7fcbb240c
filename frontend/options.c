#include "frontend/options.h"

#include <errno.h>
#include <stdlib.h>

#include "frontend/size.h"
#include "ir/base/diag.h"

#define ON(command) (1u << CMD_##command)
#define ALL (~0u)
#define PLANNED (ON(compile) | ON(run) | ON(plan) | ON(ir))
#define MODEL (ON(compile) | ON(check) | ON(ir) | ON(plan) | ON(run))

typedef enum OptionKind { SWITCH, TEXT, LIST } OptionKind;

typedef struct OptionInfo {
    const char *flag;
    OptionKind kind;
    const char *value;
    unsigned commands;
    const char *now;
    const char *help;
    const char *name; /* of the field: the capability's, too */
    size_t field;
} OptionInfo;

static const OptionInfo option_info[] = {
#define OPTION(id, flag, kind, value, commands, now, help)                     \
    {flag, kind, value, commands, now, help, #id, offsetof(Options, id)},
#include "frontend/options.def"
#undef OPTION
};

enum { OPTION_COUNT = sizeof option_info / sizeof *option_info };

static const struct CommandInfo {
    const char *name, *arguments, *help;
} command_info[CMD_COUNT] = {
#define COMMAND(id, arguments, help) [CMD_##id] = {#id, arguments, help},
#include "frontend/commands.def"
#undef COMMAND
};

/* ---- help ---- */

static void
help_of_flags(CommandId command, FILE *to)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionInfo *o = &option_info[i];
        if (!(o->commands & (1u << command)))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->flag,
                 !o->value           ? ""
                 : o->flag[1] == '-' ? "="
                                     : " ",
                 o->value ? o->value : "");
        fprintf(to, "  %-32s %s\n", left, o->help);
    }
}

static void
usage_line(CommandId command, FILE *to)
{
    const struct CommandInfo *c = &command_info[command];
    fprintf(to, "edlc %s%s%s [flags]", command == CMD_compile ? "" : c->name,
            command == CMD_compile ? "" : " ", c->arguments);
}

void
options_help(CommandId command, FILE *to)
{
    const char *help = command_info[command].help;
    fputs("usage: ", to);
    usage_line(command, to);
    fprintf(to, "\n%s%s\n", help ? help : "", help ? "\n" : "");
    help_of_flags(command, to);
}

void
options_help_all(FILE *to)
{
    fputs("edlc compiles a model written in EDL to C that trains it.\n\n"
          "usage: edlc FILE.edl -o DIR [flags]\n"
          "       edlc COMMAND ... [flags]\n\ncommands:\n",
          to);
    for (int i = 0; i < CMD_COUNT; i++)
        if (command_info[i].help && i != CMD_compile)
            fprintf(to, "  %-10s %-20s %s\n", command_info[i].name,
                    command_info[i].arguments, command_info[i].help);
    fputs("\nflags of compiling (edlc COMMAND --help: of a command):\n", to);
    help_of_flags(CMD_compile, to);
    fputs("\nexit status: 0 done, 1 the input is wrong, 2 wrong usage,\n"
          "3 it cannot be done under the limits given, 4 a fault of edlc\n",
          to);
}

/* ---- parsing ---- */

/* Whether word is one of the alternatives of "a|b|c[:X]". */
static bool
is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);
    for (const char *c = choices; *c;) {
        size_t m = strcspn(c, "|"), fixed = strcspn(c, "|[");
        if ((n == fixed && !strncmp(c, word, n)) ||
            (fixed < m && !strncmp(c, word, fixed) && word[fixed] == ':'))
            return true;
        c += m + (c[m] == '|');
    }
    return false;
}

/* A limit may be a share as well. */
static bool
check_size(const OptionInfo *o, const char *value)
{
    bool share = o->field == offsetof(Options, memory);
    if (size_parse(value) >= share || (share && size_share(value) > 0))
        return true;
    fprintf(stderr, "edlc: %s=%s: expected a size as 3GiB%s\n", o->flag, value,
            share ? ", or 80%" : "");
    return false;
}

static bool
check_value(const OptionInfo *o, const char *value)
{
    if (o->value && !strcmp(o->value, "SIZE") && !check_size(o, value))
        return false;
    if (o->value && strchr(o->value, '|') && !is_choice(o->value, value)) {
        fprintf(stderr, "edlc: expected %s=%s, found %s\n", o->flag, o->value,
                value);
        return false;
    }
    if (o->now && strcmp(o->now, value)) {
        fprintf(stderr,
                "edlc: %s=%s needs the capability '%s', which this "
                "edlc does not have\n",
                o->flag, value, o->name);
        return false;
    }
    return true;
}

/* One DIM=N. */
static bool
add_dim(Arena *a, Options *o, const char *item)
{
    const char *equals = strchr(item, '=');
    char *end = NULL;
    errno = 0;
    long long v = equals && equals > item ? strtoll(equals + 1, &end, 10) : 0;
    if (!end || end == equals + 1 || *end || errno || v < 1) {
        fprintf(stderr,
                "edlc: expected --set DIM=N with a number above 0, "
                "found %s\n",
                item);
        return false;
    }
    const char *name = arena_strndup(a, item, (size_t)(equals - item));
    for (int i = 0; i < o->dims.n; i++)
        if (!strcmp(o->dims.at[i].name, name)) {
            fprintf(stderr, "edlc: --set gives %s twice\n", name);
            return false;
        }
    vec_push(a, &o->dims, ((DimSetting){name, v}));
    return true;
}

static bool
add_dims(Arena *a, Options *o)
{
    for (int i = 0; i < o->set.n; i++)
        for (const char *p = o->set.at[i];; p++) {
            size_t n = strcspn(p, ",");
            if (!add_dim(a, o, arena_strndup(a, p, n)))
                return false;
            p += n;
            if (!*p)
                break;
        }
    return true;
}

static bool
store(Arena *a, Options *o, const OptionInfo *info, const char *value)
{
    char *field = (char *)o + info->field;
    if (info->kind == SWITCH) {
        *(bool *)field = true;
        return true;
    }
    if (!check_value(info, value))
        return false;
    if (info->kind == TEXT)
        *(const char **)field = value;
    else
        vec_push(a, (Texts *)field, value);
    return true;
}

/* The row of an argument, and where the value begins that it carries. */
static const OptionInfo *
find(const char *arg, CommandId command, const char **value)
{
    *value = NULL;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionInfo *o = &option_info[i];
        size_t n = strlen(o->flag);
        if (!(o->commands & (1u << command)) || strncmp(arg, o->flag, n))
            continue;
        bool is_long = o->flag[1] == '-';
        if (arg[n] && (is_long ? arg[n] != '=' : o->kind == SWITCH))
            continue;
        if (arg[n])
            *value = arg + n + is_long;
        return o;
    }
    return NULL;
}

/* "; it is one of plan, run" where other commands have the flag. */
static bool
print_owners(const char *flag)
{
    const char *before = "; it is one of ";
    for (int i = 0; i < OPTION_COUNT; i++)
        for (int c = 0; !strcmp(option_info[i].flag, flag) && c < CMD_COUNT;
             c++)
            if (command_info[c].help && option_info[i].commands >> c & 1) {
                fprintf(stderr, "%s%s", before, command_info[c].name);
                before = ", ";
            }
    return before[0] == ',';
}

static bool
unknown_flag(Arena *a, CommandId command, const char *arg)
{
    const char *legal[OPTION_COUNT];
    int n = 0;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_info[i].commands & (1u << command))
            legal[n++] = option_info[i].flag;
    const char *flag = arena_strndup(a, arg, strcspn(arg, "="));
    const char *near = diag_nearest(flag, legal, n);
    fprintf(stderr, "edlc: unknown flag %s of %s", flag,
            command_info[command].name);
    if (!print_owners(flag) && near)
        fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nflags are:");
    for (int i = 0; i < n; i++)
        fprintf(stderr, " %s", legal[i]);
    fputs("\n", stderr);
    return false;
}

/* Reads argv[i]; returns how many arguments it took, 0 when it is wrong. */
static int
read_one(Arena *a, Options *o, char **argv, int left)
{
    const char *arg = argv[0], *value;
    if (arg[0] != '-' || !arg[1]) {
        vec_push(a, &o->inputs, arg);
        return 1;
    }
    const OptionInfo *info =
        find(!strcmp(arg, "-h") ? "--help" : arg, o->command, &value);
    if (!info)
        return unknown_flag(a, o->command, arg);
    int took = 1;
    if (info->kind == SWITCH && value) {
        fprintf(stderr, "edlc: %s takes no value\n", info->flag);
        return 0;
    }
    if (info->kind != SWITCH && !value) {
        if (left < 2) {
            fprintf(stderr, "edlc: %s needs a value: %s%s%s\n", info->flag,
                    info->flag, info->flag[1] == '-' ? "=" : " ", info->value);
            return 0;
        }
        value = argv[1];
        took = 2;
    }
    return store(a, o, info, value) ? took : 0;
}

/* ---- what was given ---- */

static bool
is_given(const Options *o, const OptionInfo *info)
{
    const char *field = (const char *)o + info->field;
    switch (info->kind) {
    case SWITCH:
        return *(const bool *)field;
    case TEXT:
        return *(const char *const *)field != NULL;
    case LIST:
        return ((const Texts *)field)->n > 0;
    }
    return false;
}

static bool
is_among(const char *const *flags, const char *flag)
{
    while (*flags && strcmp(*flags, flag) != 0)
        flags++;
    return *flags != NULL;
}

const char *
options_given(const Options *o, const char *const *flags, bool among)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionInfo *info = &option_info[i];
        if (is_given(o, info) && is_among(flags, info->flag) == among)
            return info->flag;
    }
    return NULL;
}

/* ---- the command line ---- */

/* A first word that names no command, and no file either. */
static bool
unknown_command(const char *word)
{
    FILE *f = strpbrk(word, "./") ? NULL : fopen(word, "rb");
    if (word[0] == '-' || strpbrk(word, "./") || f) {
        if (f)
            fclose(f);
        return false;
    }
    const char *legal[CMD_COUNT];
    int n = 0;
    for (int i = 0; i < CMD_COUNT; i++)
        if (command_info[i].help)
            legal[n++] = command_info[i].name;
    const char *near = diag_nearest(word, legal, n);
    if (!strcmp(word, "import")) {
        fputs("edlc: import needs the capability 'reading ONNX models', which "
              "this edlc does not have\n", stderr);
        return true;
    }
    fprintf(stderr, "edlc: there is no file and no command %s", word);
    if (near)
        fprintf(stderr, "; did you mean %s?", near);
    fputs("\nedlc --help lists the commands\n", stderr);
    return true;
}

bool
options_parse(Arena *a, Options *o, int argc, char **argv)
{
    int i = 1;
    *o = (Options){.command = CMD_COUNT};
    for (int c = 0; argc > 1 && c < CMD_COUNT; c++)
        if (!strcmp(argv[1], command_info[c].name))
            o->command = (CommandId)c;
    if (o->command != CMD_COUNT)
        i = 2;
    else if (argc > 1 && unknown_command(argv[1]))
        return false;
    else
        o->command = CMD_compile;
    for (int took; i < argc; i += took)
        if (!(took = read_one(a, o, argv + i, argc - i)))
            return false;
    return add_dims(a, o);
}
