#include "edl_tensor.h"

#include "edl_code.h"
#include "edl_copy.h"
#include "edl_kernel.h"

#include <stdio.h>
#include <string.h>

int64_t
edl_tensor_elements(const EdlTensor *t)
{
    int64_t n = 1;
    for (int32_t k = 0; k < t->ndim; k++)
        n *= t->dims[k];
    return n;
}

uint64_t
edl_tensor_bytes(const EdlTensor *t)
{
    uint64_t bits = (uint64_t)edl_dtype_bits(t->dtype);
    return ((uint64_t)edl_tensor_elements(t) * bits + 7) / 8;
}

unsigned char *
edl_address(const EdlInstance *m, const EdlTensor *t)
{
    return m->region[t->region] + t->offset;
}

int
edl_tensor_dense(const EdlTensor *t)
{
    int64_t expected = 1;
    for (int32_t k = t->ndim - 1; k >= 0; k--) {
        if (t->dims[k] != 1 && t->stride[k] != expected)
            return 0;
        expected *= t->dims[k];
    }
    return 1;
}

void
edl_shape_text(char text[EDL_SHAPE_TEXT], EdlDtype d, int32_t ndim,
               const int64_t *dims)
{
    size_t at =
        (size_t)snprintf(text, EDL_SHAPE_TEXT, "%s[", edl_dtype_name(d));
    for (int32_t k = 0; k < ndim; k++)
        at += (size_t)snprintf(text + at, EDL_SHAPE_TEXT - at, "%s%lld",
                               k ? ", " : "", (long long)dims[k]);
    snprintf(text + at, EDL_SHAPE_TEXT - at, "]");
}

/* ---- bytes of regions ---- */

void
edl_get_bytes(const EdlInstance *m, void *dst, const void *region, size_t n)
{
    if (m->model->device)
        m->model->device->get(m, dst, region, n);
    else
        memcpy(dst, region, n);
}

void
edl_put_bytes(const EdlInstance *m, void *region, const void *src, size_t n)
{
    if (m->model->device)
        m->model->device->put(m, region, src, n);
    else
        memcpy(region, src, n);
}

void
edl_zero_region(const EdlInstance *m, EdlRegion r)
{
    size_t n = (size_t)m->model->regions.bytes[r];
    if (n && m->model->device)
        m->model->device->zero(m, m->region[r], n);
    else if (n)
        memset(m->region[r], 0, n);
}

EdlStatus
edl_device_status(EdlInstance *m)
{
    return m->model->device ? m->model->device->status(m)
                            : edl_copies_status(m, "a call");
}

/* n bytes of a tensor, from its byte `at` on. */
static void
get_at(const EdlInstance *m, const EdlTensor *t, size_t at, void *dst, size_t n)
{
    if (t->region == EDL_DISK)
        edl_fetch_now(m, dst, EDL_DISK, t->offset + at, n);
    else
        edl_get_bytes(m, dst, edl_address(m, t) + at, n);
}

static void
put_at(const EdlInstance *m, const EdlTensor *t, size_t at, const void *src,
       size_t n)
{
    if (t->region == EDL_DISK)
        edl_offload_now(m, EDL_DISK, t->offset + at, src, n);
    else
        edl_put_bytes(m, edl_address(m, t) + at, src, n);
}

/* ---- codes of 8 bits ---- */

static size_t
place_of_scale(const EdlTensor *t, int64_t element)
{
    return (size_t)t->scales + (size_t)(element / EDL_CODES) * sizeof(float);
}

/* n elements of one block. */
static void
get_codes(const EdlInstance *m, const EdlTensor *t, int64_t first, int n,
          float *to)
{
    uint8_t codes[EDL_CODES];
    float scale;
    edl_get_bytes(m, codes, edl_address(m, t) + first, (size_t)n);
    edl_get_bytes(m, &scale, m->region[t->region] + place_of_scale(t, first),
                  sizeof scale);
    if (t->stored == EDL_CODES_ROOT)
        edl_codes_get_squares(to, codes, scale, n);
    else
        edl_codes_get(to, codes, scale, n);
}

