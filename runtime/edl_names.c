#include "edl_exchange.h"

#include <stdlib.h>
#include <string.h>

typedef struct EdlNameRule {
    const char *theirs, *ours;
} EdlNameRule;

static char *
trim(char *from, char *to)
{
    while (from < to && strchr(" \t\r", *from))
        from++;
    while (to > from && strchr(" \t\r", to[-1]))
        to--;
    *to = '\0';
    return from;
}

static int
stars(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += *s == '*';
    return n;
}

static EdlStatus
parse_line(EdlNames *n, char *line, char *end, int64_t number, const char *what,
           EdlError *e)
{
    char *hash = strchr(line, '#');
    line = trim(line, hash ? hash : end);
    if (!*line)
        return EDL_OK;
    char *equals = strchr(line, '=');
    if (!equals)
        return edl_error(e, EDL_EFORMAT, "%s:%lld: expected theirs = ours",
                         what, (long long)number);
    EdlNameRule *r = &n->rules[n->count++];
    r->ours = trim(equals + 1, equals + strlen(equals));
    r->theirs = trim(line, equals);
    if (!*r->theirs || !*r->ours || stars(r->theirs) < stars(r->ours) ||
        stars(r->theirs) > 8)
        return edl_error(e, EDL_EFORMAT,
                         "%s:%lld: both names are needed, and no more * to "
                         "the right than to the left",
                         what, (long long)number);
    return EDL_OK;
}

static EdlStatus
parse_lines(EdlNames *n, const char *what, EdlError *e)
{
    char *line = n->text;
    EdlStatus s = EDL_OK;
    for (int64_t number = 1; line && s == EDL_OK; number++) {
        char *newline = strchr(line, '\n');
        if (newline)
            *newline = '\0';
        s = parse_line(n, line, line + strlen(line), number, what, e);
        line = newline ? newline + 1 : NULL;
    }
    return s;
}

EdlStatus
edl_names_parse(EdlNames *n, const unsigned char *bytes, uint64_t size,
                const char *what, EdlError *e)
{
    int64_t lines = 1;
    memset(n, 0, sizeof *n);
    for (uint64_t i = 0; i < size; i++) {
        lines += bytes[i] == '\n';
        if (bytes[i] == '\0')
            return edl_error(e, EDL_EFORMAT, "%s: not a text", what);
    }
    n->text = (char *)malloc((size_t)size + 1);
    n->rules = (EdlNameRule *)calloc((size_t)lines, sizeof *n->rules);
    EdlStatus s;
    if (n->text && n->rules) {
        if (size)
            memcpy(n->text, bytes, (size_t)size);
        n->text[size] = '\0';
        s = parse_lines(n, what, e);
    } else {
        s = edl_error(e, EDL_ENOMEM, "%s: out of memory", what);
    }
    if (s != EDL_OK)
        edl_names_close(n);
    return s;
}

EdlStatus
edl_names_open(EdlNames *n, const char *path, EdlError *e)
{
    EdlMap map;
    memset(n, 0, sizeof *n);
    EdlStatus s = edl_map(&map, path, e);
    if (s != EDL_OK)
        return s;
    s = edl_names_parse(n, map.data, map.size, path, e);
    edl_unmap(&map);
    return s;
}

void
edl_names_close(EdlNames *n)
{
    free(n->text);
    free(n->rules);
    memset(n, 0, sizeof *n);
}

typedef struct Part {
    const char *at;
    size_t n;
} Part;

/* Whether the pattern matches all of s, each * as short as it can be; what
 * the stars match in part. One place to go back to is enough: a later star
 * may take whatever an earlier one could. */
static int
match(const char *pattern, const char *s, Part *part)
{
    const char *star = NULL;
    int k = -1;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            part[++k].at = s;
            part[k].n = 0;
        } else if (*pattern == *s) {
            if (!*s)
                return 1;
            pattern++;
            s++;
        } else if (star && part[k].at[part[k].n]) {
            part[k].n++;
            s = part[k].at + part[k].n;
            pattern = star;
        } else {
            return 0;
        }
    }
}

static int
append(char **to, const char *end, const char *from, size_t n)
{
    if ((size_t)(end - *to) <= n)
        return 0;
    memcpy(*to, from, n);
    *to += n;
    **to = '\0';
    return 1;
}

int
edl_names_map(const EdlNames *n, const char *theirs, char *ours, size_t room)
{
    Part part[8];
    const char *end = ours + room;
    for (int64_t i = 0; i < n->count; i++) {
        int k = 0;
        if (!match(n->rules[i].theirs, theirs, part))
            continue;
        for (const char *p = n->rules[i].ours; *p; p++) {
            int star = *p == '*';
            if (!append(&ours, end, star ? part[k].at : p,
                        star ? part[k].n : 1))
                return 0;
            k += star;
        }
        return 1;
    }
    return append(&ours, end, theirs, strlen(theirs));
}
