/* The times of nodes that a program built with -DEDL_PROFILE writes. */
#ifndef EDL_FRONTEND_PROFILE_FILE_H
#define EDL_FRONTEND_PROFILE_FILE_H

#include "frontend/session.h"

typedef struct ProfileEntry {
    const char *graph, *node;
    double ns, bytes; /* bytes: that it moved; negative: unknown */
} ProfileEntry;

typedef struct ProfileFile {
    double gflops, gbytes; /* what the machine did; 0: not measured */
    VEC(ProfileEntry) entries;
} ProfileFile;

/* False after an error in the session. */
bool profile_read(Session *s, const char *path, ProfileFile *out);

#endif
