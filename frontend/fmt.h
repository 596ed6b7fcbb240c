/* The one canonical layout of a text. */
#ifndef EDL_FRONTEND_FMT_H
#define EDL_FRONTEND_FMT_H

#include "frontend/token.h"

/* The canonical layout of a file, or NULL after its syntax errors. Tokens
 * and comments stay as they are, blank lines and line breaks inside of
 * statements where they are; what changes is space, indentation, and the
 * place of the braces of blocks. Formatting twice changes nothing more. */
const char *fmt_text(Arena *a, Interner *in, Diag *d, const char *name,
                     const char *text, size_t n);

/* ---- between fmt.c, fmt_code.c and fmt_space.c ---- */

typedef struct FmtToken {
    const Token *token;
    int open;     /* the bracket around it, an index, or -1; that of a
                     bracket itself is the next one out */
    int match;    /* of a bracket: its other half */
    bool block;   /* a brace around statements or lines */
    bool start;   /* the first token of a statement or line */
    bool keyword; /* the same, in a train or plan block */
    int width;    /* of a keyword: the columns it is padded to */
} FmtToken;

/* The tokens of a text without comments and line ends. */
typedef struct FmtCode {
    const char *text;
    FmtToken *at;
    int n;
} FmtCode;

FmtCode fmt_code(Arena *a, const Scan *s);

/* Whether token i is this word or mark; false where there is no token i. */
bool fmt_is(const FmtCode *code, int i, const char *text);

/* Whether a space stands between tokens i - 1 and i on one line. */
bool fmt_space_before(const FmtCode *code, int i);

#endif
