/* The attributes that an op's row declares: "axis:int keep:bool ignore:int?".
 * Shared by shape_infer and the reader. */
#ifndef EDL_IR_ATTR_RULE_H
#define EDL_IR_ATTR_RULE_H

#include "ir/graph.h"

typedef struct AttrRule {
    const char *name; /* n bytes of the row */
    size_t n;
    AttrKind kind;
    bool optional;
} AttrRule;

/* As messages call them: "an integer". */
extern const char *const attr_kind_name[];

/* Takes the next rule of a row's text off *at; false at its end. */
bool attr_rule_next(const char **at, AttrRule *out);
bool attr_rule_is(const AttrRule *r, const char *key);
bool attr_rule_find(Op op, const char *key, AttrRule *out);

#endif
