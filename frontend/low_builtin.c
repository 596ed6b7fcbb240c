#include "frontend/low.h"

/* ---- the table ---- */

#define T(name)                                                                \
    {                                                                          \
        name, ARG_tensor, true, { 0 }                                          \
    }
#define V(name)                                                                \
    {                                                                          \
        name, ARG_value, true, { 0 }                                           \
    }
#define AXIS                                                                   \
    {                                                                          \
        "axis", ARG_axis, true, { 0 }                                          \
    }
#define AXES                                                                   \
    {                                                                          \
        "axis", ARG_axes, false, { 0 }                                         \
    }
#define KEEP                                                                   \
    {                                                                          \
        "keep", ARG_bool, false, { 0 }                                         \
    }
#define REDUCTION                                                              \
    {                                                                          \
        "reduction", ARG_word, false, { "mean", "sum", "none" }                \
    }

static const Builtin builtins[] = {
#define BUILTIN(name, make, op, ...) {#name, make, OP_##op, {__VA_ARGS__}},
#include "frontend/builtins.def"
#undef BUILTIN
};

enum { N_BUILTINS = sizeof builtins / sizeof builtins[0] };

const Builtin *
low_builtin(const char *name)
{
    for (int i = 0; i < N_BUILTINS; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}

int
low_builtin_names(const char **out, int max)
{
    int n = N_BUILTINS < max ? N_BUILTINS : max;
    for (int i = 0; i < n; i++)
        out[i] = builtins[i].name;
    return n;
}

static int
n_params(const Builtin *b)
{
    int n = 0;
    while (n < MAX_BUILTIN_PARAMS && b->params[n].name)
        n++;
    return n;
}

/* ---- arguments ---- */

static int
param_named(const Builtin *b, const char *name)
{
    for (int i = 0; i < n_params(b); i++)
        if (strcmp(b->params[i].name, name) == 0)
            return i;
    return -1;
}

static bool
unknown(Site *s, const Name *arg)
{
    const char *legal[MAX_BUILTIN_PARAMS];
    int n = n_params(s->row);
    for (int i = 0; i < n; i++)
        legal[i] = s->row->params[i].name;
    if (low_error(s->l, arg->at, "`%s` has no argument `%s`", s->row->name,
                  arg->text))
        low_legal(s->l, arg->text, legal, n, "its arguments are");
    return false;
}

static bool
place_arguments(Site *s, const Call *c)
{
    bool good = true;
    int n = n_params(s->row);
    for (int i = 0; i < c->args.n; i++) {
        const Arg *a = &c->args.at[i];
        int k = a->name.text ? param_named(s->row, a->name.text) : i;
        if (k < 0) {
            good = unknown(s, &a->name);
        } else if (k >= n) {
            low_error(s->l, a->value->at,
                      "`%s` takes %s%d argument%s, found "
                      "%d",
                      s->row->name, n > 1 ? "at most " : "", n,
                      n == 1 ? "" : "s", c->args.n);
            return false;
        } else if (s->given[k]) {
            low_error(s->l, a->name.at, "argument `%s` is given twice",
                      a->name.text);
            good = false;
        } else {
            s->given[k] = a->value;
        }
    }
    for (int k = 0; good && k < n; k++)
        if (s->row->params[k].required && !s->given[k]) {
            low_error(s->l, s->at, "`%s` needs the argument `%s`", s->row->name,
                      s->row->params[k].name);
            return false;
        }
    return good;
}

static bool
wrong_kind(Site *s, int i, const char *expected)
{
    bool pick = s->row->op == OP_reduce_max || s->row->op == OP_reduce_min;
    if (low_error(s->l, s->given[i]->at, "`%s` of `%s`: expected %s, found %s",
                  s->row->params[i].name, s->row->name, expected,
                  low_describe(s->l, &s->arg[i])) &&
        pick && i == 1)
        low_note(s->l, (Span){0}, "%simum(a, b) compares element by element",
                 s->row->name);
    return false;
}

static bool
word_argument(Site *s, int i)
{
    const BuiltinParam *p = &s->row->params[i];
    const Expr *e = s->given[i];
    int n = 0;
    const char *word = e->kind == EX_NAME && !e->u.path.module.text
                           ? e->u.path.name.text
                           : NULL;
    for (; n < 4 && p->words[n]; n++)
        if (word && strcmp(p->words[n], word) == 0) {
            s->arg[i] = (Val){.kind = VAL_STRING, .at = e->at, .s = word};
            return true;
        }
    if (low_error(s->l, e->at, "`%s` of `%s` is one of a few words", p->name,
                  s->row->name))
        low_legal(s->l, word ? word : "", p->words, n, "they are");
    return false;
}

static bool
is_number(const Val *v)
{
    return v->kind == VAL_INT || v->kind == VAL_FLOAT;
}

static bool
check_kind(Site *s, int i)
{
    const Val *v = &s->arg[i];
    switch (s->row->params[i].kind) {
    case ARG_tensor:
        return low_is_value(v) || wrong_kind(s, i, "a tensor");
    case ARG_value:
        return low_is_value(v) || low_is_const(v) ||
               wrong_kind(s, i, "a tensor or a number");
    case ARG_number:
        return is_number(v) ||
               wrong_kind(s, i, "a number known when compiling");
    case ARG_int:
    case ARG_axis:
        return v->kind == VAL_INT ||
               wrong_kind(s, i, "an integer known when compiling");
    case ARG_axes:
        return v->kind == VAL_INT || v->kind == VAL_LIST ||
               wrong_kind(s, i, "an axis or a list of axes");
    case ARG_bool:
        return v->kind == VAL_BOOL || wrong_kind(s, i, "true or false");
    case ARG_dtype:
        return v->kind == VAL_TYPE || wrong_kind(s, i, "a type");
    case ARG_list:
        return v->kind == VAL_LIST || wrong_kind(s, i, "a list");
    case ARG_word:
    case ARG_any:
        return true;
    }
    return true;
}

/* Evaluates what was given; false: one is poison, or an error. */
static bool
evaluate(Site *s)
{
    int n = n_params(s->row);
    bool good = true;
    for (int i = 0; i < n; i++) {
        Expr *e = s->given[i];
        if (!e)
            continue;
        if (s->row->params[i].kind == ARG_word) {
            good = word_argument(s, i) && good;
            continue;
        }
        const char *name = low_child(s->l, s->name, s->given, n, i);
        s->arg[i] = low_exprs(s->l, e, name);
        good = good && s->arg[i].kind != VAL_POISON;
    }
    return good;
}

/* sqrt(2) and the like, when all arguments are numbers. */
static bool
constant_call(Site *s, Val *out)
{
    int n = n_params(s->row);
    for (int i = 0; i < n; i++)
        if (!s->given[i])
            return false;
    return low_const_call(s->l, s->e, s->row->name, s->arg, n, out);
}

static bool
no_label(Site *s, const Call *c)
{
    if (!c->label.text)
        return true;
    low_error(s->l, c->label.at,
              "`%s` is an operation without parameters of its own: it needs "
              "no `as`",
              s->row->name);
    return false;
}

Val
low_call_builtin(Lower *l, Expr *e, const Builtin *b, const char *name)
{
    const Call *c = &e->u.call;
    Site s = {.l = l, .e = e, .row = b, .at = c->callee.name.at};
    s.name = l->graph ? graph_fresh(l->graph, name) : name;
    if (!place_arguments(&s, c) || !no_label(&s, c) || !evaluate(&s))
        return low_poison();
    Val v;
    if (constant_call(&s, &v))
        return v;
    for (int i = 0; i < n_params(b); i++)
        if (s.given[i] && !check_kind(&s, i))
            return low_poison();
    if (!l->graph) {
        low_error(l, e->at, "`%s` makes a tensor; a constant cannot", b->name);
        return low_poison();
    }
    l->what = b->name;
    v = b->make(&s);
    l->what = NULL;
    return v;
}

/* ---- what the makers ask ---- */

bool
site_has(const Site *s, int i)
{
    return s->given[i] != NULL;
}

Value *
site_value(const Site *s, int i)
{
    return low_value(s->l, &s->arg[i]);
}

const Type *
site_type(const Site *s, int i)
{
    return low_type(&s->arg[i]);
}

int64_t
site_int(const Site *s, int i, int64_t otherwise)
{
    return site_has(s, i) ? s->arg[i].i : otherwise;
}

double
site_number(const Site *s, int i, double otherwise)
{
    return site_has(s, i) ? low_number(&s->arg[i]) : otherwise;
}

bool
site_flag(const Site *s, int i)
{
    return site_has(s, i) && s->arg[i].i;
}

const char *
site_word(const Site *s, int i, const char *otherwise)
{
    return site_has(s, i) ? s->arg[i].s : otherwise;
}

Span
site_span(const Site *s, int i)
{
    return site_has(s, i) ? s->given[i]->at : s->at;
}

const char *
site_name(const Site *s, const char *suffix)
{
    return low_join(s->l, s->name, suffix);
}

static bool
fix_axis(Site *s, int i, int64_t axis, int rank, int64_t *out)
{
    if (axis >= -rank && axis < rank) {
        *out = axis < 0 ? axis + rank : axis;
        return true;
    }
    low_error(s->l, site_span(s, i), "axis %lld of a tensor of %d axes",
              (long long)axis, rank);
    return false;
}

bool
site_axis(Site *s, int i, int rank, int64_t *axis)
{
    return fix_axis(s, i, s->arg[i].i, rank, axis);
}

int
site_ints(Site *s, int i, int64_t *out, int max, const char *what)
{
    const Val *v = &s->arg[i];
    if (v->n > max) {
        low_error(s->l, site_span(s, i), "at most %d %s, found %d", max, what,
                  v->n);
        return -1;
    }
    for (int k = 0; k < v->n; k++) {
        if (v->list[k].kind != VAL_INT) {
            low_error(s->l,
                      v->list[k].at.line ? v->list[k].at : site_span(s, i),
                      "expected a list of integers, found %s",
                      low_describe(s->l, &v->list[k]));
            return -1;
        }
        out[k] = v->list[k].i;
    }
    return v->n;
}

int
site_axes(Site *s, int i, int rank, int64_t *axes)
{
    bool in[MAX_RANK] = {false};
    int64_t list[MAX_RANK];
    int n = 1, out = 0;
    if (!site_has(s, i)) {
        for (int k = 0; k < rank; k++)
            axes[k] = k;
        return rank;
    }
    if (s->arg[i].kind == VAL_LIST)
        n = site_ints(s, i, list, MAX_RANK, "axes");
    else
        list[0] = s->arg[i].i;
    for (int k = 0; k < n; k++) {
        int64_t axis;
        if (!fix_axis(s, i, list[k], rank, &axis))
            return -1;
        if (in[axis]) {
            low_error(s->l, site_span(s, i), "axis %lld comes twice",
                      (long long)list[k]);
            return -1;
        }
        in[axis] = true;
    }
    for (int k = 0; k < rank; k++)
        if (in[k])
            axes[out++] = k;
    return n < 0 ? -1 : out;
}