/* A block whole; to the nearest: what codes gave becomes the same codes. */
static void
put_codes(const EdlInstance *m, const EdlTensor *t, int64_t first, int n,
          const float *from)
{
    int root = t->stored == EDL_CODES_ROOT;
    uint8_t codes[EDL_CODES];
    float scale = edl_codes_scale(from, n);
    scale = root ? edl_sqrtf(scale) : scale;
    float by = scale > 0.0f ? scale : 1.0f;
    for (int i = 0; i < n; i++)
        codes[i] = root ? edl_root_of(edl_sqrtf(from[i]), by,
                                      1u << (EDL_ROOT_CUT - 1))
                        : edl_code_of(from[i], by, 1u << (EDL_CODE_CUT - 1));
    edl_put_bytes(m, edl_address(m, t) + first, codes, (size_t)n);
    edl_put_bytes(m, m->region[t->region] + place_of_scale(t, first), &scale,
                  sizeof scale);
}

/* Of elements from first on, at most n: those in the block of the first. */
static int
in_block(int64_t first, int64_t n)
{
    int64_t left = EDL_CODES - first % EDL_CODES;
    return (int)(left < n ? left : n);
}

static void
gather_codes(const EdlInstance *m, const EdlTensor *t, int64_t first, int64_t n,
             float *to)
{
    for (int64_t i = 0; i < n;) {
        int some = in_block(first + i, n - i);
        get_codes(m, t, first + i, some, to + i);
        i += some;
    }
}

static void
scatter_codes(const EdlInstance *m, const EdlTensor *t, int64_t first,
              int64_t n, const float *from)
{
    int64_t all = edl_tensor_elements(t);
    for (int64_t i = 0; i < n;) {
        float block[EDL_CODES];
        int some = in_block(first + i, n - i);
        int64_t start = (first + i) / EDL_CODES * EDL_CODES;
        int whole = in_block(start, all - start);
        if (some < whole)
            get_codes(m, t, start, whole, block);
        memcpy(block + (first + i - start), from + i,
               (size_t)some * sizeof *from);
        put_codes(m, t, start, whole, block);
        i += some;
    }
}

/* ---- between layout and logical order ---- */

typedef struct Walk {
    int64_t index[EDL_MAX_RANK];
    int64_t at; /* elements from the start of the tensor */
} Walk;

static Walk
walk_from(const EdlTensor *t, int64_t element)
{
    Walk w;
    memset(&w, 0, sizeof w);
    for (int32_t k = t->ndim - 1; k >= 0; k--) {
        w.index[k] = element % t->dims[k];
        w.at += w.index[k] * t->stride[k];
        element /= t->dims[k];
    }
    return w;
}

static void
walk_next(const EdlTensor *t, Walk *w)
{
    for (int32_t k = t->ndim - 1; k >= 0; k--) {
        w->at += t->stride[k];
        if (++w->index[k] < t->dims[k])
            return;
        w->at -= t->stride[k] * t->dims[k];
        w->index[k] = 0;
    }
}

static void
apply_scale(const EdlTensor *t, int64_t n, void *data)
{
    if (t->dtype == EDL_F32) {
        float *x = (float *)data, scale = (float)t->scale;
        for (int64_t i = 0; i < n; i++)
            x[i] *= scale;
    } else if (t->dtype == EDL_F64) {
        double *x = (double *)data;
        for (int64_t i = 0; i < n; i++)
            x[i] *= t->scale;
    }
}

void
edl_gather(const EdlInstance *m, const EdlTensor *t, int64_t first, int64_t n,
           void *dst)
{
    size_t size = (size_t)edl_dtype_bits(t->dtype) / 8;
    unsigned char *out = (unsigned char *)dst;
    if (t->stored != EDL_AS_IS) {
        gather_codes(m, t, first, n, (float *)dst);
        return;
    }
    if (size == 0) {
        get_at(m, t, 0, dst, (size_t)edl_tensor_bytes(t));
        return;
    }
    if (edl_tensor_dense(t)) {
        get_at(m, t, (size_t)first * size, dst, (size_t)n * size);
    } else {
        Walk w = walk_from(t, first);
        for (int64_t i = 0; i < n; i++, walk_next(t, &w))
            get_at(m, t, (size_t)w.at * size, out + (size_t)i * size, size);
    }
    if (t->scale != 1.0)
        apply_scale(t, n, dst);
}

