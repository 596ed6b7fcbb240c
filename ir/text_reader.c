#include "ir/text_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ir/base/utf8.h"

enum { MAX_ERRORS = 100 };

void
reader_advance(Reader *r)
{
    r->tok = r->ahead;
    r->ahead = lexer_next(&r->lexer);
}

/* ---- places and errors ---- */

static int
columns(const char *from, const char *to)
{
    int n = 0;
    while (from < to) {
        int k = utf8_decode(from, (size_t)(to - from), NULL);
        from += k ? k : 1;
        n++;
    }
    return n;
}

Span
reader_span(const Reader *r, const Token *t)
{
    int col = 1 + columns(t->line_at, t->at);
    size_t n = t->kind == TOK_LINE ? 1 : t->n;
    return (Span){r->file, t->line, col, t->line,
                  col + columns(t->at, t->at + n)};
}

static void
stop(Reader *r)
{
    r->lexer.at = r->lexer.end;
    reader_advance(r);
    reader_advance(r);
}

static bool
report(Reader *r, const Token *t, const char *fmt, va_list ap)
{
    if (r->errors == MAX_ERRORS)
        return false;
    const char *text = arena_vprintf(r->arena, fmt, ap);
    diag_error(r->diag, reader_span(r, t), "%s", text);
    if (++r->errors == MAX_ERRORS) {
        diag_error(r->diag, reader_span(r, t), "too many errors");
        stop(r);
    }
    return false;
}

bool
reader_fail_at(Reader *r, const Token *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(r, t, fmt, ap);
    va_end(ap);
    return false;
}

bool
reader_fail(Reader *r, const char *fmt, ...)
{
    va_list ap;
    Token t = r->tok;
    va_start(ap, fmt);
    report(r, &t, fmt, ap);
    va_end(ap);
    return false;
}

bool
reader_no_tensor(Reader *r, const Token *t, const char *name)
{
    if (map_get(&r->missing, name))
        r->errors++;
    else
        reader_fail_at(r, t, "no tensor above is called %s", name);
    map_put(r->arena, &r->missing, name, r);
    return false;
}

bool
reader_expected(Reader *r, const char *what)
{
    const Token *t = &r->tok;
    if (t->kind == TOK_END)
        return reader_fail(r, "expected %s, found the end of the text", what);
    if (t->kind == TOK_LINE)
        return reader_fail(r, "expected %s, found the end of the line", what);
    int n = t->n < 40 ? (int)t->n : 40;
    return reader_fail(r, "expected %s, found `%.*s`", what, n, t->at);
}

void
reader_skip_line(Reader *r)
{
    int depth = 0;
    while (r->tok.kind != TOK_END) {
        if (r->tok.kind == TOK_LINE && depth == 0)
            break;
        bool last = r->ahead.kind == TOK_LINE || r->ahead.kind == TOK_END;
        if (r->tok.kind == '{' && (depth || last))
            depth++;
        if (r->tok.kind == '}' && depth)
            depth--;
        reader_advance(r);
    }
    reader_take(r, TOK_LINE);
}

/* ---- small pieces ---- */

bool
reader_take(Reader *r, int kind)
{
    if (r->tok.kind != kind)
        return false;
    reader_advance(r);
    return true;
}

bool
reader_take_word(Reader *r, const char *word)
{
    if (!token_is(&r->tok, word))
        return false;
    reader_advance(r);
    return true;
}

bool
reader_expect(Reader *r, int kind, const char *what)
{
    return reader_take(r, kind) || reader_expected(r, what);
}

bool
reader_expect_word(Reader *r, const char *word)
{
    return reader_take_word(r, word) || reader_expected(r, word);
}

bool
reader_line_end(Reader *r)
{
    return r->tok.kind == TOK_END ||
           reader_expect(r, TOK_LINE, "the end of the line");
}

bool
reader_block(Reader *r, bool (*line)(Reader *r, void *to), void *to)
{
    if (!reader_expect(r, '{', "`{`") || !reader_line_end(r))
        return false;
    for (;;) {
        while (reader_take(r, TOK_LINE))
            continue;
        if (r->tok.kind == TOK_END)
            return reader_expected(r, "`}`");
        if (reader_take(r, '}'))
            return reader_line_end(r);
        if (!line(r, to))
            reader_skip_line(r);
    }
}

const char *
reader_intern(Reader *r, const Token *t)
{
    return intern_n(r->module->interner, t->at, t->n);
}

bool
reader_once(Reader *r, Map *seen, const Token *t)
{
    const char *text = reader_intern(r, t);
    if (map_get(seen, text))
        return reader_fail_at(r, t, "%s comes twice", text);
    map_put(r->arena, seen, text, seen);
    return true;
}

bool
reader_name(Reader *r, const char *what, const char **out)
{
    if (r->tok.kind != TOK_NAME)
        return reader_expected(r, what);
    *out = reader_intern(r, &r->tok);
    reader_advance(r);
    return true;
}

bool
reader_names(Reader *r, const char *what, Tokens *out)
{
    do {
        if (r->tok.kind != TOK_NAME)
            return reader_expected(r, what);
        vec_push(r->arena, out, r->tok);
        reader_advance(r);
    } while (reader_take(r, ','));
    return true;
}

/* ---- numbers and texts ---- */

