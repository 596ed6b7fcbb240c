/* Checkpoints: logical tensors by name and the counters, so that any plan of
 * the same model reads what any other wrote. */
#include "edl.h"

#include "edl_copy.h"
#include "edl_matmul.h"
#include "edl_safetensors.h"
#include "edl_tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters as metadata ---- */

enum { N_FIXED = 5 };

static const char *const fixed_keys[N_FIXED] = {
    "edl.step", "edl.microbatch", "edl.epoch", "edl.index", "edl.seed",
};

static uint64_t *
fixed_counter(EdlCounters *c, int i)
{
    uint64_t *const at[N_FIXED] = {&c->step, &c->microbatch, &c->epoch,
                                   &c->index, &c->seed};
    return at[i];
}

/* ---- the path that computes ---- */

#if defined(__FMA__) || defined(__aarch64__)
static const char without_fma[] = "";
#else
static const char without_fma[] = ", no fma";
#endif

enum { PATH_BYTES = 24 };

/* "avx512": the kernels of products, and whether the rest, compiled with the
 * same flags as this, rounds a multiply-add twice: only that changes bits. On
 * a device, "device" and a hash of the algorithms of its products. */
static void
cpu_path(const EdlInstance *m, char *to)
{
    if (m->model->device)
        snprintf(to, PATH_BYTES, "device %016llx",
                 (unsigned long long)m->device[1]);
    else
        snprintf(to, PATH_BYTES, "%s%s", edl_matmul_path(), without_fma);
}

static int
same_path(const char *a, const char *b)
{
    if (strncmp(a, "device", 6) == 0)
        return strcmp(a, b) == 0;
    return strncmp(b, "device", 6) != 0 &&
           !strstr(a, "no fma") == !strstr(b, "no fma");
}

/* Says so when what comes will not have the bits of a run that went on where
 * it was saved. */
static void
compare_paths(const EdlInstance *m, const EdlSt *st, const char *what)
{
    char ours[PATH_BYTES], text[EDL_ERROR_BYTES];
    const char *theirs = edl_st_meta(st, "edl.cpu");
    cpu_path(m, ours);
    if (!theirs || !m->hooks.log || same_path(theirs, ours))
        return;
    snprintf(text, sizeof text,
             "%s was saved by a program for \"%.24s\", this one is for \"%s\": "
             "results will differ in rounding",
             what, theirs, ours);
    m->hooks.log(m->hooks.user, EDL_LOG_INFO, text);
}

static int
saved(const EdlTensor *t)
{
    return t->kind == EDL_PARAM || t->kind == EDL_FROZEN ||
           t->kind == EDL_BUFFER || t->kind == EDL_OPTIMIZER;
}

static int64_t
count_kind(const EdlModel *model, int counters)
{
    int64_t n = 0;
    for (int32_t i = 0; i < model->ntensors; i++) {
        const EdlTensor *t = &model->tensors[i];
        n += counters ? t->kind == EDL_COUNTER : saved(t);
    }
    return n;
}

typedef struct MetaText {
    char key[64], value[PATH_BYTES];
} MetaText;

typedef struct Filled {
    const EdlInstance *m;
    const EdlTensor *t;
} Filled;

/* What a save needs for as long as it lasts. */
typedef struct Save {
    EdlInstance *m;
    EdlStOut *outs;
    Filled *filled;
    int64_t nouts;
    EdlStMeta *metas;
    MetaText *texts;
    int64_t nmetas;
} Save;

static void
add_text_meta(Save *s, const char *prefix, const char *key, const char *value)
{
    MetaText *t = &s->texts[s->nmetas];
    snprintf(t->key, sizeof t->key, "%s%s", prefix, key);
    snprintf(t->value, sizeof t->value, "%s", value);
    s->metas[s->nmetas].key = t->key;
    s->metas[s->nmetas].value = t->value;
    s->nmetas++;
}

static void
add_meta(Save *s, const char *prefix, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    add_text_meta(s, prefix, key, text);
}

static void
add_metas(Save *s)
{
    const EdlModel *model = s->m->model;
    char path[PATH_BYTES];
    cpu_path(s->m, path);
    add_text_meta(s, "", "edl.cpu", path);
    for (int i = 0; i < N_FIXED; i++)
        add_meta(s, "", fixed_keys[i], *fixed_counter(&s->m->count, i));
    for (int32_t i = 0; i < model->ntensors; i++) {
        const EdlTensor *t = &model->tensors[i];
        int64_t n = 0;
        if (t->kind != EDL_COUNTER)
            continue;
        edl_get_bytes(s->m, &n, edl_address(s->m, t), sizeof n);
        add_meta(s, "edl.", t->name, (uint64_t)n);
    }
}

