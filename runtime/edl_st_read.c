#include "edl_safetensors.h"

#include "edl_json.h"

#include <stdlib.h>
#include <string.h>

/* What a parse knows beside its result. */
typedef struct Reader {
    EdlSt *st;
    EdlJson json;
    const char *what;
    EdlError *error;
    int64_t entry_room, meta_room;
    int bits; /* of the entry being read */
} Reader;

static EdlStatus
bad_json(Reader *r)
{
    return edl_error(r->error, EDL_EFORMAT, "%s: header, byte %llu: %s",
                     r->what, (unsigned long long)r->json.at + 8,
                     r->json.wrong ? r->json.wrong : "not understood");
}

/* Room for one more element of size bytes; NULL without memory. */
static void *
grow(void *items, int64_t count, int64_t *room, size_t size)
{
    if (count < *room)
        return items;
    int64_t more = *room ? *room * 2 : 64;
    void *p = realloc(items, (size_t)more * size);
    if (p)
        *room = more;
    return p;
}

/* Types that edl has no use for, but whose files it can walk through. */
typedef struct ForeignDtype {
    const char *name;
    int bits;
} ForeignDtype;

static const ForeignDtype foreign[] = {
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"C64", 64},
};

static EdlStatus
find_dtype(Reader *r, const char *name, EdlStEntry *out)
{
    out->type = name;
    for (int d = 0; d < EDL_DTYPE_COUNT; d++) {
        if (!strcmp(name, edl_dtype_safetensors((EdlDtype)d))) {
            out->dtype = (EdlDtype)d;
            r->bits = edl_dtype_bits((EdlDtype)d);
            return EDL_OK;
        }
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (!strcmp(name, foreign[i].name)) {
            out->dtype = EDL_DTYPE_COUNT;
            r->bits = foreign[i].bits;
            return EDL_OK;
        }
    }
    return edl_error(r->error, EDL_EFORMAT, "%s: %s: unknown dtype %.40s",
                     r->what, out->name, name);
}

static EdlStatus
read_dtype(Reader *r, EdlStEntry *out)
{
    const char *name = edl_json_string(&r->json);
    return name ? find_dtype(r, name, out) : bad_json(r);
}

static EdlStatus
read_shape(Reader *r, EdlStEntry *out)
{
    EdlJson *j = &r->json;
    if (!edl_json_need(j, '['))
        return bad_json(r);
    out->ndim = 0;
    if (edl_json_take(j, ']'))
        return EDL_OK;
    do {
        if (out->ndim == EDL_ST_MAX_RANK)
            return edl_error(r->error, EDL_EFORMAT,
                             "%s: %s: more than %d dimensions", r->what,
                             out->name, EDL_ST_MAX_RANK);
        if (!edl_json_integer(j, &out->dims[out->ndim++]))
            return bad_json(r);
    } while (edl_json_take(j, ','));
    return edl_json_need(j, ']') ? EDL_OK : bad_json(r);
}

static EdlStatus
read_offsets(Reader *r, EdlStEntry *out)
{
    EdlJson *j = &r->json;
    int64_t begin = 0, end = 0;
    if (!edl_json_need(j, '[') || !edl_json_integer(j, &begin) ||
        !edl_json_need(j, ',') || !edl_json_integer(j, &end) ||
        !edl_json_need(j, ']'))
        return bad_json(r);
    out->begin = (uint64_t)begin;
    out->end = (uint64_t)end;
    return EDL_OK;
}

/* Bytes of the shape against the offsets. */
static EdlStatus
check_size(Reader *r, const EdlStEntry *t)
{
    uint64_t n = 1;
    for (int32_t k = 0; k < t->ndim; k++) {
        uint64_t d = (uint64_t)t->dims[k];
        if (d != 0 && n > (UINT64_MAX / 64) / d)
            return edl_error(r->error, EDL_EFORMAT,
                             "%s: %s: shape is too large", r->what, t->name);
        n *= d;
    }
    uint64_t bytes = (n * (uint64_t)r->bits + 7) / 8;
    if (t->end < t->begin || t->end - t->begin != bytes)
        return edl_error(r->error, EDL_EFORMAT,
                         "%s: %s: offsets [%llu, %llu] do not hold the %llu "
                         "bytes of its shape",
                         r->what, t->name, (unsigned long long)t->begin,
                         (unsigned long long)t->end, (unsigned long long)bytes);
    return EDL_OK;
}

static EdlStatus
read_field(Reader *r, EdlStEntry *t, unsigned *seen)
{
    const char *key = edl_json_string(&r->json);
    if (!key || !edl_json_need(&r->json, ':'))
        return bad_json(r);
    unsigned bit = !strcmp(key, "dtype")          ? 1u
                   : !strcmp(key, "shape")        ? 2u
                   : !strcmp(key, "data_offsets") ? 4u
                                                  : 0u;
    if (bit == 0 || (*seen & bit))
        return edl_error(r->error, EDL_EFORMAT, "%s: %s: %s field %.40s",
                         r->what, t->name, bit ? "repeated" : "unknown", key);
    *seen |= bit;
    if (bit == 1)
        return read_dtype(r, t);
    return bit == 2 ? read_shape(r, t) : read_offsets(r, t);
}