/* Digits alone, up to `most`. */
static bool
whole(Reader *r, uint64_t most, uint64_t *out)
{
    const Token *t = &r->tok;
    uint64_t v = 0;
    if (t->kind != TOK_NUMBER)
        return reader_expected(r, "an integer");
    for (size_t i = 0; i < t->n; i++) {
        unsigned d = (unsigned)(t->at[i] - '0');
        if (d > 9)
            return reader_expected(r, "an integer");
        if (v > (most - d) / 10)
            return reader_fail(r, "the integer is too large");
        v = v * 10 + d;
    }
    *out = v;
    reader_advance(r);
    return true;
}

bool
reader_unsigned(Reader *r, uint64_t *out)
{
    return whole(r, UINT64_MAX, out);
}

bool
reader_int(Reader *r, int64_t *out)
{
    uint64_t v;
    bool minus = reader_take(r, '-');
    if (!whole(r, (uint64_t)INT64_MAX + minus, &v))
        return false;
    *out = minus ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    if (minus && v == 0)
        *out = 0;
    return true;
}

bool
reader_int_from(Reader *r, int64_t least, int64_t *out)
{
    Token t = r->tok;
    if (!reader_int(r, out))
        return false;
    return *out >= least ||
           reader_fail_at(r, &t, "expected at least %lld, found %lld",
                          (long long)least, (long long)*out);
}

bool
reader_double(Reader *r, double *out)
{
    bool minus = reader_take(r, '-');
    if (reader_take_word(r, "inf")) {
        *out = minus ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (reader_take_word(r, "nan")) {
        *out = (double)NAN;
        return true;
    }
    if (r->tok.kind != TOK_NUMBER)
        return reader_expected(r, "a number");
    double v = strtod(arena_strndup(r->arena, r->tok.at, r->tok.n), NULL);
    if (isinf(v))
        return reader_fail(r, "the number is too large");
    *out = minus ? -v : v;
    reader_advance(r);
    return true;
}

static int
hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One escape after its backslash; how many bytes it takes, 0: none. */
static size_t
escape(const char *s, size_t n, char *out)
{
    if (*s == '"' || *s == '\\') {
        *out = *s;
        return 1;
    }
    if (*s == 'n') {
        *out = '\n';
        return 1;
    }
    if (*s != 'x' || n < 3 || hex(s[1]) < 0 || hex(s[2]) < 0)
        return 0;
    *out = (char)(hex(s[1]) * 16 + hex(s[2]));
    return *out ? 3 : 0;
}

bool
reader_text(Reader *r, const char **out)
{
    Token t = r->tok;
    if (t.kind != TOK_TEXT)
        return reader_expected(r, "a quoted text");
    char *s = arena_alloc(r->arena, t.n);
    size_t n = 0, stop_at = t.n - 1;
    for (size_t i = 1; i < stop_at; i++) {
        s[n] = t.at[i];
        if (s[n] == '\0')
            return reader_fail(r, "a NUL in a text");
        if (s[n] == '\\') {
            size_t k = escape(t.at + i + 1, stop_at - i - 1, &s[n]);
            if (!k)
                return reader_fail(r, "the text has an escape that is none");
            i += k;
        }
        n++;
    }
    *out = intern_n(r->module->interner, s, n);
    reader_advance(r);
    return true;
}

bool
reader_bool(Reader *r, bool *out)
{
    *out = token_is(&r->tok, "true");
    return reader_take_word(r, "true") || reader_take_word(r, "false") ||
           reader_expected(r, "true or false");
}

bool
reader_ints(Reader *r, Attr *out)
{
    VEC(int64_t) list = {0};
    int64_t v;
    if (!reader_expect(r, '[', "`[`"))
        return false;
    if (!reader_take(r, ']')) {
        do {
            if (!reader_int(r, &v))
                return false;
            vec_push(r->arena, &list, v);
        } while (reader_take(r, ','));
        if (!reader_expect(r, ']', "`]`"))
            return false;
    }
    out->list = list.at;
    out->i = list.n;
    return true;
}

/* ---- attributes ---- */

static int
looks_like(const Reader *r)
{
    const Token *t = r->tok.kind == '-' ? &r->ahead : &r->tok;
    if (t->kind == TOK_TEXT)
        return ATTR_str;
    if (t->kind == '[')
        return ATTR_ints;
    if (t->kind == TOK_NUMBER) {
        for (size_t i = 0; i < t->n; i++)
            if (t->at[i] < '0' || t->at[i] > '9')
                return ATTR_float;
        return ATTR_int;
    }
    if (token_is(t, "true") || token_is(t, "false"))
        return ATTR_bool;
    return token_is(t, "inf") || token_is(t, "nan") ? ATTR_float : ATTR_word;
}

bool
reader_attr_value(Reader *r, int kind, Attr *out)
{
    bool flag = false, ok = true;
    out->kind = (AttrKind)(kind == ATTR_ANY ? looks_like(r) : kind);
    switch (out->kind) {
    case ATTR_int:
        return reader_int(r, &out->i);
    case ATTR_float:
        return reader_double(r, &out->f);
    case ATTR_bool:
        ok = reader_bool(r, &flag);
        out->i = flag;
        return ok;
    case ATTR_word:
        return reader_name(r, "a word", &out->s);
    case ATTR_str:
        return reader_text(r, &out->s);
    case ATTR_ints:
        return reader_ints(r, out);
    }
    return false;
}