static int
fill(const void *arg, int64_t first, int64_t n, void *dst)
{
    const Filled *f = (const Filled *)arg;
    edl_gather(f->m, f->t, first, n, dst);
    return edl_copies_failed(f->m);
}

static void
add_tensors(Save *s)
{
    const EdlModel *model = s->m->model;
    for (int32_t i = 0; i < model->ntensors; i++) {
        const EdlTensor *t = &model->tensors[i];
        if (!saved(t))
            continue;
        EdlStOut *o = &s->outs[s->nouts];
        s->filled[s->nouts].m = s->m;
        s->filled[s->nouts].t = t;
        o->name = t->name;
        o->dtype = t->dtype;
        o->ndim = t->ndim;
        o->dims = t->dims;
        o->fill = fill;
        o->arg = &s->filled[s->nouts++];
    }
}

static int
save_begin(Save *s, EdlInstance *m)
{
    size_t tensors = (size_t)count_kind(m->model, 0) + 1;
    size_t metas = (size_t)count_kind(m->model, 1) + N_FIXED + 1;
    memset(s, 0, sizeof *s);
    s->m = m;
    s->outs = (EdlStOut *)calloc(tensors, sizeof *s->outs);
    s->filled = (Filled *)calloc(tensors, sizeof *s->filled);
    s->metas = (EdlStMeta *)calloc(metas, sizeof *s->metas);
    s->texts = (MetaText *)calloc(metas, sizeof *s->texts);
    if (!s->outs || !s->filled || !s->metas || !s->texts)
        return 0;
    add_tensors(s);
    add_metas(s);
    return 1;
}

static void
save_end(Save *s)
{
    free(s->outs);
    free(s->filled);
    free(s->metas);
    free(s->texts);
}

static EdlStatus
to_hook(void *user, const void *data, uint64_t n)
{
    EdlInstance *m = (EdlInstance *)user;
    return m->hooks.write(m->hooks.user, data, n) == 0 ? EDL_OK : EDL_EIO;
}

EdlStatus
edl_save(EdlInstance *m, const char *path)
{
    Save s;
    EdlError e = {"the write hook failed"};
    EdlStatus status;
    if (edl_copies_sound(m) != EDL_OK)
        return EDL_EIO;
    if (m->phase != 0)
        return edl_fail(m, EDL_EINVAL, "save: in the middle of a step");
    if (!path && !m->hooks.write)
        return edl_fail(m, EDL_EINVAL, "no path and no write hook");
    if (!save_begin(&s, m))
        status = edl_error(&e, EDL_ENOMEM, "out of memory");
    else if (path)
        status = edl_st_save(s.outs, s.nouts, s.metas, s.nmetas, path, &e);
    else
        status =
            edl_st_write(s.outs, s.nouts, s.metas, s.nmetas, to_hook, m, &e);
    save_end(&s);
    if (edl_copies_failed(m))
        return edl_copies_status(m, "a save");
    return status == EDL_OK ? EDL_OK : edl_fail(m, status, "%s", e.text);
}

/* ---- loading ---- */

static EdlStatus
check_tensor(EdlInstance *m, const EdlSt *st, const EdlTensor *t,
             const char *what)
{
    const EdlStEntry *x = edl_st_find(st, t->name);
    if (!x)
        return edl_fail(m, EDL_EMISMATCH, "%s: %s is missing", what, t->name);
    int same = x->dtype == t->dtype && x->ndim == t->ndim;
    for (int32_t k = 0; same && k < t->ndim; k++)
        same = x->dims[k] == t->dims[k];
    if (same)
        return EDL_OK;
    char theirs[EDL_SHAPE_TEXT], ours[EDL_SHAPE_TEXT];
    edl_shape_text(theirs, x->dtype, x->ndim, x->dims);
    edl_shape_text(ours, t->dtype, t->ndim, t->dims);
    return edl_fail(m, EDL_EMISMATCH, "%s: %s is %s, the model's is %s", what,
                    t->name, theirs, ours);
}

/* What an inference model has no use for in a checkpoint of the training. */
static int
of_training(const EdlModel *model, const char *name)
{
    return !model->step && strncmp(name, "optimizer/", 10) == 0;
}

