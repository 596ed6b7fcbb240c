/* Diagnostics: order, repetition, notes, wide characters, nearest names. */
#include "ir/base/diag.h"

#include <stdlib.h>

static int failures;

static void
expect(const char *what, const char *found, const char *wanted)
{
    if (!strcmp(found ? found : "(none)", wanted))
        return;
    printf("%s: expected\n%s\nfound\n%s\n", what, wanted,
           found ? found : "(none)");
    failures++;
}

static Span
at(int line, int col, int end)
{
    return (Span){0, line, col, line, end};
}

/* Later errors of earlier places come first; the same error twice is one,
 * and the notes of the second are not shown. */
static void
test_order(Arena *a)
{
    static const char text[] = "x = y\n\tz = \"\xe6\x97\xa5\" + w\n";
    Diag *d = diag_new(a);
    diag_add_source(d, "f.edl", text, sizeof text - 1);
    for (int i = 0; i < 2; i++) {
        diag_error(d, at(2, 12, 13), "no %s", "w");
        diag_note(d, at(1, 1, 4), "x is here");
    }
    diag_error(d, at(1, 5, 6), "no y");
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    diag_print(d, f, DIAG_TEXT);
    fclose(f);
    expect("text", out,
           "f.edl:1:5: error: no y\n"
           "    1 | x = y\n"
           "      |     ^\n"
           "f.edl:2:12: error: no w\n"
           "    2 |  z = \"\xe6\x97\xa5\" + w\n"
           "      |             ^\n"
           "f.edl:1:1: note: x is here\n"
           "    1 | x = y\n"
           "      | ^~~\n");
    if (diag_count(d) != 3)
        failures++;
    free(out);
}

static void
test_nearest(void)
{
    static const char *const legal[] = {"causal", "mask", "scale", "eps"};
    expect("swap", diag_nearest("cuasal", legal, 4), "causal");
    expect("one letter", diag_nearest("esp", legal, 4), "eps");
    expect("far", diag_nearest("temperature", legal, 4), "(none)");
    expect("empty", diag_nearest("", legal, 4), "(none)");
}

int
main(void)
{
    Arena *a = arena_new();
    test_order(a);
    test_nearest();
    arena_free(a);
    return failures != 0;
}
