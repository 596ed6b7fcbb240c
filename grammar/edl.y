/* The grammar of .edl files. Actions only call the builders of
 * frontend/parser.h; docs/language.md explains the language.
 *
 * Newlines reach the grammar only where they end something, and brackets
 * balance: frontend/layout.c has seen to both. Every rule with `error` is a
 * place where reading goes on after a mistake: the statement, setting or
 * line that holds it is skipped. */
%code requires {
#include "frontend/parser.h"
}

%define api.pure full
%define api.prefix {edl_yy}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%param {Parser *p}
%expect 0

%code top {
/* Deep nesting is an error that says so, not a stack that overflows. */
#define YYMAXDEPTH 20000
#define YYLLOC_DEFAULT(here, rhs, n) edl_join(&(here), rhs, n)
}

%union {
    Token token;
    Name name;
    Names names;
    Path path;
    Expr *expr;
    Exprs exprs;
    Args args;
    Slice slice;
    Slices slices;
    BinaryOp op;
    bool flag;
    TypeExpr *type;
    Param param;
    Params params;
    Stmt *stmt;
    Stmts stmts;
    Item item;
    Items items;
    Line *line;
    Lines lines;
}

%code {
static int edl_yylex(EDL_YYSTYPE *value, Span *at, Parser *p);
static void edl_yyerror(const Span *at, Parser *p, const char *text);

/* A rule covers its symbols; an empty one stands behind what came before. */
static void
edl_join(Span *here, const Span *rhs, int n)
{
    const Span *first = &rhs[n ? 1 : 0], *last = &rhs[n];
    *here = *first;
    here->end_line = last->end_line;
    here->end_col = last->end_col;
    if (!n) {
        here->line = last->end_line;
        here->col = last->end_col;
    }
}

static Name
name_of(Token t)
{
    return (Name){t.u.text, t.at};
}

static Span
joined(Span from, Span to)
{
    from.end_line = to.end_line;
    from.end_col = to.end_col;
    return from;
}

#define PUSH(list, x) vec_push(p->arena, &(list), x)
#define BINARY(op, left, at, right, all) \
    build_binary(p, BIN_##op, at, left, right, all)
}

%token T_NEWLINE "end of line"
%token T_BAD "something else"
%token <token> T_NAME "a name" T_WORD "a word" T_TYPE "a type"
%token <token> T_INT "an integer" T_FLOAT "a number" T_STRING "a string"
%token T_EDL "edl" T_IMPORT "import" T_DIM "dim" T_CONST "const"
%token T_LAYER "layer" T_MODEL "model" T_TRAIN "train" T_PLAN "plan"
%token T_PARAM "param" T_FROZEN "frozen" T_STATE "state" T_NEXT "next"
%token T_OUTPUT "output" T_FOR "for" T_IN "in" T_IF "if" T_ELSE "else"
%token T_RETURN "return" T_AS "as"
%token T_NOT "not" T_AND "and" T_OR "or" T_TRUE "true" T_FALSE "false"
%token T_DOTS ".." T_POW "**" T_EQ "==" T_NE "!=" T_LE "<=" T_GE ">="

/* In a line, items stand side by side: what could go on does go on. */
%precedence LOW
%precedence '-' '(' '[' T_AS

%type <name> name opt_name opt_label
%type <names> names opt_names
%type <path> path
%type <expr> expr or_expr and_expr not_expr compared comparison sum product
%type <expr> unary power postfix primary call dim opt_expr opt_init
%type <exprs> exprs items_of_list dims dim_list
%type <args> args arg_list settings opt_settings
%type <slice> slice
%type <slices> slices
%type <op> compare_op
%type <flag> opt_frozen
%type <type> type
%type <param> param arg
%type <params> params param_list
%type <stmt> stmt branch
%type <stmts> block stmts
%type <item> item
%type <items> items
%type <line> line line_head
%type <lines> lines line_list

%%

file:
    version decls
  | decls                   { parser_version(p, NULL); }
  ;

version:
    T_EDL T_INT newline     { parser_version(p, &$2); }
  | T_EDL error newline     { p->tree->version = 1; yyerrok; }
  ;

newline:
    T_NEWLINE
  ;

decls:
    %empty
  | decls decl newline
  | decls error newline     { yyerrok;
                              if (yychar == EDL_YYEMPTY)
                                  parser_skip_body(p); }
  ;

decl:
    T_IMPORT name           { build_decl(p, DECL_IMPORT, $2, @$); }
  | T_DIM dim_names
  | T_CONST const_names
  | name '(' opt_names ')' '=' expr {
        Decl *d = build_decl(p, DECL_FUNCTION, $1, @$);
        d->u.function = (Function){$1, $3, $6};
    }
  | T_LAYER name '(' params ')' block {
        Decl *d = build_decl(p, DECL_LAYER, $2, @$);
        d->u.layer = (Layer){$4, $6, @6};
    }
  | T_MODEL name '(' params ')' block {
        Decl *d = build_decl(p, DECL_MODEL, $2, @$);
        d->u.layer = (Layer){$4, $6, @6};
    }
  | T_TRAIN opt_name lines {
        build_decl(p, DECL_TRAIN, $2, @$)->u.settings = $3;
    }
  | T_PLAN opt_name lines {
        build_decl(p, DECL_PLAN, $2, @$)->u.settings = $3;
    }
  ;

dim_names:
    dim_name
  | dim_names ',' dim_name
  ;

dim_name:
    name opt_init {
        build_decl(p, DECL_DIM, $1, @$)->u.constant = $2;
    }
  ;

const_names:
    const_name
  | const_names ',' const_name
  ;

const_name:
    name '=' expr {
        build_decl(p, DECL_CONST, $1, @$)->u.constant = $3;
    }
  ;

name:
    T_NAME                  { $$ = name_of($1); }
  ;

opt_name:
    %empty                  { $$ = (Name){0}; }
  | name
  ;

names:
    name                    { $$ = (Names){0}; build_names_add(p, &$$, $1); }
  | names ',' name          { $$ = $1; build_names_add(p, &$$, $3); }
  ;

opt_names:
    %empty                  { $$ = (Names){0}; }
  | names opt_comma
  ;

opt_comma:
    %empty
  | ','
  ;

opt_init:
    %empty                  { $$ = NULL; }
  | '=' expr                { $$ = $2; }
  ;

/* ---- parameters and types ---- */

params:
    %empty                  { $$ = (Params){0}; }
  | param_list opt_comma
  ;

param_list:
    param {
        $$ = (Params){0};
        build_params_add(p, &$$, $1);
    }
  | param_list ',' param    { $$ = $1; build_params_add(p, &$$, $3); }
  ;

param:
    name opt_init           { $$ = (Param){@$, $1, NULL, $2}; }
  | name ':' type opt_init  { $$ = (Param){@$, $1, $3, $4}; }
  ;

type:
    T_TYPE                  { $$ = build_type(p, &$1, NULL, @$); }
  | T_NAME                  { $$ = build_type(p, &$1, NULL, @$); }
  | T_TYPE '[' dims ']'     { $$ = build_type(p, &$1, &$3, @$); }
  | T_NAME '[' dims ']'     { $$ = build_type(p, &$1, &$3, @$); }
  ;

dims:
    %empty                  { $$ = (Exprs){0}; }
  | dim_list opt_comma
  ;

dim_list:
    dim                     { $$ = (Exprs){0}; PUSH($$, $1); }
  | dim_list ',' dim        { $$ = $1; PUSH($$, $3); }
  ;

dim:
    expr
  | T_DOTS                  { $$ = build_rest(p, @$); }
  ;

/* ---- statements ---- */

block:
    '{' stmts '}'           { $$ = $2; @$ = @3; }
  | '{' stmts stmt '}'      { $$ = $2; if ($3) PUSH($$, $3); @$ = @4; }
  | '{' stmts error '}'     { $$ = $2; @$ = @4; yyerrok; }
  ;

stmts:
    %empty                  { $$ = (Stmts){0}; }
  | stmts stmt newline      { $$ = $1; if ($2) PUSH($$, $2); }
  | stmts error newline     { $$ = $1; yyerrok; }
  ;

stmt:
    exprs                   { build_unused(p, &$1); $$ = NULL; }
  | exprs '=' expr          { $$ = build_assign(p, &$1, $3, @$); }
  | T_PARAM opt_frozen name ':' type opt_init {
        $$ = build_stmt(p, ST_PARAM, @$);
        $$->u.variable.frozen = $2;
        $$->u.variable.name = $3;
        $$->u.variable.type = $5;
        $$->u.variable.init = $6;
    }
  | T_STATE name ':' type opt_init {
        $$ = build_stmt(p, ST_STATE, @$);
        $$->u.variable.name = $2;
        $$->u.variable.type = $4;
        $$->u.variable.init = $5;
    }
  | T_NEXT name '=' expr {
        $$ = build_stmt(p, ST_NEXT, @$);
        PUSH($$->u.assign.names, $2);
        $$->u.assign.value = $4;
    }
  | T_OUTPUT names '=' expr {
        $$ = build_stmt(p, ST_OUTPUT, @$);
        $$->u.assign.names = $2;
        $$->u.assign.value = $4;
    }
  | T_FOR name T_IN expr T_DOTS expr opt_label block {
        $$ = build_stmt(p, ST_FOR, @$);
        $$->u.loop.index = $2;
        $$->u.loop.body = $8;
        build_loop(p, $$, $4, $6, $7);
    }
  | branch
  | T_RETURN exprs {
        $$ = build_stmt(p, ST_RETURN, @$);
        $$->u.values = $2;
    }
  ;

opt_frozen:
    %empty                  { $$ = false; }
  | T_FROZEN                { $$ = true; }
  ;

opt_label:
    %empty                  { $$ = (Name){0}; }
  | T_AS name               { $$ = $2; }
  ;

branch:
    T_IF expr block {
        $$ = build_stmt(p, ST_IF, @$);
        $$->u.branch.condition = $2;
        $$->u.branch.then_body = $3;
    }
  | T_IF expr block T_ELSE block {
        $$ = build_stmt(p, ST_IF, @$);
        $$->u.branch.condition = $2;
        $$->u.branch.then_body = $3;
        $$->u.branch.else_body = $5;
    }
  | T_IF expr block T_ELSE branch {
        $$ = build_stmt(p, ST_IF, @$);
        $$->u.branch.condition = $2;
        $$->u.branch.then_body = $3;
        PUSH($$->u.branch.else_body, $5);
    }
  ;

/* ---- expressions, weakest first ---- */

exprs:
    expr                    { $$ = (Exprs){0}; PUSH($$, $1); }
  | exprs ',' expr          { $$ = $1; PUSH($$, $3); }
  ;

expr:
    or_expr
  ;

or_expr:
    and_expr
  | or_expr T_OR and_expr   { $$ = BINARY(OR, $1, @2, $3, @$); }
  ;

and_expr:
    not_expr
  | and_expr T_AND not_expr { $$ = BINARY(AND, $1, @2, $3, @$); }
  ;

not_expr:
    compared
  | T_NOT not_expr          { $$ = build_unary(p, UN_NOT, $2, @$); }
  ;

compared:
    sum                     %prec LOW
  | comparison
  ;

comparison:
    sum compare_op sum      %prec LOW {
        $$ = build_binary(p, $2, @2, $1, $3, @$);
    }
  | comparison compare_op sum %prec LOW {
        build_chained(p, @2);
        $$ = build_binary(p, $2, @2, $1, $3, @$);
    }
  ;

compare_op:
    T_EQ                    { $$ = BIN_EQ; }
  | T_NE                    { $$ = BIN_NE; }
  | '<'                     { $$ = BIN_LT; }
  | T_LE                    { $$ = BIN_LE; }
  | '>'                     { $$ = BIN_GT; }
  | T_GE                    { $$ = BIN_GE; }
  ;

sum:
    product
  | sum '+' product         { $$ = BINARY(ADD, $1, @2, $3, @$); }
  | sum '-' product         { $$ = BINARY(SUB, $1, @2, $3, @$); }
  ;

product:
    unary
  | product '*' unary       { $$ = BINARY(MUL, $1, @2, $3, @$); }
  | product '/' unary       { $$ = BINARY(DIV, $1, @2, $3, @$); }
  | product '@' unary       { $$ = BINARY(MATMUL, $1, @2, $3, @$); }
  ;

unary:
    power
  | '-' unary               { $$ = build_unary(p, UN_NEG, $2, @$); }
  ;

power:
    postfix                 %prec LOW
  | postfix T_POW unary     { $$ = BINARY(POW, $1, @2, $3, @$); }
  ;

postfix:
    primary
  | call                    %prec LOW
  | call T_AS name          { $$ = $1; build_label(p, $$, $3, @$); }
  | postfix '\''            { $$ = build_transpose(p, $1, @$); }
  | postfix '[' slices opt_comma ']' {
        $$ = build_index(p, $1, $3, @$);
    }
  ;

call:
    path '(' args ')'       { $$ = build_call(p, $1, $3, @$); }
  ;

primary:
    path                    %prec LOW { $$ = build_name(p, $1, @$); }
  | T_TYPE                  { $$ = build_literal(p, EX_TYPE, &$1); }
  | T_INT                   { $$ = build_literal(p, EX_INT, &$1); }
  | T_FLOAT                 { $$ = build_literal(p, EX_FLOAT, &$1); }
  | T_STRING                { $$ = build_literal(p, EX_STRING, &$1); }
  | T_TRUE                  { $$ = build_bool(p, @$, true); }
  | T_FALSE                 { $$ = build_bool(p, @$, false); }
  | '(' expr ')'            { $$ = $2; }
  | '[' items_of_list ']'   { $$ = build_list(p, $2, @$); }
  ;

path:
    name                    { $$ = (Path){.name = $1}; }
  | name '.' name           { $$ = (Path){$1, $3}; }
  ;

items_of_list:
    %empty                  { $$ = (Exprs){0}; }
  | exprs opt_comma
  ;

args:
    %empty                  { $$ = (Args){0}; }
  | arg_list opt_comma      { $$ = $1; }
  ;

arg_list:
    arg {
        $$ = (Args){0};
        build_args_add(p, &$$, $1.name, $1.init);
    }
  | arg_list ',' arg {
        $$ = $1;
        build_args_add(p, &$$, $3.name, $3.init);
    }
  ;

arg:
    expr                    { $$ = (Param){.init = $1}; }
  | name '=' expr           { $$ = (Param){.name = $1, .init = $3}; }
  ;

slices:
    slice                   { $$ = (Slices){0}; PUSH($$, $1); }
  | slices ',' slice        { $$ = $1; PUSH($$, $3); }
  ;

slice:
    expr                    { $$ = (Slice){SLICE_AT, @$, $1, NULL, NULL}; }
  | opt_expr ':' opt_expr {
        $$ = (Slice){SLICE_RANGE, @$, $1, $3, NULL};
    }
  | opt_expr ':' opt_expr ':' opt_expr {
        $$ = (Slice){SLICE_RANGE, @$, $1, $3, $5};
    }
  | T_DOTS                  { $$ = (Slice){.kind = SLICE_REST, .at = @$}; }
  ;

opt_expr:
    %empty                  { $$ = NULL; }
  | expr
  ;

/* ---- lines of train and plan ---- */

lines:
    '{' line_list '}'       { $$ = $2; }
  | '{' line_list line '}'  { $$ = $2; PUSH($$, $3); }
  | '{' line_list error '}' { $$ = $2; yyerrok; }
  ;

line_list:
    %empty                  { $$ = (Lines){0}; }
  | line_list line newline  { $$ = $1; PUSH($$, $2); }
  | line_list error newline { $$ = $1; yyerrok; }
  ;

line:
    line_head
  | line_head '{' error '}' { $$ = $1; yyerrok; }
  | line_head '{' opt_settings '}' {
        $$ = $1;
        $$->at = @$;
        $$->has_block = true;
        $$->settings = $3;
    }
  ;

line_head:
    name items              { $$ = build_line(p, $1, $2, @$); }
  | name items '=' items {
        $$ = build_line(p, $1, $2, @$);
        build_targets(p, $$, $4);
    }
  ;

items:
    %empty                  { $$ = (Items){0}; }
  | items item              { $$ = $1; build_items_add(p, &$$, $2); }
  | items ',' item          { $$ = $1; build_items_add(p, &$$, $3); }
  ;

item:
    expr                    { $$ = build_item(p, $1); }
  | expr '%'                { $$ = build_percent(p, $1, @$); }
  | T_WORD                  { $$ = build_word(p, &$1); }
  ;

opt_settings:
    %empty                  { $$ = (Args){0}; }
  | settings opt_end
  ;

opt_end:
    %empty
  | ','
  | newline
  ;

settings:
    name '=' expr           { $$ = (Args){0};
                              build_args_add(p, &$$, $1, $3); }
  | settings ',' name '=' expr {
        $$ = $1;
        build_args_add(p, &$$, $3, $5);
    }
  | settings newline name '=' expr {
        $$ = $1;
        build_args_add(p, &$$, $3, $5);
    }
  ;

%%

static int
edl_yylex(EDL_YYSTYPE *value, Span *at, Parser *p)
{
    Token *t = parser_next(p);
    if (t->flags & TOK_MISSING)
        parser_missing_brace(p, t);
    value->token = *t;
    *at = t->at;
    return t->kind;
}

/* Bison's own complaint: its stack is at its limit. */
static void
edl_yyerror(const Span *at, Parser *p, const char *text)
{
    (void)text;
    parser_too_deep(p, *at);
}

static int
yyreport_syntax_error(const yypcontext_t *context, Parser *p)
{
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *expected[YYNTOKENS], *words[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    for (int i = 0; i < n; i++)
        expected[i] = yysymbol_name(kinds[i]);
    int n_words = 0;
    for (int i = 0; i < YYNTOKENS; i++) {
        const char *name = yysymbol_name((yysymbol_kind_t)i);
        if (name[0] >= 'a' && name[0] <= 'z' && !strchr(name, ' '))
            words[n_words++] = name;
    }
    parser_expected(p, expected, n, words, n_words);
    return 0;
}

void
edl_parse(Parser *p)
{
    if (yyparse(p) == 2 && !p->too_deep)
        parser_too_deep(p, p->tokens.at[p->next - 1].at);
}
