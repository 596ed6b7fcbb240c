#include "frontend/low.h"

/* ---- constants written down ---- */

static Val
type_word(const Expr *e)
{
    const char *word = e->u.path.name.text;
    return (Val){
        .kind = VAL_TYPE, .at = e->at, .s = word, .dtype = dtype_named(word)};
}

static Val
list(Lower *l, Expr *e, const char *name)
{
    Exprs *x = &e->u.list;
    Val *at = ARENA_ARRAY(l->arena, Val, x->n + 1);
    for (int i = 0; i < x->n; i++) {
        at[i] = low_expr(l, x->at[i], low_child(l, name, x->at, x->n, i));
        if (at[i].kind == VAL_POISON)
            return low_poison();
    }
    return (Val){.kind = VAL_LIST, .at = e->at, .list = at, .n = x->n};
}

bool
low_index(Lower *l, Expr *e, int64_t *out)
{
    Val v = low_expr(l, e, NULL);
    if (v.kind == VAL_POISON)
        return false;
    if (v.kind != VAL_INT) {
        low_error(l, e->at,
                  "expected an integer known when compiling, found "
                  "%s",
                  low_describe(l, &v));
        return false;
    }
    *out = v.i;
    return true;
}

/* ---- operators ---- */

static const Op binary_op[BIN_COUNT] = {
    [BIN_OR] = OP_or,         [BIN_AND] = OP_and, [BIN_EQ] = OP_eq,
    [BIN_NE] = OP_ne,         [BIN_LT] = OP_lt,   [BIN_LE] = OP_le,
    [BIN_GT] = OP_gt,         [BIN_GE] = OP_ge,   [BIN_ADD] = OP_add,
    [BIN_SUB] = OP_sub,       [BIN_MUL] = OP_mul, [BIN_DIV] = OP_div,
    [BIN_MATMUL] = OP_matmul, [BIN_POW] = OP_pow};

/* A number takes the type of the value that it meets. */
static Value *
operand(Lower *l, const Expr *e, const Val *v, const Val *other, bool left,
        const char *name)
{
    if (low_is_value(v))
        return low_value(l, v);
    Span at = left ? e->u.binary.left->at : e->u.binary.right->at;
    if (!low_is_const(v)) {
        low_error(l, at, "%s needs tensors or numbers, found %s",
                  binary_text[e->u.binary.op], low_describe(l, v));
        return NULL;
    }
    return low_splat(l, v, low_type(other)->dtype, low_join(l, name, "const"),
                     at);
}

static bool
dtypes_meet(Lower *l, Span at, const char *what, const Value *a, const Value *b)
{
    Dtype x = a->type.dtype, y = b->type.dtype;
    if (x == y)
        return true;
    const Shape *s = a->note, *t = b->note;
    if (low_error(l, at,
                  "%s: %s meets %s, and nothing is converted silently: "
                  "found %s and %s",
                  what, dtype_info[x].name, dtype_info[y].name,
                  low_type_text(l, &a->type, s), low_type_text(l, &b->type, t)))
        low_note(l, (Span){0}, "write cast(x, %s) or cast(x, %s)",
                 dtype_info[x].name, dtype_info[y].name);
    return false;
}

Val
low_binary(Lower *l, const Expr *e, BinaryOp op, Val a, Val b, const char *name)
{
    if (a.kind == VAL_POISON || b.kind == VAL_POISON)
        return low_poison();
    if (!low_is_value(&a) && !low_is_value(&b))
        return low_const_binary(l, e, &a, &b);
    Span at = e->u.binary.op_at;
    if (op == BIN_MATMUL && (!low_is_value(&a) || !low_is_value(&b))) {
        low_error(l, at, "@ multiplies two tensors, found %s and %s",
                  low_describe(l, &a), low_describe(l, &b));
        return low_poison();
    }
    Value *x = operand(l, e, &a, &b, true, name);
    Value *y = operand(l, e, &b, &a, false, name);
    if (!x || !y || !dtypes_meet(l, at, binary_text[op], x, y))
        return low_poison();
    Value *args[] = {x, y};
    l->what = binary_text[op];
    Val v = low_emit(l, at, binary_op[op], name, args, 2, NULL, 0);
    l->what = NULL;
    return v;
}

