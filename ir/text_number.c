/* Numbers, texts and types as text. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ir/text.h"
#include "ir/text_printer.h"

enum { DOUBLE_BYTES = 40 };

/* Whole numbers up to a million stay as people write them: 10000, not 1e+04.
 */
static void
shortest(char out[DOUBLE_BYTES], double x)
{
    if (isnan(x)) {
        strcpy(out, "nan");
        return;
    }
    if (fabs(x) <= 1e6 && x == floor(x)) {
        snprintf(out, DOUBLE_BYTES, "%.0f", x);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, DOUBLE_BYTES, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            return;
    }
}

char *
text_double(Arena *a, double x)
{
    char s[DOUBLE_BYTES];
    shortest(s, x);
    return arena_strndup(a, s, strlen(s));
}

void
print_double(FILE *to, double x)
{
    char s[DOUBLE_BYTES];
    shortest(s, x);
    fputs(s, to);
}

/* Bytes that UTF-8 text does not hold, and control characters, as \xHH:
 * high bytes stay as they are. */
void
print_quoted(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", to);
        else if (c < ' ' || c == 0x7f)
            fprintf(to, "\\x%02x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

void
print_type(FILE *to, const Type *t)
{
    fputs(dtype_info[t->dtype].name, to);
    fputc('[', to);
    for (int i = 0; i < t->rank; i++)
        fprintf(to, "%s%" PRId64, i ? "," : "", t->dim[i]);
    fputc(']', to);
}

static char *
dims(Arena *a, const Type *t, const char *comma)
{
    char *s = "";
    for (int i = 0; i < t->rank; i++)
        s = arena_printf(a, "%s%s%" PRId64, s, i ? comma : "", t->dim[i]);
    return arena_printf(a, "[%s]", s);
}

char *
text_shape(Arena *a, const Type *t)
{
    return dims(a, t, ", ");
}

char *
text_type(Arena *a, const Type *t)
{
    return arena_printf(a, "%s%s", dtype_info[t->dtype].name, dims(a, t, ","));
}
