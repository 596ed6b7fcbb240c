/* A compiled model built with cc in a temporary folder, for the commands that
 * run it. */
#ifndef EDL_FRONTEND_CMD_BUILD_H
#define EDL_FRONTEND_CMD_BUILD_H

#include "codegen/codegen.h"
#include "frontend/session.h"

typedef VEC(const char *) Words;

typedef struct Build {
    Session *s;
    const char *folder;
    VEC(const char *) sources; /* without .c */
    const OutFiles *files;
    const char *define; /* -DEDL_PROFILE or NULL */
} Build;

/* Makes the folder and writes the files there. False after an error; then
 * nothing is left. */
bool build_open(Build *b);
/* Makes the folder and in it the program `trainer`. False after an error;
 * then nothing is left. what: the command that needs it, for messages. */
bool build_make(Build *b, const char *what);
const char *build_path(const Build *b, const char *name);
/* All that build_make made; the caller removes what else lies there. */
void build_remove(const Build *b);
/* One word more; NULL ends them. */
void build_add(const Build *b, Words *w, const char *word);
/* Runs a program to its end; false when it fails. */
bool build_run(const Words *words);

#endif
