/* From text to syntax tree. */
#ifndef EDL_FRONTEND_PARSE_H
#define EDL_FRONTEND_PARSE_H

#include "frontend/syntax.h"

/* Parses the n bytes of text (kept by the Diag, not copied), which messages
 * call name. Reports every syntax error it can; the tree is whole only when
 * diag_count did not grow, and is never NULL. Any bytes are legal input. */
Syntax *parse_file(Arena *a, Interner *in, Diag *d, const char *name,
                   const char *text, size_t n);

#endif
