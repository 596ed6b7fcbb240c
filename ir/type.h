/* What a value is: element type and logical shape; and how it lies in
 * memory: layout, sharding, space. */
#ifndef EDL_IR_TYPE_H
#define EDL_IR_TYPE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_RANK = 8 };

typedef enum {
#define DTYPE(id, bits, kind, c, st) DT_##id,
#include "ir/dtypes.def"
#undef DTYPE
    DT_COUNT
} Dtype;

typedef enum { KIND_FLOAT, KIND_INT, KIND_BOOL, KIND_STORAGE } DtypeKind;

typedef struct DtypeInfo {
    const char *name;
    int bits;
    DtypeKind kind;
    const char *c_type;
    const char *safetensors;
} DtypeInfo;

extern const DtypeInfo dtype_info[DT_COUNT];

/* The dtype of that name, or DT_COUNT. */
Dtype dtype_named(const char *name);

typedef struct Type {
    Dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[MAX_RANK];
} Type;

bool type_equal(const Type *a, const Type *b);
int64_t type_elements(const Type *t);
/* Bytes of a dense row-major value; a rest of bits is rounded up. */
int64_t type_bytes(const Type *t);
Type type_scalar(Dtype d);
static inline bool
type_is_float(const Type *t)
{
    return dtype_info[t->dtype].kind == KIND_FLOAT;
}

/* NumPy broadcasting of two shapes into out; false when they do not fit. */
bool type_broadcast(const Type *a, const Type *b, Type *out);

/* Element (i0, i1, ...) lies at offset + sum(i[k] * stride[k]) elements from
 * the start of the value's home. tile: rows and columns of a packed block,
 * 0 where the value is not packed. pad: bytes after the last element. */
typedef struct Layout {
    int64_t offset;
    int64_t stride[MAX_RANK];
    int64_t pad;
    int tile[2];
} Layout;

Layout layout_dense(const Type *t);
bool layout_is_dense(const Layout *l, const Type *t);

/* Which rank group each axis is cut over; -1: not cut. */
typedef struct Sharding {
    signed char group[MAX_RANK];
} Sharding;

Sharding sharding_none(void);
bool sharding_is_none(const Sharding *s);

typedef enum { SPACE_device, SPACE_host, SPACE_disk } Space;

#endif
