/* The syntax tree of one .edl file: what stands in the text, nothing
 * resolved. Every node knows its place; all memory is the arena's; names and
 * strings are interned, so equal names are equal pointers.
 *
 * A tree that parse_file returned without an error holds no NULL except
 * where a comment says "or NULL". */
#ifndef EDL_FRONTEND_SYNTAX_H
#define EDL_FRONTEND_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/arena.h"
#include "ir/base/diag.h"
#include "ir/base/map.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct Decl Decl;

typedef struct Name {
    const char *text; /* NULL: absent */
    Span at;
} Name;

typedef VEC(Name) Names;
typedef VEC(Expr *) Exprs;
typedef VEC(Stmt *) Stmts;
typedef VEC(Decl *) Decls;

/* ---- expressions ---- */

/*  id   text   weakest first */
#define SYNTAX_BINARIES(X)                                                 \
    X(OR, "or")                                                            \
    X(AND, "and")                                                          \
    X(EQ, "==")                                                            \
    X(NE, "!=")                                                            \
    X(LT, "<")                                                             \
    X(LE, "<=")                                                            \
    X(GT, ">")                                                             \
    X(GE, ">=")                                                            \
    X(ADD, "+")                                                            \
    X(SUB, "-")                                                            \
    X(MUL, "*")                                                            \
    X(DIV, "/")                                                            \
    X(MATMUL, "@")                                                         \
    X(POW, "**")

typedef enum BinaryOp {
#define X(id, text) BIN_##id,
    SYNTAX_BINARIES(X)
#undef X
    BIN_COUNT
} BinaryOp;

/* The operator as it is written: "+", "and". */
extern const char *const binary_text[BIN_COUNT];

typedef enum UnaryOp { UN_NEG, UN_NOT } UnaryOp;

typedef enum ExprKind {
    EX_INT,       /* integer: 0 .. INT64_MAX */
    EX_FLOAT,     /* number: finite */
    EX_STRING,    /* string: escapes are resolved */
    EX_BOOL,      /* boolean */
    EX_NAME,      /* path: x, nn.PI */
    EX_TYPE,      /* path.name: the word of a type where a value is expected,
                     as in dtype = u16, cast(x, f32), precision bf16 */
    EX_CALL,      /* call */
    EX_INDEX,     /* index: x[:, 0, 2:-1] */
    EX_UNARY,     /* unary */
    EX_BINARY,    /* binary; comparisons do not chain */
    EX_TRANSPOSE, /* operand: x' */
    EX_LIST,      /* list: [2, 0, 1] */
    EX_REST       /* `..` among the dims of a type, nowhere else */
} ExprKind;

/* nn.linear: module nn; linear alone: module.text is NULL. */
typedef struct Path {
    Name module; /* or text NULL */
    Name name;
} Path;

/* A positional argument (name.text NULL) or name = value. The parser has
 * checked that no positional one follows a named one, and that no name comes
 * twice. */
typedef struct Arg {
    Name name;
    Expr *value;
} Arg;

typedef VEC(Arg) Args;

typedef struct Call {
    Path callee;
    Args args;
    Name label; /* f(x) as label, or text NULL */
} Call;

typedef enum SliceKind {
    SLICE_AT,    /* x[i]: start only; the axis goes */
    SLICE_RANGE, /* x[start : stop : step], each or NULL */
    SLICE_REST   /* x[.., i]: all axes not named */
} SliceKind;

typedef struct Slice {
    SliceKind kind;
    Span at;
    Expr *start, *stop, *step;
} Slice;

typedef VEC(Slice) Slices;

struct Expr {
    ExprKind kind;
    int depth; /* of this tree, at most SYNTAX_MAX_DEPTH: recursion is safe */
    Span at;
    union {
        int64_t integer;
        double number;
        const char *string;
        bool boolean;
        Path path;
        Call call;
        struct {
            Expr *base;
            Slices slices;
        } index;
        struct {
            UnaryOp op;
            Expr *operand;
        } unary;
        struct {
            BinaryOp op;
            Span op_at; /* the operator itself, for a caret */
            Expr *left, *right;
        } binary;
        Expr *operand;
        Exprs list;
    } u;
};

/* The version of the language that this edlc reads. */
enum { SYNTAX_VERSION = 1 };

/* Trees of expressions, and brackets of any kind, are not deeper. */
enum { SYNTAX_MAX_DEPTH = 1000 };

/* ---- types ---- */

