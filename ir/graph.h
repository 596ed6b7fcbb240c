/* The intermediate representation, the only one from the front end to the
 * emitted schedule: a module of tensors (what outlives a call), SSA graphs in
 * program order, and programs (lists of calls). docs/ir.md is its manual;
 * ir/text.h reads and prints it; ir/verify.h checks it.
 *
 * Everything lives in the module's arena. Values and nodes are made with
 * graph_add, moved and removed with the functions below, never by hand. */
#ifndef EDL_IR_GRAPH_H
#define EDL_IR_GRAPH_H

#include "ir/base/arena.h"
#include "ir/base/diag.h"
#include "ir/base/map.h"
#include "ir/op.h"
#include "ir/type.h"

typedef struct Module Module;
typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Value Value;
typedef struct Tensor Tensor;

/* ---- attributes ---- */

typedef enum {
    ATTR_int,
    ATTR_float,
    ATTR_bool,
    ATTR_word, /* an identifier:  kind = row     */
    ATTR_str,  /* quoted text:    key = "h.0.dr" */
    ATTR_ints  /* a list:         axes = [0, 1]  */
} AttrKind;

typedef struct Attr {
    const char *key;
    AttrKind kind;
    int64_t i; /* int and bool; ints: how many */
    double f;
    const char *s;
    const int64_t *list;
} Attr;

Attr attr_int(const char *key, int64_t v);
Attr attr_float(const char *key, double v);
Attr attr_bool(const char *key, bool v);
Attr attr_word(const char *key, const char *v);
Attr attr_str(const char *key, const char *v);
Attr attr_ints(const char *key, const int64_t *list, int n);
bool attr_equal(const Attr *a, const Attr *b);

/* ---- memory ---- */

/* The regions of a rank. io holds the inputs of a step and its outputs. */
typedef enum {
    REGION_none, /* not placed, or lives inside another value's home */
    REGION_state,
    REGION_grads,
    REGION_stash,
    REGION_workspace,
    REGION_io,
    REGION_host,
    REGION_disk,
    REGION_COUNT
} Region;

extern const char *const region_name[REGION_COUNT];

/* A named storage that outlives one call of a graph. */
typedef enum {
    TENSOR_param,   /* trained, saved                                   */
    TENSOR_frozen,  /* a param without gradient                         */
    TENSOR_state,   /* changed by `next`, saved                         */
    TENSOR_opt,     /* optimizer state of `owner`, saved                */
    TENSOR_counter, /* i64 scalar counted by the update, saved          */
    TENSOR_grad,    /* gradient of `owner`, summed over microbatches    */
    TENSOR_input,   /* one microbatch, from the caller                  */
    TENSOR_output,  /* `output` of the model                            */
    TENSOR_stash,   /* from a forward to its backward pass, one a slot  */
    TENSOR_KIND_COUNT
} TensorKind;

extern const char *const tensor_kind_name[TENSOR_KIND_COUNT];

typedef enum { INIT_none, INIT_constant, INIT_normal, INIT_uniform } InitKind;

/* constant a; normal(mean a, std b); uniform in [a, b). */
typedef struct Init {
    InitKind kind;
    double a, b;
} Init;

struct Tensor {
    const char *name; /* its path: h.3.attn.c_attn.w; the checkpoint's name */
    TensorKind kind;
    Type type;
    Layout layout; /* dense unless the plan pads or packs it */
    Sharding sharding;
    Space space;
    Init init;
    Tensor *owner;       /* opt and grad: the param */
    const char *role;    /* opt: "m", "v", "momentum" */
    double weight_decay; /* param: as its groups and no_decay say */
    double lr_scale;     /* param: 1 unless a group says */
    Region region;
    int64_t place; /* byte offset in the region, -1 before placement */
    int64_t bytes; /* with padding, 0 before placement               */
    Span loc;
    Span placed; /* its line in the placement table that was read */
    int mark; /* free for the running pass */
};

