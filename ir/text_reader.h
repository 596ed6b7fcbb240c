/* How the reader of ir/text.h is cut in files: inside ir/ only.
 *
 * A function that reads says false after it has reported an error; the
 * caller gives up its line, and reading goes on with the next. */
#ifndef EDL_IR_TEXT_READER_H
#define EDL_IR_TEXT_READER_H

#include "ir/graph.h"
#include "ir/text_lex.h"

typedef VEC(Token) Tokens;

/* A value that lies in another's home, found when the graph is whole. */
typedef struct PendingHome {
    Value *value;
    Token home;
} PendingHome;

/* The lists on the line of a group, checked when the graph is whole. */
typedef struct PendingGroup {
    Node *node;
    Token at;
    Tokens results, args;
} PendingGroup;

typedef struct Reader {
    Arena *arena;
    Diag *diag;
    Module *module;
    int file;
    Lexer lexer;
    Token tok, ahead;
    int errors;
    Map sections; /* those that come once, and have come */
    Map missing;  /* names of tensors that are not there: said once */
    Map spoiled;  /* names of graphs with lines that are wrong */
    /* of the graph being read */
    Graph *graph; /* or the body in it */
    Map poison;   /* names whose nodes were wrong: no error for their uses */
    bool in_block;
    bool broken; /* a line was skipped: unknown names are no error */
    VEC(PendingHome) homes;
    VEC(PendingGroup) groups;
} Reader;

/* ---- text_reader.c ---- */

void reader_advance(Reader *r);
Span reader_span(const Reader *r, const Token *t);
/* False always. */
bool reader_fail(Reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool reader_fail_at(Reader *r, const Token *t, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool reader_no_tensor(Reader *r, const Token *t, const char *name);
/* "expected WHAT, found ...". */
bool reader_expected(Reader *r, const char *what);
/* To the next line, past a block that the line opens. */
void reader_skip_line(Reader *r);

bool reader_take(Reader *r, int kind);
bool reader_take_word(Reader *r, const char *word);
bool reader_expect(Reader *r, int kind, const char *what);
bool reader_expect_word(Reader *r, const char *word);
bool reader_line_end(Reader *r);
/* Fails where seen has the text of t already: of two lines that state the
 * same thing the last would win. */
bool reader_once(Reader *r, Map *seen, const Token *t);
/* `{`, lines that `line` reads, `}`. */
bool reader_block(Reader *r, bool (*line)(Reader *r, void *to), void *to);

/* The text of a token, interned. */
const char *reader_intern(Reader *r, const Token *t);
bool reader_name(Reader *r, const char *what, const char **out);
bool reader_names(Reader *r, const char *what, Tokens *out);
bool reader_int(Reader *r, int64_t *out);
bool reader_int_from(Reader *r, int64_t least, int64_t *out);
bool reader_unsigned(Reader *r, uint64_t *out);
bool reader_double(Reader *r, double *out);
bool reader_text(Reader *r, const char **out);
bool reader_bool(Reader *r, bool *out);
bool reader_ints(Reader *r, Attr *out); /* [1,2] */
/* key = value of a kind; ATTR_ANY: the kind that it looks like. */
enum { ATTR_ANY = -1 };
bool reader_attr_value(Reader *r, int kind, Attr *out);

/* ---- text_read_type.c ---- */

/* What may follow a type. */
typedef struct Storage {
    bool in_home, in_tensor;
    Token home; /* or the tensor */
    bool has_layout;
    Layout layout; /* where in_home, in_tensor or has_layout */
    bool has_space;
    Space space;
    Sharding sharding;
} Storage;

bool reader_type(Reader *r, Type *out);
/* normal: the layout if none is written. */
bool reader_storage(Reader *r, const Type *t, const Layout *normal,
                    Storage *out);

/* ---- sections ---- */

bool reader_tensor(Reader *r, TensorKind kind);
bool reader_train(Reader *r);
bool reader_graph(Reader *r);
bool reader_program(Reader *r);
bool reader_products(Reader *r);
bool reader_regions(Reader *r);
bool reader_placement(Reader *r);

#endif
