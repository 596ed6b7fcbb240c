#include "ir/text_lex.h"

#include <string.h>

Lexer
lexer_new(const char *text, size_t n)
{
    return (Lexer){text, text + n, 1, text};
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '.' || c == '\'';
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void
skip_space(Lexer *l)
{
    while (l->at < l->end && is_space(*l->at))
        l->at++;
    if (l->at < l->end && *l->at == '#')
        while (l->at < l->end && *l->at != '\n')
            l->at++;
}

static const char *
digits(const char *s, const char *end)
{
    while (s < end && is_digit(*s))
        s++;
    return s;
}

/* A dot belongs to it only before a digit: 0..2 is two numbers. */
static const char *
number(const char *s, const char *end)
{
    s = digits(s, end);
    if (end - s > 1 && s[0] == '.' && is_digit(s[1]))
        s = digits(s + 1, end);
    if (s < end && (*s == 'e' || *s == 'E')) {
        const char *e = s + 1;
        if (e < end && (*e == '+' || *e == '-'))
            e++;
        if (e < end && is_digit(*e))
            s = digits(e, end);
    }
    return s;
}

/* The end of "..." or NULL when the line ends first. */
static const char *
quoted(const char *s, const char *end)
{
    for (s++; s < end && *s != '\n'; s++) {
        if (*s == '"')
            return s + 1;
        if (*s == '\\' && end - s > 1 && s[1] != '\n')
            s++;
    }
    return NULL;
}

static int
kind_at(const char *s, const char *end, const char **stop)
{
    *stop = s + 1;
    if (*s == '\n')
        return TOK_LINE;
    if (is_letter(*s)) {
        while (*stop < end && is_name(**stop))
            ++*stop;
        return TOK_NAME;
    }
    if (is_digit(*s)) {
        *stop = number(s, end);
        return TOK_NUMBER;
    }
    if (*s == '"') {
        const char *e = quoted(s, end);
        *stop = e ? e : s + 1;
        return e ? TOK_TEXT : TOK_BAD;
    }
    if (*s == '.' && end - s > 1 && s[1] == '.') {
        *stop = s + 2;
        return TOK_DOTS;
    }
    return *s && strchr("=:,;()[]{}@-", *s) ? *s : TOK_BAD;
}

Token
lexer_next(Lexer *l)
{
    skip_space(l);
    Token t = {TOK_END, l->at, 0, l->line, l->line_at};
    if (l->at == l->end)
        return t;
    const char *stop;
    t.kind = kind_at(l->at, l->end, &stop);
    t.n = (size_t)(stop - l->at);
    l->at = stop;
    if (t.kind == TOK_LINE) {
        l->line++;
        l->line_at = stop;
    }
    return t;
}

Token
lexer_raw(Lexer *l, const Token *from)
{
    Token t = *from;
    const char *s = from->at;
    while (s < l->end && !is_space(*s) && *s != '\n' && *s != '#')
        s++;
    t.kind = TOK_NAME;
    t.n = (size_t)(s - from->at);
    *l = (Lexer){s, l->end, from->line, from->line_at};
    return t;
}

bool
token_is(const Token *t, const char *word)
{
    return t->kind == TOK_NAME && strlen(word) == t->n &&
           !memcmp(t->at, word, t->n);
}