void
edl_scatter(const EdlInstance *m, const EdlTensor *t, int64_t first, int64_t n,
            const void *src)
{
    size_t size = (size_t)edl_dtype_bits(t->dtype) / 8;
    const unsigned char *in = (const unsigned char *)src;
    if (t->stored != EDL_AS_IS) {
        scatter_codes(m, t, first, n, (const float *)src);
        return;
    }
    if (size == 0) {
        put_at(m, t, 0, src, (size_t)edl_tensor_bytes(t));
        return;
    }
    if (edl_tensor_dense(t)) {
        put_at(m, t, (size_t)first * size, src, (size_t)n * size);
        return;
    }
    Walk w = walk_from(t, first);
    for (int64_t i = 0; i < n; i++, walk_next(t, &w))
        put_at(m, t, (size_t)w.at * size, in + (size_t)i * size, size);
}

/* ---- get and set ---- */

static EdlStatus
named(EdlInstance *m, const char *name, const void *data, uint64_t bytes,
      const EdlTensor **out)
{
    const EdlTensor *t = name ? edl_find(m->model, name) : NULL;
    if (!t)
        return edl_fail(m, EDL_EINVAL, "no tensor is called %s",
                        name ? name : "NULL");
    if (bytes != edl_tensor_bytes(t))
        return edl_fail(m, EDL_EINVAL, "%s has %llu bytes, not %llu", name,
                        (unsigned long long)edl_tensor_bytes(t),
                        (unsigned long long)bytes);
    if (!data)
        return edl_fail(m, EDL_EINVAL, "the data of %s are NULL", name);
    *out = t;
    return EDL_OK;
}

EdlStatus
edl_get(EdlInstance *m, const char *name, void *dst, uint64_t bytes)
{
    const EdlTensor *t = NULL;
    EdlStatus s = named(m, name, dst, bytes, &t);
    if (s == EDL_OK)
        edl_gather(m, t, 0, edl_tensor_elements(t), dst);
    return s == EDL_OK ? edl_device_status(m) : s;
}

EdlStatus
edl_set(EdlInstance *m, const char *name, const void *src, uint64_t bytes)
{
    const EdlTensor *t = NULL;
    EdlStatus s = named(m, name, src, bytes, &t);
    if (s != EDL_OK)
        return s;
    if (t->kind == EDL_GRAD || t->kind == EDL_OUTPUT)
        return edl_fail(m, EDL_EINVAL, "%s is computed and cannot be set",
                        name);
    edl_scatter(m, t, 0, edl_tensor_elements(t), src);
    return edl_device_status(m);
}

/* ---- conversion ---- */

static int
is_float(EdlDtype d)
{
    return d == EDL_F32 || d == EDL_F64 || d == EDL_F16 || d == EDL_BF16;
}

static int
is_integer(EdlDtype d)
{
    return d == EDL_I32 || d == EDL_I64 || d == EDL_U8 || d == EDL_BOOL ||
           d == EDL_I8 || d == EDL_U16 || d == EDL_U32 || d == EDL_I16 ||
           d == EDL_U64;
}

static double
load_float(EdlDtype d, const void *src, int64_t i)
{
    if (d == EDL_F64)
        return ((const double *)src)[i];
    if (d == EDL_F32)
        return (double)((const float *)src)[i];
    uint16_t h = ((const uint16_t *)src)[i];
    return (double)(d == EDL_BF16 ? edl_bf16_to_f32(h) : edl_f16_to_f32(h));
}

