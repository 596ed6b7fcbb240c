/* Diagnostics: what is wrong with the user's input, where, and what belongs
 * to it. Errors are collected, sorted by place and printed once, so that a
 * mistake found twice (a layer used twelve times) is reported once.
 *
 *   gpt2.edl:12:9: error: expected [B, T, 768], found [B, T, 769]
 *      12 |     y = x @ w
 *         |         ^~~~~
 *   gpt2.edl:3:11: note: 769 comes from here
 */
#ifndef EDL_IR_BASE_DIAG_H
#define EDL_IR_BASE_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "ir/base/arena.h"

/* A piece of a source; columns count characters (not bytes) from 1, the end
 * is exclusive. file is what diag_add_source returned; line 0 is nowhere. */
typedef struct Span {
    int file;
    int line, col;
    int end_line, end_col;
} Span;

typedef struct Diag Diag;

typedef enum { DIAG_TEXT, DIAG_JSON } DiagFormat;

Diag *diag_new(Arena *a);

/* name is printed as given; text is kept, not copied. Returns the file; the
 * same one for the same name and text, so that reading a source again finds
 * the same places. */
int diag_add_source(Diag *d, const char *name, const char *text, size_t n);
const char *diag_source_name(const Diag *d, int file);

/* An error at a place; the same text at the same place counts once. */
void diag_error(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A further place or hint that belongs to the last error. */
void diag_note(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* How often diag_error was called: it grows exactly when something is wrong,
 * also when that was said before. */
int diag_count(const Diag *d);
void diag_print(const Diag *d, FILE *to, DiagFormat format);

/* The legal name nearest to a wrong one, or NULL when none is near. */
const char *diag_nearest(const char *wrong, const char *const *legal, int n);

/* An impossible state of edlc itself: prints and exits with status 4. */
_Noreturn void bug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
