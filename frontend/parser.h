/* What the actions of grammar/edl.y call to build the tree. */
#ifndef EDL_FRONTEND_PARSER_H
#define EDL_FRONTEND_PARSER_H

#include "frontend/token.h"

typedef struct Parser {
    Arena *arena;
    Interner *interner;
    Diag *diag;
    int file;
    const char *text;
    Tokens tokens;
    int next; /* index of the next token */
    int errors_before; /* of the Diag, when parsing began */
    bool too_deep;
    Syntax *tree;
} Parser;

/* grammar/edl.y: fills p->tree. */
void edl_parse(Parser *p);

/* The text of a Scan as tokens, for the grammar in out. False, after an
 * error, when none can be had. */
bool parse_tokens(Scan *s, Tokens *out);

Token *parser_next(Parser *p);
/* After an error at the token read last: goes to the end of its statement,
 * over the blocks that begin in it. */
void parser_skip_statement(Parser *p);
/* After a declaration that was given up: over the lines further in, which
 * were its body. */
void parser_skip_body(Parser *p);
void parser_missing_brace(Parser *p, const Token *brace);

/* Reports a syntax error at the token read last, where one of the n tokens
 * was expected (as the grammar calls them), and goes on at the end of the
 * statement. words: the reserved ones. frontend/expected.c. */
void parser_expected(Parser *p, const char *const *expected, int n,
                     const char *const *words, int n_words);

void parser_version(Parser *p, const Token *number);
void parser_too_deep(Parser *p, Span at);

/* ---- expressions ---- */
Expr *build_literal(Parser *p, ExprKind kind, const Token *t);
Expr *build_bool(Parser *p, Span at, bool value);
Expr *build_name(Parser *p, Path path, Span at);
Expr *build_rest(Parser *p, Span at);
Expr *build_call(Parser *p, Path callee, Args args, Span at);
void build_label(Parser *p, Expr *call, Name label, Span at);
Expr *build_index(Parser *p, Expr *base, Slices slices, Span at);
Expr *build_unary(Parser *p, UnaryOp op, Expr *operand, Span at);
Expr *build_binary(Parser *p, BinaryOp op, Span op_at, Expr *left,
                   Expr *right, Span at);
Expr *build_transpose(Parser *p, Expr *operand, Span at);
Expr *build_list(Parser *p, Exprs items, Span at);
void build_args_add(Parser *p, Args *args, Name name, Expr *value);
void build_chained(Parser *p, Span second);

/* ---- types, statements, declarations ---- */
TypeExpr *build_type(Parser *p, const Token *t, const Exprs *dims, Span at);
void build_names_add(Parser *p, Names *names, Name name);
Stmt *build_stmt(Parser *p, StmtKind kind, Span at);
/* left = value: an assignment, or a local function when left is f(x). */
Stmt *build_assign(Parser *p, const Exprs *left, Expr *value, Span at);
void build_unused(Parser *p, const Exprs *values);
void build_loop(Parser *p, Stmt *s, Expr *from, Expr *to, Name label);
Decl *build_decl(Parser *p, DeclKind kind, Name name, Span at);
void build_params_add(Parser *p, Params *params, Param param);

/* ---- lines of train and plan ---- */
Item build_item(Parser *p, Expr *value);
Item build_percent(Parser *p, Expr *value, Span at);
Item build_word(Parser *p, const Token *t);
void build_items_add(Parser *p, Items *items, Item item);
Line *build_line(Parser *p, Name keyword, Items items, Span at);
void build_targets(Parser *p, Line *line, Items after);

#endif
