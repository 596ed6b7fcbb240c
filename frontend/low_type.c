#include "frontend/low.h"

/* ---- declared types ---- */

static bool
dtype_of(Lower *l, const TypeExpr *e, Dtype *out)
{
    *out = dtype_named(e->name.text);
    if (*out != DT_COUNT && dtype_info[*out].kind != KIND_STORAGE)
        return true;
    if (strcmp(e->name.text, "float") == 0)
        low_error(l, e->name.at,
                  "`float` stands for the type of an argument; here the type "
                  "must be f32, f16, bf16 or f64");
    else if (strcmp(e->name.text, "int") == 0)
        low_error(l, e->name.at,
                  "`int` is a constant; a tensor has i32, i64 or u8");
    else
        low_error(l, e->name.at,
                  "%s is storage that quantization makes, not "
                  "a type to compute with",
                  e->name.text);
    return false;
}

static bool
declared_axis(Lower *l, Expr *e, int axis, Type *t, Shape *s)
{
    if (e->kind == EX_REST) {
        low_error(l, e->at, "`..` can stand in an argument's type only");
        return false;
    }
    Val v = low_expr(l, e, NULL);
    if (v.kind == VAL_POISON)
        return false;
    if (v.kind != VAL_INT) {
        low_error(l, e->at, "a size must be an integer, found %s",
                  low_describe(l, &v));
        return false;
    }
    if (v.i <= 0) {
        low_error(l, e->at, "a size must be 1 or more, found %lld",
                  (long long)v.i);
        return false;
    }
    t->dim[axis] = v.i;
    s->axis[axis] = (Axis){low_expr_text(l, e), v.at};
    return true;
}

bool
low_declared(Lower *l, const TypeExpr *e, Type *t, Shape *s)
{
    *t = (Type){0};
    if (!dtype_of(l, e, &t->dtype))
        return false;
    if (e->dims.n > MAX_RANK) {
        low_error(l, e->at, "a tensor has at most %d axes, found %d", MAX_RANK,
                  e->dims.n);
        return false;
    }
    bool good = true;
    t->rank = e->dims.n;
    for (int i = 0; i < e->dims.n; i++)
        good = declared_axis(l, e->dims.at[i], i, t, s) && good;
    return good && low_check_size(l, e->at, t, s);
}

/* ---- arguments ---- */

typedef struct Match {
    Lower *l;
    const Param *param;
    const char *layer;
    Val *arg;
    Span at; /* of the argument */
    Type want;
    Shape names;
} Match;

static bool
wrong_argument(Match *m, const char *expected)
{
    Lower *l = m->l;
    if (low_error(l, m->at, "argument `%s` of `%s`: expected %s, found %s",
                  m->param->name.text, m->layer, expected,
                  low_describe(l, m->arg)))
        low_note(l, m->param->at, "`%s` is declared here", m->param->name.text);
    return false;
}

/* The pattern as it is written, for a rank that does not fit. */
static const char *
pattern_text(Lower *l, const TypeExpr *e)
{
    const char *out = arena_printf(l->arena, "a tensor %s[", e->name.text);
    for (int i = 0; i < e->dims.n; i++) {
        const Expr *d = e->dims.at[i];
        const char *text = d->kind == EX_REST ? ".." : low_expr_text(l, d);
        if (!text && d->kind == EX_INT)
            text = arena_printf(l->arena, "%lld", (long long)d->u.integer);
        out = arena_printf(l->arena, "%s%s%s", out, i ? ", " : "",
                           text ? text : "?");
    }
    return arena_printf(l->arena, "%s]", out);
}

/* A name that nothing has a value for yet takes the argument's size. */
static Val
pattern_value(Match *m, Expr *e, int64_t size, const Axis *axis)
{
    Lower *l = m->l;
    bool plain = e->kind == EX_NAME && !e->u.path.module.text;
    const Name *name = &e->u.path.name;
    if (!plain || low_find(l->env, name->text) ||
        low_constant(l, l->unit, name->text))
        return low_expr(l, e, NULL);
    Val v = low_int(axis && axis->at.line ? axis->at : m->at, size);
    v.text = axis && axis->text ? axis->text : name->text;
    low_bind(l, name, v);
    return v;
}

static bool
match_axis(Match *m, Expr *e, int axis, Shape *s)
{
    Lower *l = m->l;
    int64_t size = m->want.dim[axis];
    Val v = pattern_value(m, e, size, &s->axis[axis]);
    if (v.kind == VAL_POISON)
        return true;
    if (v.kind != VAL_INT) {
        low_error(l, e->at, "a size must be an integer, found %s",
                  low_describe(l, &v));
        return true;
    }
    m->want.dim[axis] = v.i;
    m->names.axis[axis] = (Axis){low_expr_text(l, e), v.at};
    return v.i == size;
}

