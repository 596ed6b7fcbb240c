/* Files that are built into edlc: lib/ and what the outputs need. Made by
 * tools/embed (see the Makefile). */
#ifndef EDL_IR_BASE_EMBEDDED_H
#define EDL_IR_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct Embedded {
    const char *name; /* "lib/nn.edl" */
    const char *text; /* with a NUL behind it */
    size_t n;
} Embedded;

extern const Embedded embedded_files[];
extern const int embedded_count;

#endif
