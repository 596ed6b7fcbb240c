#include "frontend/low.h"

/* ---- values ---- */

Env *
low_env(Lower *l, Env *up)
{
    Env *e = ARENA_NEW(l->arena, Env);
    e->up = up;
    return e;
}

Binding *
low_find(Env *env, const char *name)
{
    for (; env; env = env->up) {
        Binding *b = map_get(&env->names, name);
        if (b)
            return b;
    }
    return NULL;
}

Closure *
low_find_function(Env *env, const char *name)
{
    for (; env; env = env->up) {
        Closure *c = map_get(&env->functions, name);
        if (c)
            return c;
    }
    return NULL;
}

static bool
hides_constant(Lower *l, const Name *name)
{
    const Decl *d = map_get(&l->unit->decls, name->text);
    if (!d || d->kind == DECL_FUNCTION)
        return false;
    if (low_error(l, name->at, "`%s` would hide the %s of that name",
                  name->text, d->kind == DECL_DIM ? "dim" : "const"))
        low_note(l, d->name.at, "which is declared here");
    return true;
}

Binding *
low_bind(Lower *l, const Name *name, Val v)
{
    if (hides_constant(l, name))
        v = low_poison();
    Binding *b = ARENA_NEW(l->arena, Binding);
    b->val = v;
    b->at = name->at;
    if (!map_get(&l->env->names, name->text))
        vec_push(l->arena, &l->env->order, name->text);
    map_put(l->arena, &l->env->names, name->text, b);
    if (v.kind == VAL_VALUE) {
        Shape *s = low_shape(l, v.value);
        if (!s->text) {
            s->text = name->text;
            s->at = name->at;
        }
    }
    return b;
}

void
low_bind_function(Lower *l, const Function *f)
{
    Closure *c = ARENA_NEW(l->arena, Closure);
    *c = (Closure){f, l->unit, l->env};
    map_put(l->arena, &l->env->functions, f->name.text, c);
}

/* ---- looking a name up ---- */

static const Name *bound_in(const Stmts *body, const char *name);

static const Name *
bound_by(const Stmt *s, const char *name)
{
    switch (s->kind) {
    case ST_ASSIGN:
    case ST_OUTPUT:
        for (int i = 0; i < s->u.assign.names.n; i++)
            if (s->u.assign.names.at[i].text == name)
                return &s->u.assign.names.at[i];
        return NULL;
    case ST_PARAM:
    case ST_STATE:
        return s->u.variable.name.text == name ? &s->u.variable.name : NULL;
    case ST_FOR:
        return bound_in(&s->u.loop.body, name);
    case ST_IF: {
        const Name *n = bound_in(&s->u.branch.then_body, name);
        return n ? n : bound_in(&s->u.branch.else_body, name);
    }
    case ST_FUNCTION:
    case ST_NEXT:
    case ST_RETURN:
        return NULL;
    }
    return NULL;
}

static const Name *
bound_in(const Stmts *body, const char *name)
{
    for (int i = 0; i < body->n; i++) {
        const Name *n = bound_by(body->at[i], name);
        if (n)
            return n;
    }
    return NULL;
}

/* Every name that could have been meant. */
static void
note_near(Lower *l, const char *name)
{
    VEC(const char *) all = {0};
    for (Env *e = l->env; e; e = e->up)
        for (int i = 0; i < e->order.n; i++)
            vec_push(l->arena, &all, e->order.at[i]);
    for (int i = 0; i < l->unit->names.n; i++)
        vec_push(l->arena, &all, l->unit->names.at[i]);
    enum { MANY = 40 };
    const char *near = diag_nearest(name, all.at, all.n);
    if (all.n <= MANY)
        low_legal(l, name, all.at, all.n, "the names here are");
    else if (near)
        low_note(l, (Span){0}, "did you mean `%s`?", near);
}

static Val
not_defined(Lower *l, const Name *name)
{
    const Name *later =
        l->frame ? bound_in(&l->frame->decl->u.layer.body, name->text) : NULL;
    bool before =
        later &&
        (later->at.line > name->at.line ||
         (later->at.line == name->at.line && later->at.col > name->at.col));
    if (before && low_error(l, name->at, "`%s` is used before its definition",
                            name->text))
        low_note(l, later->at, "which is here");
    else if (later && !before &&
             low_error(l, name->at,
                       "`%s` has no value here: its definition was not run",
                       name->text))
        low_note(l, later->at, "which is here");
    else if (!later &&
             low_error(l, name->at, "`%s` is not defined", name->text))
        note_near(l, name->text);
    return low_poison();
}

