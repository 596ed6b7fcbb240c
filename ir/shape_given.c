/* Ops whose result types are given, and those without results. */
#include "ir/optimizer.h"
#include "ir/shape_rules.h"

#include <math.h>
#include <string.h>

/* ---- no result ---- */

/* States of an optimizer: floating, or i8 with scales; and its predicate. */
static bool
states(Shaper *s, const Optimizer *o)
{
    for (int i = 0; i < o->n_state; i++) {
        int at = o->state[i], scale = o->scale[i];
        Type scales = optimizer_scales(&s->args[at]);
        if (!shape_same_dims(s, at, 0))
            return false;
        if (scale < 0 ? !shape_is_float(s, at)
                      : s->args[at].dtype != DT_i8 &&
                            !shape_fail_at(s, "expected i8, as the other", at,
                                           -1))
            return false;
        if (scale >= 0 && !shape_has_type(s, scale, &scales,
                                          "expected f32, one for each block"))
            return false;
    }
    return o->go < 0 || shape_is_scalar(s, o->go, DT_bool);
}

static bool
optimizer(Shaper *s)
{
    double momentum = shape_float(s, "momentum", 0);
    bool adam = s->op == OP_adamw, go = shape_int(s, "go", 0);
    int state = adam ? 2 : 4, lr = adam ? 5 : 2;
    bool coded = state < s->n_args && s->args[state].dtype == DT_i8;
    Optimizer o = optimizer_operands(s->op, s->n_args, coded, momentum, go);
    if (s->n_args != o.n_args)
        return shape_fail(s, adam ? "m and v do not tell the operands"
                                  : "momentum and go do not tell the operands");
    return shape_is_float(s, 0) && shape_is_float(s, 1) &&
           shape_same_dims(s, 1, 0) && shape_is_scalar(s, lr, DT_f32) &&
           shape_is_scalar(s, lr + 1, DT_f32) &&
           (!adam || shape_is_scalar(s, 4, DT_i64)) && states(s, &o);
}

bool
shape_rule_none(Shaper *s)
{
    if (op_info[s->op].flags & OP_OPTIMIZER)
        return optimizer(s);
    if (s->op == OP_count)
        return s->n_args == 0 || shape_is_scalar(s, 0, DT_bool);
    if (s->op == OP_accumulate)
        return shape_is_float(s, 0);
    if (s->op == OP_send && shape_int(s, "peer", 0) < 0)
        return shape_fail(s, "peers count from 0");
    return true;
}

bool
shape_rule_global_norm(Shaper *s)
{
    for (int i = 0; i < s->n_args; i++)
        if (!shape_is_float(s, i))
            return false;
    return shape_give(s, type_scalar(DT_f32)) &&
           shape_give(s, type_scalar(DT_bool));
}

/* ---- constants ---- */

