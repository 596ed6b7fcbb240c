#include "ir/shape.h"

#include <string.h>

#include "ir/shape_rules.h"

bool
shape_fail_pair(Shaper *s, const char *text, int arg, int axis, int other,
                int other_axis)
{
    *s->err = (ShapeError){text, arg, axis, other, other_axis};
    return false;
}

bool
shape_fail_at(Shaper *s, const char *text, int arg, int axis)
{
    return shape_fail_pair(s, text, arg, axis, -1, -1);
}

bool
shape_fail(Shaper *s, const char *text)
{
    return shape_fail_at(s, text, -1, -1);
}

/* ---- types ---- */

/* What is wrong with a type by itself, or NULL. */
static const char *
type_fault(const Type *t)
{
    if ((unsigned)t->dtype >= DT_COUNT)
        return "no such element type";
    if (t->rank < 0 || t->rank > MAX_RANK)
        return "more than 8 axes";
    int64_t most = INT64_MAX / dtype_info[t->dtype].bits;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 1)
            return "an axis of size 0";
        if (t->dim[i] > most)
            return "more than 2^63 bytes";
        most /= t->dim[i];
    }
    return NULL;
}

static int
fault_axis(const Type *t)
{
    for (int i = 0; i < t->rank && i < MAX_RANK; i++)
        if (t->dim[i] < 1)
            return i;
    return -1;
}

bool
shape_give(Shaper *s, Type t)
{
    const char *fault = type_fault(&t);
    if (fault)
        return shape_fail(s, fault);
    if (s->n == MAX_RESULTS)
        return shape_fail(s, "more than 64 results");
    s->results[s->n++] = t;
    return true;
}

bool
shape_is_float(Shaper *s, int i)
{
    return type_is_float(&s->args[i]) ||
           shape_fail_at(s, "expected a floating type", i, -1);
}

bool
shape_is_int(Shaper *s, int i)
{
    return dtype_info[s->args[i].dtype].kind == KIND_INT ||
           shape_fail_at(s, "expected an integer type", i, -1);
}

bool
shape_is_number(Shaper *s, int i)
{
    DtypeKind kind = dtype_info[s->args[i].dtype].kind;
    return kind == KIND_FLOAT || kind == KIND_INT ||
           shape_fail_at(s, "expected numbers", i, -1);
}

bool
shape_is_bool(Shaper *s, int i)
{
    return s->args[i].dtype == DT_bool ||
           shape_fail_at(s, "expected bool", i, -1);
}

bool
shape_has_type(Shaper *s, int i, const Type *t, const char *text)
{
    return type_equal(&s->args[i], t) || shape_fail_at(s, text, i, -1);
}

bool
shape_is_scalar(Shaper *s, int i, Dtype d)
{
    if (s->args[i].dtype == d && s->args[i].rank == 0)
        return true;
    const char *text =
        arena_printf(s->arena, "expected a scalar of %s", dtype_info[d].name);
    return shape_fail_at(s, text, i, -1);
}

bool
shape_same_dtype(Shaper *s, int i, int k)
{
    Dtype a = s->args[i].dtype, b = s->args[k].dtype;
    if (a == b)
        return true;
    const char *text = arena_printf(s->arena, "%s meets %s; cast one of them",
                                    dtype_info[a].name, dtype_info[b].name);
    return shape_fail_pair(s, text, i, -1, k, -1);
}

bool
shape_same_dims(Shaper *s, int i, int k)
{
    const Type *a = &s->args[i], *b = &s->args[k];
    if (a->rank != b->rank)
        return shape_fail_pair(s, "numbers of axes differ", i, -1, k, -1);
    for (int x = 0; x < a->rank; x++)
        if (a->dim[x] != b->dim[x])
            return shape_fail_pair(s, "sizes differ", i, x, k, x);
    return true;
}

bool
shape_same_type(Shaper *s, int i, int k)
{
    return shape_same_dtype(s, i, k) && shape_same_dims(s, i, k);
}

