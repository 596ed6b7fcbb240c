#include "ir/base/text_file.h"

#include "ir/base/diag.h"

#include <stdlib.h>

void
text_file_open(TextFile *t)
{
    t->to = open_memstream(&t->text, &t->n);
    if (!t->to)
        bug("out of memory");
}

char *
text_file_close(TextFile *t, Arena *a)
{
    if (fclose(t->to) != 0)
        bug("out of memory");
    char *kept = arena_strndup(a, t->text, t->n);
    free(t->text);
    return kept;
}
