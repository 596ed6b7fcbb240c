#include "codegen/emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

Emit
emit_new(Arena *a)
{
    return (Emit){.arena = a};
}

void
emit_text(Emit *e, const char *s, size_t n)
{
    if (e->n + n + 1 > e->cap) {
        size_t cap = e->cap ? 2 * e->cap : 64;
        while (cap < e->n + n + 1)
            cap *= 2;
        e->at = arena_grow(e->arena, e->at, e->cap, cap);
        e->cap = cap;
    }
    memcpy(e->at + e->n, s, n);
    e->n += n;
    e->at[e->n] = '\0';
}

static void
emit_args(Emit *e, const char *fmt, va_list ap)
{
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, again);
    va_end(again);
    if ((size_t)n < sizeof small) {
        emit_text(e, small, (size_t)n);
        return;
    }
    char *s = arena_vprintf(e->arena, fmt, ap);
    emit_text(e, s, strlen(s));
}

static void
emit_indent(Emit *e)
{
    for (int i = 0; i < e->indent; i++)
        emit_text(e, "    ", 4);
}

void
emit(Emit *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    emit_args(e, fmt, ap);
    va_end(ap);
}

void
emit_line(Emit *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    emit_indent(e);
    emit_args(e, fmt, ap);
    emit_text(e, "\n", 1);
    va_end(ap);
}

void
emit_set(Emit *e, const char *to, const char *value)
{
    size_t width = 4 * (size_t)e->indent + strlen(to) + strlen(value) + 4;
    if (width <= 80) {
        emit_line(e, "%s = %s;", to, value);
        return;
    }
    emit_line(e, "%s =", to);
    emit_line(e, "    %s;", value);
}

void
emit_open(Emit *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    emit_indent(e);
    emit_args(e, fmt, ap);
    emit_text(e, " {\n", 3);
    e->indent++;
    va_end(ap);
}

void
emit_close(Emit *e, const char *tail)
{
    e->indent--;
    emit_line(e, "}%s", tail);
}

/* Where lines after the first begin: below the first item, or, where an item
 * would not fit there, a little further in than the head. */
static int
list_column(const Emit *e, const char *head, const char *const *items, int n)
{
    int below = 4 * e->indent + (int)strlen(head);
    for (int i = 0; i < n; i++)
        if (below + (int)strlen(items[i]) + 2 > 79)
            return 4 * e->indent + 4;
    return below;
}

void
emit_list(Emit *e, const char *head, const char *const *items, int n,
          const char *tail)
{
    int at = 4 * e->indent + (int)strlen(head);
    int left = list_column(e, head, items, n);
    emit_indent(e);
    emit(e, "%s", head);
    if (left != at && n > 0) {
        emit(e, "\n%*s", left, "");
        at = left;
    }
    for (int i = 0; i < n; i++) {
        const char *after = i + 1 < n ? "," : tail;
        int width = (int)(strlen(items[i]) + strlen(after));
        if (i > 0 && at + 1 + width > 79) {
            emit(e, "\n%*s", left, "");
            at = left;
        } else if (i > 0) {
            emit(e, " ");
            at++;
        }
        emit(e, "%s%s", items[i], after);
        at += width;
    }
    emit(e, "%s\n", n == 0 ? tail : "");
}

void
emit_comment(Emit *e, const char *text)
{
    emit_indent(e);
    emit(e, "/*");
    int at = 4 * e->indent + 2;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at + 1 + n + 3 > 79) {
            emit(e, "\n");
            emit_indent(e);
            emit(e, " *");
            at = 4 * e->indent + 2;
        }
        emit(e, " %.*s", n, text);
        at += 1 + n;
        text += n;
        text += *text == ' ';
    }
    emit(e, " */\n");
}

const char *
emit_string(Emit *e)
{
    emit_text(e, "", 0);
    return e->at;
}

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool
uses(const Emit *e, size_t from, const char *word)
{
    size_t n = strlen(word);
    const char *at = emit_string((Emit *)e) + from;
    for (at = strstr(at, word); at; at = strstr(at + 1, word))
        if (!is_word(at[-1]) && !is_word(at[n]))
            return true;
    return false;
}

void
emit_if_used(Emit *e, size_t n, const char *word, const char *line)
{
    if (e->n == n || !uses(e, n, word))
        return;
    char *rest = arena_strndup(e->arena, e->at + n, e->n - n);
    size_t size = e->n - n;
    e->n = n;
    emit_line(e, "%s", line);
    emit_text(e, rest, size);
}

/* ---- literals ---- */

/* x in the fewest digits that read back as the same number. */
static void
shortest(char *out, size_t n, double x, bool single)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, n, "%.*g", digits, x);
        if (single ? strtof(out, NULL) == (float)x : strtod(out, NULL) == x)
            break;
    }
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
}

static const char *
float_literal(Arena *a, double x, bool single)
{
    if (isnan(x))
        return single ? "NAN" : "(double)NAN";
    if (isinf(x))
        return arena_printf(a, "(%s%sINFINITY)", single ? "" : "(double)",
                            x < 0 ? "-" : "");
    char text[64];
    shortest(text, sizeof text - 4, x, single);
    return arena_printf(a, signbit(x) ? "(%s%s)" : "%s%s", text,
                        single ? "f" : "");
}

const char *
c_double(Arena *a, double x)
{
    return float_literal(a, x, false);
}

const char *
c_integer(Arena *a, Dtype d, int64_t x)
{
    if (d == DT_i64 && x == INT64_MIN)
        return "INT64_MIN";
    if (d == DT_i64 && (x > INT32_MAX || x < INT32_MIN))
        return arena_printf(
            a, x < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
            x < 0 ? -x : x);
    if (x == INT32_MIN)
        return "INT32_MIN";
    return arena_printf(a, x < 0 ? "(%" PRId64 ")" : "%" PRId64, x);
}

const char *
c_number(Arena *a, Dtype d, double x)
{
    switch (dtype_info[d].kind) {
    case KIND_FLOAT:
        return float_literal(a, x, d != DT_f64);
    case KIND_BOOL:
        return x != 0 ? "1" : "0";
    case KIND_INT:
    case KIND_STORAGE:
        break;
    }
    /* past the ends of int64 a conversion would be undefined */
    if (!(x > -9.2e18 && x < 9.2e18))
        return c_integer(a, d, x < 0 ? INT64_MIN : INT64_MAX);
    return c_integer(a, d, (int64_t)x);
}

const char *
c_string(Arena *a, const char *s)
{
    Emit e = emit_new(a);
    emit(&e, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            emit(&e, "\\%c", c);
        else if (c == '?' || c < 32 || c >= 127)
            emit(&e, "\\%03o", c);
        else
            emit(&e, "%c", c);
    }
    emit(&e, "\"");
    return emit_string(&e);
}
