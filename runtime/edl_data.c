#include "edl_data.h"

#include "edl_kernel.h"
#include "edl_tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

/* One Feistel step over pairs of halves of `bits` bits. */
static uint64_t
mix(uint64_t key, uint64_t epoch, uint64_t x, int bits)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t left = x >> bits, right = x & mask;
    for (uint64_t round = 0; round < 8; round++) {
        uint32_t w[4];
        edl_philox(key, right | round << 56, epoch, w);
        uint64_t f = (w[0] | (uint64_t)w[1] << 32) & mask;
        uint64_t next = left ^ f;
        left = right;
        right = next;
    }
    return left << bits | right;
}

/* Walks the cycle of a permutation of a power of 4 until it is below n. */
int64_t
edl_permute(uint64_t seed, uint64_t epoch, int64_t n, int64_t i)
{
    uint64_t key = seed ^ edl_hash64("data");
    int bits = 1;
    while (((uint64_t)1 << (2 * bits)) < (uint64_t)n)
        bits++;
    uint64_t x = (uint64_t)i;
    do {
        x = mix(key, epoch, x, bits);
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

/* ---- opening ---- */

static const EdlTensor *
input_of(const EdlFeed *f, const EdlOpened *o, int k)
{
    return &f->model->inputs[o->source->input[k]];
}

/* Elements of one sample of an input; its first axis counts samples. */
static int64_t
sample_elements(const EdlTensor *t)
{
    return t->ndim ? edl_tensor_elements(t) / t->dims[0] : 1;
}

static EdlStatus
open_tokens(const EdlFeed *f, EdlOpened *o, EdlError *e)
{
    const EdlSource *s = o->source;
    const EdlTensor *t = input_of(f, o, 0);
    uint64_t size = (uint64_t)edl_dtype_bits(s->dtype) / 8;
    if (s->ninputs != 2 || t->ndim < 1 || size == 0)
        return edl_error(e, EDL_EINVAL,
                         "%s: next_token gives two inputs "
                         "[.., T]",
                         s->path);
    o->width = t->dims[t->ndim - 1];
    o->dtype = s->dtype;
    o->begin = (uint64_t)s->skip;
    if (o->map.size < o->begin || (o->map.size - o->begin) % size)
        return edl_error(e, EDL_EFORMAT,
                         "%s: %llu bytes after %lld are no whole %s tokens",
                         s->path, (unsigned long long)o->map.size,
                         (long long)s->skip, edl_dtype_name(s->dtype));
    int64_t tokens = (int64_t)((o->map.size - o->begin) / size);
    o->samples = (tokens - 1) / o->width;
    if (tokens == 0 || o->samples == 0)
        return edl_error(e, EDL_EFORMAT,
                         "%s: %lld tokens are no window of %lld + 1", s->path,
                         (long long)tokens, (long long)o->width);
    return EDL_OK;
}

static EdlStatus
open_npy(const EdlFeed *f, EdlOpened *o, EdlError *e)
{
    EdlNpy a;
    const EdlTensor *t = input_of(f, o, 0);
    EdlStatus s =
        edl_npy_parse(&a, o->map.data, o->map.size, o->source->path, e);
    if (s != EDL_OK)
        return s;
    int same = t->ndim >= 1 && a.ndim == t->ndim;
    for (int32_t k = 1; same && k < t->ndim; k++)
        same = a.dims[k] == t->dims[k];
    if (!same || a.dims[0] == 0) {
        char ours[EDL_SHAPE_TEXT], theirs[EDL_SHAPE_TEXT];
        edl_shape_text(ours, t->dtype, t->ndim, t->dims);
        edl_shape_text(theirs, a.dtype,
                       a.ndim < EDL_MAX_RANK ? a.ndim : EDL_MAX_RANK, a.dims);
        return edl_error(e, EDL_EMISMATCH,
                         "%s: %s gives no samples of %s %s: the axes after "
                         "the first must be the same",
                         o->source->path, theirs, t->name, ours);
    }
    o->dtype = a.dtype;
    o->begin = a.begin;
    o->samples = a.dims[0];
    o->width = sample_elements(t);
    double nothing;
    if (edl_convert(a.dtype, &nothing, t->dtype, &nothing, 0) == -1)
        return edl_error(e, EDL_EMISMATCH, "%s: %s cannot become %s of %s",
                         o->source->path, edl_dtype_name(a.dtype),
                         edl_dtype_name(t->dtype), t->name);
    return EDL_OK;
}

static int64_t
first_column(const EdlOpened *o, int k)
{
    int64_t c = o->source->column[k];
    return c < 0 ? c + o->width : c;
}

static EdlStatus
open_table(const EdlFeed *f, EdlOpened *o, EdlError *e)
{
    const EdlSource *s = o->source;
    EdlStatus status = edl_csv_parse(o->map.data, o->map.size, s->skip, s->path,
                                     &o->cells, &o->samples, &o->width, e);
    if (status != EDL_OK)
        return status;
    for (int k = 0; k < s->ninputs; k++) {
        const EdlTensor *t = input_of(f, o, k);
        int64_t first = first_column(o, k), n = sample_elements(t);
        if (first < 0 || first + n > o->width)
            return edl_error(e, EDL_EMISMATCH,
                             "%s: %s takes %lld columns from %d on, there are "
                             "%lld",
                             s->path, t->name, (long long)n, s->column[k],
                             (long long)o->width);
    }
    return EDL_OK;
}

static EdlStatus
open_source(const EdlFeed *f, EdlOpened *o, const EdlSource *s, EdlError *e)
{
    o->source = s;
    EdlStatus status = edl_map(&o->map, s->path, e);
    if (status != EDL_OK)
        return status;
    switch (s->kind) {
    case EDL_NEXT_TOKEN:
        return open_tokens(f, o, e);
    case EDL_NPY:
        return open_npy(f, o, e);
    case EDL_TABLE:
        return open_table(f, o, e);
    }
    return edl_error(e, EDL_EINVAL, "%s: unknown kind of source", s->path);
}

static int64_t
samples_of_input(const EdlOpened *o, const EdlTensor *t)
{
    if (o->source->kind == EDL_NEXT_TOKEN)
        return edl_tensor_elements(t) / o->width;
    return t->ndim ? t->dims[0] : 1;
}

int64_t
edl_feed_batch(const EdlFeed *f)
{
    return samples_of_input(&f->sources[0], input_of(f, &f->sources[0], 0));
}

/* All sources have the same number of samples, all inputs take as many. */
static EdlStatus
check_together(const EdlFeed *f, EdlError *e)
{
    for (int32_t i = 0; i < f->nsources; i++) {
        const EdlOpened *o = &f->sources[i];
        if (o->samples != f->samples)
            return edl_error(e, EDL_EMISMATCH,
                             "%s has %lld samples, %s has %lld",
                             f->sources[0].source->path, (long long)f->samples,
                             o->source->path, (long long)o->samples);
        for (int k = 0; k < o->source->ninputs; k++) {
            const EdlTensor *t = input_of(f, o, k);
            if (samples_of_input(o, t) != edl_feed_batch(f))
                return edl_error(e, EDL_EMISMATCH,
                                 "input %s takes %lld samples at a time, %s "
                                 "takes %lld",
                                 t->name, (long long)samples_of_input(o, t),
                                 input_of(f, &f->sources[0], 0)->name,
                                 (long long)edl_feed_batch(f));
        }
    }
    return EDL_OK;
}

EdlStatus
edl_feed_open(EdlFeed *f, const EdlModel *model, const EdlData *data,
              uint64_t seed, EdlError *e)
{
    memset(f, 0, sizeof *f);
    f->model = model;
    f->order = data->order;
    f->seed = seed;
    f->sources =
        (EdlOpened *)calloc((size_t)data->nsources + 1, sizeof *f->sources);
    EdlStatus s =
        f->sources ? EDL_OK : edl_error(e, EDL_ENOMEM, "out of memory");
    for (int32_t i = 0; i < data->nsources && s == EDL_OK; i++) {
        f->nsources = i + 1;
        s = open_source(f, &f->sources[i], &data->sources[i], e);
    }
    if (s == EDL_OK) {
        f->samples = f->sources[0].samples;
        s = check_together(f, e);
    }
    if (s != EDL_OK)
        edl_feed_close(f);
    return s;
}

void
edl_feed_close(EdlFeed *f)
{
    for (int32_t i = 0; f->sources && i < f->nsources; i++) {
        edl_unmap(&f->sources[i].map);
        free(f->sources[i].cells);
    }
    free(f->sources);
    memset(f, 0, sizeof *f);
}

/* ---- reading ---- */

/* n elements from element `from` on into an input; through a buffer, because
 * a file need not be aligned. */
static EdlStatus
copy_elements(const EdlOpened *o, const EdlTensor *t, int64_t from, int64_t n,
              unsigned char *dst, EdlError *e)
{
    double buffer[512];
    int64_t size = edl_dtype_bits(o->dtype) / 8;
    int64_t out = edl_dtype_bits(t->dtype) / 8;
    int64_t chunk = (int64_t)sizeof buffer / size;
    const unsigned char *src = o->map.data + o->begin;
    for (int64_t i = 0; i < n; i += chunk) {
        int64_t m = n - i < chunk ? n - i : chunk;
        memcpy(buffer, src + (from + i) * size, (size_t)(m * size));
        int64_t bad = edl_convert(o->dtype, buffer, t->dtype, dst + i * out, m);
        if (bad)
            return edl_error(e, EDL_ERANGE,
                             "%s: element %lld does not fit %s of %s",
                             o->source->path, (long long)(from + i + bad - 1),
                             edl_dtype_name(t->dtype), t->name);
    }
    return EDL_OK;
}

static EdlStatus
copy_cells(const EdlOpened *o, int k, const EdlTensor *t, int64_t sample,
           unsigned char *dst, EdlError *e)
{
    int64_t n = sample_elements(t), out = edl_dtype_bits(t->dtype) / 8;
    const double *row = o->cells + sample * o->width + first_column(o, k);
    int whole = t->dtype != EDL_F32 && t->dtype != EDL_F64 &&
                t->dtype != EDL_F16 && t->dtype != EDL_BF16;
    for (int64_t i = 0; i < n; i++) {
        double x = row[i];
        int64_t w = 0;
        int64_t bad = 0;
        if (whole && x == floor(x) && fabs(x) < 0x1p62) {
            w = (int64_t)x;
            bad = edl_convert(EDL_I64, &w, t->dtype, dst + i * out, 1);
        } else if (whole) {
            bad = 1;
        } else {
            x *= o->source->scale;
            bad = edl_convert(EDL_F64, &x, t->dtype, dst + i * out, 1);
        }
        if (bad)
            return edl_error(e, EDL_ERANGE,
                             "%s: row %lld, column %lld: %.9g is no %s of %s",
                             o->source->path, (long long)sample + 1,
                             (long long)(first_column(o, k) + i) + 1, row[i],
                             edl_dtype_name(t->dtype), t->name);
    }
    return EDL_OK;
}

/* Sample number `sample` as the `slot`-th of the step into every input. */
static EdlStatus
copy_sample(const EdlFeed *f, const EdlOpened *o, int64_t sample, int64_t slot,
            unsigned char *const *dst, EdlError *e)
{
    EdlStatus s = EDL_OK;
    for (int k = 0; k < o->source->ninputs && s == EDL_OK; k++) {
        const EdlTensor *t = input_of(f, o, k);
        int64_t n =
            o->source->kind == EDL_NEXT_TOKEN ? o->width : sample_elements(t);
        unsigned char *to = dst[o->source->input[k]] +
                            slot * n * (edl_dtype_bits(t->dtype) / 8);
        if (o->source->kind == EDL_TABLE)
            s = copy_cells(o, k, t, sample, to, e);
        else if (o->source->kind == EDL_NEXT_TOKEN)
            s = copy_elements(o, t, sample * o->width + k, n, to, e);
        else
            s = copy_elements(o, t, sample * n, n, to, e);
    }
    return s;
}

EdlStatus
edl_feed_read(const EdlFeed *f, uint64_t *epoch, uint64_t *index,
              int64_t microbatches, unsigned char *const *dst, EdlError *e)
{
    int64_t total = edl_feed_batch(f) * microbatches;
    for (int64_t slot = 0; slot < total; slot++) {
        while (*index >= (uint64_t)f->samples) {
            *index = 0;
            ++*epoch;
        }
        int64_t sample = (int64_t)*index;
        if (f->order == EDL_SHUFFLED)
            sample = edl_permute(f->seed, *epoch, f->samples, sample);
        for (int32_t i = 0; i < f->nsources; i++) {
            EdlStatus s = copy_sample(f, &f->sources[i], sample, slot, dst, e);
            if (s != EDL_OK)
                return s;
        }
        ++*index;
    }
    return EDL_OK;
}
