/* Text of emitted C: lines with indentation, lists that wrap, literals that
 * read back as the number they were. */
#ifndef EDL_CODEGEN_EMIT_H
#define EDL_CODEGEN_EMIT_H

#include <stdint.h>

#include "ir/base/arena.h"
#include "ir/type.h"

typedef struct Emit {
    Arena *arena;
    char *at;
    size_t n, cap;
    int indent;
} Emit;

Emit emit_new(Arena *a);
/* Raw text, as it is. */
void emit(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void emit_text(Emit *e, const char *s, size_t n);
/* One line at the current indentation. */
void emit_line(Emit *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "to = value;", on two lines where one is too long. */
void emit_set(Emit *e, const char *to, const char *value);
/* A line that ends in " {", and the indentation after it. */
void emit_open(Emit *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void emit_close(Emit *e, const char *tail);
/* head + items with ", " between + tail, broken before column 80; lines after
 * the first begin below the first item. */
void emit_list(Emit *e, const char *head, const char *const *items, int n,
               const char *tail);
/* A comment of several words, broken at spaces. */
void emit_comment(Emit *e, const char *text);
/* A line before what was printed since the text had n bytes, if that uses the
 * word. */
void emit_if_used(Emit *e, size_t n, const char *word, const char *line);
/* The text so far, with a NUL. */
const char *emit_string(Emit *e);

/* A literal of the dtype's C type; negative ones in parentheses. */
const char *c_number(Arena *a, Dtype d, double x);
const char *c_integer(Arena *a, Dtype d, int64_t x);
/* A double literal, for tables. */
const char *c_double(Arena *a, double x);
/* A string literal with its quotes. */
const char *c_string(Arena *a, const char *s);

#endif
