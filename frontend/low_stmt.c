#include "frontend/low.h"

/* ---- names that could not get a value ---- */

static void poison_names(Lower *l, const Stmts *body);

static void
poison_stmt(Lower *l, const Stmt *s)
{
    switch (s->kind) {
    case ST_ASSIGN:
    case ST_OUTPUT:
        for (int i = 0; i < s->u.assign.names.n; i++)
            low_bind(l, &s->u.assign.names.at[i], low_poison());
        return;
    case ST_PARAM:
    case ST_STATE:
        low_bind(l, &s->u.variable.name, low_poison());
        return;
    case ST_FOR:
        poison_names(l, &s->u.loop.body);
        return;
    case ST_IF:
        poison_names(l, &s->u.branch.then_body);
        poison_names(l, &s->u.branch.else_body);
        return;
    case ST_FUNCTION:
        low_bind_function(l, &s->u.function);
        return;
    case ST_NEXT:
    case ST_RETURN:
        return;
    }
}

static void
poison_names(Lower *l, const Stmts *body)
{
    l->frame->poisoned = true;
    for (int i = 0; i < body->n; i++)
        poison_stmt(l, body->at[i]);
}

/* ---- assignment ---- */

/* q, k, v = split(...): each part has its own name. */
static void
name_parts(Lower *l, const Names *names, const Val *v)
{
    const Value *first = v->list[0].value;
    if (v->list[0].kind != VAL_VALUE || first->def->op != OP_split ||
        first->def != l->graph->last)
        return;
    for (int i = 1; i < names->n; i++)
        value_rename(v->list[i].value, low_path(l, names->at[i].text));
}

/* One value for each name; poison where they are not as many. */
static const Val *
several(Lower *l, const Stmt *s)
{
    const Names *names = &s->u.assign.names;
    Expr *e = s->u.assign.value;
    Val v = low_exprs(l, e, low_path(l, names->at[0].text));
    bool fits = v.kind == VAL_LIST && v.n == names->n;
    if (fits && e->kind == EX_CALL)
        name_parts(l, names, &v);
    if (fits)
        return v.list;
    if (v.kind != VAL_POISON)
        low_error(l, e->at, "%d names take %s", names->n,
                  v.kind == VAL_LIST ? arena_printf(l->arena, "%d values", v.n)
                                     : "one value");
    return ARENA_ARRAY(l->arena, Val, names->n);
}

static void
assign_several(Lower *l, const Stmt *s)
{
    const Names *names = &s->u.assign.names;
    const Val *v = several(l, s);
    for (int i = 0; i < names->n; i++)
        low_bind(l, &names->at[i], v[i]);
}

static void
assign(Lower *l, const Stmt *s)
{
    const Names *names = &s->u.assign.names;
    if (names->n > 1) {
        assign_several(l, s);
        return;
    }
    const char *name = names->at[0].text;
    low_bind(l, &names->at[0],
             low_expr(l, s->u.assign.value, low_path(l, name)));
}

/* ---- param and state ---- */

typedef struct InitArgs {
    const char *names[2];
    double value[2];
    bool given[2];
} InitArgs;

static bool
init_arguments(Lower *l, const Call *c, InitArgs *a, int n)
{
    for (int i = 0; i < c->args.n; i++) {
        const Arg *arg = &c->args.at[i];
        int k = arg->name.text ? 0 : i;
        while (arg->name.text && k < n &&
               strcmp(a->names[k], arg->name.text) != 0)
            k++;
        if (k >= n) {
            Span at = arg->name.text ? arg->name.at : arg->value->at;
            if (low_error(l, at, "`%s` has no such argument",
                          c->callee.name.text))
                low_legal(l, arg->name.text ? arg->name.text : "", a->names, n,
                          "its arguments are");
            return false;
        }
        Val v = low_expr(l, arg->value, NULL);
        if (v.kind == VAL_POISON)
            return false;
        if (v.kind != VAL_INT && v.kind != VAL_FLOAT) {
            low_error(l, arg->value->at, "expected a number, found %s",
                      low_describe(l, &v));
            return false;
        }
        a->value[k] = low_number(&v);
        a->given[k] = true;
    }
    return true;
}

