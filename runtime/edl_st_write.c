#include "edl_safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the header ---- */

typedef struct Text {
    char *at;
    size_t size, room;
    int failed;
} Text;

static void
add(Text *t, const char *s, size_t n)
{
    if (t->failed)
        return;
    if (t->size + n > t->room) {
        size_t room = (t->size + n) * 2;
        char *p = (char *)realloc(t->at, room);
        if (!p) {
            t->failed = 1;
            return;
        }
        t->at = p;
        t->room = room;
    }
    memcpy(t->at + t->size, s, n);
    t->size += n;
}

static void
add_text(Text *t, const char *s)
{
    add(t, s, strlen(s));
}

static void
add_number(Text *t, uint64_t n)
{
    char buf[24];
    int len = snprintf(buf, sizeof buf, "%llu", (unsigned long long)n);
    add(t, buf, (size_t)len);
}

static void
add_string(Text *t, const char *s)
{
    add(t, "\"", 1);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        char buf[8];
        if (c == '"' || c == '\\')
            add(t, "\\", 1);
        if (c >= 0x20) {
            add(t, s, 1);
        } else {
            snprintf(buf, sizeof buf, "\\u%04x", c);
            add_text(t, buf);
        }
    }
    add(t, "\"", 1);
}

static uint64_t
out_elements(const EdlStOut *o)
{
    uint64_t n = 1;
    for (int32_t k = 0; k < o->ndim; k++)
        n *= (uint64_t)o->dims[k];
    return n;
}

static uint64_t
out_bytes(const EdlStOut *o)
{
    return (out_elements(o) * (uint64_t)edl_dtype_bits(o->dtype) + 7) / 8;
}

static void
add_entry(Text *t, const EdlStOut *o, uint64_t begin)
{
    add_string(t, o->name);
    add_text(t, ":{\"dtype\":\"");
    add_text(t, edl_dtype_safetensors(o->dtype));
    add_text(t, "\",\"shape\":[");
    for (int32_t k = 0; k < o->ndim; k++) {
        if (k)
            add(t, ",", 1);
        add_number(t, (uint64_t)o->dims[k]);
    }
    add_text(t, "],\"data_offsets\":[");
    add_number(t, begin);
    add(t, ",", 1);
    add_number(t, begin + out_bytes(o));
    add_text(t, "]}");
}

static void
add_metas(Text *t, const EdlStMeta *metas, int64_t n)
{
    add_text(t, "\"__metadata__\":{");
    for (int64_t i = 0; i < n; i++) {
        if (i)
            add(t, ",", 1);
        add_string(t, metas[i].key);
        add(t, ":", 1);
        add_string(t, metas[i].value);
    }
    add(t, "}", 1);
}

/* Padded with spaces so that the data are aligned. */
static void
make_header(Text *t, const EdlStOut *outs, int64_t n, const EdlStMeta *metas,
            int64_t nmetas)
{
    uint64_t begin = 0;
    add(t, "{", 1);
    if (nmetas)
        add_metas(t, metas, nmetas);
    for (int64_t i = 0; i < n; i++) {
        if (i || nmetas)
            add(t, ",", 1);
        add_entry(t, &outs[i], begin);
        begin += out_bytes(&outs[i]);
    }
    add(t, "}", 1);
    while (t->size % 8 && !t->failed)
        add(t, " ", 1);
}

/* ---- the file ---- */

static int
by_width(const void *a, const void *b)
{
    const EdlStOut *x = (const EdlStOut *)a, *y = (const EdlStOut *)b;
    int order = edl_dtype_bits(y->dtype) - edl_dtype_bits(x->dtype);
    return order ? order : strcmp(x->name, y->name);
}

#define CHUNK_BYTES 65536

static EdlStatus
write_tensor(const EdlStOut *o, EdlStSink sink, void *user, EdlError *e)
{
    double aligned[CHUNK_BYTES / sizeof(double)];
    int64_t total = (int64_t)out_elements(o);
    int bits = edl_dtype_bits(o->dtype);
    int64_t chunk = (int64_t)CHUNK_BYTES * 8 / bits;
    for (int64_t first = 0; first < total; first += chunk) {
        int64_t n = total - first < chunk ? total - first : chunk;
        uint64_t bytes = ((uint64_t)n * (uint64_t)bits + 7) / 8;
        if (o->fill(o->arg, first, n, aligned) != 0)
            return edl_error(e, EDL_EIO, "%s cannot be read", o->name);
        EdlStatus s = sink(user, aligned, bytes);
        if (s != EDL_OK)
            return s;
    }
    return EDL_OK;
}

EdlStatus
edl_st_write(EdlStOut *outs, int64_t n, const EdlStMeta *metas, int64_t nmetas,
             EdlStSink sink, void *user, EdlError *e)
{
    Text t = {NULL, 0, 0, 0};
    unsigned char length[8];
    if (n)
        qsort(outs, (size_t)n, sizeof *outs, by_width);
    make_header(&t, outs, n, metas, nmetas);
    if (t.failed) {
        free(t.at);
        return edl_error(e, EDL_ENOMEM, "out of memory");
    }
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)t.size >> (8 * i));
    EdlStatus s = sink(user, length, sizeof length);
    if (s == EDL_OK)
        s = sink(user, t.at, t.size);
    free(t.at);
    for (int64_t i = 0; i < n && s == EDL_OK; i++)
        s = write_tensor(&outs[i], sink, user, e);
    return s;
}

typedef struct FileSink {
    EdlNewFile file;
    EdlError *error;
} FileSink;

static EdlStatus
to_file(void *user, const void *data, uint64_t n)
{
    FileSink *f = (FileSink *)user;
    return edl_new_write(&f->file, data, n, f->error);
}

EdlStatus
edl_st_save(EdlStOut *outs, int64_t n, const EdlStMeta *metas, int64_t nmetas,
            const char *path, EdlError *e)
{
    FileSink f;
    f.error = e;
    EdlStatus s = edl_new_file(&f.file, path, e);
    if (s != EDL_OK)
        return s;
    s = edl_st_write(outs, n, metas, nmetas, to_file, &f, e);
    if (s == EDL_OK)
        return edl_new_commit(&f.file, e);
    edl_new_abandon(&f.file);
    return s;
}