/* ---- attributes ---- */

const Attr *
shape_attr(const Shaper *s, const char *key)
{
    for (int i = 0; i < s->n_attrs; i++)
        if (!strcmp(s->attrs[i].key, key))
            return &s->attrs[i];
    return NULL;
}

int64_t
shape_int(const Shaper *s, const char *key, int64_t otherwise)
{
    const Attr *a = shape_attr(s, key);
    return a ? a->i : otherwise;
}

double
shape_float(const Shaper *s, const char *key, double otherwise)
{
    const Attr *a = shape_attr(s, key);
    return a ? a->f : otherwise;
}

const char *
shape_word(const Shaper *s, const char *key)
{
    const Attr *a = shape_attr(s, key);
    return a ? a->s : "";
}

bool
shape_axis(Shaper *s, int rank, int *axis)
{
    int64_t at = shape_int(s, "axis", -1);
    if (at < 0 || at >= rank)
        return shape_fail(s, "axis is out of range");
    *axis = (int)at;
    return true;
}

/* The name of an attribute in the row, and whether `attrs` of the caller
 * must have it. */
static bool
check_declared(Shaper *s, const AttrRule *rule)
{
    int seen = 0;
    for (int i = 0; i < s->n_attrs; i++) {
        const Attr *a = &s->attrs[i];
        if (!attr_rule_is(rule, a->key))
            continue;
        if (seen++)
            return shape_fail(
                s, arena_printf(s->arena, "attribute %s comes twice", a->key));
        if (a->kind != rule->kind)
            return shape_fail(
                s, arena_printf(s->arena, "attribute %s: expected %s", a->key,
                                attr_kind_name[rule->kind]));
    }
    if (seen || rule->optional)
        return true;
    return shape_fail(s, arena_printf(s->arena, "attribute %.*s is missing",
                                      (int)rule->n, rule->name));
}

static bool
check_attrs(Shaper *s)
{
    AttrRule rule;
    for (int i = 0; i < s->n_attrs; i++)
        if (!attr_rule_find(s->op, s->attrs[i].key, &rule))
            return shape_fail(
                s, arena_printf(s->arena, "%s has no attribute %s",
                                op_info[s->op].name, s->attrs[i].key));
    const char *at = op_info[s->op].attrs;
    while (attr_rule_next(&at, &rule))
        if (!check_declared(s, &rule))
            return false;
    return true;
}

/* ---- the row ---- */

static bool
check_arity(Shaper *s)
{
    const OpInfo *info = &op_info[s->op];
    bool many = info->max_args >= 0 && s->n_args > info->max_args;
    if (s->n_args >= info->min_args && !many)
        return true;
    const char *more = info->max_args < 0 ? " or more" : "";
    if (info->max_args > info->min_args)
        more = arena_printf(s->arena, " to %d", info->max_args);
    return shape_fail(s,
                      arena_printf(s->arena, "expected %d%s operands, found %d",
                                   info->min_args, more, s->n_args));
}

static bool
check_args(Shaper *s)
{
    for (int i = 0; i < s->n_args; i++) {
        const char *fault = type_fault(&s->args[i]);
        if (fault)
            return shape_fail_at(s, fault, i, fault_axis(&s->args[i]));
    }
    return true;
}

static bool
rule_scalar_f32(Shaper *s)
{
    return shape_is_scalar(s, 0, DT_i64) && shape_give(s, type_scalar(DT_f32));
}

static bool
rule_bool_same(Shaper *s)
{
    return shape_is_bool(s, 0) && shape_give(s, s->args[0]);
}

static bool
rule_compare1(Shaper *s)
{
    Type t = s->args[0];
    t.dtype = DT_bool;
    return shape_is_float(s, 0) && shape_give(s, t);
}

