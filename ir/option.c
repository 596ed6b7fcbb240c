#include "ir/option.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What follows `:` in a list of words is any text. */
typedef struct OptionRow {
    const char *key;
    const char *words; /* or NULL: */
    bool (*is)(const char *value);
    const char *expected;
} OptionRow;

/* More digits are no number of bytes. */
enum { DIGITS = 18, AHEAD_DIGITS = 4 };

/* Bytes, or a share of what the program takes without a limit. */
static bool
is_limit(const char *value)
{
    size_t n = strspn(value, "0123456789");
    char *end;
    if (n == 0)
        return false;
    if (value[n] == '\0')
        return n <= DIGITS && strtoll(value, NULL, 10) > 0;
    double share = strtod(value, &end);
    return strcmp(end, "%") == 0 && share > 0 && isfinite(share);
}

/* passes/plan/ahead.h: below 0, edlc chooses. */
static bool
is_ahead(const char *value)
{
    size_t n = strspn(value, "0123456789");
    if (strcmp(value, "-1") == 0 || strcmp(value, "-2") == 0)
        return true;
    return n > 0 && n <= AHEAD_DIGITS && value[n] == '\0';
}

static bool
is_quantize(const char *value)
{
    return strcmp(value, "none") == 0 || strcmp(value, "optimizer:i8") == 0;
}

static const OptionRow rows[] = {
#define WORDS(words) words, NULL, NULL
#define LIMIT NULL, is_limit, "a number of bytes, or a share as 80%"
#define AHEAD NULL, is_ahead, "a number of slots, -1 or -2"
#define QUANTIZE NULL, is_quantize, "none or optimizer:i8"
#define OPTION(key, ...) {#key, __VA_ARGS__},
#include "ir/option.def"
#undef OPTION
#undef QUANTIZE
#undef AHEAD
#undef LIMIT
#undef WORDS
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool
is_word(const char *words, const char *value)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|"), fixed = strcspn(w, ":|");
        bool open = fixed < n;
        if (open ? strncmp(value, w, fixed + 1) == 0 && value[fixed + 1]
                 : strlen(value) == n && memcmp(value, w, n) == 0)
            return true;
        w += n + (w[n] == '|');
    }
    return false;
}

static const char *
keys(Arena *a)
{
    const char *list = rows[0].key;
    for (int i = 1; i < N_ROWS; i++)
        list = arena_printf(a, "%s, %s", list, rows[i].key);
    return list;
}

const char *
option_fault(Arena *a, const char *key, const char *value)
{
    for (int i = 0; i < N_ROWS; i++) {
        const OptionRow *r = &rows[i];
        if (strcmp(r->key, key) != 0)
            continue;
        if (r->words ? is_word(r->words, value) : r->is(value))
            return NULL;
        return arena_printf(a, "option %s takes %s, found `%s`", key,
                            r->words ? r->words : r->expected, value);
    }
    return arena_printf(a, "no option is called %s; the options are %s", key,
                        keys(a));
}