/* A u64 from 2^63 on comes as a negative number. */
static int64_t
load_integer(EdlDtype d, const void *src, int64_t i)
{
    switch (d) {
    case EDL_I32:
        return ((const int32_t *)src)[i];
    case EDL_I16:
        return ((const int16_t *)src)[i];
    case EDL_I64:
    case EDL_U64:
        return ((const int64_t *)src)[i];
    case EDL_I8:
        return ((const int8_t *)src)[i];
    case EDL_U16:
        return ((const uint16_t *)src)[i];
    case EDL_U32:
        return ((const uint32_t *)src)[i];
    default:
        return ((const uint8_t *)src)[i];
    }
}

static double
integer_as_double(EdlDtype d, const void *src, int64_t i)
{
    int64_t x = load_integer(d, src, i);
    return d == EDL_U64 ? (double)(uint64_t)x : (double)x;
}

/* x as f32, rounded to odd where it is none: rounding that to 16 bits gives
 * what rounding x at once does. */
static float
to_odd(double x)
{
    float f = (float)x;
    uint32_t u = edl_bits(f);
    if ((double)f == x || x != x || (u & 1u))
        return f;
    int below = x < 0 ? (double)f > x : (double)f < x;
    return edl_float(below ? u + 1 : u - 1);
}

static void
store_float(EdlDtype d, void *dst, int64_t i, double x)
{
    if (d == EDL_F64)
        ((double *)dst)[i] = x;
    else if (d == EDL_F32)
        ((float *)dst)[i] = (float)x;
    else if (d == EDL_BF16)
        ((uint16_t *)dst)[i] = edl_f32_to_bf16(to_odd(x));
    else
        ((uint16_t *)dst)[i] = edl_f32_to_f16(to_odd(x));
}

static int
store_integer(EdlDtype d, void *dst, int64_t i, int64_t x)
{
    switch (d) {
    case EDL_I32:
        ((int32_t *)dst)[i] = (int32_t)x;
        return x >= INT32_MIN && x <= INT32_MAX;
    case EDL_I64:
        ((int64_t *)dst)[i] = x;
        return 1;
    case EDL_U64:
        ((uint64_t *)dst)[i] = (uint64_t)x;
        return x >= 0;
    case EDL_I16:
        ((int16_t *)dst)[i] = (int16_t)x;
        return x >= INT16_MIN && x <= INT16_MAX;
    case EDL_I8:
        ((int8_t *)dst)[i] = (int8_t)x;
        return x >= INT8_MIN && x <= INT8_MAX;
    case EDL_U16:
        ((uint16_t *)dst)[i] = (uint16_t)x;
        return x >= 0 && x <= UINT16_MAX;
    case EDL_U32:
        ((uint32_t *)dst)[i] = (uint32_t)x;
        return x >= 0 && x <= (int64_t)UINT32_MAX;
    case EDL_BOOL:
        ((uint8_t *)dst)[i] = x != 0;
        return x == 0 || x == 1;
    default:
        ((uint8_t *)dst)[i] = (uint8_t)x;
        return x >= 0 && x <= UINT8_MAX;
    }
}

int64_t
edl_convert(EdlDtype from, const void *src, EdlDtype to, void *dst, int64_t n)
{
    if (from == to && from != EDL_BOOL && edl_dtype_bits(from) % 8 == 0) {
        memcpy(dst, src, (size_t)n * (size_t)edl_dtype_bits(from) / 8);
    } else if (is_float(from) && is_float(to)) {
        for (int64_t i = 0; i < n; i++)
            store_float(to, dst, i, load_float(from, src, i));
    } else if (is_integer(from) && is_float(to)) {
        for (int64_t i = 0; i < n; i++)
            store_float(to, dst, i, integer_as_double(from, src, i));
    } else if (is_integer(from) && is_integer(to)) {
        for (int64_t i = 0; i < n; i++) {
            int64_t x = load_integer(from, src, i);
            int lost = from == EDL_U64 && x < 0;
            if (!store_integer(to, dst, i, x) || lost)
                return 1 + i;
        }
    } else {
        return -1;
    }
    return 0;
}
