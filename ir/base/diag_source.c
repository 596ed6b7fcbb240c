#include "ir/base/diag_source.h"

#include "ir/base/utf8.h"

/* A quoted line is cut to a window of this many characters. */
enum { WINDOW = 100, BEFORE_CARET = 60 };

Source
source_new(Arena *a, const char *name, const char *text, size_t n)
{
    VEC(size_t) lines = {0};
    bool bom = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
    vec_push(a, &lines, bom ? 3 : 0);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n')
            vec_push(a, &lines, i + 1);
    return (Source){name, text, n, lines.at, lines.n};
}

/* The bytes of a line, without its end. */
static const char *
line_text(const Source *s, int line, size_t *n)
{
    size_t from = s->lines[line - 1];
    size_t to = line < s->n_lines ? s->lines[line] - 1 : s->n;
    if (to > from && s->text[to - 1] == '\r')
        to--;
    *n = to - from;
    return s->text + from;
}

/* One character as it is shown; what would disturb a terminal or hide text
 * is not shown as it is. Returns the bytes read; width: its columns. */
static int
show(const char *p, size_t n, FILE *to, int *width)
{
    uint32_t c = 0;
    int bytes = utf8_decode(p, n, &c);
    bool bidi = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
                c == 0x200e || c == 0x200f || c == 0x061c;
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    *width = 1;
    if (bytes && c == '\t') {
        fputc(' ', to);
    } else if (!bytes || bidi || control) {
        fputs("\xef\xbf\xbd", to);
    } else {
        *width = utf8_width(c);
        fwrite(p, 1, (size_t)bytes, to);
    }
    return bytes ? bytes : 1;
}

/* Bytes of the first n characters at p. */
static size_t
skip_characters(const char *p, size_t bytes, int n)
{
    size_t i = 0;
    for (; n > 0 && i < bytes; n--) {
        int step = utf8_decode(p + i, bytes - i, NULL);
        i += (size_t)(step ? step : 1);
    }
    return i;
}

void
source_quote(const Source *s, Span at, FILE *to)
{
    if (at.line < 1 || at.line > s->n_lines || at.col < 1)
        return;
    size_t n;
    const char *p = line_text(s, at.line, &n);
    int first = at.col > WINDOW - 20 ? at.col - BEFORE_CARET : 1;
    int end = at.end_line > at.line ? at.col + WINDOW
              : at.end_col > at.col ? at.end_col
                                    : at.col + 1;
    const char *lead = first > 1 ? "..." : "";
    fprintf(to, "%5d | %s", at.line, lead);
    size_t i = skip_characters(p, n, first - 1);
    int col = first, blanks = first > 1 ? 3 : 0, marks = 0, width;
    for (; i < n && col < first + WINDOW; col++) {
        i += (size_t)show(p + i, n - i, to, &width);
        if (col < at.col)
            blanks += width;
        else if (col < end)
            marks += width;
    }
    fprintf(to, "%s\n      | %*s^", i < n ? "..." : "", blanks, "");
    for (int k = 1; k < marks; k++)
        fputc('~', to);
    fputc('\n', to);
}

void
diag_text(const char *s, FILE *to)
{
    int width;
    for (size_t left = strlen(s); left > 0;) {
        int bytes = 1;
        if (*s == '\n')
            fputc('\n', to);
        else
            bytes = show(s, left, to, &width);
        s += bytes;
        left -= (size_t)bytes;
    }
}

void
diag_json_string(const char *s, FILE *to)
{
    fputc('"', to);
    for (size_t left = strlen(s); left > 0;) {
        int bytes = utf8_decode(s, left, NULL);
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(to, "\\u%04x", (unsigned)c);
        else if (!bytes)
            fputs("\\ufffd", to);
        else
            fwrite(s, 1, (size_t)bytes, to);
        s += bytes ? bytes : 1;
        left -= (size_t)(bytes ? bytes : 1);
    }
    fputc('"', to);
}
