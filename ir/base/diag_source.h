/* How a diagnostic shows the user's text: inside ir/base only. */
#ifndef EDL_IR_BASE_DIAG_SOURCE_H
#define EDL_IR_BASE_DIAG_SOURCE_H

#include "ir/base/diag.h"

typedef struct Source {
    const char *name;
    const char *text;
    size_t n;
    size_t *lines; /* where each line starts */
    int n_lines;
} Source;

Source source_new(Arena *a, const char *name, const char *text, size_t n);

/* The first line of a span, and a caret with tildes under it. */
void source_quote(const Source *s, Span at, FILE *to);

/* A message, without what would disturb a terminal. */
void diag_text(const char *s, FILE *to);

/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void diag_json_string(const char *s, FILE *to);

#endif
