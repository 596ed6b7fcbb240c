/* Tokens of an .edl file: what grammar/edl.l makes of the text, what
 * frontend/layout.c leaves for the grammar, and what the formatter prints. */
#ifndef EDL_FRONTEND_TOKEN_H
#define EDL_FRONTEND_TOKEN_H

#include "frontend/syntax.h"

typedef enum TokenClass {
    TC_END,
    TC_NEWLINE,
    TC_COMMENT, /* never reaches the grammar */
    TC_NAME,
    TC_WORD, /* 1f1b, zb-h1, 3GiB: only in lines of train and plan */
    TC_TYPE,
    TC_RESERVED,
    TC_NUMBER,
    TC_STRING,
    TC_PUNCT,
    TC_BAD /* reported already */
} TokenClass;

enum {
    TOK_CONTINUES = 1, /* a line that ends in it goes on */
    TOK_OPENS = 2,
    TOK_CLOSES = 4,
    TOK_STATEMENT = 8,    /* a reserved word that begins a statement */
    TOK_DECLARATION = 16, /* ... that stands outside of every bracket */
    TOK_REPORTED = 32,    /* what the grammar says of it is no news */
    TOK_ENDS_LINE = 64,   /* newline, comment: it ends a statement */
    TOK_MISSING = 128     /* a brace that the user forgot, where it is read */
};

typedef struct Token {
    int kind; /* the grammar's number */
    TokenClass class;
    unsigned flags;
    Span at;
    size_t from, to; /* bytes of the text */
    union {
        int64_t integer;
        double number;
        const char *text; /* names and words; strings without escapes */
    } u;
} Token;

typedef VEC(Token) Tokens;

/* One text on its way to tokens. */
typedef struct Scan {
    Arena *arena;
    Interner *interner;
    Diag *diag;
    int file;
    const char *text;
    size_t n;
    size_t pos; /* where the next token starts */
    int line, col;
    Tokens tokens;
    int plan_depth; /* open braces of a plan block, -1 outside of one */
    int newline_kind;
} Scan;

/* grammar/edl.l: appends all tokens of s->text, comments and line ends
 * included, to s->tokens; the last one is TC_END. */
void edl_scan(Scan *s);

/* frontend/scan.c: the values of tokens, for the scanner. */
bool scan_text_is_clean(Scan *s);
void scan_integer(Scan *s, Token *t);
void scan_float(Scan *s, Token *t);
void scan_string(Scan *s, Token *t);
void scan_unexpected(Scan *s, Token *t);

/* frontend/layout.c: what the grammar reads. Says which line ends end a
 * statement (TOK_ENDS_LINE, also in s->tokens), and makes the brackets
 * balance. False when nothing can be made of the text. */
bool layout_tokens(Scan *s, Tokens *out);

/* 'layer', end of line, ...: a token in the user's words. */
const char *token_describe(Arena *a, const char *text, const Token *t);

#endif