static bool
apply(Shaper *s)
{
    switch (op_info[s->op].shape) {
    case SHAPE_NONE:
        return shape_rule_none(s);
    case SHAPE_TENSOR:
    case SHAPE_GIVEN:
        return shape_rule_given(s);
    case SHAPE_SCALAR_F32:
        return rule_scalar_f32(s);
    case SHAPE_SAME:
        return shape_rule_same(s);
    case SHAPE_FLOAT_SAME:
        return shape_rule_float_same(s);
    case SHAPE_BOOL_SAME:
        return rule_bool_same(s);
    case SHAPE_COMPARE1:
        return rule_compare1(s);
    case SHAPE_CAST:
        return shape_rule_cast(s);
    case SHAPE_BROADCAST:
        return shape_rule_broadcast(s);
    case SHAPE_COMPARE:
        return shape_rule_compare(s);
    case SHAPE_LOGIC:
        return shape_rule_logic(s);
    case SHAPE_WHERE:
        return shape_rule_where(s);
    case SHAPE_REDUCE:
        return shape_rule_reduce(s);
    case SHAPE_REDUCE_I32:
        return shape_rule_reduce_i32(s);
    case SHAPE_ARG1:
        return shape_rule_arg1(s);
    case SHAPE_MATMUL:
        return shape_rule_matmul(s);
    case SHAPE_NORM:
        return shape_rule_norm(s);
    case SHAPE_EMBEDDING:
        return shape_rule_embedding(s);
    case SHAPE_TAKE:
        return shape_rule_take(s);
    case SHAPE_TAKE_ALONG:
        return shape_rule_take_along(s);
    case SHAPE_ATTENTION:
        return shape_rule_attention(s);
    case SHAPE_ATTENTION_GRAD:
        return shape_rule_attention_grad(s);
    case SHAPE_CROSS_ENTROPY:
        return shape_rule_cross_entropy(s);
    case SHAPE_RESHAPE:
        return shape_rule_reshape(s);
    case SHAPE_TRANSPOSE:
        return shape_rule_transpose(s);
    case SHAPE_BROADCAST_TO:
        return shape_rule_broadcast_to(s);
    case SHAPE_SLICE:
        return shape_rule_slice(s);
    case SHAPE_SLICE_AT:
        return shape_rule_slice_at(s);
    case SHAPE_SPLIT:
        return shape_rule_split(s);
    case SHAPE_CONCAT:
        return shape_rule_concat(s);
    case SHAPE_PAD:
        return shape_rule_pad(s);
    case SHAPE_GLOBAL_NORM:
        return shape_rule_global_norm(s);
    case SHAPE_BODY:
        return shape_rule_body(s);
    case SHAPE_QUANTIZE:
        return shape_rule_quantize(s);
    }
    return shape_fail(s, "no such rule");
}

/* GIVEN results come in by the caller, BODY results with their number. */
static bool
take_given(Shaper *s, int n)
{
    ShapeRule rule = op_info[s->op].shape;
    if (rule == SHAPE_GIVEN || rule == SHAPE_TENSOR)
        n = 1;
    else if (rule != SHAPE_BODY)
        return true;
    for (int i = 0; i < n; i++) {
        const char *fault = type_fault(&s->results[i]);
        if (fault)
            return shape_fail(s, fault);
    }
    s->n = n;
    return true;
}

bool
shape_infer(Arena *a, Op op, const Type *args, int n_args, const Attr *attrs,
            int n_attrs, Type *results, int *n_results, ShapeError *err)
{
    Shaper s = {.arena = a,
                .op = op,
                .args = args,
                .n_args = n_args,
                .attrs = attrs,
                .n_attrs = n_attrs,
                .results = results,
                .err = err};
    *err = (ShapeError){NULL, -1, -1, -1, -1};
    if (!check_arity(&s) || !check_attrs(&s) || !check_args(&s) ||
        !take_given(&s, *n_results) || !apply(&s))
        return false;
    *n_results = s.n;
    return true;
}
