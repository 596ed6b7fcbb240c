/* The parts of the API that are the same for every model: status, tables,
 * init, checks of inputs. Nothing here allocates. */
#include "edl.h"

#include "edl_copy.h"
#include "edl_profile.h"
#include "edl_tensor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
edl_status_text(EdlStatus s)
{
    switch (s) {
    case EDL_OK:
        return "ok";
    case EDL_EINVAL:
        return "invalid argument";
    case EDL_EALIGN:
        return "a region is not aligned";
    case EDL_ESIZE:
        return "a region is missing or too small";
    case EDL_EABI:
        return "header, runtime and emitted code do not match";
    case EDL_ERANGE:
        return "an index is out of range";
    case EDL_EIO:
        return "input or output failed";
    case EDL_EFORMAT:
        return "not a valid file";
    case EDL_EMISMATCH:
        return "the file is of another model";
    case EDL_ENOMEM:
        return "out of memory";
    case EDL_EDEVICE:
        return "the device failed";
    case EDL_EUNSUPPORTED:
        return "the model was compiled without this action";
    }
    return "unknown status";
}

typedef struct DtypeRow {
    const char *name, *safetensors;
    int bits;
} DtypeRow;

/* In the order of EdlDtype. */
static const DtypeRow dtype_rows[EDL_DTYPE_COUNT] = {
    {"f32", "F32", 32}, {"f16", "F16", 16},    {"bf16", "BF16", 16},
    {"f64", "F64", 64}, {"i32", "I32", 32},    {"i64", "I64", 64},
    {"u8", "U8", 8},    {"bool", "BOOL", 8},   {"i8", "I8", 8},
    {"i4", "I4", 4},    {"fp8", "F8_E4M3", 8}, {"u16", "U16", 16},
    {"u32", "U32", 32}, {"i16", "I16", 16},    {"u64", "U64", 64},
};

const char *
edl_dtype_name(EdlDtype d)
{
    return (unsigned)d < EDL_DTYPE_COUNT ? dtype_rows[d].name : "?";
}

const char *
edl_dtype_safetensors(EdlDtype d)
{
    return (unsigned)d < EDL_DTYPE_COUNT ? dtype_rows[d].safetensors : "?";
}

int
edl_dtype_bits(EdlDtype d)
{
    return (unsigned)d < EDL_DTYPE_COUNT ? dtype_rows[d].bits : 0;
}

static const char *const region_names[EDL_REGION_COUNT] = {
    "state", "grads", "stash", "workspace", "io", "host",
};

const char *
edl_region_name(EdlRegion r)
{
    return (unsigned)r < EDL_REGION_COUNT ? region_names[r] : "?";
}

EdlStatus
edl_fail(EdlInstance *m, EdlStatus s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->error, sizeof m->error, format, args);
    va_end(args);
    if (m->hooks.log)
        m->hooks.log(m->hooks.user, EDL_LOG_ERROR, m->error);
    return s;
}