static EdlStatus
read_entry(Reader *r, const char *name)
{
    EdlSt *st = r->st;
    EdlStEntry *room = (EdlStEntry *)grow(st->entries, st->count,
                                          &r->entry_room, sizeof *room);
    if (!room)
        return edl_error(r->error, EDL_ENOMEM, "%s: out of memory", r->what);
    st->entries = room;
    EdlStEntry *t = &st->entries[st->count];
    memset(t, 0, sizeof *t);
    t->name = name;
    unsigned seen = 0;
    if (!edl_json_need(&r->json, '{'))
        return bad_json(r);
    do {
        EdlStatus s = read_field(r, t, &seen);
        if (s != EDL_OK)
            return s;
    } while (edl_json_take(&r->json, ','));
    if (!edl_json_need(&r->json, '}'))
        return bad_json(r);
    if (seen != 7)
        return edl_error(r->error, EDL_EFORMAT,
                         "%s: %s: dtype, shape or data_offsets is missing",
                         r->what, name);
    st->count++;
    return check_size(r, t);
}

static EdlStatus
read_meta(Reader *r)
{
    EdlSt *st = r->st;
    if (st->metas)
        return edl_error(r->error, EDL_EFORMAT, "%s: two __metadata__",
                         r->what);
    if (!edl_json_need(&r->json, '{'))
        return bad_json(r);
    if (edl_json_take(&r->json, '}'))
        return EDL_OK;
    do {
        EdlStMeta *room = (EdlStMeta *)grow(st->metas, st->nmetas,
                                            &r->meta_room, sizeof *room);
        if (!room)
            return edl_error(r->error, EDL_ENOMEM, "%s: out of memory",
                             r->what);
        st->metas = room;
        EdlStMeta *m = &st->metas[st->nmetas];
        m->key = edl_json_string(&r->json);
        if (!m->key || !edl_json_need(&r->json, ':'))
            return bad_json(r);
        m->value = edl_json_string(&r->json);
        if (!m->value)
            return bad_json(r);
        st->nmetas++;
    } while (edl_json_take(&r->json, ','));
    return edl_json_need(&r->json, '}') ? EDL_OK : bad_json(r);
}

static EdlStatus
read_header(Reader *r)
{
    EdlJson *j = &r->json;
    if (!edl_json_need(j, '{'))
        return bad_json(r);
    if (!edl_json_take(j, '}')) {
        do {
            const char *name = edl_json_string(j);
            if (!name || !edl_json_need(j, ':'))
                return bad_json(r);
            EdlStatus s = !strcmp(name, "__metadata__") ? read_meta(r)
                                                        : read_entry(r, name);
            if (s != EDL_OK)
                return s;
        } while (edl_json_take(j, ','));
        if (!edl_json_need(j, '}'))
            return bad_json(r);
    }
    return edl_json_end(j) ? EDL_OK : bad_json(r);
}

/* ---- the whole ---- */

