/* What edlc knows about an op beside its meaning: made from ops.def. */
#ifndef EDL_IR_OP_H
#define EDL_IR_OP_H

typedef enum {
#define OP(id, min, max, results, flags, shape, attrs) OP_##id,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} Op;

enum {
    OP_ELEMENT = 1 << 0,
    OP_ROW = 1 << 1,
    OP_VIEW = 1 << 2,
    OP_COMMUTES = 1 << 3,
    OP_DIFF = 1 << 4,
    OP_PINNED = 1 << 5,
    OP_RANDOM = 1 << 6,
    OP_TENSOR = 1 << 7,
    OP_OPTIMIZER = 1 << 8
};

/* One rule each in ir/shape.c. */
typedef enum {
    SHAPE_NONE,
    SHAPE_TENSOR,
    SHAPE_GIVEN,
    SHAPE_SCALAR_F32,
    SHAPE_SAME,
    SHAPE_FLOAT_SAME,
    SHAPE_BOOL_SAME,
    SHAPE_COMPARE1,
    SHAPE_CAST,
    SHAPE_BROADCAST,
    SHAPE_COMPARE,
    SHAPE_LOGIC,
    SHAPE_WHERE,
    SHAPE_REDUCE,
    SHAPE_REDUCE_I32,
    SHAPE_ARG1,
    SHAPE_MATMUL,
    SHAPE_NORM,
    SHAPE_EMBEDDING,
    SHAPE_TAKE,
    SHAPE_TAKE_ALONG,
    SHAPE_ATTENTION,
    SHAPE_ATTENTION_GRAD,
    SHAPE_CROSS_ENTROPY,
    SHAPE_RESHAPE,
    SHAPE_TRANSPOSE,
    SHAPE_BROADCAST_TO,
    SHAPE_SLICE,
    SHAPE_SLICE_AT,
    SHAPE_SPLIT,
    SHAPE_CONCAT,
    SHAPE_PAD,
    SHAPE_GLOBAL_NORM,
    SHAPE_BODY,
    SHAPE_QUANTIZE
} ShapeRule;

typedef struct OpInfo {
    const char *name;
    int min_args, max_args; /* max -1: no limit */
    int n_results;          /* -1: the attributes or operands say */
    int flags;
    ShapeRule shape;
    const char *attrs; /* "axis:int keep:bool ignore:int?" */
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

/* The op of that name, or OP_COUNT. */
Op op_named(const char *name);

#endif
