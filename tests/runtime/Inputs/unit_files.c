/* The readers against good and bad files. */
#include "unit.h"

#include "edl_data.h"
#include "edl_exchange.h"
#include "edl_progress.h"
#include "edl_safetensors.h"

#include <math.h>
#include <stdlib.h>

/* A file of this header and n bytes of data; what edl says of it. */
static const char *
parsed(const char *header, size_t n, EdlError *e)
{
    unsigned char file[1024] = {0};
    size_t length = strlen(header);
    EdlSt st;
    file[0] = (unsigned char)length;
    file[1] = (unsigned char)(length >> 8);
    memcpy(file + 8, header, length);
    if (edl_st_parse(&st, file, 8 + length + n, "f", e) != EDL_OK)
        return e->text;
    edl_st_close(&st);
    return "good";
}

static int
says(const char *header, size_t n, const char *text)
{
    EdlError e;
    const char *got = parsed(header, n, &e);
    if (strstr(got, text))
        return 1;
    printf("%s\n  gives: %s\n", header, got);
    return 0;
}

#define T(shape, offsets)                                                      \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

int
unit_header(void)
{
    int failed = 0;
    CHECK(says("{}", 0, "good"));
    CHECK(says("{\"a\":" T("[2]", "[0,8]") "}  ", 8, "good"));
    CHECK(says("{\"a\":" T("[0]", "[0,0]") "}", 0, "good"));
    CHECK(says("{\"\\u00e9\\ud83d\\ude00\":" T("[]", "[0,4]") "}", 4, "good"));
    CHECK(says("{\"a\":" T("[2]", "[0,8]") "}", 7, "truncated"));
    CHECK(says("{\"a\":" T("[2]", "[0,8]") "}", 9, "too long"));
    CHECK(says("{\"a\":" T("[2]", "[0,7]") "}", 7, "do not hold the 8"));
    CHECK(says("{\"a\":" T("[2]", "[8,0]") "}", 8, "do not hold"));
    CHECK(says("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[0,4]") "}", 4,
               "inside a tensor"));
    CHECK(says("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[8,12]") "}", 12,
               "after a gap"));
    CHECK(says("{\"a\":" T("[1]", "[0,4]") ",\"a\":" T("[1]", "[4,8]") "}", 8,
               "twice"));
    CHECK(says("{\"a\":{\"dtype\":\"F99\",\"shape\":[1],"
               "\"data_offsets\":[0,4]}}",
               4, "unknown dtype F99"));
    CHECK(says("{\"a\":" T("[4294967296,4294967296,4]", "[0,8]") "}", 8,
               "too large"));
    CHECK(says("{\"a\":" T("[-1]", "[0,8]") "}", 8, "whole number"));
    CHECK(says("{\"a\":" T("[1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
               "dimensions"));
    CHECK(says("{\"a\":{\"dtype\":\"F32\"}}", 0, "is missing"));
    CHECK(says("{\"a\":1}", 0, "expected '{'"));
    CHECK(says("{\"a\":" T("[1]", "[0,4]"), 4, "expected ',' or '}'"));
    CHECK(says("{\"a\\u0000\":" T("[1]", "[0,4]") "}", 4, "escape"));
    CHECK(says("{\"\\ud800\":" T("[1]", "[0,4]") "}", 4, "escape"));
    CHECK(says("{\"\xc0\x80\":" T("[1]", "[0,4]") "}", 4, "not UTF-8"));
    CHECK(says("[]", 0, "expected '{'"));
    CHECK(says("{} x", 0, "after the end"));
    EdlSt st;
    EdlError e;
    CHECK(edl_st_parse(&st, "\0\0\0\0\0\0\0\x7f{}", 10, "f", &e) ==
          EDL_EFORMAT);
    CHECK(strstr(e.text, "not safetensors") != NULL);
    CHECK(edl_st_parse(&st, "abc", 3, "f", &e) == EDL_EFORMAT);
    return failed;
}

typedef struct Bytes {
    unsigned char at[1024];
    uint64_t n;
} Bytes;

static EdlStatus
keep(void *user, const void *data, uint64_t n)
{
    Bytes *b = (Bytes *)user;
    memcpy(b->at + b->n, data, (size_t)n);
    b->n += n;
    return EDL_OK;
}

static int
count_up(const void *arg, int64_t first, int64_t n, void *dst)
{
    unsigned char *p = (unsigned char *)dst;
    size_t size = *(const size_t *)arg;
    for (int64_t i = 0; i < n; i++) {
        memset(p, 0, size);
        *p = (unsigned char)(first + i + 1);
        p += size;
    }
    return 0;
}

/* What is written is read back; the order of tensors does not matter. */
int
unit_round_trip(void)
{
    static const int64_t dims[] = {2, 3};
    static const size_t wide = 4, narrow = 1;
    EdlStOut a = {"b.\"x\"\n", EDL_F32, 2, dims, count_up, &wide};
    EdlStOut b = {"a", EDL_U8, 1, dims + 1, count_up, &narrow};
    EdlStOut one[] = {a, b}, two[] = {b, a};
    EdlStMeta meta = {"k", "v"};
    Bytes first = {{0}, 0}, second = {{0}, 0};
    EdlError e;
    EdlSt st;
    int failed = 0;
    CHECK(edl_st_write(one, 2, &meta, 1, keep, &first, &e) == EDL_OK);
    CHECK(edl_st_write(two, 2, &meta, 1, keep, &second, &e) == EDL_OK);
    CHECK(first.n == second.n && !memcmp(first.at, second.at, first.n));
    CHECK(edl_st_parse(&st, first.at, first.n, "f", &e) == EDL_OK);
    const EdlStEntry *x = edl_st_find(&st, "b.\"x\"\n");
    CHECK(x && x->dtype == EDL_F32 && x->ndim == 2 && x->dims[1] == 3);
    CHECK(x && x->begin == 0 && st.data[x->begin + 20] == 6);
    CHECK(edl_st_find(&st, "a") && edl_st_find(&st, "a")->begin == 24);
    CHECK((st.data - first.at) % 8 == 0 && !edl_st_find(&st, "c"));
    CHECK(edl_st_meta(&st, "k") && !strcmp(edl_st_meta(&st, "k"), "v"));
    edl_st_close(&st);
    return failed;
}

