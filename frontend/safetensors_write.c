#include "frontend/safetensors.h"

#include "ir/base/diag.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- elements ---- */

/* A double to a format with `mantissa` bits behind the point, numbers of the
 * exponent `least` and below being denormal. */
static uint16_t
to_small(double x, int mantissa, int exponent_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint16_t top = (uint16_t)(((1 << exponent_bits) - 1) << mantissa);
    uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
    int e;
    if (isnan(x))
        return (uint16_t)(sign | top | 1 << (mantissa - 1));
    if (x == 0)
        return sign;
    x = fabs(x);
    frexp(x, &e); /* x in [2^(e-1), 2^e) */
    if (isinf(x) || e - 1 > bias)
        return sign | top;
    int unit = (e - 1 < 1 - bias ? 1 - bias : e - 1) - mantissa;
    uint32_t m = (uint32_t)nearbyint(ldexp(x, -unit));
    /* a carry out of m moves into the exponent, up to infinity */
    uint32_t base = (uint32_t)(unit + mantissa + bias - 1) << mantissa;
    return (uint16_t)(sign | (base + m));
}

uint16_t
st_to_bf16(double x)
{
    return to_small(x, 7, 8);
}

uint16_t
st_to_f16(double x)
{
    return to_small(x, 10, 5);
}

static uint64_t
element_bits(Dtype d, double x)
{
    float f = (float)x;
    uint32_t word;
    uint64_t bits;
    memcpy(&word, &f, sizeof word);
    memcpy(&bits, &x, sizeof bits);
    switch (d) {
    case DT_f32:
        return word;
    case DT_f64:
        return bits;
    case DT_f16:
        return st_to_f16(x);
    case DT_bf16:
        return st_to_bf16(x);
    case DT_bool:
        return x != 0;
    case DT_i32:
    case DT_i64:
    case DT_u8:
    case DT_i8:
        return (uint64_t)(int64_t)x;
    case DT_i4:
    case DT_fp8:
    case DT_COUNT:
        break;
    }
    bug("cannot write tensors of %s", dtype_info[d].name);
}

static bool
write_values(const StOut *t, FILE *to)
{
    enum { CHUNK = 4096 };
    unsigned char buffer[CHUNK * 8];
    int width = dtype_info[t->type.dtype].bits / 8;
    int64_t n = type_elements(&t->type);
    size_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = element_bits(t->type.dtype, t->at[i]);
        for (int b = 0; b < width; b++, bits >>= 8)
            buffer[used++] = (unsigned char)bits;
        if (i + 1 < n && used + 8 <= sizeof buffer)
            continue;
        if (fwrite(buffer, 1, used, to) != used)
            return false;
        used = 0;
    }
    return true;
}

/* ---- the header ---- */

/* Wide elements first, so that each tensor is aligned to its own. */
static const StOut **
in_order(Arena *a, const StOut *tensors, int n)
{
    static const int widths[] = {64, 32, 16, 8};
    const StOut **order = ARENA_ARRAY(a, const StOut *, n + 1);
    int at = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int i = 0; i < n; i++)
            if (dtype_info[tensors[i].type.dtype].bits == widths[w])
                order[at++] = &tensors[i];
    if (at != n)
        bug("a tensor of a type that safetensors does not hold");
    return order;
}

static json_t *
entry_json(const StOut *t, int64_t *offset)
{
    json_t *shape = json_array();
    for (int k = 0; k < t->type.rank; k++)
        json_array_append_new(shape, json_integer(t->type.dim[k]));
    int64_t from = *offset;
    *offset += type_bytes(&t->type);
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype",
                     dtype_info[t->type.dtype].safetensors, "shape", shape,
                     "data_offsets", (json_int_t)from, (json_int_t)*offset);
}

/* The header's text, padded to 8 bytes. */
static char *
header_text(const StOut *const *order, int n, const StMeta *meta, int n_meta,
            size_t *bytes)
{
    json_t *root = json_object();
    int64_t offset = 0;
    if (n_meta > 0) {
        json_t *m = json_object();
        for (int i = 0; i < n_meta; i++)
            json_object_set_new(m, meta[i].key, json_string(meta[i].value));
        json_object_set_new(root, "__metadata__", m);
    }
    for (int i = 0; i < n; i++)
        json_object_set_new(root, order[i]->name,
                            entry_json(order[i], &offset));
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    size_t length = text ? strlen(text) : 0;
    *bytes = (length + 7) / 8 * 8;
    char *padded = malloc(*bytes + 1);
    if (!text || !padded)
        bug("a safetensors header that is no JSON");
    memset(padded, ' ', *bytes);
    memcpy(padded, text, length);
    free(text);
    return padded;
}

static bool
write_file(FILE *to, const char *header, size_t n_header,
           const StOut *const *order, int n)
{
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)n_header >> 8 * i);
    if (fwrite(size, 1, 8, to) != 8 ||
        fwrite(header, 1, n_header, to) != n_header)
        return false;
    for (int i = 0; i < n; i++)
        if (!write_values(order[i], to))
            return false;
    return fflush(to) == 0 && (fsync(fileno(to)) == 0 || errno == EINVAL);
}

/* A device or a pipe is written as it is. */
static bool
is_no_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

bool
st_write(Arena *a, const char *path, const StOut *tensors, int n,
         const StMeta *meta, int n_meta, const char **why)
{
    const StOut **order = in_order(a, tensors, n);
    size_t n_header;
    char *header = header_text(order, n, meta, n_meta, &n_header);
    bool as_is = is_no_file(path);
    char *beside = arena_printf(a, "%s%s", path, as_is ? "" : ".tmp");
    FILE *to = fopen(beside, "wb");
    bool ok = to && write_file(to, header, n_header, order, n);
    int fault = errno;
    if (to && fclose(to) != 0 && ok) {
        ok = false;
        fault = errno;
    }
    free(header);
    if (ok && !as_is && rename(beside, path) != 0) {
        ok = false;
        fault = errno;
    }
    if (!ok) {
        *why = arena_printf(a, "%s", strerror(fault));
        if (to && !as_is)
            remove(beside);
    }
    return ok;
}
