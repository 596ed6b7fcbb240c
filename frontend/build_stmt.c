#include "frontend/parser.h"

/* Longer lists are a mistake of a generator. */
enum { MAX_PARAMS = 1000, MAX_NAMES = 1000 };

/* ---- types ---- */

/* How other systems call our types. */
static const struct Alias {
    const char *theirs, *ours;
} aliases[] = {
    {"fp32", "f32"},    {"float32", "f32"}, {"single", "f32"},
    {"fp16", "f16"},    {"float16", "f16"}, {"half", "f16"},
    {"fp64", "f64"},    {"float64", "f64"}, {"double", "f64"},
    {"int32", "i32"},   {"int64", "i64"},   {"long", "i64"},
    {"uint8", "u8"},    {"byte", "u8"},     {"boolean", "bool"},
    {"int8", "i8"},     {"int4", "i4"},     {"bfloat16", "bf16"},
    {"integer", "int"}, {"float8", "fp8"},
};

static void
report_unknown_type(Parser *p, const Token *t)
{
    int n = 0;
    const char *all = "", *near = NULL;
    for (; syntax_type_words[n]; n++)
        all = arena_printf(p->arena, "%s%s%s", all, n ? ", " : "",
                           syntax_type_words[n]);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i].theirs, t->u.text))
            near = aliases[i].ours;
    if (!near)
        near = diag_nearest(t->u.text, syntax_type_words, n);
    diag_error(p->diag, t->at, "expected a type, found '%s'", t->u.text);
    if (near)
        diag_note(p->diag, (Span){0}, "did you mean '%s'?", near);
    diag_note(p->diag, (Span){0}, "types are %s", all);
}

TypeExpr *
build_type(Parser *p, const Token *t, const Exprs *dims, Span at)
{
    TypeExpr *type = ARENA_NEW(p->arena, TypeExpr);
    type->at = at;
    type->name = (Name){t->u.text, t->at};
    if (t->class != TC_TYPE)
        report_unknown_type(p, t);
    if (!dims)
        return type;
    type->has_dims = true;
    type->dims = *dims;
    bool seen = false;
    for (int i = 0; i < dims->n; i++) {
        bool rest = dims->at[i]->kind == EX_REST;
        if (rest && seen)
            diag_error(p->diag, dims->at[i]->at,
                       "'..' comes at most once "
                       "in a shape");
        seen = seen || rest;
    }
    return type;
}

/* ---- statements ---- */

Stmt *
build_stmt(Parser *p, StmtKind kind, Span at)
{
    Stmt *s = ARENA_NEW(p->arena, Stmt);
    s->kind = kind;
    s->at = at;
    return s;
}

static bool
is_plain_name(const Expr *e)
{
    return e->kind == EX_NAME && !e->u.path.module.text;
}

/* Adds a name to a list that holds none twice. */
void
build_names_add(Parser *p, Names *names, Name name)
{
    if (names->n > MAX_NAMES)
        return; /* has been said */
    if (names->n == MAX_NAMES)
        diag_error(p->diag, name.at, "more than %d names", MAX_NAMES);
    for (int i = 0; i < names->n; i++)
        if (names->at[i].text == name.text) {
            diag_error(p->diag, name.at, "'%s' comes twice", name.text);
            return;
        }
    vec_push(p->arena, names, name);
}

/* heads(t) = e: what looks like a call is the head of a function. */
static Stmt *
build_function(Parser *p, const Expr *head, Expr *value, Span at)
{
    const Call *call = &head->u.call;
    Stmt *s = build_stmt(p, ST_FUNCTION, at);
    s->u.function.name = call->callee.name;
    s->u.function.value = value;
    if (call->callee.module.text || call->label.text)
        diag_error(p->diag, head->at,
                   "expected a name and its arguments "
                   "left of '='");
    for (int i = 0; i < call->args.n; i++) {
        const Arg *arg = &call->args.at[i];
        if (arg->name.text || !is_plain_name(arg->value))
            diag_error(p->diag, arg->value->at,
                       "expected the name of an "
                       "argument in the head of a function");
        else
            build_names_add(p, &s->u.function.params, arg->value->u.path.name);
    }
    return s;
}

Stmt *
build_assign(Parser *p, const Exprs *left, Expr *value, Span at)
{
    if (left->n == 1 && left->at[0]->kind == EX_CALL)
        return build_function(p, left->at[0], value, at);
    Stmt *s = build_stmt(p, ST_ASSIGN, at);
    s->u.assign.value = value;
    for (int i = 0; i < left->n; i++) {
        const Expr *e = left->at[i];
        if (is_plain_name(e)) {
            build_names_add(p, &s->u.assign.names, e->u.path.name);
        } else if (e->kind == EX_TYPE) {
            diag_error(p->diag, e->at,
                       "expected a name left of '=', found "
                       "the type '%s'",
                       e->u.path.name.text);
        } else {
            diag_error(p->diag, e->at, "expected a name left of '='");
            if (e->kind == EX_INDEX)
                diag_note(p->diag, (Span){0},
                          "values do not change: an "
                          "assignment names a new one");
        }
    }
    return s;
}

void
build_unused(Parser *p, const Exprs *values)
{
    Span at = values->at[0]->at;
    diag_error(p->diag, at,
               "expected a statement, found a value that "
               "nothing uses");
    diag_note(p->diag, (Span){0}, "name it, `y = ...`, or return it");
}

/* The `as` of a loop follows its bound; after f(n) it looks like that call's
 * own, which a constant cannot have. */
void
build_loop(Parser *p, Stmt *s, Expr *from, Expr *to, Name label)
{
    (void)p;
    if (!label.text && to->kind == EX_CALL) {
        label = to->u.call.label;
        to->u.call.label = (Name){0};
    }
    s->u.loop.from = from;
    s->u.loop.to = to;
    s->u.loop.label = label;
}

/* ---- declarations ---- */

Decl *
build_decl(Parser *p, DeclKind kind, Name name, Span at)
{
    Decl *d = ARENA_NEW(p->arena, Decl);
    d->kind = kind;
    d->at = at;
    d->name = name;
    vec_push(p->arena, &p->tree->decls, d);
    return d;
}

void
build_params_add(Parser *p, Params *params, Param param)
{
    if (params->n > MAX_PARAMS)
        return; /* has been said */
    if (params->n == MAX_PARAMS)
        diag_error(p->diag, param.at, "more than %d parameters", MAX_PARAMS);
    for (int i = 0; i < params->n; i++)
        if (params->at[i].name.text == param.name.text) {
            diag_error(p->diag, param.name.at, "'%s' comes twice",
                       param.name.text);
            diag_note(p->diag, params->at[i].name.at, "first here");
            return;
        }
    vec_push(p->arena, params, param);
}
