/* A FILE whose text ends in an arena. */
#ifndef EDL_IR_BASE_TEXT_FILE_H
#define EDL_IR_BASE_TEXT_FILE_H

#include "ir/base/arena.h"

#include <stdio.h>

typedef struct TextFile {
    FILE *to; /* print here */
    char *text;
    size_t n; /* bytes, once it is closed */
} TextFile;

/* Never fails: where there is no memory the process ends. t must stay where
 * it is until it is closed. */
void text_file_open(TextFile *t);
char *text_file_close(TextFile *t, Arena *a);

#endif