static bool
match_axes(Match *m, const TypeExpr *e, Shape *s)
{
    int n = e->dims.n, rank = m->want.rank, rest = -1;
    for (int i = 0; i < n; i++)
        if (e->dims.at[i]->kind == EX_REST)
            rest = i;
    if (rest < 0 ? rank != n : rank < n - 1)
        return wrong_argument(m, pattern_text(m->l, e));
    bool fits = true;
    m->names = *s;
    for (int i = 0; i < n; i++) {
        int axis = rest >= 0 && i > rest ? rank - (n - i) : i;
        if (i != rest)
            fits = match_axis(m, e->dims.at[i], axis, s) && fits;
    }
    if (fits)
        return true;
    const Type *found = low_type(m->arg);
    const char *want = low_type_text(m->l, &m->want, &m->names);
    wrong_argument(m, arena_printf(m->l->arena, "a tensor %s", want));
    for (int i = 0; i < rank; i++)
        if (m->want.dim[i] != found->dim[i]) {
            low_note_axis(m->l, &m->want, &m->names, i, m->at);
            low_note_axis(m->l, found, s, i, m->at);
        }
    return false;
}

static bool
dtype_matches(Match *m, const TypeExpr *e)
{
    Dtype d = low_type(m->arg)->dtype;
    if (strcmp(e->name.text, "float") == 0)
        return dtype_info[d].kind == KIND_FLOAT ||
               wrong_argument(m, "a floating tensor");
    return dtype_named(e->name.text) == d ||
           wrong_argument(m, arena_printf(m->l->arena, "a tensor of type %s",
                                          e->name.text));
}

/* A number in place of a scalar tensor. */
static bool
splat_argument(Match *m, const TypeExpr *e)
{
    bool scalar =
        e->dims.n == 0 || (e->dims.n == 1 && e->dims.at[0]->kind == EX_REST);
    Dtype d =
        strcmp(e->name.text, "float") == 0 ? DT_f32 : dtype_named(e->name.text);
    if (!scalar || !low_is_const(m->arg) || d == DT_COUNT)
        return wrong_argument(m, pattern_text(m->l, e));
    const char *name = low_path(m->l, m->param->name.text);
    Value *v = low_splat(m->l, m->arg, d, name, m->at);
    if (v)
        *m->arg = low_val(v, m->at);
    return v != NULL;
}

static bool
match_tensor(Match *m)
{
    Lower *l = m->l;
    const TypeExpr *e = m->param->type;
    if (!low_is_value(m->arg) && !splat_argument(m, e))
        return false;
    if (!dtype_matches(m, e))
        return false;
    Value *v = low_value(l, m->arg);
    *m->arg = low_val(v, m->arg->at);
    Shape *s = low_shape(l, v);
    m->want = v->type;
    if (!match_axes(m, e, s))
        return false;
    for (int i = 0; i < v->type.rank; i++)
        if (!s->axis[i].text)
            s->axis[i].text = m->names.axis[i].text;
    return true;
}

/* int, bool and float without brackets: constants. */
static bool
match_constant(Match *m, bool *done)
{
    const TypeExpr *e = m->param->type;
    *done = true;
    if (strcmp(e->name.text, "int") == 0)
        return m->arg->kind == VAL_INT || wrong_argument(m, "an integer");
    if (!e->has_dims && strcmp(e->name.text, "bool") == 0)
        return m->arg->kind == VAL_BOOL || wrong_argument(m, "true or false");
    if (!e->has_dims && strcmp(e->name.text, "float") == 0) {
        if (m->arg->kind == VAL_INT)
            *m->arg = low_float(m->arg->at, (double)m->arg->i);
        return m->arg->kind == VAL_FLOAT || wrong_argument(m, "a number");
    }
    *done = false;
    return true;
}

/* Without a type the default tells what kind of constant is meant. */
static bool
match_default(Match *m)
{
    const Expr *init = m->param->init;
    if (init && init->kind == EX_BOOL && m->arg->kind != VAL_BOOL)
        return wrong_argument(m, "true or false");
    if (init && (init->kind == EX_FLOAT || init->kind == EX_INT) &&
        (m->arg->kind == VAL_BOOL || m->arg->kind == VAL_STRING))
        return wrong_argument(m, "a number");
    return true;
}

/* The names that the argument would have bound, had it fitted. */
static void
poison_dims(Lower *l, const TypeExpr *e)
{
    for (int i = 0; e && i < e->dims.n; i++) {
        const Expr *d = e->dims.at[i];
        bool plain = d->kind == EX_NAME && !d->u.path.module.text;
        if (plain && !low_find(l->env, d->u.path.name.text) &&
            !low_constant(l, l->unit, d->u.path.name.text))
            low_bind(l, &d->u.path.name, low_poison());
    }
}

bool
low_bind_argument(Lower *l, const Param *p, Val *v, Span at, const char *layer)
{
    Match m = {.l = l, .param = p, .layer = layer, .arg = v, .at = at};
    bool done = true, good = true;
    if (v->kind == VAL_POISON)
        good = true;
    else if (!p->type)
        good = match_default(&m);
    else
        good = match_constant(&m, &done) && (done || match_tensor(&m));
    Binding *old = map_get(&l->env->names, p->name.text);
    if (good && old && old->val.kind == VAL_INT && v->kind == VAL_INT &&
        old->val.i != v->i)
        good = wrong_argument(&m, low_describe(l, &old->val));
    if (!good || v->kind == VAL_POISON)
        poison_dims(l, p->type);
    low_bind(l, &p->name, good ? *v : low_poison());
    return good;
}
