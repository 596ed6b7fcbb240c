/* Values before step 0, from the tensor table. docs/api.md has the mapping
 * from random words to numbers. */
#include "edl.h"

#include "edl_copy.h"
#include "edl_kernel.h"
#include "edl_tensor.h"

#include <math.h>
#include <string.h>

/* Few copies to a device, and a stack that any thread has. */
#define CHUNK 2048

/* The four numbers of block `block` of a random tensor. */
static void
draw(const EdlTensor *t, uint64_t key, uint64_t block, double out[4])
{
    uint32_t w[4];
    edl_philox(key, block, 0, w);
    if (t->init == EDL_INIT_UNIFORM) {
        for (int i = 0; i < 4; i++)
            out[i] = t->init_a + (t->init_b - t->init_a) * (w[i] * 0x1p-32);
        return;
    }
    for (int i = 0; i < 4; i += 2) {
        double r = sqrt(-2.0 * log(((double)w[i] + 1.0) * 0x1p-32));
        double angle = 6.283185307179586476925 * (w[i + 1] * 0x1p-32);
        out[i] = t->init_a + t->init_b * (r * cos(angle));
        out[i + 1] = t->init_a + t->init_b * (r * sin(angle));
    }
}

/* As numbers of the tensor's type; integers take the nearest below. */
static void
store(EdlDtype d, void *dst, const double *x, int64_t n)
{
    if (d == EDL_F32 || d == EDL_F64 || d == EDL_F16 || d == EDL_BF16) {
        edl_convert(EDL_F64, x, d, dst, n);
        return;
    }
    int64_t whole[CHUNK];
    for (int64_t i = 0; i < n; i++)
        whole[i] = (int64_t)floor(x[i]);
    edl_convert(EDL_I64, whole, d, dst, n);
}

static void
init_tensor(EdlInstance *m, const EdlTensor *t, uint64_t seed)
{
    uint64_t key = seed ^ edl_hash64(t->name);
    int64_t total = edl_tensor_elements(t);
    double x[CHUNK];
    double bytes[CHUNK];
    if (t->init == EDL_INIT_CONST && t->init_a == 0 && t->region != EDL_DISK)
        return; /* the region is zero */
    for (int64_t first = 0; first < total; first += CHUNK) {
        int64_t n = total - first < CHUNK ? total - first : CHUNK;
        for (int64_t i = 0; i < CHUNK; i += 4) {
            if (t->init == EDL_INIT_CONST)
                x[i] = x[i + 1] = x[i + 2] = x[i + 3] = t->init_a;
            else
                draw(t, key, (uint64_t)(first + i) / 4, x + i);
        }
        store(t->dtype, bytes, x, n);
        edl_scatter(m, t, first, n, bytes);
    }
}

EdlStatus
edl_init_params(EdlInstance *m, uint64_t seed)
{
    const EdlModel *model = m->model;
    memset(&m->count, 0, sizeof m->count);
    m->count.seed = seed;
    m->phase = 0;
    edl_copies_renew(m);
    /* Padding too: a checkpoint never sees it, but a comparison of regions
     * might. */
    edl_zero_region(m, EDL_STATE);
    edl_zero_region(m, EDL_GRADS);
    edl_zero_region(m, EDL_HOST);
    for (int32_t i = 0; i < model->ntensors; i++) {
        if (model->tensors[i].kind != EDL_GRAD)
            init_tensor(m, &model->tensors[i], seed);
    }
    return edl_device_status(m);
}
