/* Any bytes: the reader of machine files never crashes; what it takes, it
 * writes so that the same machine is read again. */
#include "passes/plan/machine.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *
printed(const Machine *k, size_t *n)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, n);
    machine_print(k, f);
    fclose(f);
    return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    char *bytes = arena_strndup(a, (const char *)data, n);
    Machine *k = machine_read(a, d, "m.toml", bytes, n);
    if (!k && diag_count(d) == 0)
        bug("no machine and no message");
    if (k) {
        size_t n1, n2;
        char *one = printed(k, &n1);
        Machine *again = machine_read(a, d, "again.toml", one, n1);
        if (!again) {
            diag_print(d, stderr, DIAG_TEXT);
            bug("cannot read what was written: %s", one);
        }
        char *two = printed(again, &n2);
        if (n1 != n2 || memcmp(one, two, n1) != 0)
            bug("not the same machine:\n%s\n%s", one, two);
        free(one);
        free(two);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    diag_print(d, nowhere, DIAG_TEXT);
    fclose(nowhere);
    arena_free(a);
    return 0;
}
