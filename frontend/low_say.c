#include "frontend/low.h"
#include "ir/text.h"

Val
low_poison(void)
{
    return (Val){.kind = VAL_POISON};
}

/* ---- errors, one a place ---- */

/* The calls that lead from the user's file to a place in another one. */
static void
note_calls(Lower *l, Span at)
{
    if (!l->main || !l->main->syntax || at.file == l->main->syntax->file)
        return;
    for (Frame *f = l->frame; f && f->caller; f = f->caller) {
        diag_note(l->diag, f->call, "in this call of `%s`", f->decl->name.text);
        if (f->call.file == l->main->syntax->file)
            return;
    }
}

static bool
say_once(Lower *l, Span at)
{
    const char *key =
        arena_printf(l->arena, "%d:%d:%d", at.file, at.line, at.col);
    if (at.line && map_get(&l->said, key))
        return false;
    map_put(l->arena, &l->said, key, l);
    return true;
}

bool
low_error(Lower *l, Span at, const char *fmt, ...)
{
    l->mistakes++;
    l->said_last = say_once(l, at);
    if (!l->said_last)
        return false;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(l->arena, fmt, ap);
    va_end(ap);
    diag_error(l->diag, at, "%s", text);
    note_calls(l, at);
    return true;
}

void
low_note(Lower *l, Span at, const char *fmt, ...)
{
    if (!l->said_last)
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(l->arena, fmt, ap);
    va_end(ap);
    diag_note(l->diag, at, "%s", text);
}

void
low_legal(Lower *l, const char *wrong, const char *const *legal, int n,
          const char *what)
{
    if (!l->said_last)
        return;
    Span nowhere = {0};
    const char *near = diag_nearest(wrong, legal, n);
    if (near)
        diag_note(l->diag, nowhere, "did you mean `%s`?", near);
    const char *all = "";
    for (int i = 0; i < n; i++)
        all = arena_printf(l->arena, "%s%s%s", all, i ? ", " : "", legal[i]);
    diag_note(l->diag, nowhere, n ? "%s: %s" : "%s: none", what, all);
}

/* ---- shapes ---- */

static bool
has_names(const Type *t, const Shape *s)
{
    for (int i = 0; s && i < t->rank; i++)
        if (s->axis[i].text)
            return true;
    return false;
}

static const char *
list_axes(Lower *l, const Type *t, const Shape *s)
{
    const char *out = "[";
    for (int i = 0; i < t->rank; i++) {
        const char *name = s ? s->axis[i].text : NULL;
        if (!name)
            name = arena_printf(l->arena, "%lld", (long long)t->dim[i]);
        out = arena_printf(l->arena, "%s%s%s", out, i ? ", " : "", name);
    }
    return arena_printf(l->arena, "%s]", out);
}

const char *
low_shape_text(Lower *l, const Type *t, const Shape *s)
{
    if (!has_names(t, s))
        return list_axes(l, t, NULL);
    return arena_printf(l->arena, "%s = %s", list_axes(l, t, s),
                        list_axes(l, t, NULL));
}

const char *
low_type_text(Lower *l, const Type *t, const Shape *s)
{
    const char *d = dtype_info[t->dtype].name;
    if (t->rank == 0)
        return arena_printf(l->arena, "%s[]", d);
    return arena_printf(l->arena, "%s%s", d, low_shape_text(l, t, s));
}

static const char *
describe_value(Lower *l, const Val *v)
{
    const Shape *s =
        v->value ? v->value->note : map_get(&l->shapes, v->tensor->name);
    const char *type = low_type_text(l, low_type(v), s);
    return arena_printf(l->arena, "a tensor %s", type);
}

const char *
low_describe(Lower *l, const Val *v)
{
    switch (v->kind) {
    case VAL_POISON:
        return "nothing";
    case VAL_INT:
        return arena_printf(l->arena, "the integer %lld", (long long)v->i);
    case VAL_FLOAT:
        return arena_printf(l->arena, "the number %s",
                            text_double(l->arena, v->f));
    case VAL_BOOL:
        return v->i ? "true" : "false";
    case VAL_STRING:
        return arena_printf(l->arena, "the string \"%s\"", v->s);
    case VAL_TYPE:
        return arena_printf(l->arena, "the type %s", v->s);
    case VAL_LIST:
        return arena_printf(l->arena, "a list of %d", v->n);
    case VAL_TENSOR:
    case VAL_VALUE:
        return describe_value(l, v);
    }
    return "";
}

