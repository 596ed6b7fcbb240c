/* NumPy's .npy: versions 1 to 3, little-endian, C order. */
#include "edl_data.h"

#include <string.h>

typedef struct NpyType {
    const char *descr;
    EdlDtype dtype;
} NpyType;

static const NpyType types[] = {
    {"<f4", EDL_F32}, {"<f8", EDL_F64}, {"<f2", EDL_F16}, {"<i4", EDL_I32},
    {"<i8", EDL_I64}, {"|u1", EDL_U8},  {"|i1", EDL_I8},  {"|b1", EDL_BOOL},
    {"<i2", EDL_I16}, {"<u2", EDL_U16}, {"<u4", EDL_U32}, {"<u8", EDL_U64},
};

typedef struct Scan {
    const char *at, *end;
} Scan;

static void
skip_space(Scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n'))
        s->at++;
}

static int
take(Scan *s, const char *word)
{
    size_t n = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return 0;
    s->at += n;
    return 1;
}

static int
take_quoted(Scan *s, char *out, size_t room)
{
    size_t n = 0;
    if (!take(s, "'"))
        return 0;
    while (s->at < s->end && *s->at != '\'') {
        if (n + 1 == room)
            return 0;
        out[n++] = *s->at++;
    }
    out[n] = '\0';
    return take(s, "'");
}

static int
take_number(Scan *s, int64_t *out)
{
    int64_t n = 0;
    skip_space(s);
    const char *start = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (n > (INT64_MAX - 9) / 10)
            return 0;
        n = n * 10 + (*s->at - '0');
    }
    *out = n;
    return s->at > start;
}

static int
take_shape(Scan *s, EdlNpy *out)
{
    out->ndim = 0;
    if (!take(s, "("))
        return 0;
    while (!take(s, ")")) {
        if (out->ndim > EDL_MAX_RANK || !take_number(s, &out->dims[out->ndim]))
            return 0;
        out->ndim++;
        if (!take(s, ",") && !(s->at < s->end && *s->at == ')'))
            return 0;
    }
    return 1;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: the keys in
 * any order; all three are needed. */
static const char *
parse_dict(Scan *s, EdlNpy *out, char *descr, size_t room)
{
    unsigned seen = 0;
    char key[24];
    if (!take(s, "{"))
        return "the header is no dictionary";
    while (!take(s, "}")) {
        if (!take_quoted(s, key, sizeof key) || !take(s, ":"))
            return "the header is damaged";
        if (!strcmp(key, "descr") && take_quoted(s, descr, room))
            seen |= 1;
        else if (!strcmp(key, "fortran_order") && take(s, "False"))
            seen |= 2;
        else if (!strcmp(key, "fortran_order") && take(s, "True"))
            return "the array is in Fortran order; save it in C order";
        else if (!strcmp(key, "shape") && take_shape(s, out))
            seen |= 4;
        else
            return "the header is damaged";
        take(s, ",");
    }
    return seen == 7 ? NULL : "the header is not complete";
}

static EdlStatus
check_bytes(const EdlNpy *a, uint64_t size, const char *what, EdlError *e)
{
    uint64_t n = (uint64_t)edl_dtype_bits(a->dtype) / 8;
    for (int32_t k = 0; k < a->ndim; k++) {
        uint64_t d = (uint64_t)a->dims[k];
        if (d != 0 && n > UINT64_MAX / d)
            return edl_error(e, EDL_EFORMAT, "%s: the shape is too large",
                             what);
        n *= d;
    }
    if (n != size - a->begin)
        return edl_error(
            e, EDL_EFORMAT, "%s: %llu bytes of data, the shape needs %llu",
            what, (unsigned long long)(size - a->begin), (unsigned long long)n);
    return EDL_OK;
}

/* Where the dictionary lies; 0 when this is no .npy file. */
static int
find_dict(Scan *s, const unsigned char *p, uint64_t size, uint64_t *begin)
{
    static const char magic[] = "\x93NUMPY";
    uint64_t length, start;
    if (size < 12 || memcmp(p, magic, 6) != 0 || p[6] < 1 || p[6] > 3)
        return 0;
    start = p[6] == 1 ? 10 : 12;
    length = p[8] | (uint64_t)p[9] << 8;
    if (p[6] > 1)
        length |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
    if (length > size - start)
        return 0;
    s->at = (const char *)p + start;
    s->end = s->at + length;
    *begin = start + length;
    return 1;
}

EdlStatus
edl_npy_parse(EdlNpy *out, const unsigned char *bytes, uint64_t size,
              const char *what, EdlError *e)
{
    Scan s = {NULL, NULL};
    char descr[16] = "";
    memset(out, 0, sizeof *out);
    if (!find_dict(&s, bytes, size, &out->begin))
        return edl_error(e, EDL_EFORMAT, "%s: not an .npy file", what);
    const char *wrong = parse_dict(&s, out, descr, sizeof descr);
    if (wrong)
        return edl_error(e, EDL_EFORMAT, "%s: %s", what, wrong);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(descr, types[i].descr)) {
            out->dtype = types[i].dtype;
            return check_bytes(out, size, what, e);
        }
    }
    return edl_error(e, EDL_EFORMAT,
                     "%s: dtype '%s' is not one of <f4 <f8 <f2 <i4 <i8 |u1 "
                     "|i1 |b1 <i2 <u2 <u4 <u8",
                     what, descr);
}
