#include "frontend/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest header that the Python package takes. */
enum { HEADER_MOST = 100000000 };

typedef struct StType {
    const char *name;
    int bytes;
    DtypeKind kind;
} StType;

static const StType st_types[] = {
    {"F64", 8, KIND_FLOAT},       {"F32", 4, KIND_FLOAT},
    {"F16", 2, KIND_FLOAT},       {"BF16", 2, KIND_FLOAT},
    {"I64", 8, KIND_INT},         {"I32", 4, KIND_INT},
    {"I16", 2, KIND_INT},         {"I8", 1, KIND_INT},
    {"U64", 8, KIND_INT},         {"U32", 4, KIND_INT},
    {"U16", 2, KIND_INT},         {"U8", 1, KIND_INT},
    {"BOOL", 1, KIND_BOOL},       {"F8_E4M3", 1, KIND_STORAGE},
    {"F8_E5M2", 1, KIND_STORAGE},
};

static const StType *
st_type(const char *name)
{
    for (size_t i = 0; i < sizeof st_types / sizeof *st_types; i++)
        if (strcmp(st_types[i].name, name) == 0)
            return &st_types[i];
    return NULL;
}

/* ---- little-endian numbers ---- */

static uint64_t
little(const unsigned char *p, int n)
{
    uint64_t x = 0;
    for (int i = n; i-- > 0;)
        x = x << 8 | p[i];
    return x;
}

static double
from_f16(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double x = e == 31  ? (m ? NAN : INFINITY)
               : e == 0 ? ldexp(m, -24)
                        : ldexp(m + 1024, e - 25);
    return h >> 15 ? -x : x;
}

