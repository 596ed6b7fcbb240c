#include "ir/type.h"

#include <string.h>

const DtypeInfo dtype_info[DT_COUNT] = {
#define DTYPE(id, bits, kind, c, st) [DT_##id] = {#id, bits, kind, c, st},
#include "ir/dtypes.def"
#undef DTYPE
};

Dtype
dtype_named(const char *name)
{
    Dtype d = 0;
    while (d < DT_COUNT && strcmp(dtype_info[d].name, name) != 0)
        d++;
    return d;
}

bool
type_equal(const Type *a, const Type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

int64_t
type_elements(const Type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

int64_t
type_bytes(const Type *t)
{
    return (type_elements(t) * dtype_info[t->dtype].bits + 7) / 8;
}

Type
type_scalar(Dtype d)
{
    return (Type){.dtype = d};
}

bool
type_broadcast(const Type *a, const Type *b, Type *out)
{
    Type r = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= r.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        r.dim[r.rank - i] = x == 1 ? y : x;
    }
    *out = r;
    return true;
}

Layout
layout_dense(const Type *t)
{
    Layout l = {0};
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        l.stride[i] = step;
        step *= t->dim[i];
    }
    return l;
}

bool
layout_is_dense(const Layout *l, const Type *t)
{
    Layout d = layout_dense(t);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1 && l->stride[i] != d.stride[i])
            return false;
    return l->tile[0] == 0;
}

Sharding
sharding_none(void)
{
    Sharding s;
    memset(s.group, -1, sizeof s.group);
    return s;
}

bool
sharding_is_none(const Sharding *s)
{
    for (int i = 0; i < MAX_RANK; i++)
        if (s->group[i] >= 0)
            return false;
    return true;
}