/* ---- values and nodes ---- */

struct Value {
    const char *name; /* unique in the module's graph, from the source */
    Type type;
    Layout layout; /* where its elements lie inside home */
    Sharding sharding;
    Space space;
    Node *def;
    int result;     /* index in def->results; for a value of a body: in the
                     * body node's results */
    Value *home;    /* the value whose storage it lies in; itself if its own */
    Tensor *tensor; /* storage is this tensor's (a read, or written in place);
                     * only on a home */
    Region region;  /* of a home without tensor, after placement */
    int64_t place;  /* byte offset in its region instance, -1 before */
    int64_t bytes;  /* of a home, with padding and alignment, 0 before */
    Span placed;    /* its line in the placement table that was read */
    int n_uses;     /* operand slots of nodes, bodies included, that read it
                     * (a fused node's own list does not count), as of the
                     * last graph_count_uses */
    Value *forward; /* what graph_forward puts in its place, or NULL */
    int mark;       /* free for the running pass */
    void *note;     /* free for the running pass */
};

typedef enum { PHASE_forward, PHASE_backward, PHASE_update } Phase;

extern const char *const phase_name[3];

struct Node {
    Op op;
    Value **args;
    int n_args;
    Value **results;
    int n_results;
    Attr *attrs;
    int n_attrs;
    Tensor *tensor; /* OP_TENSOR ops */
    Graph *body;    /* OP_fused: its nodes; args are the values it reads from
                     * outside, results those of its values read outside */
    Phase phase;
    int stage;
    const char *block; /* "h.3", the block instance it came from, or NULL */
    bool recomputed;   /* a copy made by the planner */
    int64_t scratch;   /* place of ir/scratch.h's bytes in the workspace, -1
                        * before placement and where none are needed */
    Span placed; /* the line of its scratch in the table that was read */
    Span loc;
    Graph *graph;
    Node *prev, *next;
    int order; /* position, as of the last graph_number */
    int mark;  /* free for the running pass */
};

/* What new nodes inherit. */
typedef struct Context {
    Phase phase;
    int stage;
    const char *block;
    Span loc;
} Context;

struct Graph {
    Module *module;
    const char *name;
    Node *owner; /* the fused node whose body this is, or NULL */
    Node *first, *last;
    Node *at;    /* new nodes go before it; NULL: to the end */
    Context context;
    Map values;  /* name -> Value (bodies use the outermost graph's) */
    Map counts;  /* name -> how often graph_fresh has met it */
    int64_t workspace; /* bytes, after placement */
    int64_t stash;     /* bytes of one slot, after placement */
    Span workspace_loc, stash_loc; /* their lines of a schedule */
};

#define graph_each(g, n) for (Node *n = (g)->first; n; n = n->next)
#define graph_each_reverse(g, n) for (Node *n = (g)->last; n; n = n->prev)

/* Makes a node at g->at. Operands must be of g (or, in a body, outside it).
 * name: of the first result, made unique ('2, '3); NULL where none is made.
 * Result types come from ir/shape.c; GIVEN ops take them from graph_add_typed.
 * bug() when the types do not fit: the front end checks with shape_infer. */
Node *graph_add(Graph *g, Op op, const char *name, Value *const *args,
                int n_args, const Attr *attrs, int n_attrs);
Node *graph_add_typed(Graph *g, Op op, const char *name, const Type *types,
                      int n_types, Value *const *args, int n_args,
                      const Attr *attrs, int n_attrs);

/* The common cases: the only result of an op without attributes. */
Value *graph_unary(Graph *g, Op op, const char *name, Value *a);
Value *graph_binary(Graph *g, Op op, const char *name, Value *a, Value *b);
/* A constant of a type (splat). */
Value *graph_const(Graph *g, const char *name, const Type *t, double value);
Value *graph_read(Graph *g, const char *name, Tensor *t);
Node *graph_write(Graph *g, Op write_or_accumulate, Tensor *t, Value *v);