static const struct {
    const char *name;
    InitKind kind;
    InitArgs args; /* defaults; given: may be left out */
    int n;
} inits[] = {
    {"zeros", INIT_constant, {{NULL}, {0}, {false}}, 0},
    {"ones", INIT_constant, {{NULL}, {1}, {false}}, 0},
    {"constant", INIT_constant, {{"value"}, {0}, {false}}, 1},
    {"normal", INIT_normal, {{"mean", "std"}, {0}, {true, false}}, 2},
    {"uniform", INIT_uniform, {{"low", "high"}, {0}, {false, false}}, 2},
};

enum { N_INITS = sizeof inits / sizeof inits[0] };

static int
init_named(const char *name)
{
    for (int i = 0; i < N_INITS; i++)
        if (strcmp(inits[i].name, name) == 0)
            return i;
    return -1;
}

static bool
init_call(Lower *l, const Expr *e, int row, Init *out)
{
    InitArgs a = inits[row].args;
    if (e->kind == EX_CALL && !init_arguments(l, &e->u.call, &a, inits[row].n))
        return false;
    for (int i = 0; i < inits[row].n; i++)
        if (!a.given[i]) {
            low_error(l, e->at, "%s needs %s = ...", inits[row].name,
                      a.names[i]);
            return false;
        }
    if (inits[row].kind == INIT_normal && a.value[1] < 0) {
        low_error(l, e->at, "std must be 0 or more");
        return false;
    }
    if (inits[row].kind == INIT_uniform && !(a.value[0] < a.value[1])) {
        low_error(l, e->at, "low must be below high");
        return false;
    }
    *out = (Init){inits[row].kind, a.value[0], a.value[1]};
    return true;
}

/* Nothing is called like this. */
static bool
is_unknown(Lower *l, const Path *path)
{
    const char *name = path->name.text;
    return !path->module.text && !low_builtin(name) &&
           !low_find_function(l->env, name) &&
           !map_get(&l->unit->decls, name) && !map_get(&l->unit->layers, name);
}

/* normal(std = 0.02), zeros, or a number. */
static bool
initial(Lower *l, const Stmt *s, Init *out)
{
    Expr *e = s->u.variable.init;
    if (!e) {
        if (low_error(l, s->u.variable.name.at, "`%s` has no initial value",
                      s->u.variable.name.text))
            low_note(l, (Span){0},
                     "write = zeros, ones, constant(x), "
                     "normal(std = x) or uniform(low, high)");
        return false;
    }
    const Path *path = e->kind == EX_NAME   ? &e->u.path
                       : e->kind == EX_CALL ? &e->u.call.callee
                                            : NULL;
    int row = path && !path->module.text ? init_named(path->name.text) : -1;
    if (row >= 0 && !(e->kind == EX_NAME && low_find(l->env, path->name.text)))
        return init_call(l, e, row, out);
    if (e->kind == EX_CALL && is_unknown(l, path)) {
        const char *legal[N_INITS];
        for (int i = 0; i < N_INITS; i++)
            legal[i] = inits[i].name;
        if (low_error(l, e->at, "there is no initial value `%s`",
                      path->name.text))
            low_legal(l, path->name.text, legal, N_INITS, "there are");
        return false;
    }
    Val v = low_expr(l, e, NULL);
    if (v.kind == VAL_BOOL || v.kind == VAL_INT || v.kind == VAL_FLOAT) {
        *out = (Init){INIT_constant, low_number(&v), 0};
        return true;
    }
    if (v.kind != VAL_POISON)
        low_error(l, e->at,
                  "an initial value is a number, zeros, ones, "
                  "constant, normal or uniform; found %s",
                  low_describe(l, &v));
    return false;
}

static void
variable(Lower *l, const Stmt *s)
{
    const Name *name = &s->u.variable.name;
    bool state = s->kind == ST_STATE;
    TensorKind kind = state                  ? TENSOR_state
                      : s->u.variable.frozen ? TENSOR_frozen
                                             : TENSOR_param;
    Type t;
    Shape shape = {.text = name->text, .at = name->at};
    Init init;
    bool good = low_declared(l, s->u.variable.type, &t, &shape);
    good = initial(l, s, &init) && good;
    if (good && kind == TENSOR_param && !type_is_float(&t)) {
        low_error(l, s->u.variable.type->at,
                  "a trained param must be floating, found %s; write `param "
                  "frozen` or `state`",
                  dtype_info[t.dtype].name);
        good = false;
    }
    l->n_declared++;
    Tensor *x = good ? low_tensor(l, kind, low_path(l, name->text), &t, &shape,
                                  name->at)
                     : NULL;
    Val v = low_poison();
    if (x) {
        x->init = init;
        v = (Val){.kind = VAL_TENSOR, .at = name->at, .tensor = x};
    }
    low_bind(l, name, v)->state = state;
}

