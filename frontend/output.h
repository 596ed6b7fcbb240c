/* Writing what a command made: all files or none. */
#ifndef EDL_FRONTEND_OUTPUT_H
#define EDL_FRONTEND_OUTPUT_H

#include "codegen/codegen.h"
#include "frontend/session.h"

/* Writes the files into the folder, which is made where it is missing. Each
 * is written beside its place first; only when all are there they take their
 * names. False after an error in s->diag; then nothing has changed. */
bool output_write(Session *s, const char *folder, const OutFiles *files);
/* False, after an error in s->diag, where no file could be made beside path:
 * asked before long work. */
bool output_ask(Session *s, const char *path);
/* Writes one file, beside its place first unless something that is no file
 * (a device, a pipe) is there. False after an error in s->diag. */
bool output_write_file(Session *s, const char *path, const char *text,
                       size_t n);

#endif
