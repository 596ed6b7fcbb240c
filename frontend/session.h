/* What a subcommand gets, and what it may answer. */
#ifndef EDL_FRONTEND_SESSION_H
#define EDL_FRONTEND_SESSION_H

#include "frontend/options.h"
#include "ir/base/diag.h"
#include "ir/base/map.h"

#define EDLC_VERSION "1"

/* The exit statuses of edlc. */
typedef enum Status {
    STATUS_DONE = 0,
    STATUS_INPUT = 1, /* the input is wrong */
    STATUS_USAGE = 2,
    STATUS_LIMIT = 3, /* it cannot be done under the limits given */
    STATUS_FAULT = 4  /* of the compiler itself */
} Status;

/* One run of edlc. main.c prints what diag collected after the command, and
 * turns STATUS_DONE with errors into STATUS_INPUT. */
typedef struct Session {
    Arena *arena;
    Interner *interner;
    Diag *diag;
    const Options *options;
} Session;

#define COMMAND(id, arguments, help) Status cmd_##id(Session *s);
#include "frontend/commands.def"
#undef COMMAND

/* Reads a whole file ("-": standard input), with a NUL behind its n bytes.
 * False after an error in s->diag. */
bool session_read(Session *s, const char *path, const char **text, size_t *n);

/* The only input of a command; false after a message of wrong usage. */
bool session_one_input(Session *s, const char **path);

/* --effort: per cent of what a search does unless it is written. False after
 * an error. */
bool session_effort(Session *s, int *percent);

#endif
