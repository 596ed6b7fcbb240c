/* Three steps of -DMODEL=NAME_model whose pieces run in order, and three from
 * the last to the first: no piece may need another, also where several kernels
 * share a launch. Prints the launches of a step. */
#include "edl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const EdlModel MODEL;

typedef struct Turn {
    int backwards, launches;
} Turn;

static void
run(void *user, int64_t n, EdlBody body, void *arg)
{
    Turn *t = (Turn *)user;
    t->launches++;
    for (int64_t i = 0; i < n; i++)
        body(arg, t->backwards ? n - 1 - i : i);
}

static const void *
input(const EdlTensor *t, int64_t microbatches)
{
    int64_t n = edl_tensor_elements(t) * microbatches;
    float *f = (float *)malloc((size_t)n * sizeof *f);
    int32_t *k = (int32_t *)f;
    for (int64_t i = 0; i < n; i++)
        if (t->dtype == EDL_F32)
            f[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
        else
            k[i] = (int32_t)(t->lo + i * 13 % (t->hi - t->lo));
    return f;
}

/* The last loss; the state goes to *state. */
static double
train(Turn *t, const unsigned char **state)
{
    EdlInstance m;
    EdlRegions r = {{0}};
    EdlMetrics out = {0};
    EdlHooks hooks = {0};
    const void *in[EDL_MAX_RANK];
    hooks.user = t;
    hooks.parallel_for = run;
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (MODEL.regions.bytes[i])
            r.at[i] = aligned_alloc(EDL_ALIGN, MODEL.regions.bytes[i]);
    for (int i = 0; i < MODEL.ninputs; i++)
        in[i] = input(&MODEL.inputs[i], MODEL.accumulate);
    if (edl_init(&m, &MODEL, EDL_ABI, sizeof m, &r, &hooks) != EDL_OK ||
        edl_init_params(&m, 1) != EDL_OK)
        exit(1);
    for (int i = 0; i < 3; i++)
        if (MODEL.step(&m, in, &out) != EDL_OK)
            exit(1);
    edl_close(&m);
    *state = (const unsigned char *)r.at[EDL_STATE];
    return out.loss;
}

int
main(void)
{
    Turn a = {0, 0}, b = {1, 0};
    const unsigned char *x, *y;
    int same = train(&a, &x) == train(&b, &y) &&
               memcmp(x, y, MODEL.regions.bytes[EDL_STATE]) == 0;
    printf("%s, %d launches\n", same ? "same" : "other", a.launches / 3);
    return !same;
}
