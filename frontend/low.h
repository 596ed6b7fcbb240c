/* Inside the lowering (frontend/low*.c, lower.c) only.
 *
 * An expression becomes a Val: a constant known now, or a value of the graph.
 * Layers are written out at each call: a Frame is one such instance. A mistake
 * is reported where it is made and gives VAL_POISON, about which everything
 * that depends on it is silent. */
#ifndef EDL_FRONTEND_LOW_H
#define EDL_FRONTEND_LOW_H

#include "frontend/lower.h"
#include "frontend/syntax.h"
#include "ir/shape.h"

/* ---- values ---- */

typedef enum ValKind {
    VAL_POISON,
    VAL_INT,
    VAL_FLOAT,
    VAL_BOOL,
    VAL_STRING,
    VAL_TYPE,
    VAL_LIST,   /* [a, b], and what a layer with several results returns */
    VAL_TENSOR, /* a tensor of the module that this graph may not read yet */
    VAL_VALUE   /* a value of the graph */
} ValKind;

typedef struct Val {
    ValKind kind;
    Span at;          /* where it comes from: the other side of an error */
    const char *text; /* what the source calls it, or NULL */
    int64_t i;        /* int and bool */
    double f;
    const char *s;
    Dtype dtype;
    const struct Val *list;
    int n;
    Tensor *tensor;
    Value *value;
} Val;

/* What an axis is called, and where its size comes from. */
typedef struct Axis {
    const char *text; /* or NULL */
    Span at;
} Axis;

/* Names of a shape; hangs on Value.note while the front end works. */
typedef struct Shape {
    Axis axis[MAX_RANK];
    const char *text; /* what the source calls the value, or NULL */
    Span at;
} Shape;

/* ---- names ---- */

typedef struct Env Env;

typedef struct Binding {
    Val val;
    Span at;
    bool state; /* `next` may set it */
} Binding;

/* Functions have a name space of their own, so that a state `mean` and a call
 * mean(x) can meet. */
typedef struct Closure {
    const Function *function;
    struct Unit *unit;
    Env *env; /* where it was defined; NULL: at the top of its file */
} Closure;

struct Env {
    Map names;               /* Binding  */
    Map functions;           /* Closure  */
    VEC(const char *) order; /* of names: for `did you mean` */
    Env *up;
};

/* A file. */
typedef struct Unit {
    const char *name; /* as imported; the main file: NULL */
    const char *path; /* of the file: imports lie beside it */
    Syntax *syntax;
    Map decls;     /* Decl: dims, consts, functions; never train, plan */
    Map layers;    /* Decl: a name space of their own */
    Map constants; /* Val, once computed */
    Map imports;   /* Unit */
    struct Unit *importer;
    Span import_at;
    bool busy;               /* being loaded */
    VEC(const char *) names; /* of dims and consts, for `did you mean` */
    VEC(const char *) layer_names;
} Unit;

/* One instance of a layer, or the model. */
typedef struct Frame {
    struct Frame *caller;
    const Decl *decl;
    Unit *unit;
    Env *env;
    const char *scope;     /* path in front of names: "h.0.attn", or "" */
    const char *own_scope; /* that of the call, outside its `for`s */
    Span call;             /* where it is called */
    bool returned;
    bool poisoned; /* an argument or statement failed: silent about results */
    Val result;
} Frame;

/* A function that is being written out, to find recursion. */
typedef struct Running {
    const Function *function;
    const struct Running *up;
} Running;

/* The first use of a scope's path. */
typedef struct ScopeUse {
    Span at;
    bool has_tensors;
} ScopeUse;

typedef struct Next {
    Tensor *tensor;
    Value *value;
    Span at;
} Next;

typedef struct Lower {
    Arena *arena;
    Interner *interner;
    Diag *diag;
    const LowerOptions *options;
    Unit *main;
    VEC(Unit *) units;
    Map unit_of; /* by path */
    Module *module;
    Graph *graph;
    bool train_mode;
    bool again; /* the tensors were made by the graph before */
    Unit *unit; /* whose text is being read: names are looked up in it */
    Env *env;
    Frame *frame;
    const char *what; /* the operation as it is written, for messages */
    Map said;         /* places that have their error already */
    int mistakes;     /* errors, also those that were dropped */
    bool said_last;   /* the last low_error was printed: notes belong to it */
    Map scopes;       /* ScopeUse */
    Map reads;        /* Value of a tensor in this graph */
    Map shapes;       /* Shape of a tensor of the module */
    Map given;        /* --set: Dim */
    VEC(Next) nexts;
    VEC(Value *) noted; /* values with a note, to be cleared */
    Node *block_start;  /* the node before the running block instance */
    const Running *running;
    int64_t n_declared; /* params and states met so far */
    int depth;
    int64_t work;
    int64_t n_nodes;
    bool stopped;  /* gave up: too large */
    bool unparsed; /* a file has errors of syntax */
    bool failed;   /* the model has errors: what it lacks is no news */
} Lower;

