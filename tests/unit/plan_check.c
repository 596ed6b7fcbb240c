/* plan_check SCHED MODEL.eir: the checker of schedules without the verifier of
 * the IR, which refuses places first. MODEL: what `edlc ir --stop-after=fuse`
 * prints. Status 1, and why, if it refuses. */
#include "ir/text.h"
#include "passes/plan/check.h"

#include <stdio.h>
#include <stdlib.h>

static Module *
read(Arena *a, Diag *d, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        exit(2);
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *text = arena_alloc(a, n + 1);
    n = fread(text, 1, n, f);
    fclose(f);
    return text_read(a, d, path, text, n);
}

int
main(int argc, char **argv)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    CheckReport report;
    Module *schedule = argc == 3 ? read(a, d, argv[1]) : NULL;
    Module *model = schedule ? read(a, d, argv[2]) : NULL;
    bool good = model && check_values(schedule, model, &report);
    diag_print(d, stdout, DIAG_TEXT);
    arena_free(a);
    return model ? !good : 2;
}