/* ---- next and output ---- */

static Value *
next_value(Lower *l, const Stmt *s, const Tensor *t, const char *name)
{
    Expr *e = s->u.assign.value;
    Val v = low_expr(l, e, name);
    if (v.kind == VAL_POISON)
        return NULL;
    if (!low_is_value(&v))
        v = low_is_const(&v)
                ? low_val(low_splat(l, &v, t->type.dtype, name, e->at), e->at)
                : v;
    if (low_is_value(&v) && (v.kind == VAL_TENSOR || v.value) &&
        low_type(&v)->rank == 0 && t->type.rank > 0 &&
        low_type(&v)->dtype == t->type.dtype) {
        Value *x = low_value(l, &v);
        Attr a = attr_ints("shape", t->type.dim, t->type.rank);
        v = low_emit(l, e->at, OP_broadcast, name, &x, 1, &a, 1);
    }
    if (low_is_value(&v) && type_equal(low_type(&v), &t->type))
        return low_value(l, &v);
    if (low_error(l, e->at, "the next value of `%s`: expected %s, found %s",
                  t->name,
                  low_type_text(l, &t->type, map_get(&l->shapes, t->name)),
                  low_describe(l, &v)))
        low_note(l, t->loc, "`%s` is declared here", t->name);
    return NULL;
}

static void
next(Lower *l, const Stmt *s)
{
    const Name *name = &s->u.assign.names.at[0];
    Binding *b = low_find(l->env, name->text);
    if (!b || !b->state) {
        if (low_error(l, name->at, "`%s` is not a state", name->text) && b)
            low_note(l, b->at, "it is this");
        return;
    }
    if (b->val.kind != VAL_TENSOR)
        return;
    Tensor *t = b->val.tensor;
    const char *path = low_join(l, low_path(l, name->text), "next");
    Value *v = next_value(l, s, t, path);
    for (int i = 0; i < l->nexts.n; i++)
        if (l->nexts.at[i].tensor == t) {
            if (low_error(l, name->at, "`%s` has a next value already",
                          t->name))
                low_note(l, l->nexts.at[i].at, "which is set here");
            return;
        }
    if (v)
        vec_push(l->arena, &l->nexts, ((Next){t, v, name->at}));
}

/* A constant as a tensor of its widest type. */
static Val
constant_output(Lower *l, const Val *v, Span at, const char *path)
{
    Dtype d = v->kind == VAL_INT    ? DT_i64
              : v->kind == VAL_BOOL ? DT_bool
                                    : DT_f32;
    return low_val(low_splat(l, v, d, path, at), at);
}

static void
output_value(Lower *l, const Name *name, Val v, Span at)
{
    const char *path = low_path(l, name->text);
    if (low_is_const(&v)) {
        v = constant_output(l, &v, at, path);
    } else if (!low_is_value(&v) && v.kind != VAL_POISON) {
        low_error(l, at, "an output is a tensor, found %s",
                  low_describe(l, &v));
        v = low_poison();
    }
    if (low_is_value(&v)) {
        Value *x = low_value(l, &v);
        Tensor *t =
            low_tensor(l, TENSOR_output, path, &x->type, x->note, name->at);
        l->graph->context.loc = name->at;
        if (t)
            graph_write(l->graph, OP_write, t, x);
    }
    low_bind(l, name, v);
}

static void
output(Lower *l, const Stmt *s)
{
    const Names *names = &s->u.assign.names;
    Expr *e = s->u.assign.value;
    const char *path = low_path(l, names->at[0].text);
    if (names->n == 1) {
        output_value(l, &names->at[0], low_expr(l, e, path), e->at);
        return;
    }
    const Val *v = several(l, s);
    for (int i = 0; i < names->n; i++)
        output_value(l, &names->at[i], v[i], e->at);
}

