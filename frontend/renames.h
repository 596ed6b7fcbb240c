/* --names=map.txt: lines `theirs = ours`. A * stands for any text, on the
 * right for what the same * on the left took; # starts a comment. */
#ifndef EDL_FRONTEND_RENAMES_H
#define EDL_FRONTEND_RENAMES_H

#include "frontend/session.h"

typedef struct Rename {
    const char *theirs, *ours;
} Rename;

typedef VEC(Rename) Renames;

/* False after errors in s->diag. */
bool renames_read(Session *s, const char *path, Renames *out);
/* Our name for theirs by the first line that fits, or theirs itself. */
const char *renames_apply(Arena *a, const Renames *r, const char *theirs);

#endif
