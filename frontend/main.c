/* edlc: reads the command line, runs one command, says what is wrong. */
#include "frontend/session.h"
#include "frontend/syntax.h"

#include <errno.h>

static Status
run_command(Session *s)
{
    switch (s->options->command) {
#define COMMAND(id, arguments, help)                                           \
    case CMD_##id:                                                             \
        return cmd_##id(s);
#include "frontend/commands.def"
#undef COMMAND
    case CMD_COUNT:
        break;
    }
    bug("no such command");
}

/* Prints what was collected; a message makes a good status a bad one. */
static Status
finish(Session *s, Status status)
{
    const char *format = s->options->diagnostics;
    bool json = format && !strcmp(format, "json");
    if (diag_count(s->diag) && status == STATUS_DONE)
        status = STATUS_INPUT;
    if (json || diag_count(s->diag))
        diag_print(s->diag, stderr, json ? DIAG_JSON : DIAG_TEXT);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "edlc: cannot write the output: %s\n", strerror(errno));
        status = status == STATUS_DONE ? STATUS_INPUT : status;
    }
    return status;
}

static Status
run(Arena *arena, int argc, char **argv)
{
    Options options;
    if (argc < 2) {
        options_help_all(stderr);
        return STATUS_USAGE;
    }
    if (!options_parse(arena, &options, argc, argv))
        return STATUS_USAGE;
    Session s = {arena, interner_new(arena), diag_new(arena), &options};
    if (options.version) {
        printf("edlc %s (EDL %d)\n", EDLC_VERSION, SYNTAX_VERSION);
        return finish(&s, STATUS_DONE);
    }
    if (!options.help)
        return finish(&s, run_command(&s));
    if (options.command == CMD_compile && options.inputs.n == 0)
        options_help_all(stdout);
    else
        options_help(options.command, stdout);
    return finish(&s, STATUS_DONE);
}

int
main(int argc, char **argv)
{
    Arena *arena = arena_new();
    Status status = run(arena, argc, argv);
    arena_free(arena);
    return (int)status;
}