/* Every tensor of the model is there and no other. */
static EdlStatus
check_tensors(EdlInstance *m, const EdlSt *st, const char *what)
{
    const EdlModel *model = m->model;
    for (int32_t i = 0; i < model->ntensors; i++) {
        if (!saved(&model->tensors[i]))
            continue;
        EdlStatus s = check_tensor(m, st, &model->tensors[i], what);
        if (s != EDL_OK)
            return s;
    }
    for (int64_t i = 0; i < st->count; i++) {
        const EdlTensor *t = edl_find(model, st->entries[i].name);
        if ((t && saved(t)) || of_training(model, st->entries[i].name))
            continue;
        return edl_fail(m, EDL_EMISMATCH,
                        "%s: %s is not a tensor of the model", what,
                        st->entries[i].name);
    }
    return EDL_OK;
}

static int
parse_count(const char *s, uint64_t *out)
{
    uint64_t n = 0;
    if (!s || !*s)
        return 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || n > (UINT64_MAX - 9) / 10)
            return 0;
        n = n * 10 + (uint64_t)(*s - '0');
    }
    *out = n;
    return 1;
}

static EdlStatus
read_counters(EdlInstance *m, const EdlSt *st, const char *what,
              EdlCounters *out)
{
    for (int i = 0; i < N_FIXED; i++) {
        const char *text = edl_st_meta(st, fixed_keys[i]);
        if (!parse_count(text, fixed_counter(out, i)))
            return edl_fail(m, EDL_EFORMAT, "%s: %s %s: not a checkpoint", what,
                            text ? "bad" : "no", fixed_keys[i]);
    }
    return EDL_OK;
}

/* A counter of the model; without one in the file the number of steps. */
static EdlStatus
read_counter(EdlInstance *m, const EdlSt *st, const EdlTensor *t,
             const char *what, int64_t *out)
{
    char key[64];
    uint64_t n = m->count.step;
    snprintf(key, sizeof key, "edl.%s", t->name);
    const char *text = edl_st_meta(st, key);
    if (text && !parse_count(text, &n))
        return edl_fail(m, EDL_EFORMAT, "%s: bad %s", what, key);
    *out = (int64_t)n;
    return EDL_OK;
}

static EdlStatus
load_counters(EdlInstance *m, const EdlSt *st, const char *what, int apply)
{
    for (int32_t i = 0; i < m->model->ntensors; i++) {
        const EdlTensor *t = &m->model->tensors[i];
        int64_t n = 0;
        if (t->kind != EDL_COUNTER)
            continue;
        EdlStatus s = read_counter(m, st, t, what, &n);
        if (s != EDL_OK)
            return s;
        if (apply)
            edl_put_bytes(m, edl_address(m, t), &n, sizeof n);
    }
    return EDL_OK;
}

static void
load_tensors(EdlInstance *m, const EdlSt *st)
{
    const EdlModel *model = m->model;
    for (int32_t i = 0; i < model->ntensors; i++) {
        const EdlTensor *t = &model->tensors[i];
        if (!saved(t))
            continue;
        const EdlStEntry *x = edl_st_find(st, t->name);
        edl_scatter(m, t, 0, edl_tensor_elements(t), st->data + x->begin);
    }
}

static EdlStatus
load_from(EdlInstance *m, const EdlSt *st, const char *what)
{
    EdlCounters count;
    EdlStatus s = check_tensors(m, st, what);
    if (s == EDL_OK)
        s = read_counters(m, st, what, &count);
    if (s == EDL_OK)
        s = load_counters(m, st, what, 0);
    if (s != EDL_OK)
        return s;
    compare_paths(m, st, what);
    m->count = count;
    m->phase = 0;
    edl_copies_renew(m);
    load_tensors(m, st);
    edl_zero_region(m, EDL_GRADS);
    s = load_counters(m, st, what, 1);
    return s == EDL_OK ? edl_device_status(m) : s;
}

EdlStatus
edl_load(EdlInstance *m, const char *path)
{
    EdlSt st;
    EdlError e;
    EdlStatus s;
    if (path)
        s = edl_st_open(&st, path, &e);
    else if (m->hooks.read)
        s = edl_st_read(&st, m->hooks.read, m->hooks.user, &e);
    else
        return edl_fail(m, EDL_EINVAL, "no path and no read hook");
    if (s != EDL_OK)
        return edl_fail(m, s, "%s", e.text);
    s = load_from(m, &st, path ? path : "checkpoint");
    edl_st_close(&st);
    return s;
}