static int
npy_says(const char *dict, size_t n, const char *text)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    size_t length = strlen(dict);
    EdlError e = {"good"};
    EdlNpy a;
    file[8] = (unsigned char)length;
    memcpy(file + 10, dict, length);
    (void)edl_npy_parse(&a, file, 10 + length + n, "f", &e);
    if (strstr(e.text, text))
        return 1;
    printf("%s\n  gives: %s\n", dict, e.text);
    return 0;
}

#define NPY(type, order, shape)                                                \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", "   \
                                                                        "}\n"

int
unit_npy(void)
{
    int failed = 0;
    CHECK(npy_says(NPY("<f4", "False", "(2, 3)"), 24, "good"));
    CHECK(npy_says(NPY("|u1", "False", "(5,)"), 5, "good"));
    CHECK(npy_says(NPY("<f8", "False", "()"), 8, "good"));
    CHECK(npy_says(NPY("<f4", "True", "(2, 3)"), 24, "Fortran"));
    CHECK(npy_says(NPY(">f4", "False", "(2, 3)"), 24, "dtype '>f4'"));
    CHECK(npy_says(NPY("<f4", "False", "(2, 3)"), 23, "the shape needs 24"));
    CHECK(npy_says(NPY("<f4", "False", "(2, 3"), 24, "damaged"));
    CHECK(npy_says(NPY("<f4", "False", "(-2, 3)"), 24, "damaged"));
    CHECK(npy_says("{'descr': '<f4'}", 4, "not complete"));
    CHECK(npy_says("{'descr': '<f4", 4, "damaged"));
    CHECK(npy_says("", 4, "no dictionary"));
    CHECK(npy_says(NPY("<f4", "False", "(99999999999999, 99999999999999)"), 24,
                   "too large"));
    return failed;
}

static int
csv_says(const char *text, int64_t skip, const char *want)
{
    double *cells = NULL;
    int64_t rows = 0, columns = 0;
    EdlError e;
    if (edl_csv_parse((const unsigned char *)text, strlen(text), skip, "f",
                      &cells, &rows, &columns, &e) == EDL_OK)
        snprintf(e.text, sizeof e.text, "%lldx%lld last %g", (long long)rows,
                 (long long)columns, cells[rows * columns - 1]);
    free(cells);
    if (strstr(e.text, want))
        return 1;
    printf("%s\n  gives: %s\n", text, e.text);
    return 0;
}

int
unit_csv(void)
{
    int failed = 0;
    CHECK(csv_says("1,2\n3,4\n", 0, "2x2 last 4"));
    CHECK(csv_says("a,b\n1, -2.5e1 \r\n\n", 1, "1x2 last -25"));
    CHECK(csv_says("\"1\",\"2\"", 0, "1x2 last 2"));
    CHECK(csv_says("a,b\n1,2\n", 0, "f:1: column 1 is no number: 'a'"));
    CHECK(csv_says("1,2\n3\n", 0, "f:2: 1 columns, the first row has 2"));
    CHECK(csv_says("1,,2\n", 0, "column 2 is no number: ''"));
    CHECK(csv_says("1,2x\n", 0, "column 2 is no number: '2x'"));
    CHECK(csv_says("\n\n", 0, "no rows"));
    return failed;
}

static int
maps(const char *rules, const char *theirs, const char *ours)
{
    EdlNames n;
    EdlError e;
    char got[64] = "error";
    if (edl_names_parse(&n, (const unsigned char *)rules, strlen(rules), "f",
                        &e) != EDL_OK)
        return !strcmp(ours, "error");
    if (!edl_names_map(&n, theirs, got, 32))
        strcpy(got, "long");
    edl_names_close(&n);
    return !strcmp(got, ours);
}

int
unit_names(void)
{
    int failed = 0;
    CHECK(maps("", "a.b", "a.b"));
    CHECK(maps("a = b # why\n\n# c = d", "a", "b"));
    CHECK(maps("h.*.w = block.*.weight", "h.12.w", "block.12.weight"));
    CHECK(maps("*.a.*.b = *.*", "x.y.a.z.b", "x.y.z"));
    CHECK(maps("a*=x*\na.b=y", "a.b", "x.b"));
    CHECK(maps("*ab = *", "aab", "a"));
    CHECK(maps("h.*.w = b", "h.12.v", "h.12.v"));
    CHECK(maps("a = *", "a", "error"));
    CHECK(maps("a b", "a", "error"));
    CHECK(maps("a =", "a", "error"));
    CHECK(maps("a = 0123456789012345678901234567890123456789", "a", "long"));
    return failed;
}

int
unit_number(void)
{
    char text[EDL_NUMBER_TEXT];
    int failed = 0;
    CHECK(!strcmp(edl_number(text, 0.1), "0.1"));
    CHECK(!strcmp(edl_number(text, -3), "-3"));
    CHECK(!strcmp(edl_number(text, 1.0 / 3), "0.3333333333333333"));
    CHECK(!strcmp(edl_number(text, NAN), "null"));
    return failed;
}
