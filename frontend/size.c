#include "frontend/size.h"

#include <string.h>

/* Sizes of memory: the powers of two, and of ten. */
static const struct Unit {
    const char *name;
    int64_t bytes;
} units[] = {
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"B", 1},
};

int64_t
size_unit(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].name, name))
            return units[i].bytes;
    return 0;
}

int64_t
size_parse(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    int64_t whole = 0, scale = 1, unit;
    if (!digits || digits > 18)
        return -1;
    for (size_t i = 0; i < digits; i++)
        whole = 10 * whole + (text[i] - '0');
    double part = 0;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9' && scale < 1000000; rest++)
            part = 10 * part + (*rest - '0'), scale *= 10;
    while (*rest == ' ')
        rest++;
    unit = *rest ? size_unit(rest) : 1;
    if (!unit || whole > INT64_MAX / unit - 1)
        return -1;
    return whole * unit + (int64_t)(part * (double)unit / (double)scale);
}

double
size_share(const char *text)
{
    enum { MOST = 15 };
    size_t whole = strspn(text, "0123456789"), part = 0;
    const char *end = text + whole;
    double share = 0, scale = 1;
    for (size_t i = 0; i < whole && i < MOST; i++)
        share = 10 * share + (text[i] - '0');
    if (*end == '.')
        end += 1 + (part = strspn(end + 1, "0123456789"));
    if (!whole || whole > MOST || part > MOST || strcmp(end, "%") != 0)
        return -1;
    for (size_t i = 0; i < part; i++)
        scale /= 10, share += scale * (text[whole + 1 + i] - '0');
    return share > 0 ? share : -1;
}