/* The integers that a dtype holds. */
static bool
fits(Dtype d, int64_t v)
{
    int bits = dtype_info[d].bits;
    if (d == DT_bool)
        return v == 0 || v == 1;
    if (d == DT_u8)
        return v >= 0 && v <= UINT8_MAX;
    return bits >= 64 ||
           (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

static bool
constant(Shaper *s)
{
    const Attr *value = shape_attr(s, "value"), *whole = shape_attr(s, "int");
    const Type *t = &s->results[0];
    if (!value == !whole)
        return shape_fail(s, "expected value or int, one of them");
    if (dtype_info[t->dtype].kind == KIND_STORAGE)
        return shape_fail(s, "no constants of storage types");
    if (type_is_float(t))
        return value || shape_fail(s, "int is for integer types");
    if (whole)
        return fits(t->dtype, whole->i) ||
               shape_fail(s, "the type does not hold this value");
    double v = value->f;
    bool exact = v > -0x1p53 && v < 0x1p53 && v == floor(v);
    return (exact && fits(t->dtype, (int64_t)v)) ||
           shape_fail(s, "the type does not hold this value");
}

static bool
iota(Shaper *s)
{
    int axis;
    const Type *t = &s->results[0];
    DtypeKind kind = dtype_info[t->dtype].kind;
    if (kind != KIND_FLOAT && kind != KIND_INT)
        return shape_fail(s, "expected numbers");
    return shape_axis(s, t->rank, &axis);
}

/* ---- storage in few bits ---- */

bool
shape_rule_quantize(Shaper *s)
{
    Dtype to = dtype_named(shape_word(s, "to"));
    int64_t block = shape_int(s, "block", 0);
    Type t = s->args[0], scales = {.dtype = DT_f32, .rank = 1};
    if (!shape_is_float(s, 0))
        return false;
    if (to == DT_COUNT || dtype_info[to].kind != KIND_STORAGE)
        return shape_fail(s, "to is i8, i4 or fp8");
    if (block < 1)
        return shape_fail(s, "block must be at least 1");
    t.dtype = to;
    scales.dim[0] = (type_elements(&t) - 1) / block + 1;
    return shape_give(s, t) && shape_give(s, scales);
}

static bool
dequantize(Shaper *s)
{
    Type t = s->args[0];
    int64_t block = shape_int(s, "block", 0);
    if (dtype_info[t.dtype].kind != KIND_STORAGE)
        return shape_fail_at(s, "expected a storage type", 0, -1);
    if (block < 1)
        return shape_fail(s, "block must be at least 1");
    Type scales = {.dtype = DT_f32, .rank = 1};
    scales.dim[0] = (type_elements(&t) - 1) / block + 1;
    if (!shape_has_type(s, 1, &scales, "expected f32, one for each block"))
        return false;
    t.dtype = s->results[0].dtype;
    return (type_is_float(&t) && type_equal(&t, &s->results[0])) ||
           shape_fail(s, "expected a floating type of the operand's shape");
}

/* ---- ranks ---- */

/* One side is `times` the other on the axis. */
static bool
scattered(Shaper *s, const Type *whole, const Type *part)
{
    int axis;
    if (shape_int(s, "group", 0) < 0)
        return shape_fail(s, "queues and groups count from 0");
    if (whole->rank != part->rank || whole->dtype != part->dtype)
        return shape_fail(s, "a part has the type of the whole");
    if (!shape_axis(s, whole->rank, &axis))
        return false;
    for (int i = 0; i < whole->rank; i++) {
        bool fit = i == axis ? whole->dim[i] % part->dim[i] == 0
                             : whole->dim[i] == part->dim[i];
        if (!fit)
            return shape_fail_at(s, "not a part of the whole", 0, i);
    }
    return true;
}

/* ---- the switchboard ---- */

bool
shape_rule_given(Shaper *s)
{
    const Type *to = &s->results[0];
    if (s->op == OP_const)
        return constant(s);
    if (s->op == OP_iota)
        return iota(s);
    if (s->op == OP_embedding_grad)
        return shape_given_table(s);
    if (s->op == OP_take_grad || s->op == OP_take_along_grad ||
        s->op == OP_slice_grad || s->op == OP_slice_at_grad)
        return shape_given_grad(s);
    if (s->op == OP_dequantize)
        return dequantize(s);
    if (s->op == OP_reduce_scatter)
        return shape_is_number(s, 0) && scattered(s, &s->args[0], to);
    if (s->op == OP_all_gather)
        return scattered(s, to, &s->args[0]);
    if (s->op == OP_recv && shape_int(s, "peer", 0) < 0)
        return shape_fail(s, "peers count from 0");
    if (s->op == OP_opaque &&
        (shape_int(s, "time", 0) < 0 || shape_int(s, "workspace", 0) < 0))
        return shape_fail(s, "time and workspace must not be below 0");
    return true;
}

static const char *const body_kinds[] = {"element", "row",   "reduce", "matmul",
                                         "head",    "table", "sweep"};

bool
shape_rule_body(Shaper *s)
{
    const char *kind = shape_word(s, "kind");
    if (shape_int(s, "chunk", 1) < 1)
        return shape_fail(s, "chunk must be at least 1");
    for (size_t i = 0; i < sizeof body_kinds / sizeof *body_kinds; i++)
        if (!strcmp(kind, body_kinds[i]))
            return true;
    return shape_fail(s, arena_printf(s->arena, "no such kind: %s", kind));
}
