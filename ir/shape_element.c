/* Elementwise rules: SAME and its kin, broadcasting, comparisons. */
#include "ir/shape_rules.h"

#include <string.h>

/* ---- SAME: operand 0's type; further operands by op ---- */

static bool
norm_grad(Shaper *s)
{
    Type row = s->args[1];
    if (!shape_is_float(s, 0) || !shape_same_type(s, 0, 1))
        return false;
    if (row.rank == 0)
        return shape_fail_at(s, "expected at least one axis", 0, -1);
    row.dtype = DT_f32;
    row.dim[row.rank - 1] = 1;
    for (int i = 2; i < s->n_args; i++)
        if (!shape_has_type(s, i, &row,
                            "expected f32, one number for each row"))
            return false;
    return true;
}

static bool
rope_positions(Shaper *s)
{
    const Type *x = &s->args[0], *p = &s->args[1];
    if (!shape_is_int(s, 1))
        return false;
    if (p->rank < 1 || p->rank > 2)
        return shape_fail_at(s, "expected positions [T] or [B, T]", 1, -1);
    if (p->dim[p->rank - 1] != x->dim[x->rank - 2])
        return shape_fail_pair(s, "sizes differ", 1, p->rank - 1, 0,
                               x->rank - 2);
    if (p->rank == 2 && (x->rank < 3 || p->dim[0] != x->dim[0]))
        return shape_fail_pair(s, "sizes differ", 1, 0, 0, 0);
    return true;
}

static bool
rope(Shaper *s)
{
    const Type *x = &s->args[0];
    const char *style = shape_word(s, "style");
    if (strcmp(style, "half") != 0 && strcmp(style, "interleaved") != 0)
        return shape_fail(s, "style is half or interleaved");
    if (!(shape_float(s, "base", 0) > 0))
        return shape_fail(s, "base must be above 0");
    if (!shape_is_float(s, 0))
        return false;
    if (x->rank < 2)
        return shape_fail_at(s, "expected at least two axes", 0, -1);
    if (x->dim[x->rank - 1] % 2)
        return shape_fail_at(s, "the last axis must be even", 0, x->rank - 1);
    return s->n_args < 2 || rope_positions(s);
}

static bool
clamp(Shaper *s)
{
    if (!(shape_float(s, "lo", 0) <= shape_float(s, "hi", 0)))
        return shape_fail(s, "lo is above hi");
    return shape_is_number(s, 0);
}

static bool
softmax_grad(Shaper *s)
{
    int axis;
    return shape_is_float(s, 0) && shape_same_type(s, 0, 1) &&
           shape_axis(s, s->args[0].rank, &axis);
}

static bool
moved(Shaper *s)
{
    if (shape_int(s, s->op == OP_all_reduce ? "group" : "queue", 0) < 0)
        return shape_fail(s, "queues and groups count from 0");
    return s->op != OP_all_reduce || shape_is_number(s, 0);
}

static bool
same_operands(Shaper *s)
{
    if (s->op == OP_softmax_grad || s->op == OP_log_softmax_grad)
        return softmax_grad(s);
    if (s->op == OP_layernorm_grad || s->op == OP_rmsnorm_grad)
        return norm_grad(s);
    if (s->op == OP_rope)
        return rope(s);
    if (s->op == OP_clamp)
        return clamp(s);
    if (s->op == OP_stop)
        return true;
    if (s->op == OP_offload || s->op == OP_fetch || s->op == OP_all_reduce)
        return moved(s);
    return shape_is_number(s, 0);
}

bool
shape_rule_same(Shaper *s)
{
    return same_operands(s) && shape_give(s, s->args[0]);
}

bool
shape_rule_float_same(Shaper *s)
{
    int axis;
    if (!shape_is_float(s, 0))
        return false;
    if ((s->op == OP_softmax || s->op == OP_log_softmax) &&
        !shape_axis(s, s->args[0].rank, &axis))
        return false;
    if (s->op == OP_dropout) {
        double p = shape_float(s, "p", 0);
        if (!(p >= 0 && p <= 1))
            return shape_fail(s, "p must be from 0 to 1");
    }
    return shape_give(s, s->args[0]);
}

bool
shape_rule_cast(Shaper *s)
{
    Dtype to = dtype_named(shape_word(s, "to"));
    if (to == DT_COUNT || dtype_info[to].kind == KIND_STORAGE)
        return shape_fail(
            s, arena_printf(s->arena, "no cast to %s", shape_word(s, "to")));
    if (dtype_info[s->args[0].dtype].kind == KIND_STORAGE)
        return shape_fail_at(s, "only dequantize reads storage types", 0, -1);
    Type t = s->args[0];
    t.dtype = to;
    return shape_give(s, t);
}

/* ---- broadcasting ---- */

/* Which axes of operands i and k do not meet, counted in each. */
static bool
fail_broadcast(Shaper *s, int i, int k)
{
    const Type *a = &s->args[i], *b = &s->args[k];
    for (int x = 1; x <= a->rank && x <= b->rank; x++) {
        int64_t p = a->dim[a->rank - x], q = b->dim[b->rank - x];
        if (p != q && p != 1 && q != 1)
            return shape_fail_pair(s, "shapes do not broadcast", i, a->rank - x,
                                   k, b->rank - x);
    }
    return shape_fail(s, "shapes do not broadcast");
}

/* The common shape of operands from..n-1; its dtype is that of `from`. */
static bool
meet(Shaper *s, int from, Type *out)
{
    *out = s->args[from];
    for (int i = from + 1; i < s->n_args; i++) {
        if (type_broadcast(out, &s->args[i], out))
            continue;
        Type pair;
        for (int k = from; k < i; k++)
            if (!type_broadcast(&s->args[k], &s->args[i], &pair))
                return fail_broadcast(s, i, k);
        return shape_fail_at(s, "shapes do not broadcast", i, -1);
    }
    return true;
}

static bool
needs_float(Op op)
{
    return op == OP_bce_with_logits || op == OP_pow_grad_base ||
           op == OP_pow_grad_exp;
}

bool
shape_rule_broadcast(Shaper *s)
{
    Type t;
    if (needs_float(s->op) ? !shape_is_float(s, 0) : !shape_is_number(s, 0))
        return false;
    for (int i = 1; i < s->n_args; i++)
        if (!shape_is_number(s, i) || !shape_same_dtype(s, i, 0))
            return false;
    return meet(s, 0, &t) && shape_give(s, t);
}

bool
shape_rule_compare(Shaper *s)
{
    Type t;
    bool equality = s->op == OP_eq || s->op == OP_ne;
    bool bools = s->args[0].dtype == DT_bool && s->args[1].dtype == DT_bool;
    if (!(equality && bools) &&
        (!shape_is_number(s, 0) || !shape_is_number(s, 1)))
        return false;
    if (!shape_same_dtype(s, 1, 0) || !meet(s, 0, &t))
        return false;
    t.dtype = DT_bool;
    return shape_give(s, t);
}

bool
shape_rule_logic(Shaper *s)
{
    Type t;
    return shape_is_bool(s, 0) && shape_is_bool(s, 1) && meet(s, 0, &t) &&
           shape_give(s, t);
}

bool
shape_rule_where(Shaper *s)
{
    Type t;
    if (!shape_is_bool(s, 0) || !shape_same_dtype(s, 2, 1))
        return false;
    if (dtype_info[s->args[1].dtype].kind == KIND_STORAGE)
        return shape_fail_at(s, "only dequantize reads storage types", 1, -1);
    if (!meet(s, 0, &t))
        return false;
    t.dtype = s->args[1].dtype;
    return shape_give(s, t);
}
