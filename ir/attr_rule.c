#include "ir/attr_rule.h"

#include <string.h>

const char *const attr_kind_name[] = {
    [ATTR_int] = "an integer",     [ATTR_float] = "a number",
    [ATTR_bool] = "true or false", [ATTR_word] = "a word",
    [ATTR_str] = "a quoted text",  [ATTR_ints] = "a list of integers",
};

static const char *const kind_word[] = {
    [ATTR_int] = "int",   [ATTR_float] = "float", [ATTR_bool] = "bool",
    [ATTR_word] = "word", [ATTR_str] = "str",     [ATTR_ints] = "ints",
};

static AttrKind
kind_of(const char *s, size_t n)
{
    for (AttrKind k = ATTR_int; k <= ATTR_ints; k++)
        if (strlen(kind_word[k]) == n && !memcmp(kind_word[k], s, n))
            return k;
    bug("a row of ops.def has an attribute of no kind: %s", s);
}

bool
attr_rule_next(const char **at, AttrRule *out)
{
    const char *s = *at + strspn(*at, " ");
    if (!*s)
        return false;
    size_t n = strcspn(s, ":");
    const char *kind = s + n + 1;
    size_t n_kind = strcspn(kind, " ?");
    *out = (AttrRule){s, n, kind_of(kind, n_kind), kind[n_kind] == '?'};
    *at = kind + n_kind + out->optional;
    return true;
}

bool
attr_rule_is(const AttrRule *r, const char *key)
{
    return strlen(key) == r->n && !memcmp(r->name, key, r->n);
}

bool
attr_rule_find(Op op, const char *key, AttrRule *out)
{
    const char *at = op_info[op].attrs;
    while (attr_rule_next(&at, out))
        if (attr_rule_is(out, key))
            return true;
    return false;
}
