#include "frontend/low.h"

/* ---- arguments ---- */

static int
find_param(const Params *params, const char *name)
{
    for (int i = 0; i < params->n; i++)
        if (params->at[i].name.text == name)
            return i;
    return -1;
}

static void
unknown_argument(Lower *l, const Name *arg, const char *callee,
                 const Params *params)
{
    const char **legal = ARENA_ARRAY(l->arena, const char *, params->n + 1);
    for (int i = 0; i < params->n; i++)
        legal[i] = params->at[i].name.text;
    if (low_error(l, arg->at, "`%s` has no argument `%s`", callee, arg->text))
        low_legal(l, arg->text, legal, params->n, "its arguments are");
}

/* Puts each argument's expression at its parameter; false with an error. */
static bool
match_arguments(Lower *l, const Call *c, const Params *params, Expr **given)
{
    bool good = true;
    for (int i = 0; i < c->args.n; i++) {
        const Arg *a = &c->args.at[i];
        int k = a->name.text ? find_param(params, a->name.text) : i;
        if (k < 0) {
            unknown_argument(l, &a->name, c->callee.name.text, params);
            good = false;
        } else if (k >= params->n) {
            low_error(l, a->value->at, "`%s` takes %d argument%s, found %d",
                      c->callee.name.text, params->n,
                      params->n == 1 ? "" : "s", c->args.n);
            return false;
        } else if (given[k]) {
            low_error(l, a->name.at, "argument `%s` is given twice",
                      a->name.text);
            good = false;
        } else {
            given[k] = a->value;
        }
    }
    for (int k = 0; good && k < params->n; k++)
        if (!given[k] && !params->at[k].init) {
            if (low_error(l, c->callee.name.at, "`%s` needs the argument `%s`",
                          c->callee.name.text, params->at[k].name.text))
                low_note(l, params->at[k].at, "`%s` is declared here",
                         params->at[k].name.text);
            return false;
        }
    return good;
}

static Val *
evaluate_arguments(Lower *l, Expr **given, int n, const char *name)
{
    Val *out = ARENA_ARRAY(l->arena, Val, n + 1);
    for (int i = 0; i < n; i++)
        if (given[i]) {
            out[i] = low_expr(l, given[i], low_child(l, name, given, n, i));
            if (!out[i].at.line)
                out[i].at = given[i]->at;
        }
    return out;
}

/* ---- functions: heads(t) = ... ---- */

static bool
arguments_of_function(Lower *l, const Function *f, const Call *c)
{
    if (c->label.text) {
        low_error(l, c->label.at,
                  "`%s` is a function without parameters of its own: it needs "
                  "no `as`",
                  f->name.text);
        return false;
    }
    for (int i = 0; i < c->args.n; i++)
        if (c->args.at[i].name.text) {
            low_error(l, c->args.at[i].name.at,
                      "`%s` is a function: its arguments have no names",
                      f->name.text);
            return false;
        }
    if (c->args.n == f->params.n)
        return true;
    if (low_error(l, c->callee.name.at, "`%s` takes %d argument%s, found %d",
                  f->name.text, f->params.n, f->params.n == 1 ? "" : "s",
                  c->args.n))
        low_note(l, f->name.at, "`%s` is defined here", f->name.text);
    return false;
}