/* ---- control ---- */

static void
turn(Lower *l, const Stmt *s, int64_t i)
{
    const Name *label = &s->u.loop.label;
    const char *scope = l->frame->scope;
    const char *block = l->graph->context.block;
    if (label->text) {
        l->frame->scope = low_path(
            l, arena_printf(l->arena, "%s.%lld", label->text, (long long)i));
        if (!block) {
            l->graph->context.block = l->frame->scope;
            l->block_start = l->graph->last;
        }
    }
    low_bind(l, &s->u.loop.index, low_int(s->u.loop.index.at, i));
    low_block(l, &s->u.loop.body);
    l->graph->context.block = block;
    l->frame->scope = scope;
}

static void
loop(Lower *l, const Stmt *s)
{
    int64_t from, to;
    bool good = low_index(l, s->u.loop.from, &from);
    if (!low_index(l, s->u.loop.to, &to) || !good) {
        low_bind(l, &s->u.loop.index, low_poison());
        poison_names(l, &s->u.loop.body);
        return;
    }
    for (int64_t i = from; i < to && !l->frame->returned; i++) {
        if (l->stopped)
            return;
        if (++l->work > LOW_MAX_WORK) {
            low_error(l, s->at, "the loop has too many turns: %lld",
                      (long long)(to - from));
            l->stopped = true;
            return;
        }
        turn(l, s, i);
    }
}

static void
branch(Lower *l, const Stmt *s)
{
    Expr *e = s->u.branch.condition;
    Val v = low_expr(l, e, "if");
    if (v.kind == VAL_BOOL) {
        low_block(l, v.i ? &s->u.branch.then_body : &s->u.branch.else_body);
        return;
    }
    if (v.kind != VAL_POISON &&
        low_error(l, e->at,
                  "the condition of `if` must be true or false when "
                  "compiling, found %s",
                  low_describe(l, &v)) &&
        low_is_value(&v))
        low_note(l, (Span){0}, "where(condition, a, b) chooses at runtime");
    poison_names(l, &s->u.branch.then_body);
    poison_names(l, &s->u.branch.else_body);
}

static void
give_back(Lower *l, const Stmt *s)
{
    Frame *f = l->frame;
    const Exprs *x = &s->u.values;
    if (f->decl->kind == DECL_MODEL) {
        low_error(l, s->at, "a model has outputs; `return` is for layers");
        return;
    }
    const char *scope = f->own_scope;
    if (x->n == 1) {
        f->result = low_exprs(l, x->at[0], scope);
        f->returned = true;
        return;
    }
    Val *v = ARENA_ARRAY(l->arena, Val, x->n);
    bool poison = false;
    for (int i = 0; i < x->n; i++) {
        v[i] = low_expr(l, x->at[i], low_child(l, scope, x->at, x->n, i));
        poison = poison || v[i].kind == VAL_POISON;
    }
    f->result = (Val){.kind = VAL_LIST, .at = s->at, .list = v, .n = x->n};
    if (poison)
        f->result = low_poison();
    f->returned = true;
}

static void
statement(Lower *l, const Stmt *s)
{
    switch (s->kind) {
    case ST_ASSIGN:
        assign(l, s);
        return;
    case ST_FUNCTION:
        low_bind_function(l, &s->u.function);
        return;
    case ST_PARAM:
    case ST_STATE:
        variable(l, s);
        return;
    case ST_NEXT:
        next(l, s);
        return;
    case ST_OUTPUT:
        output(l, s);
        return;
    case ST_FOR:
        loop(l, s);
        return;
    case ST_IF:
        branch(l, s);
        return;
    case ST_RETURN:
        give_back(l, s);
        return;
    }
}

void
low_block(Lower *l, const Stmts *body)
{
    if (++l->depth > LOW_MAX_DEPTH && !l->stopped) {
        low_error(l, body->n ? body->at[0]->at : (Span){0},
                  "statements and calls nest more than %d deep", LOW_MAX_DEPTH);
        l->stopped = true;
    }
    for (int i = 0; i < body->n && !l->frame->returned && !l->stopped; i++)
        statement(l, body->at[i]);
    l->depth--;
}