/* NAME, or NAME'2, NAME'3, ... : the first that is free in g; interned. */
const char *graph_fresh(Graph *g, const char *name);
/* base.suffix, interned, not made unique. */
const char *graph_derive(Graph *g, const char *base, const char *suffix);

void node_remove(Node *n);               /* its results must be unused */
void node_move_before(Node *n, Graph *g, Node *at); /* at NULL: to the end */
void node_set_arg(Node *n, int i, Value *v);
/* n makes its results, of the same types and names, by another op. */
void node_become(Node *n, Op op, Value *const *args, int n_args,
                 const Attr *attrs, int n_attrs);
/* Every use of `old` in its graph (bodies included) reads `new` instead.
 * Walks the graph: a pass that replaces many sets forwards instead. */
void value_replace(Value *old, Value *new);
/* Notes that `old` is to be replaced; graph_forward does all of them in one
 * walk (chains too) and clears them. value_final: v, or what replaces it. */
void value_forward(Value *old, Value *new);
Value *value_final(Value *v);
void graph_forward(Graph *g);
/* Another name for a value; made unique. */
void value_rename(Value *v, const char *name);
void value_swap_names(Value *a, Value *b);
/* The graph that is called: a body's outermost owner. */
Graph *graph_outer(const Graph *g);
/* The node of the outermost graph in which v is made. */
Node *value_node(const Value *v);
/* The tensor that v was read of, or fetched of after that; NULL: none. */
Tensor *value_tensor(const Value *v);
/* Value.note = NULL of all values, bodies included; and Value.mark = 0. */
void graph_forget_notes(const Graph *g);
void graph_forget(Graph *g);
void graph_count_uses(Graph *g);
void graph_number(Graph *g);

/* A copy of n before g->at; an operand with Value.note set is read as that
 * Value, any other as itself; result names + suffix, made unique. Sets the
 * notes of n's results (those of a body too) to the copies. */
Node *node_clone(Graph *g, const Node *n, const char *suffix);

/* Wraps the nodes (in program order, all of g, no outside node between them
 * depends on them and is needed by them) into one fused node that stands
 * where the last of them stood. Needs graph_count_uses to be up to date;
 * leaves it so. Nodes that are groups themselves are opened. */
Node *graph_fuse(Graph *g, Node *const *nodes, int n, const char *kind);
/* Gives a fused node that has none an empty body. */
Graph *fused_open(Node *fused);
/* n, or the first node of its body, that is of this op; NULL: none is. */
const Node *node_find(const Node *n, Op op);
/* Finds a group's operands and results again after its body or the uses of
 * its values changed; same needs as graph_fuse. */
void fused_refresh(Node *fused);

const Attr *node_attr(const Node *n, const char *key); /* NULL: not there */
int64_t node_int(const Node *n, const char *key, int64_t otherwise);
double node_float(const Node *n, const char *key, double otherwise);
bool node_flag(const Node *n, const char *key);
const char *node_word(const Node *n, const char *key, const char *otherwise);
void node_set_attr(Node *n, Attr a);

/* ---- the train section ---- */

/* Learning rate of update s (from 0); warm-up peak*(s+1)/warmup, then
 * constant: peak; linear, cosine: from peak to floor over steps - warmup. */
typedef struct LrSchedule {
    const char *kind; /* constant, linear, cosine */
    double peak, floor;
    int64_t warmup, steps;
} LrSchedule;

/* next_token("train.bin", dtype = u16, order = shuffled) and the like. */
typedef struct DataSource {
    const char *kind; /* next_token, npy, table */
    const char *path;
    VEC(const char *) names; /* the inputs that it fills */
    VEC(Attr) options;
} DataSource;

