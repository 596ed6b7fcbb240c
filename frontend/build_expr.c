#include "frontend/parser.h"

/* More arguments than this are a mistake of a generator. */
enum { MAX_ARGS = 1000 };

static int
max_depth(int depth, const Expr *e)
{
    return e && e->depth > depth ? e->depth : depth;
}

/* A node above operands of that depth. The depth of too deep a tree is held
 * where it is, so that it is reported once. */
static Expr *
new_expr(Parser *p, ExprKind kind, Span at, int below)
{
    Expr *e = ARENA_NEW(p->arena, Expr);
    e->kind = kind;
    e->at = at;
    e->depth = below + 1;
    if (e->depth > SYNTAX_MAX_DEPTH) {
        parser_too_deep(p, at);
        e->depth = SYNTAX_MAX_DEPTH;
    }
    return e;
}

Expr *
build_literal(Parser *p, ExprKind kind, const Token *t)
{
    Expr *e = new_expr(p, kind, t->at, 0);
    if (kind == EX_INT)
        e->u.integer = t->u.integer;
    else if (kind == EX_FLOAT)
        e->u.number = t->u.number;
    else if (kind == EX_STRING)
        e->u.string = t->u.text;
    else
        e->u.path.name = (Name){t->u.text, t->at};
    return e;
}

Expr *
build_bool(Parser *p, Span at, bool value)
{
    Expr *e = new_expr(p, EX_BOOL, at, 0);
    e->u.boolean = value;
    return e;
}

Expr *
build_name(Parser *p, Path path, Span at)
{
    Expr *e = new_expr(p, EX_NAME, at, 0);
    e->u.path = path;
    return e;
}

Expr *
build_rest(Parser *p, Span at)
{
    return new_expr(p, EX_REST, at, 0);
}

Expr *
build_call(Parser *p, Path callee, Args args, Span at)
{
    int depth = 0;
    for (int i = 0; i < args.n; i++)
        depth = max_depth(depth, args.at[i].value);
    Expr *e = new_expr(p, EX_CALL, at, depth);
    e->u.call = (Call){.callee = callee, .args = args};
    return e;
}

void
build_label(Parser *p, Expr *call, Name label, Span at)
{
    (void)p;
    call->u.call.label = label;
    call->at = at;
}

Expr *
build_index(Parser *p, Expr *base, Slices slices, Span at)
{
    int depth = base->depth;
    for (int i = 0; i < slices.n; i++) {
        const Slice *s = &slices.at[i];
        depth = max_depth(depth, s->start);
        depth = max_depth(depth, s->stop);
        depth = max_depth(depth, s->step);
        for (int k = 0; k < i && s->kind == SLICE_REST; k++)
            if (slices.at[k].kind == SLICE_REST)
                diag_error(p->diag, s->at, "'..' comes at most once");
    }
    Expr *e = new_expr(p, EX_INDEX, at, depth);
    e->u.index.base = base;
    e->u.index.slices = slices;
    return e;
}

Expr *
build_unary(Parser *p, UnaryOp op, Expr *operand, Span at)
{
    Expr *e = new_expr(p, EX_UNARY, at, operand->depth);
    e->u.unary.op = op;
    e->u.unary.operand = operand;
    return e;
}

Expr *
build_binary(Parser *p, BinaryOp op, Span op_at, Expr *left, Expr *right,
             Span at)
{
    Expr *e = new_expr(p, EX_BINARY, at, max_depth(left->depth, right));
    e->u.binary.op = op;
    e->u.binary.op_at = op_at;
    e->u.binary.left = left;
    e->u.binary.right = right;
    return e;
}

Expr *
build_transpose(Parser *p, Expr *operand, Span at)
{
    Expr *e = new_expr(p, EX_TRANSPOSE, at, operand->depth);
    e->u.operand = operand;
    return e;
}

Expr *
build_list(Parser *p, Exprs items, Span at)
{
    int depth = 0;
    for (int i = 0; i < items.n; i++)
        depth = max_depth(depth, items.at[i]);
    Expr *e = new_expr(p, EX_LIST, at, depth);
    e->u.list = items;
    return e;
}

void
build_args_add(Parser *p, Args *args, Name name, Expr *value)
{
    if (args->n > MAX_ARGS)
        return; /* has been said */
    if (args->n == MAX_ARGS)
        diag_error(p->diag, value->at, "more than %d arguments", MAX_ARGS);
    const Arg *last = args->n ? &args->at[args->n - 1] : NULL;
    if (!name.text && last && last->name.text)
        diag_error(p->diag, value->at,
                   "arguments without a name come before "
                   "those with one");
    for (int i = 0; i < args->n && name.text; i++)
        if (args->at[i].name.text == name.text) {
            diag_error(p->diag, name.at, "'%s' is given twice", name.text);
            diag_note(p->diag, args->at[i].name.at, "first here");
            break;
        }
    vec_push(p->arena, args, ((Arg){name, value}));
}

void
build_chained(Parser *p, Span second)
{
    diag_error(p->diag, second, "comparisons do not chain");
    diag_note(p->diag, (Span){0}, "join two of them with 'and'");
}
