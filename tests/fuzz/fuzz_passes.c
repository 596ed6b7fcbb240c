/* Any module that the verifier takes: the passes never crash, and the
 * verifier takes what each of them leaves. */
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A pass may refuse a program, but not leave one that is no module. */
static void
check_refusal(const Diag *d)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    diag_print(d, f, DIAG_TEXT);
    fclose(f);
    if (strstr(out, "found after pass")) {
        fputs(out, stderr);
        abort();
    }
    free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Module *m = text_read(a, d, "fuzz.eir", (const char *)data, n);
    PassOptions o = {.verify = true};
    if (m && verify_module(m) && !passes_run(m, &o))
        check_refusal(d);
    arena_free(a);
    return 0;
}
