#include "edl_exchange.h"

#include "edl_copy.h"
#include "edl_tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* n numbers at src, aligned or not, as another type. */
static int64_t
convert_bytes(EdlDtype from, const unsigned char *src, EdlDtype to,
              unsigned char *dst, int64_t n)
{
    double buffer[512];
    int64_t in = edl_dtype_bits(from) / 8, out = edl_dtype_bits(to) / 8;
    int64_t chunk = (int64_t)sizeof buffer / in;
    for (int64_t i = 0; i < n; i += chunk) {
        int64_t m = n - i < chunk ? n - i : chunk;
        memcpy(buffer, src + i * in, (size_t)(m * in));
        int64_t bad = edl_convert(from, buffer, to, dst + i * out, m);
        if (bad)
            return bad < 0 ? bad : bad + i;
    }
    return 0;
}

/* Whether a file's type may fill a tensor's: a float a float, integers and
 * bool each other. */
static int
fits(EdlDtype from, EdlDtype to)
{
    double nothing = 0;
    int from_float = from <= EDL_F64, to_float = to <= EDL_F64;
    return from < EDL_DTYPE_COUNT && from_float == to_float &&
           edl_dtype_bits(from) >= 8 &&
           edl_convert(from, &nothing, to, &nothing, 0) == 0;
}

static EdlStatus
misfit(EdlError *e, const char *path, const EdlStEntry *x, const EdlTensor *t)
{
    char theirs[EDL_SHAPE_TEXT], ours[EDL_SHAPE_TEXT];
    int known = x->dtype < EDL_DTYPE_COUNT; /* else as the file says it */
    edl_shape_text(theirs, x->dtype, x->ndim, x->dims);
    edl_shape_text(ours, t->dtype, t->ndim, t->dims);
    return edl_error(e, EDL_EMISMATCH, "%s: %s is %s%s, the model's %s is %s",
                     path, x->name, known ? "" : x->type,
                     known ? theirs : strchr(theirs, '['), t->name, ours);
}

static int
same_dims(const EdlStEntry *x, int32_t skip, const EdlTensor *t)
{
    if (x->ndim - skip != t->ndim)
        return 0;
    for (int32_t k = 0; k < t->ndim; k++) {
        if (x->dims[k + skip] != t->dims[k])
            return 0;
    }
    return 1;
}

/* ---- batches ---- */

static EdlStatus
check_input(EdlBatches *b, const EdlTensor *t, const char *path, EdlError *e)
{
    const EdlStEntry *x = edl_st_find(&b->st, t->name);
    if (!x)
        return edl_error(e, EDL_EMISMATCH, "%s: input %s is missing", path,
                         t->name);
    if (!fits(x->dtype, t->dtype))
        return misfit(e, path, x, t);
    if (same_dims(x, 0, t))
        return EDL_OK;
    if (!same_dims(x, 1, t) || x->dims[0] == 0)
        return misfit(e, path, x, t);
    if (b->microbatches && b->microbatches != x->dims[0])
        return edl_error(e, EDL_EMISMATCH,
                         "%s: %s holds %lld microbatches, another input %lld",
                         path, t->name, (long long)x->dims[0],
                         (long long)b->microbatches);
    b->microbatches = x->dims[0];
    return EDL_OK;
}

/* No entry that is no input: a misspelled name is told by its own. */
static EdlStatus
check_names(const EdlBatches *b, const char *path, EdlError *e)
{
    for (int64_t i = 0; i < b->st.count; i++) {
        const EdlTensor *t = edl_find(b->model, b->st.entries[i].name);
        if (!t || t->kind != EDL_INPUT)
            return edl_error(e, EDL_EMISMATCH, "%s: the model has no input %s",
                             path, b->st.entries[i].name);
    }
    return EDL_OK;
}

EdlStatus
edl_batches_open(EdlBatches *b, const EdlModel *model, const char *path,
                 EdlError *e)
{
    memset(b, 0, sizeof *b);
    b->model = model;
    b->path = path;
    EdlStatus s = edl_st_open(&b->st, path, e);
    if (s == EDL_OK)
        s = check_names(b, path, e);
    for (int32_t i = 0; i < model->ninputs && s == EDL_OK; i++)
        s = check_input(b, &model->inputs[i], path, e);
    if (s != EDL_OK)
        edl_batches_close(b);
    return s;
}

void
edl_batches_close(EdlBatches *b)
{
    edl_st_close(&b->st);
}

