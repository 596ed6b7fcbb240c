/* Numbers as text: the shortest that reads back equal. */
#include "ir/text.h"

#include <math.h>
#include <stdlib.h>

static int failures;

static void
is(Arena *a, double x, const char *want)
{
    const char *got = text_double(a, x);
    if (strcmp(got, want) == 0)
        return;
    printf("expected %s, found %s\n", want, got);
    failures++;
}

/* Doubles of all exponents, by a fixed walk over their bits. */
static void
all_read_back(Arena *a)
{
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double x;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &bits, sizeof x);
        if (isnan(x) || strtod(text_double(a, x), NULL) == x)
            continue;
        printf("%a does not read back\n", x);
        failures++;
    }
}

int
main(void)
{
    Arena *a = arena_new();
    is(a, 0.1, "0.1");
    is(a, 1e-5, "1e-05");
    is(a, 10000, "10000");
    is(a, 1e7, "1e+07");
    is(a, -0.0, "-0");
    is(a, (double)INFINITY, "inf");
    is(a, -(double)INFINITY, "-inf");
    is(a, (double)NAN, "nan");
    is(a, 5e-324, "5e-324");
    is(a, 1.0 / 3, "0.3333333333333333");
    is(a, (double)0.1f, "0.10000000149011612");
    all_read_back(a);
    Type t = {.dtype = DT_bf16, .rank = 2, .dim = {4, 12}};
    if (strcmp(text_type(a, &t), "bf16[4,12]") ||
        strcmp(text_shape(a, &t), "[4, 12]"))
        failures++;
    arena_free(a);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