enum {
    LOW_MAX_DEPTH = 1200,
    LOW_MAX_WORK = 20 * 1000 * 1000, /* expressions and turns */
    LOW_MAX_NODES = 400 * 1000       /* operations and tensors */
};

/* ---- low_say.c: messages ---- */

/* An error; a second one at the same place is dropped. False if dropped. */
bool low_error(Lower *l, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Belongs to the low_error before it. */
void low_note(Lower *l, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "did you mean `x`?" and the legal names, for the low_error before it. */
void low_legal(Lower *l, const char *wrong, const char *const *legal, int n,
               const char *what);
Val low_poison(void);
/* "an i32[B, T] = i32[4, 64]", "the number 3": for "found ..." */
const char *low_describe(Lower *l, const Val *v);
/* "[B, T, 768]", or with names and numbers "[B, T, C] = [4, 64, 768]". */
const char *low_shape_text(Lower *l, const Type *t, const Shape *s);
const char *low_type_text(Lower *l, const Type *t, const Shape *s);
/* An expression as an axis is called: C, 3*C; NULL: a number, or too long. */
const char *low_expr_text(Lower *l, const Expr *e);
/* "768 comes from here", if that is known and not at `not_at`. */
void low_note_axis(Lower *l, const Type *t, const Shape *s, int axis,
                   Span not_at);
/* The error of shape_infer, in the names of the operands' dims. */
void low_shape_error(Lower *l, Span at, Op op, Value *const *args, int n_args,
                     const ShapeError *err);

/* ---- low_const.c: constants ---- */

Val low_int(Span at, int64_t i);
Val low_float(Span at, double f);
Val low_bool(Span at, bool b);
bool low_is_const(const Val *v); /* int, float or bool */
double low_number(const Val *v);
Val low_const_binary(Lower *l, const Expr *e, const Val *a, const Val *b);
Val low_const_unary(Lower *l, const Expr *e, const Val *a);
/* sqrt(2): true when there is such a function of numbers. */
bool low_const_call(Lower *l, const Expr *e, const char *name, const Val *args,
                    int n, Val *out);
/* a * b, false past 2^63. */
bool low_mul(int64_t a, int64_t b, int64_t *out);

/* ---- low_unit.c: files, their constants and layers ---- */

Unit *low_load(Lower *l);
/* The value of a dim or const; NULL: there is none of the name. */
const Val *low_constant(Lower *l, Unit *u, const char *name);
/* The file of `module.`, or the current one; NULL and an error otherwise. */
Unit *low_module(Lower *l, const Path *path);

/* ---- low_scope.c: names ---- */

Env *low_env(Lower *l, Env *up);
Binding *low_find(Env *env, const char *name);
Closure *low_find_function(Env *env, const char *name);
/* Binds; a name that hides a const or dim is an error. */
Binding *low_bind(Lower *l, const Name *name, Val v);
void low_bind_function(Lower *l, const Function *f);
Val low_lookup(Lower *l, const Expr *e);
/* scope.name, or name in the model's own scope. */
const char *low_path(Lower *l, const char *name);
const char *low_join(Lower *l, const char *scope, const char *name);
/* Opens the scope of a call; false, with an error, where it is taken. */
bool low_open_scope(Lower *l, const char *path, const Call *call, Span at);
/* The name of sibling i of a node called parent; NULL for a plain name. */
const char *low_child(Lower *l, const char *parent, Expr *const *siblings,
                      int n, int i);

/* ---- low_emit.c: nodes and tensors ---- */

/* A node, or NULL with an error. types: of a GIVEN op, else NULL. */
Node *low_node(Lower *l, Span at, Op op, const char *name, Value *const *args,
               int n_args, const Attr *attrs, int n_attrs, const Type *given);
/* One more operation or tensor; false, with an error, when they are too
 * many. */
bool low_count(Lower *l, Span at);
/* The first result of such a node, as a Val. */
Val low_emit(Lower *l, Span at, Op op, const char *name, Value *const *args,
             int n_args, const Attr *attrs, int n_attrs);
Val low_val(Value *v, Span at);
/* The value of a VAL_TENSOR or VAL_VALUE in this graph. */
Value *low_value(Lower *l, const Val *v);
bool low_is_value(const Val *v);
const Type *low_type(const Val *v);   /* of a tensor or value */
Shape *low_shape(Lower *l, Value *v); /* never NULL, to be filled */
/* A constant as a scalar of type d; NULL with an error at the place of its
 * use where it has no place in the type. */
Value *low_splat(Lower *l, const Val *v, Dtype d, const char *name, Span at);
Tensor *low_tensor(Lower *l, TensorKind kind, const char *name, const Type *t,
                   const Shape *s, Span at);
/* Are elements and bytes below 2^63, sizes above 0? Else an error. */
bool low_check_size(Lower *l, Span at, const Type *t, const Shape *s);

/* ---- low_type.c: signatures and declared types ---- */

/* A declared type of numbers: param, state, model input. False: errors. */
bool low_declared(Lower *l, const TypeExpr *e, Type *t, Shape *s);
/* Checks an argument against its declaration and binds what it binds. */
bool low_bind_argument(Lower *l, const Param *p, Val *v, Span at,
                       const char *layer);

/* ---- low_expr.c ---- */

/* name: of the node that the expression makes, if it makes one. */
Val low_expr(Lower *l, Expr *e, const char *name);
/* The same, but a layer or split may give several (VAL_LIST). */
Val low_exprs(Lower *l, Expr *e, const char *name);
/* An integer that is known now; false with an error. */
bool low_index(Lower *l, Expr *e, int64_t *out);
Val low_slice(Lower *l, Expr *e, const char *name); /* low_slice.c */
Val low_binary(Lower *l, const Expr *e, BinaryOp op, Val a, Val b,
               const char *name);

/* ---- low_call.c, low_stmt.c ---- */

Val low_call(Lower *l, Expr *e, const char *name);
void low_block(Lower *l, const Stmts *body);

/* ---- low_builtin*.c ---- */

enum { MAX_BUILTIN_PARAMS = 8 };

typedef struct Site Site;

typedef enum ArgKind {
    ARG_tensor, /* a value of the graph     */
    ARG_value,  /* that, or a number        */
    ARG_number, /* a number known now       */
    ARG_int,
    ARG_bool,
    ARG_axis, /* int, counted from the end when negative */
    ARG_axes, /* one, or a list           */
    ARG_dtype,
    ARG_word, /* one of the row's words   */
    ARG_list, /* [a, b]                   */
    ARG_any
} ArgKind;

typedef struct BuiltinParam {
    const char *name;
    ArgKind kind;
    bool required;
    const char *words[4]; /* ARG_word: the legal ones */
} BuiltinParam;

typedef struct Builtin {
    const char *name;
    Val (*make)(Site *s);
    Op op;
    BuiltinParam params[MAX_BUILTIN_PARAMS];
} Builtin;

/* A call of a builtin whose arguments are there. */
struct Site {
    Lower *l;
    const Expr *e;
    const Builtin *row;
    const char *name;            /* of the node to make */
    Span at;                     /* of the callee's name */
    Val arg[MAX_BUILTIN_PARAMS]; /* VAL_POISON with given NULL: left out */
    Expr *given[MAX_BUILTIN_PARAMS];
};

const Builtin *low_builtin(const char *name);
Val low_call_builtin(Lower *l, Expr *e, const Builtin *b, const char *name);
/* All names of builtins, for messages. */
int low_builtin_names(const char **out, int max);

bool site_has(const Site *s, int i);
Value *site_value(const Site *s, int i);
const Type *site_type(const Site *s, int i);
int64_t site_int(const Site *s, int i, int64_t otherwise);
double site_number(const Site *s, int i, double otherwise);
bool site_flag(const Site *s, int i);
const char *site_word(const Site *s, int i, const char *otherwise);
/* The axis of argument i in a rank; false with an error. */
bool site_axis(Site *s, int i, int rank, int64_t *axis);
/* Ascending axes, all when it was left out; their number, -1 on errors. */
int site_axes(Site *s, int i, int rank, int64_t *axes);
/* A list of integers; their number, -1 on errors. */
int site_ints(Site *s, int i, int64_t *out, int max, const char *what);
/* name.suffix */
const char *site_name(const Site *s, const char *suffix);
Span site_span(const Site *s, int i);

Val make_unary(Site *s);
Val make_binary(Site *s);
Val make_where(Site *s);
Val make_clamp(Site *s);
Val make_cast(Site *s);
Val make_dropout(Site *s);
Val make_reduce(Site *s);
Val make_mean(Site *s);
Val make_variance(Site *s);
Val make_softmax(Site *s);
Val make_norm(Site *s);
Val make_embedding(Site *s);
Val make_attend(Site *s);
Val make_rope(Site *s);
Val make_cross_entropy(Site *s);
Val make_loss(Site *s);
Val make_reshape(Site *s);
Val make_transpose(Site *s);
Val make_broadcast(Site *s);
Val make_split(Site *s);
Val make_concat(Site *s);
Val make_stack(Site *s);
Val make_pad(Site *s);
Val make_tile(Site *s);
Val make_take(Site *s);
Val make_arange(Site *s);

/* ---- low_train*.c ---- */

/* The train block of the model; NULL without one, or with errors. */
const Decl *low_train_decl(Lower *l, const char *model);
/* Where a message about the whole block stands. */
Span low_block_at(const Decl *block);
Train *low_train(Lower *l, const Decl *train);
void low_plan(Lower *l, const char *model);
bool low_is_plan_line(const char *keyword);

#endif