/* ---- expressions as text ---- */

static const char *expr_text(Lower *l, const Expr *e, int room);

static const char *
binary_words(Lower *l, const Expr *e, int room)
{
    const Expr *a = e->u.binary.left, *b = e->u.binary.right;
    const char *x = expr_text(l, a, room), *y = expr_text(l, b, room);
    if (!x || !y)
        return NULL;
    if (a->kind == EX_BINARY && a->u.binary.op < e->u.binary.op)
        x = arena_printf(l->arena, "(%s)", x);
    if (b->kind == EX_BINARY)
        y = arena_printf(l->arena, "(%s)", y);
    return arena_printf(l->arena, "%s%s%s", x, binary_text[e->u.binary.op], y);
}

static const char *
expr_text(Lower *l, const Expr *e, int room)
{
    if (e->depth > 6)
        return NULL;
    const char *out = NULL;
    if (e->kind == EX_INT)
        out = arena_printf(l->arena, "%lld", (long long)e->u.integer);
    else if (e->kind == EX_NAME && e->u.path.module.text)
        out = arena_printf(l->arena, "%s.%s", e->u.path.module.text,
                           e->u.path.name.text);
    else if (e->kind == EX_NAME)
        out = e->u.path.name.text;
    else if (e->kind == EX_BINARY)
        out = binary_words(l, e, room);
    return out && (int)strlen(out) <= room ? out : NULL;
}

const char *
low_expr_text(Lower *l, const Expr *e)
{
    return e->kind == EX_INT ? NULL : expr_text(l, e, 16);
}

/* ---- errors about shapes ---- */

static bool
same_place(Span a, Span b)
{
    return a.file == b.file && a.line == b.line && a.col == b.col;
}

void
low_note_axis(Lower *l, const Type *t, const Shape *s, int axis, Span not_at)
{
    if (!s || axis < 0 || axis >= t->rank || !s->axis[axis].at.line ||
        same_place(s->axis[axis].at, not_at))
        return;
    const Axis *a = &s->axis[axis];
    long long n = (long long)t->dim[axis];
    if (a->text)
        low_note(l, a->at, "%s = %lld comes from here", a->text, n);
    else
        low_note(l, a->at, "%lld comes from here", n);
}

/* "`w`: f32[I, O] = f32[768, 4]" or, without a name, its type. */
static const char *
operand_text(Lower *l, const Value *v)
{
    const Shape *s = v->note;
    return low_type_text(l, &v->type, s);
}

static const char *
operands_text(Lower *l, Op op, Value *const *args, int n)
{
    const char *out = "";
    const char *between = op == OP_matmul ? " @ " : ", ";
    for (int i = 0; i < n; i++)
        out = arena_printf(l->arena, "%s%s%s", out, i ? between : "",
                           operand_text(l, args[i]));
    return out;
}

static void
note_operand(Lower *l, const Value *v, int axis, Span at)
{
    const Shape *s = v->note;
    if (axis >= 0 && axis < v->type.rank && (!s || !s->axis[axis].at.line))
        low_note(l, (Span){0}, "%lld is the size of axis %d of %s",
                 (long long)v->type.dim[axis], axis, operand_text(l, v));
    else if (axis >= 0)
        low_note_axis(l, &v->type, s, axis, at);
    else if (s && s->at.line && s->text && !same_place(s->at, at))
        low_note(l, s->at, "`%s` is %s", s->text,
                 low_type_text(l, &v->type, s));
}

void
low_shape_error(Lower *l, Span at, Op op, Value *const *args, int n_args,
                const ShapeError *err)
{
    int shown = n_args > 4 ? 4 : n_args;
    const char *what = l->what ? l->what : op_info[op].name;
    low_error(l, at, "%s: %s: found %s", what, err->text,
              operands_text(l, op, args, shown));
    if (err->arg >= 0 && err->arg < n_args)
        note_operand(l, args[err->arg], err->axis, at);
    if (err->other >= 0 && err->other < n_args)
        note_operand(l, args[err->other], err->other_axis, at);
}
