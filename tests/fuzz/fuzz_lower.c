/* Any bytes: the lowering never crashes; what it accepts verifies, and the
 * passes take it. */
#include "frontend/lower.h"
#include "ir/verify.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
lower_as(const LowerOptions *o)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Modules models = {0};
    bool good = lower_file(a, interner_new(a), d, o, &models);
    if (good != (diag_count(d) == 0))
        abort();
    for (int i = 0; good && i < models.n; i++)
        if (!verify_module(models.at[i])) {
            diag_print(d, stderr, DIAG_TEXT);
            abort();
        }
    arena_free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    LowerOptions o = {.file = "fuzz.edl", .text = (const char *)data, .n = n};
    lower_as(&o);
    o.mode = LOWER_infer;
    lower_as(&o);
    return 0;
}
