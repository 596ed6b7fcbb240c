#include "edl_json.h"

#include <string.h>

void
edl_json_start(EdlJson *j, const void *text, size_t size, char *strings)
{
    j->text = (const unsigned char *)text;
    j->size = size;
    j->at = 0;
    j->strings = strings;
    j->used = 0;
    j->wrong = NULL;
}

static int
mistake(EdlJson *j, const char *what)
{
    if (!j->wrong)
        j->wrong = what;
    return 0;
}

static void
skip_space(EdlJson *j)
{
    while (j->at < j->size && strchr(" \t\r\n", j->text[j->at]) &&
           j->text[j->at])
        j->at++;
}

int
edl_json_take(EdlJson *j, char c)
{
    skip_space(j);
    if (j->wrong || j->at >= j->size || j->text[j->at] != (unsigned char)c)
        return 0;
    j->at++;
    return 1;
}

int
edl_json_need(EdlJson *j, char c)
{
    if (edl_json_take(j, c))
        return 1;
    switch (c) {
    case '{':
        return mistake(j, "expected '{'");
    case '}':
        return mistake(j, "expected ',' or '}'");
    case '[':
        return mistake(j, "expected '['");
    case ']':
        return mistake(j, "expected ',' or ']'");
    case ':':
        return mistake(j, "expected ':'");
    default:
        return mistake(j, "unexpected character");
    }
}

int
edl_json_end(EdlJson *j)
{
    skip_space(j);
    if (j->wrong)
        return 0;
    return j->at == j->size || mistake(j, "text after the end");
}

int
edl_json_integer(EdlJson *j, int64_t *out)
{
    skip_space(j);
    if (j->wrong)
        return 0;
    size_t start = j->at;
    int64_t n = 0;
    while (j->at < j->size && j->text[j->at] >= '0' && j->text[j->at] <= '9') {
        int digit = j->text[j->at] - '0';
        if (n > (INT64_MAX - digit) / 10)
            return mistake(j, "number too large");
        n = n * 10 + digit;
        j->at++;
    }
    if (j->at == start)
        return mistake(j, "expected a whole number");
    if (j->text[start] == '0' && j->at > start + 1)
        return mistake(j, "number starts with 0");
    *out = n;
    return 1;
}

/* ---- strings ---- */

size_t
edl_utf8_length(const unsigned char *p, size_t n)
{
    if (n == 0 || p[0] < 0x80)
        return n != 0;
    size_t want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < want)
        return 0;
    for (size_t i = 1; i < want; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates, above U+10FFFF */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return want;
}

static int
hex4(EdlJson *j, uint32_t *out)
{
    uint32_t n = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int c = j->at < j->size ? j->text[j->at] : 0;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            return mistake(j, "bad \\u escape");
        n = n * 16 + digit;
    }
    *out = n;
    return 1;
}

static void
put(EdlJson *j, uint32_t byte)
{
    j->strings[j->used++] = (char)(unsigned char)byte;
}

static void
put_utf8(EdlJson *j, uint32_t c)
{
    if (c < 0x80) {
        put(j, c);
    } else if (c < 0x800) {
        put(j, 0xc0 | c >> 6);
        put(j, 0x80 | (c & 63));
    } else if (c < 0x10000) {
        put(j, 0xe0 | c >> 12);
        put(j, 0x80 | (c >> 6 & 63));
        put(j, 0x80 | (c & 63));
    } else {
        put(j, 0xf0 | c >> 18);
        put(j, 0x80 | (c >> 12 & 63));
        put(j, 0x80 | (c >> 6 & 63));
        put(j, 0x80 | (c & 63));
    }
}

/* After \u; a high surrogate must be followed by \u and a low one. */
static int
unicode_escape(EdlJson *j)
{
    uint32_t c = 0, low = 0;
    if (!hex4(j, &c))
        return 0;
    if (c == 0 || (c >= 0xdc00 && c < 0xe000))
        return mistake(j, "bad \\u escape");
    if (c >= 0xd800 && c < 0xdc00) {
        if (j->at + 1 >= j->size || j->text[j->at] != '\\' ||
            j->text[j->at + 1] != 'u')
            return mistake(j, "bad \\u escape");
        j->at += 2;
        if (!hex4(j, &low))
            return 0;
        if (low < 0xdc00 || low >= 0xe000)
            return mistake(j, "bad \\u escape");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(j, c);
    return 1;
}

static int
escape(EdlJson *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (j->at >= j->size)
        return mistake(j, "string without end");
    int c = j->text[j->at++];
    if (c == 'u')
        return unicode_escape(j);
    const char *p = c ? strchr(from, c) : NULL;
    if (!p)
        return mistake(j, "unknown escape");
    put(j, (unsigned char)to[p - from]);
    return 1;
}

static int
string_piece(EdlJson *j)
{
    int c = j->text[j->at];
    if (c == '\\') {
        j->at++;
        return escape(j);
    }
    if (c < 0x20)
        return mistake(j, "control character in a string");
    size_t n = edl_utf8_length(j->text + j->at, j->size - j->at);
    if (n == 0)
        return mistake(j, "string is not UTF-8");
    for (size_t i = 0; i < n; i++)
        put(j, j->text[j->at++]);
    return 1;
}

const char *
edl_json_string(EdlJson *j)
{
    if (!edl_json_take(j, '"')) {
        mistake(j, "expected a string");
        return NULL;
    }
    /* A string takes no more bytes decoded than it had with its quotes. */
    const char *start = j->strings + j->used;
    while (j->at < j->size && j->text[j->at] != '"') {
        if (!string_piece(j))
            return NULL;
    }
    if (j->at >= j->size) {
        mistake(j, "string without end");
        return NULL;
    }
    j->at++;
    put(j, 0);
    return start;
}
