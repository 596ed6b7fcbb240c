/* Any bytes: the parser never crashes; where they are a program, its
 * canonical layout is the same program and a fixed point. */
#include "frontend/fmt.h"
#include "frontend/parse.h"
#include "frontend/print.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *
tree_of(Arena *a, Interner *in, const char *text, size_t n)
{
    Diag *d = diag_new(a);
    Syntax *tree = parse_file(a, in, d, "fuzz.edl", text, n);
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (diag_count(d)) {
        diag_print(d, f, DIAG_TEXT);
        diag_print(d, f, DIAG_JSON);
        fclose(f);
        free(out);
        return NULL;
    }
    print_syntax(tree, f);
    fclose(f);
    return out;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Interner *in = interner_new(a);
    const char *text = (const char *)data;
    char *before = tree_of(a, in, text, n);
    const char *once = fmt_text(a, in, diag_new(a), "a.edl", text, n);
    if (!before != !once)
        bug("the parser and fmt disagree about errors");
    if (once) {
        char *after = tree_of(a, in, once, strlen(once));
        const char *twice =
            fmt_text(a, in, diag_new(a), "b.edl", once, strlen(once));
        if (!after || strcmp(before, after))
            abort();
        if (!twice || strcmp(once, twice))
            abort();
        free(after);
    }
    free(before);
    arena_free(a);
    return 0;
}
