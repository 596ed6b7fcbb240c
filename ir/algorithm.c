#include "ir/algorithm.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *word;
    int64_t most;
} settings[] = {
#define SETTING(word, most) {#word, most},
#include "ir/algorithm.def"
#undef SETTING
};

enum { MOST_ID = INT32_MAX };

/* Digits, from *at on, up to a space or the end. */
static bool
take_number(const char **at, int64_t most, int64_t *out)
{
    const char *from = *at;
    *out = 0;
    for (; **at >= '0' && **at <= '9' && *out <= most; ++*at)
        *out = *out * 10 + (**at - '0');
    return *at > from && *out <= most && (**at == ' ' || **at == '\0');
}

static bool
take_word(const char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0 || (*at)[n] != ' ')
        return false;
    *at += n + 1;
    return true;
}

static const char *
words(Arena *a)
{
    const char *list = "";
    for (int i = 0; i < ALGORITHM_SETTINGS; i++)
        list = arena_printf(a, "%s%s%s", list, i ? ", " : "", settings[i].word);
    return list;
}

const char *
algorithm_read(Arena *a, const char *text, Algorithm *out)
{
    const char *at = text;
    *out = (Algorithm){0};
    if (!take_number(&at, MOST_ID, &out->id))
        return "an algorithm begins with its number";
    for (int i = 0; *at == ' ' && i < ALGORITHM_SETTINGS; i++) {
        const char *word = at + 1;
        if (!take_word(&word, settings[i].word))
            continue;
        if (!take_number(&word, settings[i].most, &out->setting[i]))
            return arena_printf(a, "`%s` takes a number up to %" PRId64,
                                settings[i].word, settings[i].most);
        at = word;
    }
    if (*at)
        return arena_printf(a, "after its number an algorithm has some of %s, "
                               "in this order", words(a));
    if (out->setting[ALGORITHM_reduction] == 1)
        return "`reduction 1` adds up in an order that varies";
    return NULL;
}

const char *
algorithm_text(Arena *a, const Algorithm *x)
{
    const char *text = arena_printf(a, "%" PRId64, x->id);
    for (int i = 0; i < ALGORITHM_SETTINGS; i++)
        if (x->setting[i])
            text = arena_printf(a, "%s %s %" PRId64, text, settings[i].word,
                                x->setting[i]);
    return text;
}