EdlStatus
edl_batches_cover(EdlBatches *b, int64_t per_step, int64_t done, int64_t steps,
                  EdlError *e)
{
    int64_t n = b->microbatches, left = steps - done;
    if (n == 0 || left <= 0)
        return EDL_OK;
    if (n % per_step)
        return edl_error(e, EDL_EMISMATCH,
                         "%s: %lld microbatches are no whole steps of %lld",
                         b->path, (long long)n, (long long)per_step);
    n /= per_step;
    b->begin = n < steps ? done * per_step : 0;
    if (n >= steps || n == left)
        return EDL_OK;
    return edl_error(
        e, EDL_EMISMATCH, "%s: batches for %lld steps, the run needs %lld",
        b->path, (long long)n, (long long)steps);
}

static EdlStatus
read_input(const EdlBatches *b, const EdlTensor *t, int64_t microbatch,
           unsigned char *dst, EdlError *e)
{
    const EdlStEntry *x = edl_st_find(&b->st, t->name);
    int64_t n = edl_tensor_elements(t), each = x->ndim > t->ndim;
    int64_t bytes = n * edl_dtype_bits(x->dtype) / 8;
    int64_t bad = convert_bytes(
        x->dtype, b->st.data + x->begin + (each ? microbatch * bytes : 0),
        t->dtype, dst, n);
    if (bad == 0)
        return EDL_OK;
    return edl_error(e, EDL_ERANGE,
                     "%s: element %lld of microbatch %lld is "
                     "no %s",
                     t->name, (long long)bad - 1, (long long)microbatch,
                     edl_dtype_name(t->dtype));
}

EdlStatus
edl_batches_read(const EdlBatches *b, int64_t first, int64_t n,
                 unsigned char *const *dst, EdlError *e)
{
    for (int32_t i = 0; i < b->model->ninputs; i++) {
        const EdlTensor *t = &b->model->inputs[i];
        for (int64_t k = 0; k < n; k++) {
            EdlStatus s = read_input(
                b, t, first - b->begin + k, dst[i] + (uint64_t)k * edl_tensor_bytes(t), e);
            if (s != EDL_OK)
                return s;
        }
    }
    return EDL_OK;
}

/* ---- initial parameters ---- */

typedef struct Given {
    char *name; /* ours */
    const EdlStEntry *entry;
} Given;

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const Given *)a)->name, ((const Given *)b)->name);
}

/* Tensors that a checkpoint holds and --init does not take. */
static int
ignored(const char *name)
{
    return !strncmp(name, "optimizer/", 10);
}

static int
wanted(const EdlTensor *t)
{
    return t->kind == EDL_PARAM || t->kind == EDL_FROZEN ||
           t->kind == EDL_BUFFER;
}

static EdlStatus
check_given(const EdlModel *model, const Given *g, const char *path,
            EdlError *e)
{
    const EdlTensor *t = edl_find(model, g->name);
    if (!t || !wanted(t))
        return edl_error(e, EDL_EMISMATCH,
                         "%s: %s is not a parameter of the model", path,
                         g->name);
    if (!same_dims(g->entry, 0, t) || !fits(g->entry->dtype, t->dtype))
        return misfit(e, path, g->entry, t);
    return EDL_OK;
}

static EdlStatus
check_complete(const EdlModel *model, const Given *given, int64_t n,
               const char *path, EdlError *e)
{
    for (int32_t i = 0; i < model->ntensors; i++) {
        const EdlTensor *t = &model->tensors[i];
        Given key = {(char *)(uintptr_t)t->name, NULL};
        if (t->kind != EDL_PARAM && t->kind != EDL_FROZEN)
            continue;
        if (!n || !bsearch(&key, given, (size_t)n, sizeof key, by_name))
            return edl_error(e, EDL_EMISMATCH, "%s: %s is missing", path,
                             t->name);
    }
    return EDL_OK;
}

static EdlStatus
check_all(const EdlModel *model, Given *given, int64_t n, const char *path,
          EdlError *e)
{
    EdlStatus s = EDL_OK;
    if (n)
        qsort(given, (size_t)n, sizeof *given, by_name);
    for (int64_t i = 0; i < n && s == EDL_OK; i++) {
        s = check_given(model, &given[i], path, e);
        if (s == EDL_OK && i && !strcmp(given[i - 1].name, given[i].name))
            s = edl_error(e, EDL_EMISMATCH, "%s: %s is given twice", path,
                          given[i].name);
    }
    return s == EDL_OK ? check_complete(model, given, n, path, e) : s;
}

