/* How ir/shape.c is cut in files: inside ir/ only. */
#ifndef EDL_IR_SHAPE_RULES_H
#define EDL_IR_SHAPE_RULES_H

#include "ir/attr_rule.h"
#include "ir/shape.h"

/* One question to shape_infer. A rule reads args and attrs, which have passed
 * the checks of the row (arity, attributes, each type by itself), and adds
 * the results; or it fails and says why. */
typedef struct Shaper {
    Arena *arena;
    Op op;
    const Type *args;
    int n_args;
    const Attr *attrs;
    int n_attrs;
    Type *results;
    int n;
    ShapeError *err;
} Shaper;

/* ---- shape.c: what all rules use ---- */

/* False always. where: which operand and axis, -1: none; other: the ones
 * they were compared with. */
bool shape_fail(Shaper *s, const char *text);
bool shape_fail_at(Shaper *s, const char *text, int arg, int axis);
bool shape_fail_pair(Shaper *s, const char *text, int arg, int axis, int other,
                     int other_axis);
/* Adds a result. */
bool shape_give(Shaper *s, Type t);

const Attr *shape_attr(const Shaper *s, const char *key);
int64_t shape_int(const Shaper *s, const char *key, int64_t otherwise);
double shape_float(const Shaper *s, const char *key, double otherwise);
const char *shape_word(const Shaper *s, const char *key);

/* Checks on operand i. */
bool shape_is_float(Shaper *s, int i);
bool shape_is_int(Shaper *s, int i);
bool shape_is_number(Shaper *s, int i); /* float or int */
bool shape_is_bool(Shaper *s, int i);
bool shape_is_scalar(Shaper *s, int i, Dtype d);
bool shape_same_dtype(Shaper *s, int i, int k);
bool shape_same_dims(Shaper *s, int i, int k);
bool shape_same_type(Shaper *s, int i, int k);
bool shape_has_type(Shaper *s, int i, const Type *t, const char *text);
/* The attribute axis, in range of a rank. */
bool shape_axis(Shaper *s, int rank, int *axis);

/* ---- the rules, by family ---- */

bool shape_rule_same(Shaper *s);
bool shape_rule_float_same(Shaper *s);
bool shape_rule_cast(Shaper *s);
bool shape_rule_broadcast(Shaper *s);
bool shape_rule_compare(Shaper *s);
bool shape_rule_logic(Shaper *s);
bool shape_rule_where(Shaper *s);

bool shape_rule_reduce(Shaper *s);
bool shape_rule_reduce_i32(Shaper *s);
bool shape_rule_arg1(Shaper *s);
bool shape_rule_norm(Shaper *s);
bool shape_rule_matmul(Shaper *s);
bool shape_rule_attention(Shaper *s);
bool shape_rule_attention_grad(Shaper *s);
bool shape_rule_cross_entropy(Shaper *s);

bool shape_rule_embedding(Shaper *s);
bool shape_rule_take(Shaper *s);
bool shape_rule_take_along(Shaper *s);
bool shape_rule_reshape(Shaper *s);
bool shape_rule_transpose(Shaper *s);
bool shape_rule_broadcast_to(Shaper *s);
bool shape_rule_slice(Shaper *s);
bool shape_rule_slice_at(Shaper *s);
bool shape_rule_split(Shaper *s);
bool shape_rule_concat(Shaper *s);
bool shape_rule_pad(Shaper *s);

/* Of GIVEN ops, in shape_move.c beside what they are gradients of. */
bool shape_given_table(Shaper *s);
bool shape_given_grad(Shaper *s);

bool shape_rule_none(Shaper *s);
bool shape_rule_given(Shaper *s);
bool shape_rule_body(Shaper *s);
bool shape_rule_global_norm(Shaper *s);
bool shape_rule_quantize(Shaper *s);

#endif