/* f32[V, C], float[.., I], int, bool. name is a reserved type word: those of
 * ir/dtypes.def, `float`, `int`. Without brackets has_dims is false. */
typedef struct TypeExpr {
    Span at;
    Name name;
    bool has_dims;
    Exprs dims; /* EX_REST at most once */
} TypeExpr;

/* The type words, NULL at the end. */
extern const char *const syntax_type_words[];
bool syntax_is_type(const char *word);

/* ---- statements ---- */

typedef enum StmtKind {
    ST_ASSIGN,   /* assign: q, k, v = e */
    ST_FUNCTION, /* function: heads(t) = e */
    ST_PARAM,    /* variable: param w: f32[I, O] = e */
    ST_STATE,    /* variable: state m: f32[C] = e */
    ST_NEXT,     /* assign: next m = e; one name */
    ST_OUTPUT,   /* assign: output loss = e */
    ST_FOR,      /* loop */
    ST_IF,       /* branch */
    ST_RETURN    /* values, one or more */
} StmtKind;

/* A function of values without parameters of its own. */
typedef struct Function {
    Name name;
    Names params;
    Expr *value;
} Function;

struct Stmt {
    StmtKind kind;
    Span at;
    union {
        struct {
            Names names;
            Expr *value;
        } assign;
        Function function;
        struct {
            bool frozen;
            Name name;
            TypeExpr *type;
            Expr *init; /* or NULL */
        } variable;
        struct {
            Name index;
            Expr *from, *to; /* runs from .. to-1 */
            Name label;      /* or text NULL */
            Stmts body;
        } loop;
        struct {
            Expr *condition;
            Stmts then_body;
            Stmts else_body; /* `else if` is one ST_IF in here */
        } branch;
        Exprs values;
    } u;
};

/* ---- declarations ---- */

typedef enum DeclKind {
    DECL_IMPORT,   /* name */
    DECL_DIM,      /* constant; one Decl for each name of the list */
    DECL_CONST,    /* constant; the same */
    DECL_FUNCTION, /* function */
    DECL_LAYER,    /* layer */
    DECL_MODEL,    /* layer */
    DECL_TRAIN,    /* settings; name: the model */
    DECL_PLAN      /* settings; name: the model, or text NULL */
} DeclKind;

/* x: float[N, C], O: int, bias = true: type or default may be absent, not
 * both; a parameter without both is `x`, a value of any type. */
typedef struct Param {
    Span at;
    Name name;
    TypeExpr *type; /* or NULL */
    Expr *init;     /* or NULL */
} Param;

typedef VEC(Param) Params;

typedef struct Layer {
    Params params;
    Stmts body;
    Span end; /* the closing brace, for "has no return" */
} Layer;

/* One line of a train or plan block. The parser knows no keyword of them:
 * whoever lowers the block does. In
 *     data     tokens, targets = next_token("t.bin", dtype = u16)
 * the targets are tokens and targets, the items the call. In
 *     validate next_token("val.bin", dtype = u16) every 250 batches 20
 *     group    "h.0.*" { lr_scale = 0.1 }
 *     memory   3 GiB
 * the items are EXPR WORD EXPR WORD EXPR; EXPR and a setting; SIZE. */
typedef enum ItemKind {
    ITEM_EXPR,   /* value */
    ITEM_WORD,   /* word: every, auto, 1f1b, zb-h1; value: EX_NAME of it when
                    the word could be a name, or NULL. Type words (i8, bf16)
                    are ITEM_EXPR with EX_TYPE */
    ITEM_SIZE,   /* bytes: 3 GiB, 512MiB, 2 GB */
    ITEM_PERCENT /* percent: 80% */
} ItemKind;

typedef struct Item {
    ItemKind kind;
    Span at;
    Expr *value;
    const char *word;
    int64_t bytes;
    double percent;
} Item;

typedef VEC(Item) Items;

typedef struct Line {
    Span at;
    Name keyword;
    Names targets;  /* the names before `=`, or none */
    Items items;    /* commas between items are gone */
    bool has_block; /* { } was written */
    Args settings;  /* name = value of the { }; no name comes twice */
} Line;

typedef VEC(Line *) Lines;

struct Decl {
    DeclKind kind;
    Span at;
    Name name;
    union {
        Expr *constant; /* of a dim: or NULL, then --set must give it */
        Function function;
        Layer layer;
        Lines settings;
    } u;
};

typedef struct Syntax {
    int file;    /* of the Diag */
    int version; /* edl N */
    Decls decls; /* in the order of the text */
} Syntax;

#endif