void
edl_parallel(const EdlInstance *m, int64_t n, EdlBody body, void *arg)
{
#ifdef EDL_PROFILE
    if (m->hooks.parallel_for && m->hooks.profile && n > 1) {
        edl_profile_parallel(m, n, body, arg);
        return;
    }
#endif
    if (m->hooks.parallel_for && n > 1) {
        m->hooks.parallel_for(m->hooks.user, n, body, arg);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        body(arg, i);
}

typedef struct Chain {
    const EdlLink *links;
    int count;
} Chain;

static void
run_links(void *arg, int64_t piece)
{
    const Chain *c = (const Chain *)arg;
    for (int i = 0; i < c->count; i++)
        if (piece < c->links[i].pieces)
            c->links[i].body(c->links[i].arg, piece);
}

void
edl_chain(const EdlInstance *m, int64_t n, const EdlLink *links, int count)
{
#ifdef EDL_PROFILE
    for (int i = 0; m->hooks.profile && i < count; i++) {
        edl_profile_begin(m);
        edl_parallel(m, links[i].pieces, links[i].body, links[i].arg);
        edl_profile_end(m);
    }
    if (m->hooks.profile)
        return;
#endif
    Chain chain = {links, count};
    edl_parallel(m, n, run_links, &chain);
}

static EdlStatus
check_region(EdlInstance *m, const EdlModel *model, int r, void *at)
{
    uint64_t bytes = model->regions.bytes[r];
    if (bytes && !at)
        return edl_fail(m, EDL_ESIZE, "%s: region %s of %llu bytes is missing",
                        model->name, region_names[r],
                        (unsigned long long)bytes);
    if ((uintptr_t)at % EDL_ALIGN)
        return edl_fail(m, EDL_EALIGN,
                        "%s: region %s is not aligned to %d bytes", model->name,
                        region_names[r], EDL_ALIGN);
    m->region[r] = (unsigned char *)at;
    return EDL_OK;
}

EdlStatus
edl_init(EdlInstance *m, const EdlModel *model, uint32_t abi, size_t size,
         const EdlRegions *regions, const EdlHooks *hooks)
{
    if (!m || !model)
        return EDL_EINVAL;
    if (size != sizeof *m)
        return EDL_EABI; /* m may be too small to hold a message */
    memset(m, 0, sizeof *m);
    m->lr_override = NAN;
    if (hooks)
        m->hooks = *hooks;
    if (abi != EDL_ABI || model->abi != EDL_ABI)
        return edl_fail(m, EDL_EABI,
                        "%s: ABI %u of the caller, %u of the emitted code, "
                        "%u of the runtime",
                        model->name, abi, model->abi, EDL_ABI);
    if (!regions)
        return edl_fail(m, EDL_EINVAL, "%s: no regions given", model->name);
    for (int r = 0; r < EDL_REGION_COUNT; r++) {
        EdlStatus s = check_region(m, model, r, regions->at[r]);
        if (s != EDL_OK)
            return s;
    }
    m->model = model;
    EdlStatus s = model->device ? model->device->open(m) : edl_copies_open(m);
    if (s != EDL_OK)
        m->model = NULL;
    return s;
}

void
edl_close(EdlInstance *m)
{
    if (m && m->model && m->model->device)
        m->model->device->close(m);
    else if (m && m->model)
        edl_copies_close(m);
    if (m)
        m->model = NULL;
}

EdlStatus
edl_set_lr(EdlInstance *m, double lr)
{
    if (m->phase != 0)
        return edl_fail(m, EDL_EINVAL, "set_lr: not its turn");
    m->lr_override = lr;
    return EDL_OK;
}

double
edl_lr(const EdlInstance *m)
{
    if (!isnan(m->lr_override))
        return m->lr_override;
    if (!m->model->lr)
        return 0.0;
    return m->model->lr(edl_updates(m));
}

uint64_t
edl_updates(const EdlInstance *m)
{
    int64_t n = (int64_t)m->count.step;
    if (m->model->updates >= 0)
        edl_get_bytes(m, &n,
                      edl_address(m, &m->model->tensors[m->model->updates]),
                      sizeof n);
    return (uint64_t)n;
}

EdlStatus
edl_check_fault(EdlInstance *m, const char *phase)
{
    EdlStatus s = edl_copies_status(m, phase);
    if (s != EDL_OK || !m->fault)
        return s;
    m->fault = 0;
    return edl_fail(m, EDL_ERANGE,
                    "%s: a computed index was out of range in %s",
                    m->model->name, phase);
}

static const EdlTensor *
find_in(const EdlTensor *t, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++) {
        if (!strcmp(t[i].name, name))
            return &t[i];
    }
    return NULL;
}

const EdlTensor *
edl_find(const EdlModel *model, const char *name)
{
    const EdlTensor *t = find_in(model->tensors, model->ntensors, name);
    if (!t)
        t = find_in(model->outputs, model->noutputs, name);
    if (!t)
        t = find_in(model->inputs, model->ninputs, name);
    return t;
}

/* ---- ids and classes ---- */

static int64_t
integer_at(const void *data, EdlDtype d, int64_t i)
{
    if (d == EDL_I32)
        return ((const int32_t *)data)[i];
    if (d == EDL_I64)
        return ((const int64_t *)data)[i];
    return ((const uint8_t *)data)[i];
}

/* The message names the microbatch and the place in its logical shape. */
static EdlStatus
out_of_range(EdlInstance *m, const EdlTensor *t, int64_t element, int64_t x)
{
    char place[EDL_MAX_RANK * 24] = "";
    int64_t n = edl_tensor_elements(t), rest = element % n;
    size_t at = 0;
    for (int k = 0; k < t->ndim; k++) {
        n /= t->dims[k];
        at += (size_t)snprintf(place + at, sizeof place - at, "%s%lld",
                               k ? ", " : "", (long long)(rest / n));
        rest %= n;
    }
    return edl_fail(
        m, EDL_ERANGE, "%s[%s] of microbatch %lld is %lld, not in %lld..%lld",
        t->name, place, (long long)(element / edl_tensor_elements(t)),
        (long long)x, (long long)t->lo, (long long)t->hi - 1);
}

static EdlStatus
check_input(EdlInstance *m, const EdlTensor *t, const void *data, int64_t n)
{
    if (!data)
        return edl_fail(m, EDL_EINVAL, "input %s is NULL", t->name);
    if (t->lo == t->hi)
        return EDL_OK;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = integer_at(data, t->dtype, i);
        if ((x < t->lo || x >= t->hi) && x != t->also)
            return out_of_range(m, t, i, x);
    }
    return EDL_OK;
}

EdlStatus
edl_check_inputs(EdlInstance *m, const void *const *inputs,
                 int64_t microbatches)
{
    EdlStatus sound = edl_copies_sound(m);
    if (sound != EDL_OK)
        return sound;
    for (int32_t i = 0; i < m->model->ninputs; i++) {
        const EdlTensor *t = &m->model->inputs[i];
        int64_t n = edl_tensor_elements(t) * microbatches;
        EdlStatus s = check_input(m, t, inputs[i], n);
        if (s != EDL_OK)
            return s;
    }
    return EDL_OK;
}