static int
by_place(const void *a, const void *b)
{
    const EdlStEntry *x = (const EdlStEntry *)a, *y = (const EdlStEntry *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int
by_name(const void *a, const void *b)
{
    const EdlStEntry *x = (const EdlStEntry *)a, *y = (const EdlStEntry *)b;
    return strcmp(x->name, y->name);
}

/* The tensors fill the data without a gap; bytes of them in *bytes. */
static EdlStatus
check_places(Reader *r, uint64_t *bytes)
{
    EdlSt *st = r->st;
    uint64_t at = 0;
    if (st->count)
        qsort(st->entries, (size_t)st->count, sizeof *st->entries, by_place);
    for (int64_t i = 0; i < st->count; i++) {
        const EdlStEntry *t = &st->entries[i];
        if (t->begin != at)
            return edl_error(r->error, EDL_EFORMAT,
                             "%s: %s: begins at byte %llu of the data, %s "
                             "at %llu",
                             r->what, t->name, (unsigned long long)t->begin,
                             t->begin < at ? "inside a tensor that ends"
                                           : "after a gap that begins",
                             (unsigned long long)at);
        at = t->end;
    }
    *bytes = at;
    return EDL_OK;
}

static EdlStatus
check_names(Reader *r)
{
    EdlSt *st = r->st;
    if (st->count)
        qsort(st->entries, (size_t)st->count, sizeof *st->entries, by_name);
    for (int64_t i = 1; i < st->count; i++) {
        if (!strcmp(st->entries[i - 1].name, st->entries[i].name))
            return edl_error(r->error, EDL_EFORMAT, "%s: %s is there twice",
                             r->what, st->entries[i].name);
    }
    return EDL_OK;
}

static EdlStatus
parse_header(EdlSt *st, const void *text, uint64_t size, const char *what,
             EdlError *e, uint64_t *data_bytes)
{
    Reader r;
    memset(&r, 0, sizeof r);
    r.st = st;
    r.what = what;
    r.error = e;
    st->strings = (char *)malloc((size_t)size + 1);
    if (!st->strings)
        return edl_error(e, EDL_ENOMEM, "%s: out of memory", what);
    edl_json_start(&r.json, text, (size_t)size, st->strings);
    EdlStatus s = read_header(&r);
    if (s == EDL_OK)
        s = check_places(&r, data_bytes);
    if (s == EDL_OK)
        s = check_names(&r);
    return s;
}

static uint64_t
little_endian(const unsigned char *p)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | p[i];
    return n;
}

static EdlStatus
header_length(const unsigned char *first8, const char *what, uint64_t *out,
              EdlError *e)
{
    *out = little_endian(first8);
    if (*out > EDL_ST_MAX_HEADER)
        return edl_error(e, EDL_EFORMAT,
                         "%s: not safetensors: a header of %llu bytes", what,
                         (unsigned long long)*out);
    return EDL_OK;
}

static EdlStatus
parse_whole(EdlSt *st, const unsigned char *p, uint64_t size, const char *what,
            EdlError *e)
{
    uint64_t header = 0;
    if (size < 8)
        return edl_error(e, EDL_EFORMAT, "%s: not safetensors: only %llu bytes",
                         what, (unsigned long long)size);
    EdlStatus s = header_length(p, what, &header, e);
    if (s != EDL_OK)
        return s;
    if (header > size - 8)
        return edl_error(e, EDL_EFORMAT,
                         "%s: truncated: a header of %llu bytes in a file "
                         "of %llu",
                         what, (unsigned long long)header,
                         (unsigned long long)size);
    s = parse_header(st, p + 8, header, what, e, &st->data_bytes);
    if (s != EDL_OK)
        return s;
    st->data = p + 8 + header;
    if (st->data_bytes != size - 8 - header)
        return edl_error(
            e, EDL_EFORMAT, "%s: %s: %llu bytes of data, the tensors need %llu",
            what, st->data_bytes > size - 8 - header ? "truncated" : "too long",
            (unsigned long long)(size - 8 - header),
            (unsigned long long)st->data_bytes);
    return EDL_OK;
}

EdlStatus
edl_st_parse(EdlSt *st, const void *bytes, uint64_t size, const char *what,
             EdlError *e)
{
    memset(st, 0, sizeof *st);
    EdlStatus s = parse_whole(st, (const unsigned char *)bytes, size, what, e);
    if (s != EDL_OK)
        edl_st_close(st);
    return s;
}

EdlStatus
edl_st_open(EdlSt *st, const char *path, EdlError *e)
{
    EdlMap map;
    memset(st, 0, sizeof *st);
    EdlStatus s = edl_map(&map, path, e);
    if (s != EDL_OK)
        return s;
    s = edl_st_parse(st, map.data, map.size, path, e);
    if (s == EDL_OK)
        st->map = map;
    else
        edl_unmap(&map);
    return s;
}

static EdlStatus
read_stream(EdlSt *st, int (*read)(void *, void *, uint64_t), void *user,
            EdlError *e)
{
    static const char what[] = "checkpoint";
    unsigned char first[8];
    uint64_t header = 0;
    if (read(user, first, sizeof first) != 0)
        return edl_error(e, EDL_EIO, "the read hook failed");
    EdlStatus s = header_length(first, what, &header, e);
    if (s != EDL_OK)
        return s;
    char *text = (char *)malloc((size_t)header + 1);
    if (!text)
        return edl_error(e, EDL_ENOMEM, "out of memory");
    s = read(user, text, header) == 0
            ? parse_header(st, text, header, what, e, &st->data_bytes)
            : edl_error(e, EDL_EIO, "the read hook failed");
    free(text);
    if (s != EDL_OK)
        return s;
    st->owned = malloc((size_t)st->data_bytes + 1);
    if (!st->owned)
        return edl_error(e, EDL_ENOMEM, "out of memory");
    if (read(user, st->owned, st->data_bytes) != 0)
        return edl_error(e, EDL_EIO, "the read hook failed");
    st->data = (const unsigned char *)st->owned;
    return EDL_OK;
}

EdlStatus
edl_st_read(EdlSt *st, int (*read)(void *, void *, uint64_t), void *user,
            EdlError *e)
{
    memset(st, 0, sizeof *st);
    EdlStatus s = read_stream(st, read, user, e);
    if (s != EDL_OK)
        edl_st_close(st);
    return s;
}

void
edl_st_close(EdlSt *st)
{
    free(st->entries);
    free(st->metas);
    free(st->strings);
    free(st->owned);
    edl_unmap(&st->map);
    memset(st, 0, sizeof *st);
}

const EdlStEntry *
edl_st_find(const EdlSt *st, const char *name)
{
    int64_t lo = 0, hi = st->count;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int order = strcmp(st->entries[mid].name, name);
        if (order == 0)
            return &st->entries[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const char *
edl_st_meta(const EdlSt *st, const char *key)
{
    for (int64_t i = 0; i < st->nmetas; i++) {
        if (!strcmp(st->metas[i].key, key))
            return st->metas[i].value;
    }
    return NULL;
}
