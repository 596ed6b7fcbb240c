/* The command line: frontend/commands.def and frontend/options.def say what
 * there is. */
#ifndef EDL_FRONTEND_OPTIONS_H
#define EDL_FRONTEND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/base/arena.h"

typedef enum CommandId {
#define COMMAND(id, arguments, help) CMD_##id,
#include "frontend/commands.def"
#undef COMMAND
    CMD_COUNT
} CommandId;

typedef VEC(const char *) Texts;

/* --set B=8: a dim and its value. */
typedef struct DimSetting {
    const char *name;
    int64_t value;
} DimSetting;

typedef VEC(DimSetting) DimSettings;

typedef struct Options {
    CommandId command;
    Texts inputs; /* what is no flag */
    DimSettings dims;
#define FIELD_SWITCH bool
#define FIELD_TEXT const char *
#define FIELD_LIST Texts
#define OPTION(id, flag, kind, value, commands, now, help) FIELD_##kind id;
#include "frontend/options.def"
#undef OPTION
#undef FIELD_LIST
#undef FIELD_TEXT
#undef FIELD_SWITCH
} Options;

/* False after a message to standard error: wrong usage. */
bool options_parse(Arena *a, Options *o, int argc, char **argv);

/* The first flag that is given and is in flags, which NULL ends, or, without
 * among, is not in flags; NULL where there is none. */
const char *options_given(const Options *o, const char *const *flags,
                          bool among);

/* --help of one command; the general one says what edlc is as well. */
void options_help(CommandId command, FILE *to);
void options_help_all(FILE *to);

#endif