static const char *
fresh(Lower *l, const char *name)
{
    return l->graph && name ? graph_fresh(l->graph, name) : name;
}

static Val
binary(Lower *l, Expr *e, const char *name)
{
    Expr *sides[] = {e->u.binary.left, e->u.binary.right};
    name = fresh(l, name);
    Val a = low_expr(l, sides[0], low_child(l, name, sides, 2, 0));
    Val b = low_expr(l, sides[1], low_child(l, name, sides, 2, 1));
    return low_binary(l, e, e->u.binary.op, a, b, name);
}

static Val
unary(Lower *l, Expr *e, const char *name)
{
    Expr *x = e->u.unary.operand;
    name = fresh(l, name);
    Val a = low_expr(l, x, low_child(l, name, &x, 1, 0));
    if (a.kind == VAL_POISON)
        return a;
    if (!low_is_value(&a))
        return low_const_unary(l, e, &a);
    Value *v = low_value(l, &a);
    return low_emit(l, e->at, e->u.unary.op == UN_NOT ? OP_not : OP_neg, name,
                    &v, 1, NULL, 0);
}

static Val
transpose(Lower *l, Expr *e, const char *name)
{
    Expr *x = e->u.operand;
    name = fresh(l, name);
    Val a = low_expr(l, x, low_child(l, name, &x, 1, 0));
    if (a.kind == VAL_POISON)
        return a;
    int rank = low_is_value(&a) ? low_type(&a)->rank : 0;
    if (rank < 2) {
        low_error(l, e->at, "' transposes the last two axes, found %s",
                  low_describe(l, &a));
        return low_poison();
    }
    int64_t *perm = ARENA_ARRAY(l->arena, int64_t, rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    Value *v = low_value(l, &a);
    Attr attr = attr_ints("perm", perm, rank);
    return low_emit(l, e->at, OP_transpose, name, &v, 1, &attr, 1);
}

/* ---- any expression ---- */

static Val
dispatch(Lower *l, Expr *e, const char *name)
{
    switch (e->kind) {
    case EX_INT:
        return low_int(e->at, e->u.integer);
    case EX_FLOAT:
        return low_float(e->at, e->u.number);
    case EX_STRING:
        return (Val){.kind = VAL_STRING, .at = e->at, .s = e->u.string};
    case EX_BOOL:
        return low_bool(e->at, e->u.boolean);
    case EX_NAME:
        return low_lookup(l, e);
    case EX_TYPE:
        return type_word(e);
    case EX_CALL:
        return low_call(l, e, name);
    case EX_INDEX:
        return low_slice(l, e, fresh(l, name));
    case EX_UNARY:
        return unary(l, e, name);
    case EX_BINARY:
        return binary(l, e, name);
    case EX_TRANSPOSE:
        return transpose(l, e, name);
    case EX_LIST:
        return list(l, e, name);
    case EX_REST:
        low_error(l, e->at, "`..` can stand in an argument's type only");
        return low_poison();
    }
    return low_poison();
}

/* Models are finite and so is the stack: what goes past these limits is a
 * loop or a chain of calls that was not meant. */
static bool
within_limits(Lower *l, Span at)
{
    if (l->stopped)
        return false;
    if (l->depth > LOW_MAX_DEPTH)
        low_error(l, at, "calls and expressions nest more than %d deep",
                  LOW_MAX_DEPTH);
    else if (++l->work > LOW_MAX_WORK)
        low_error(l, at, "the model is too large: more than %d expressions",
                  LOW_MAX_WORK);
    else
        return true;
    l->stopped = true;
    return false;
}

Val
low_exprs(Lower *l, Expr *e, const char *name)
{
    if (!within_limits(l, e->at))
        return low_poison();
    l->depth++;
    Val v = dispatch(l, e, name ? name : "");
    l->depth--;
    return v;
}

Val
low_expr(Lower *l, Expr *e, const char *name)
{
    Val v = low_exprs(l, e, name);
    if (v.kind != VAL_LIST || e->kind != EX_CALL)
        return v;
    low_error(l, e->at, "`%s` gives %d values where one is needed",
              e->u.call.callee.name.text, v.n);
    return low_poison();
}