typedef struct Train {
    uint64_t seed;
    VEC(DataSource) data, validate;
    int64_t validate_every, validate_batches; /* 0: never */
    const char *minimize;                     /* name of an output */
    const char *optimizer;                    /* adamw, sgd */
    LrSchedule lr;
    double beta1, beta2, eps, weight_decay, momentum;
    bool nesterov;
    double clip_norm; /* 0: none */
    bool skip_nonfinite;
    int64_t accumulate, steps;
    const char *checkpoint; /* NULL: none */
    int64_t checkpoint_every;
    Span loc; /* of the section that was read */
} Train;

/* ---- programs ---- */

typedef enum { ACTION_call, ACTION_repeat } ActionKind;

/* call GRAPH(mb = .., slot = ..)  or  repeat mb in lo..hi { actions }.
 * mb: a number, or MB_LOOP for the variable of the enclosing repeat. */
enum { MB_LOOP = -1 };
typedef struct Action {
    ActionKind kind;
    Graph *graph;
    int64_t mb, slot;
    int64_t lo, hi;
    VEC(struct Action *) body;
    Span loc;
} Action;

/* A product that the CUDA target leaves to cuBLASLt, in words (codegen), and how
 * it is made: as ir/algorithm.h reads it, or NULL: as `init` finds. */
typedef struct ProductChoice {
    const char *product, *algorithm;
    Span loc; /* where it was read */
} ProductChoice;

typedef struct Program {
    const char *name; /* step, evaluate, infer */
    int rank;
    VEC(Action *) actions;
    Span loc;
} Program;

/* ---- the module ---- */

typedef struct Option {
    const char *key, *value;
    Span loc; /* where it was read */
} Option;

typedef struct Dim {
    const char *name;
    int64_t value;
    Span loc; /* where it was read */
} Dim;

/* What the pass recompute found, for people: bytes and predicted time of a
 * step if nothing is made again, and the time as planned; all 0 where it had
 * nothing to do. lowest: the smallest limit if values were made again, where
 * an option forbids it; moved: if they might leave the device, where no option
 * allows it and the limit is not kept. */
typedef struct Planned {
    int64_t kept_bytes, kept_ns, ns, lowest, moved;
} Planned;

struct Module {
    Arena *arena;
    Interner *interner;
    Diag *diag;
    const char *name; /* the model's */
    VEC(Option) options; /* mode, target, limit, precision, ...: what changes
                          * the graph, in a fixed order */
    VEC(Dim) dims;
    VEC(Tensor *) tensors;
    Map tensor_map;
    Train *train; /* NULL without a train block */
    VEC(Graph *) graphs;
    VEC(Program *) programs;
    VEC(ProductChoice) products; /* all of the program's, or none yet */
    int64_t region_bytes[REGION_COUNT]; /* after placement */
    Span region_loc[REGION_COUNT];      /* where they were read */
    int64_t slots;                      /* stash slots */
    const struct Machine *machine; /* to plan for (passes/plan/machine.h);
                                    * NULL: the default of the target */
    const char *machine_file; /* as the plan block says; or NULL */
    Planned planned;
    bool over_limit; /* an error in diag says that the plan does not fit under
                      * the limit: exit status 3 */
};

Module *module_new(Arena *a, Diag *d, const char *name);
Graph *module_add_graph(Module *m, const char *name);
Graph *module_graph(const Module *m, const char *name); /* or NULL */
/* The name must be free: tensors of all kinds share one name space.
 * module_fresh: NAME, or NAME'2, NAME'3, ...: the first that is free. */
const char *module_fresh(Module *m, const char *name);
Tensor *module_add_tensor(Module *m, TensorKind kind, const char *name,
                          const Type *t);
Tensor *module_tensor(const Module *m, const char *name); /* or NULL */
/* NULL: the module does not state it. */
const Option *module_stated(const Module *m, const char *key);
const char *module_option(const Module *m, const char *key); /* or NULL */
bool module_option_is(const Module *m, const char *key, const char *value);
void module_set_option(Module *m, const char *key, const char *value);

#endif
