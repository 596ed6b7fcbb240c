/* Any bytes: the reader of modules never crashes; what it takes, the
 * verifier judges, and what is printed reads back as the same text. */
#include "ir/text.h"
#include "ir/verify.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *
printed(const Module *m)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    text_print(m, f);
    fclose(f);
    return out;
}

static void
show_errors(const Diag *d)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    diag_print(d, f, DIAG_TEXT);
    diag_print(d, f, DIAG_JSON);
    fclose(f);
    free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Module *m = text_read(a, d, "fuzz.eir", (const char *)data, n);
    if (!m != (diag_count(d) > 0))
        abort();
    if (m) {
        char *once = printed(m);
        Module *again = text_read(a, diag_new(a), "b.eir", once, strlen(once));
        if (!again)
            abort();
        char *twice = printed(again);
        if (strcmp(once, twice) != 0)
            abort();
        bool good = verify_module(m);
        if (good != (diag_count(d) == 0) || good != verify_module(again))
            abort();
        free(once);
        free(twice);
    }
    show_errors(d);
    arena_free(a);
    return 0;
}