/* Through a buffer: the tensor may lie in another layout than the file. */
static EdlStatus
take(EdlInstance *m, const EdlSt *st, const Given *g, const char *path,
     EdlError *e)
{
    double buffer[512];
    const EdlTensor *t = edl_find(m->model, g->name);
    EdlDtype from = g->entry->dtype;
    const unsigned char *src = st->data + g->entry->begin;
    int64_t total = edl_tensor_elements(t);
    for (int64_t i = 0; i < total; i += 512) {
        int64_t n = total - i < 512 ? total - i : 512;
        int64_t bad =
            convert_bytes(from, src + i * edl_dtype_bits(from) / 8, t->dtype,
                          (unsigned char *)buffer, n);
        if (bad)
            return edl_error(e, EDL_ERANGE, "%s: element %lld of %s is no %s",
                             path, (long long)(i + bad - 1), g->entry->name,
                             edl_dtype_name(t->dtype));
        edl_scatter(m, t, i, n, buffer);
    }
    return EDL_OK;
}

static EdlStatus
rename_all(const EdlSt *st, const EdlNames *names, Given *given, int64_t *n,
           const char *path, EdlError *e)
{
    char ours[1024];
    for (int64_t i = 0; i < st->count; i++) {
        if (!edl_names_map(names, st->entries[i].name, ours, sizeof ours))
            return edl_error(e, EDL_EMISMATCH, "%s: %.60s... is too long", path,
                             st->entries[i].name);
        if (ignored(ours))
            continue;
        size_t size = strlen(ours) + 1;
        given[*n].entry = &st->entries[i];
        given[*n].name = (char *)malloc(size);
        if (!given[*n].name)
            return edl_error(e, EDL_ENOMEM, "out of memory");
        memcpy(given[(*n)++].name, ours, size);
    }
    return EDL_OK;
}

static EdlStatus
init_from(EdlInstance *m, const EdlSt *st, const EdlNames *names,
          const char *path, EdlError *e)
{
    Given *given = (Given *)calloc((size_t)st->count + 1, sizeof *given);
    int64_t n = 0;
    if (!given)
        return edl_error(e, EDL_ENOMEM, "out of memory");
    EdlStatus s = rename_all(st, names, given, &n, path, e);
    if (s == EDL_OK)
        s = check_all(m->model, given, n, path, e);
    for (int64_t i = 0; i < n && s == EDL_OK; i++)
        s = take(m, st, &given[i], path, e);
    for (int64_t i = 0; i < n; i++)
        free(given[i].name);
    free(given);
    return s;
}

EdlStatus
edl_init_from(EdlInstance *m, const char *path, const char *names, EdlError *e)
{
    EdlNames map;
    EdlSt st;
    memset(&map, 0, sizeof map);
    if (names) {
        EdlStatus s = edl_names_open(&map, names, e);
        if (s != EDL_OK)
            return s;
    }
    EdlStatus s = edl_st_open(&st, path, e);
    if (s == EDL_OK) {
        s = init_from(m, &st, &map, path, e);
        edl_st_close(&st);
    }
    edl_names_close(&map);
    return s;
}

/* ---- outputs ---- */

typedef struct Filled {
    const EdlInstance *m;
    const EdlTensor *t;
} Filled;

static int
fill(const void *arg, int64_t first, int64_t n, void *dst)
{
    const Filled *f = (const Filled *)arg;
    edl_gather(f->m, f->t, first, n, dst);
    return edl_copies_failed(f->m);
}

static void
add_out(EdlStOut *outs, Filled *filled, int64_t *n, const EdlInstance *m,
        const EdlTensor *t)
{
    EdlStOut *o = &outs[*n];
    filled[*n].m = m;
    filled[*n].t = t;
    o->name = t->name;
    o->dtype = t->dtype;
    o->ndim = t->ndim;
    o->dims = t->dims;
    o->fill = fill;
    o->arg = &filled[(*n)++];
}

EdlStatus
edl_write_outputs(const EdlInstance *m, const char *path, int grads,
                  EdlError *e)
{
    const EdlModel *model = m->model;
    size_t room = (size_t)(model->noutputs + model->ntensors) + 1;
    EdlStOut *outs = (EdlStOut *)calloc(room, sizeof *outs);
    Filled *filled = (Filled *)calloc(room, sizeof *filled);
    EdlStatus s;
    if (outs && filled) {
        int64_t n = 0;
        for (int32_t i = 0; i < model->noutputs; i++)
            add_out(outs, filled, &n, m, &model->outputs[i]);
        for (int32_t i = 0; grads && i < model->ntensors; i++) {
            if (model->tensors[i].kind == EDL_GRAD)
                add_out(outs, filled, &n, m, &model->tensors[i]);
        }
        s = edl_st_save(outs, n, NULL, 0, path, e);
    } else {
        s = edl_error(e, EDL_ENOMEM, "out of memory");
    }
    free(outs);
    free(filled);
    return s;
}