static double
from_bits(const StType *t, uint64_t bits)
{
    float f;
    double d;
    uint32_t word = (uint32_t)(t->bytes == 2 ? bits << 16 : bits);
    if (strcmp(t->name, "F16") == 0)
        return from_f16((uint16_t)bits);
    if (t->bytes == 8) {
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    memcpy(&f, &word, sizeof f);
    return f;
}

static double
from_int(const StType *t, uint64_t bits)
{
    uint64_t sign = (uint64_t)1 << (8 * t->bytes - 1);
    if (t->name[0] != 'I' || !(bits & sign))
        return (double)bits;
    return -(double)((sign << 1) - bits);
}

DtypeKind
st_kind(const StEntry *e)
{
    const StType *t = st_type(e->dtype);
    return t ? t->kind : KIND_STORAGE;
}

bool
st_values(const StEntry *e, double *out)
{
    const StType *t = st_type(e->dtype);
    if (!t || t->kind == KIND_STORAGE)
        return false;
    for (int64_t i = 0; i < e->elements; i++) {
        uint64_t bits = little(e->bytes + i * t->bytes, t->bytes);
        out[i] = t->kind == KIND_FLOAT  ? from_bits(t, bits)
                 : t->kind == KIND_BOOL ? bits != 0
                                        : from_int(t, bits);
    }
    return true;
}

/* ---- the header ---- */

typedef struct Reader {
    Arena *arena;
    const unsigned char *data; /* behind the header */
    int64_t n_data;
    const char **why;
} Reader;

static bool fail(Reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool
fail(Reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *r->why = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return false;
}

static bool
natural(const json_t *v, int64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = json_integer_value(v);
    return true;
}

static bool
read_shape(Reader *r, const json_t *shape, StEntry *e)
{
    if (!json_is_array(shape))
        return fail(r, "tensor %s: no shape", e->name);
    e->elements = 1;
    e->rank = (int)json_array_size(shape);
    for (int k = 0; k < e->rank; k++) {
        int64_t dim;
        if (!natural(json_array_get(shape, (size_t)k), &dim))
            return fail(r, "tensor %s: a size that is no natural number",
                        e->name);
        if (dim && e->elements > INT64_MAX / 8 / dim)
            return fail(r, "tensor %s: more than 2^63 bytes", e->name);
        e->elements *= dim;
        if (k < ST_MAX_RANK)
            e->dim[k] = dim;
    }
    return true;
}

static bool
read_place(Reader *r, const json_t *offsets, StEntry *e)
{
    int64_t from, to;
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !natural(json_array_get(offsets, 0), &from) ||
        !natural(json_array_get(offsets, 1), &to))
        return fail(r, "tensor %s: no data_offsets", e->name);
    if (to < from || to > r->n_data)
        return fail(r,
                    "tensor %s: its bytes [%lld, %lld) are outside of the "
                    "file's %lld",
                    e->name, (long long)from, (long long)to,
                    (long long)r->n_data);
    e->bytes = r->data + from;
    e->n_bytes = to - from;
    return true;
}

static bool
read_entry(Reader *r, const char *name, const json_t *v, StFile *f)
{
    StEntry e = {.name = arena_strndup(r->arena, name, strlen(name))};
    const char *dtype = json_string_value(json_object_get(v, "dtype"));
    if (!dtype)
        return fail(r, "tensor %s: no dtype", name);
    e.dtype = arena_strndup(r->arena, dtype, strlen(dtype));
    if (!read_shape(r, json_object_get(v, "shape"), &e) ||
        !read_place(r, json_object_get(v, "data_offsets"), &e))
        return false;
    const StType *t = st_type(e.dtype);
    if (t && e.elements * t->bytes != e.n_bytes)
        return fail(r, "tensor %s: %lld bytes for %lld elements of %s", name,
                    (long long)e.n_bytes, (long long)e.elements, e.dtype);
    vec_push(r->arena, &f->entries, e);
    return true;
}

static bool
read_meta(Reader *r, json_t *meta, StFile *f)
{
    const char *key;
    json_t *v;
    if (!json_is_object(meta))
        return fail(r, "__metadata__ is no object");
    json_object_foreach(meta, key, v)
    {
        const char *text = json_string_value(v);
        if (!text)
            return fail(r, "__metadata__.%s is no string", key);
        StMeta m = {arena_strndup(r->arena, key, strlen(key)),
                    arena_strndup(r->arena, text, strlen(text))};
        vec_push(r->arena, &f->meta, m);
    }
    return true;
}

static int
by_place(const void *a, const void *b)
{
    const StEntry *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->n_bytes != y->n_bytes)
        return x->n_bytes < y->n_bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The tensors fill the data without a gap and without sharing. */
static bool
check_cover(Reader *r, StFile *f)
{
    const unsigned char *end = r->data;
    if (f->entries.n > 0)
        qsort(f->entries.at, (size_t)f->entries.n, sizeof *f->entries.at,
              by_place);
    for (int i = 0; i < f->entries.n; i++) {
        StEntry *e = &f->entries.at[i];
        if (e->bytes != end)
            return fail(r,
                        "tensor %s: its bytes do not follow those of the "
                        "one before",
                        e->name);
        end += e->n_bytes;
        map_put(r->arena, &f->by_name, e->name, e);
    }
    if (end != r->data + r->n_data)
        return fail(r, "%lld bytes at the end belong to no tensor",
                    (long long)(r->data + r->n_data - end));
    return true;
}

static bool
read_header(Reader *r, json_t *root, StFile *f)
{
    const char *name;
    json_t *v;
    if (!json_is_object(root))
        return fail(r, "the header is no object");
    json_object_foreach(root, name, v)
    {
        bool ok = strcmp(name, "__metadata__") == 0 ? read_meta(r, v, f)
                                                    : read_entry(r, name, v, f);
        if (!ok)
            return false;
    }
    return check_cover(r, f);
}

StFile *
st_parse(Arena *a, const unsigned char *bytes, size_t n, const char **why)
{
    Reader r = {.arena = a, .why = why};
    json_error_t error;
    if (n < 8 || little(bytes, 8) > n - 8)
        return fail(&r, "not a safetensors file, or cut off"), NULL;
    size_t header = (size_t)little(bytes, 8);
    if (header > HEADER_MOST)
        return fail(&r, "a header of %zu bytes is too long", header), NULL;
    r.data = bytes + 8 + header;
    r.n_data = (int64_t)(n - 8 - header);
    json_t *root = json_loadb((const char *)bytes + 8, header,
                              JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return fail(&r, "the header is no JSON: %s", error.text), NULL;
    StFile *f = ARENA_NEW(a, StFile);
    bool ok = read_header(&r, root, f);
    json_decref(root);
    return ok ? f : NULL;
}

/* ---- the file ---- */

static unsigned char *
read_all(Arena *a, FILE *in, size_t *n)
{
    size_t cap = 1 << 16, got;
    unsigned char *p = arena_alloc(a, cap);
    if (fseek(in, 0, SEEK_END) == 0) {
        long size = ftell(in);
        rewind(in);
        if (size > 0 && (size_t)size >= cap) {
            cap = (size_t)size + 1;
            p = arena_alloc(a, cap);
        }
    }
    *n = 0;
    while ((got = fread(p + *n, 1, cap - *n, in)) > 0) {
        *n += got;
        if (*n == cap) {
            p = arena_grow(a, p, cap, 2 * cap);
            cap *= 2;
        }
    }
    return ferror(in) ? NULL : p;
}

StFile *
st_read(Arena *a, const char *path, const char **why)
{
    size_t n;
    FILE *in = fopen(path, "rb");
    unsigned char *bytes = in ? read_all(a, in, &n) : NULL;
    if (!bytes)
        *why = arena_printf(a, "%s", strerror(errno));
    if (in)
        fclose(in);
    return bytes ? st_parse(a, bytes, n, why) : NULL;
}
