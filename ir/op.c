#include "ir/op.h"

#include <string.h>

const OpInfo op_info[OP_COUNT] = {
#define OP(id, min, max, results, flags, shape, attrs)                         \
    [OP_##id] = {#id, min, max, results, flags, SHAPE_##shape, attrs},
#include "ir/ops.def"
#undef OP
};

Op
op_named(const char *name)
{
    Op op = 0;
    while (op < OP_COUNT && strcmp(op_info[op].name, name) != 0)
        op++;
    return op;
}
