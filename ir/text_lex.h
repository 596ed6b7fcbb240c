/* Tokens of the text of a module: inside ir/ only. */
#ifndef EDL_IR_TEXT_LEX_H
#define EDL_IR_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>

/* Below 256 a token is that character: = : , ; ( ) [ ] { } @ - */
enum {
    TOK_END = 256,
    TOK_LINE,   /* the end of a line */
    TOK_NAME,   /* [A-Za-z_][A-Za-z0-9_.']* */
    TOK_NUMBER, /* digits, with fraction and exponent or without */
    TOK_TEXT,   /* "...", its quotes with it */
    TOK_DOTS,   /* .. */
    TOK_BAD     /* anything else */
};

typedef struct Token {
    int kind;
    const char *at;
    size_t n;
    int line;
    const char *line_at; /* where its line starts */
} Token;

typedef struct Lexer {
    const char *at, *end;
    int line;
    const char *line_at;
} Lexer;

Lexer lexer_new(const char *text, size_t n);
Token lexer_next(Lexer *l);
/* From a token's start up to white space: values of options. */
Token lexer_raw(Lexer *l, const Token *from);
bool token_is(const Token *t, const char *word);

#endif