static Val
call_function(Lower *l, Expr *e, const Closure *f, const char *name)
{
    const Call *c = &e->u.call;
    if (!arguments_of_function(l, f->function, c))
        return low_poison();
    for (const Running *r = l->running; r; r = r->up)
        if (r->function == f->function) {
            if (low_error(l, c->callee.name.at, "`%s` calls itself",
                          f->function->name.text))
                low_note(l, f->function->name.at, "it is defined here");
            return low_poison();
        }
    int n = c->args.n;
    Expr **given = ARENA_ARRAY(l->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        given[i] = c->args.at[i].value;
    Val *args = evaluate_arguments(l, given, n, name);
    for (int i = 0; i < n; i++)
        if (args[i].kind == VAL_POISON)
            return low_poison();
    Env *env = l->env;
    Unit *unit = l->unit;
    Running here = {f->function, l->running};
    l->env = low_env(l, f->env);
    l->unit = f->unit;
    l->running = &here;
    for (int i = 0; i < n; i++)
        low_bind(l, &f->function->params.at[i], args[i]);
    Val v = low_exprs(l, f->function->value, name);
    l->running = here.up;
    l->env = env;
    l->unit = unit;
    return v;
}

/* ---- layers ---- */

static bool
calls_itself(Lower *l, const Decl *d, const Call *c)
{
    const char *chain = d->name.text;
    for (Frame *f = l->frame; f; f = f->caller) {
        chain =
            arena_printf(l->arena, "%s calls %s", f->decl->name.text, chain);
        if (f->decl != d)
            continue;
        if (low_error(l, c->callee.name.at, "the layer `%s` calls itself: %s",
                      d->name.text, chain))
            low_note(l, d->name.at, "it is declared here");
        return true;
    }
    return false;
}

static void
bind_layer_arguments(Lower *l, const Decl *d, Expr **given, Val *args)
{
    const Params *params = &d->u.layer.params;
    for (int i = 0; i < params->n; i++) {
        const Param *p = &params->at[i];
        Span at = given[i] ? given[i]->at : p->at;
        Val v = given[i] ? args[i] : low_expr(l, p->init, NULL);
        l->frame->poisoned = !low_bind_argument(l, p, &v, at, d->name.text) ||
                             v.kind == VAL_POISON || l->frame->poisoned;
    }
}

static Val
layer_result(Lower *l, const Frame *f)
{
    if (f->returned || f->poisoned || l->stopped)
        return f->result;
    if (low_error(l, f->decl->u.layer.end,
                  "the layer `%s` ends without a "
                  "return",
                  f->decl->name.text))
        low_note(l, f->call, "in this call");
    return low_poison();
}

/* Runs the body in a frame of its own. After a wrong argument it still runs:
 * what does not depend on it may hold other mistakes. */
static Val
run_layer(Lower *l, const Decl *d, Unit *u, const Call *c, Expr **given,
          Val *args, const char *scope)
{
    Frame frame = {.caller = l->frame,
                   .decl = d,
                   .unit = u,
                   .scope = scope,
                   .own_scope = scope,
                   .call = c->callee.name.at};
    Env *env = l->env;
    Unit *unit = l->unit;
    frame.env = low_env(l, NULL);
    l->frame = &frame;
    l->env = frame.env;
    l->unit = u;
    bind_layer_arguments(l, d, given, args);
    low_block(l, &d->u.layer.body);
    Val v = layer_result(l, &frame);
    l->frame = frame.caller;
    l->env = env;
    l->unit = unit;
    return v;
}

static Val
call_layer(Lower *l, Expr *e, const Decl *d, Unit *u)
{
    const Call *c = &e->u.call;
    if (!l->graph) {
        low_error(l, e->at, "a layer cannot be called in a constant");
        return low_poison();
    }
    const Params *params = &d->u.layer.params;
    Expr **given = ARENA_ARRAY(l->arena, Expr *, params->n + 1);
    if (calls_itself(l, d, c) || !match_arguments(l, c, params, given))
        return low_poison();
    const char *label = c->label.text ? c->label.text : d->name.text;
    const char *scope = low_path(l, label);
    Val *args = evaluate_arguments(l, given, params->n, scope);
    if (!low_open_scope(l, scope, c, c->callee.name.at))
        return low_poison();
    int64_t before = l->n_declared;
    Val v = run_layer(l, d, u, c, given, args, scope);
    ScopeUse *use = map_get(&l->scopes, scope);
    use->has_tensors = use->has_tensors || l->n_declared > before;
    if (l->n_declared == before || !l->running)
        return v;
    low_error(l, c->callee.name.at,
              "`%s` has parameters, and `%s`, which "
              "calls it, is a function: only layers own "
              "parameters",
              d->name.text, l->running->function->name.text);
    return low_poison();
}

/* ---- any call ---- */

static Val
unknown_callee(Lower *l, const Call *c, const Unit *u)
{
    const Name *name = &c->callee.name;
    VEC(const char *) legal = {0};
    for (int i = 0; i < u->layer_names.n; i++)
        vec_push(l->arena, &legal, u->layer_names.at[i]);
    if (c->callee.module.text) {
        if (low_error(l, name->at, "`%s` has no layer or function `%s`",
                      c->callee.module.text, name->text))
            low_legal(l, name->text, legal.at, legal.n, "its layers are");
        return low_poison();
    }
    const char **ops = ARENA_ARRAY(l->arena, const char *, 128);
    int n = low_builtin_names(ops, 128);
    for (int i = 0; i < n; i++)
        vec_push(l->arena, &legal, ops[i]);
    if (!low_error(l, name->at,
                   "there is no layer, function or operation "
                   "`%s`",
                   name->text))
        return low_poison();
    if (strcmp(name->text, "gelu") == 0)
        low_note(l, (Span){0}, "say which one: gelu_tanh or gelu_erf");
    else if (strcmp(name->text, "rope") == 0)
        low_note(l, (Span){0},
                 "say which one: rope_half or "
                 "rope_interleaved");
    else
        low_legal(l, name->text, legal.at, legal.n, "there are");
    return low_poison();
}

static bool
top_function(Unit *u, const char *name, Closure *out)
{
    const Decl *d = map_get(&u->decls, name);
    if (!d || d->kind != DECL_FUNCTION)
        return false;
    *out = (Closure){&d->u.function, u, NULL};
    return true;
}

Val
low_call(Lower *l, Expr *e, const char *name)
{
    const Call *c = &e->u.call;
    const char *callee = c->callee.name.text;
    Unit *u = low_module(l, &c->callee);
    if (!u)
        return low_poison();
    bool own = !c->callee.module.text;
    const Closure *f = own ? low_find_function(l->env, callee) : NULL;
    Closure top;
    if (f)
        return call_function(l, e, f, name);
    if (top_function(u, callee, &top))
        return call_function(l, e, &top, name);
    const Decl *layer = map_get(&u->layers, callee);
    const Builtin *b = own ? low_builtin(callee) : NULL;
    /* In a layer that is called like an operation, its name means that. */
    if (layer && !(b && l->frame && l->frame->decl == layer))
        return call_layer(l, e, layer, u);
    if (b)
        return low_call_builtin(l, e, b, name);
    return unknown_callee(l, c, u);
}