static Val
from_module(Lower *l, const Path *path)
{
    Unit *u = low_module(l, path);
    if (!u)
        return low_poison();
    const Val *v = low_constant(l, u, path->name.text);
    if (v)
        return *v;
    if (low_error(l, path->name.at, "`%s` has no constant `%s`",
                  path->module.text, path->name.text))
        low_legal(l, path->name.text, u->names.at, u->names.n, "it has");
    return low_poison();
}

Val
low_lookup(Lower *l, const Expr *e)
{
    const Path *path = &e->u.path;
    if (path->module.text)
        return from_module(l, path);
    const char *name = path->name.text;
    Binding *b = low_find(l->env, name);
    if (b)
        return b->val;
    const Val *v = low_constant(l, l->unit, name);
    if (v)
        return *v;
    if (l->graph && strcmp(name, "train_mode") == 0)
        return low_bool(e->at, l->train_mode);
    return not_defined(l, &path->name);
}

/* ---- paths and scopes ---- */

const char *
low_join(Lower *l, const char *scope, const char *name)
{
    if (!scope[0])
        return intern(l->interner, name);
    return intern(l->interner, arena_printf(l->arena, "%s.%s", scope, name));
}

const char *
low_path(Lower *l, const char *name)
{
    return low_join(l, l->frame ? l->frame->scope : "", name);
}

static const char *
free_label(Lower *l, const char *base)
{
    for (int i = 2;; i++) {
        const char *name = arena_printf(l->arena, "%s_%d", base, i);
        if (!map_get(&l->scopes, low_path(l, name)))
            return name;
    }
}

static bool
same_place(Span a, Span b)
{
    return a.file == b.file && a.line == b.line && a.col == b.col;
}

bool
low_open_scope(Lower *l, const char *path, const Call *call, Span at)
{
    ScopeUse *use = map_get(&l->scopes, path);
    if (!use) {
        use = ARENA_NEW(l->arena, ScopeUse);
        use->at = at;
        map_put(l->arena, &l->scopes, path, use);
        return true;
    }
    if (!use->has_tensors)
        return true;
    const char *layer = call->callee.name.text;
    bool said;
    if (same_place(use->at, at))
        said = low_error(l, at,
                         "`%s` is called in every turn of a loop in one "
                         "scope; give the loop a name: for ... as h",
                         layer);
    else if (call->label.text)
        said = low_error(l, call->label.at, "the scope `%s` is taken", path);
    else
        said = low_error(l, at,
                         "`%s` is called twice in a scope; give this call a "
                         "name of its own: `as %s`",
                         layer, free_label(l, layer));
    if (said && !same_place(use->at, at))
        low_note(l, use->at, "the first call is here");
    return false;
}

/* ---- names of what has none ---- */

static const char *const binary_word[BIN_COUNT] = {
    [BIN_OR] = "or",         [BIN_AND] = "and", [BIN_EQ] = "eq",
    [BIN_NE] = "ne",         [BIN_LT] = "lt",   [BIN_LE] = "le",
    [BIN_GT] = "gt",         [BIN_GE] = "ge",   [BIN_ADD] = "add",
    [BIN_SUB] = "sub",       [BIN_MUL] = "mul", [BIN_DIV] = "div",
    [BIN_MATMUL] = "matmul", [BIN_POW] = "pow"};

static const char *
expr_word(const Expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_BOOL:
        return "const";
    case EX_STRING:
    case EX_NAME:
    case EX_TYPE:
    case EX_LIST:
    case EX_REST:
        return NULL;
    case EX_CALL:
        return e->u.call.callee.name.text;
    case EX_INDEX:
        return "slice";
    case EX_UNARY:
        return e->u.unary.op == UN_NOT ? "not" : "neg";
    case EX_BINARY:
        return binary_word[e->u.binary.op];
    case EX_TRANSPOSE:
        return "transpose";
    }
    return NULL;
}

const char *
low_child(Lower *l, const char *parent, Expr *const *siblings, int n, int i)
{
    const char *word = expr_word(siblings[i]);
    if (!word)
        return parent;
    bool twice = false;
    for (int k = 0; k < n; k++) {
        const char *other =
            k != i && siblings[k] ? expr_word(siblings[k]) : NULL;
        twice = twice || (other && strcmp(other, word) == 0);
    }
    if (twice)
        return intern(l->interner,
                      arena_printf(l->arena, "%s.%s.%d", parent, word, i));
    return low_join(l, parent, word);
}
