#include "frontend/token.h"

#include <math.h>
#include <stdlib.h>

#include "ir/base/utf8.h"

/* Characters that change the order in which text is shown, so that it reads
 * other than it compiles. */
static bool
is_bidi_control(uint32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0x200e || c == 0x200f || c == 0x061c;
}

/* Reports what may stand nowhere in a text, not even in a comment. Only the
 * first place of each sort: a file that is no text is one mistake. */
bool
scan_text_is_clean(Scan *s)
{
    bool nul = false, invalid = false, bidi = false;
    int line = 1, col = 1;
    for (size_t i = s->pos; i < s->n; col++) {
        uint32_t c = 0xfffd;
        int step = utf8_decode(s->text + i, s->n - i, &c);
        Span at = {s->file, line, col, line, col + 1};
        if (!step && !invalid) {
            diag_error(s->diag, at, "expected UTF-8, found byte 0x%02X",
                       (unsigned)(unsigned char)s->text[i]);
            invalid = true;
        } else if (step && !c && !nul) {
            diag_error(s->diag, at, "expected text, found a NUL character");
            nul = true;
        } else if (step && is_bidi_control(c) && !bidi) {
            diag_error(s->diag, at,
                       "found U+%04X, a control of text "
                       "direction: what is shown would not be what is "
                       "compiled",
                       (unsigned)c);
            bidi = true;
        }
        if (c == '\n') {
            line++;
            col = 0;
        }
        i += (size_t)(step ? step : 1);
    }
    return !nul && !invalid && !bidi;
}

static const char *
token_text(Scan *s, const Token *t)
{
    return arena_strndup(s->arena, s->text + t->from, t->to - t->from);
}

void
scan_integer(Scan *s, Token *t)
{
    int64_t v = 0;
    for (size_t i = t->from; i < t->to; i++) {
        int digit = s->text[i] - '0';
        if (v > (INT64_MAX - digit) / 10) {
            diag_error(s->diag, t->at,
                       "an integer is at most "
                       "9223372036854775807, found %.40s",
                       token_text(s, t));
            break;
        }
        v = 10 * v + digit;
    }
    t->u.integer = v;
}

void
scan_float(Scan *s, Token *t)
{
    const char *text = token_text(s, t);
    double v = strtod(text, NULL);
    bool zero = strspn(text, "0.") == strcspn(text, "eE");
    if (isinf(v))
        diag_error(s->diag, t->at,
                   "%.40s is above the largest f64, "
                   "1.7976931348623157e308",
                   text);
    else if (v == 0 && !zero)
        diag_error(s->diag, t->at,
                   "%.40s is below the smallest f64, "
                   "4.9406564584124654e-324",
                   text);
    t->u.number = isinf(v) ? 0 : v;
}

void
scan_string(Scan *s, Token *t)
{
    char *text = arena_alloc(s->arena, t->to - t->from);
    size_t n = 0;
    int col = t->at.col + 1;
    for (size_t i = t->from + 1; i + 1 < t->to; i++, col++) {
        char c = s->text[i];
        if (c == '\\') {
            c = s->text[++i];
            if (!strchr("\\\"nt", c)) {
                Span at = {s->file, t->at.line, col, t->at.line, col + 2};
                diag_error(s->diag, at,
                           "expected \\\\, \\\", \\n or \\t in "
                           "a string, found another escape");
            }
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
            col++;
        } else if (((unsigned char)c & 0xc0) == 0x80) {
            col--;
        }
        text[n++] = c;
    }
    t->u.text = intern_n(s->interner, text, n);
}

/* What people write from habit, and what edl writes. */
static const struct Habit {
    const char *found, *instead;
} habits[] = {
    {";", "a statement ends with its line"},
    {"#", "a comment begins with //"},
    {"&&", "it is written `and`"},
    {"||", "it is written `or`"},
    {"!", "it is written `not`"},
    {"...", "it is written `..`"},
    {"//=", "a comment begins with //"},
    {"\xc3\x97", "it is written `*`"},             /* multiplication sign */
    {"\xc2\xb7", "it is written `*`"},             /* middle dot */
    {"\xe2\x88\x92", "it is written `-`"},         /* minus sign */
    {"\xe2\x80\x93", "it is written `-`"},         /* en dash */
    {"\xe2\x80\x9c", "strings are written \"…\""}, /* curly quotes */
    {"\xe2\x80\x9d", "strings are written \"…\""},
    {"\xe2\x80\x98", "strings are written \"…\""},
    {"\xe2\x80\x99", "the transpose is written '"},
    {"\xe2\x80\xa6", "it is written `..`"},
    {"\xe2\x89\xa4", "it is written `<=`"},
    {"\xe2\x89\xa5", "it is written `>=`"},
    {"\xe2\x89\xa0", "it is written `!=`"},
    {"\xc2\xa0", "this is no ordinary space"},
};

void
scan_unexpected(Scan *s, Token *t)
{
    const char *text = token_text(s, t);
    uint32_t code = 0;
    utf8_decode(text, t->to - t->from, &code);
    if (text[0] == '#') {
        text = "#";
        t->at.end_col = t->at.col + 1;
    }
    if (code < 0x20 || code > 0x7e)
        diag_error(s->diag, t->at, "found U+%04X, which has no meaning here",
                   (unsigned)code);
    else
        diag_error(s->diag, t->at, "found '%s', which has no meaning here",
                   text);
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (!strcmp(habits[i].found, text))
            diag_note(s->diag, (Span){0}, "%s", habits[i].instead);
}
