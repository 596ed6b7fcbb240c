/* In the middle of a step that is driven by hand nothing else runs, and nothing
 * is saved; loading ends the step. */
#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>

static float x[64 * 64];
static int32_t label[64];

static int
is_busy(mlp *m, const mlp_batch *b)
{
    EdlMetrics out;
    return (mlp_evaluate(m, b, &out) != EDL_EINVAL) +
           (mlp_step(m, b, &out) != EDL_EINVAL) +
           (mlp_set_lr(m, 0.5) != EDL_EINVAL) +
           (mlp_save(m, "turn.safetensors") != EDL_EINVAL);
}

int
main(void)
{
    mlp m;
    EdlRegions r = {0};
    EdlRegionSizes sizes;
    EdlMetrics out;
    mlp_batch b = {x, label};
    mlp_regions(0, &sizes);
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (sizes.bytes[i])
            r.at[i] = aligned_alloc(EDL_ALIGN, sizes.bytes[i]);
    int bad = mlp_init(&m, EDL_ABI, sizeof m, &r, NULL) != EDL_OK;
    mlp_init_params(&m, 1);
    bad += mlp_evaluate(&m, &b, &out) != EDL_OK;
    bad += mlp_forward(&m, &b) != EDL_OK;
    bad += is_busy(&m, &b);
    bad += mlp_backward(&m, &b) != EDL_OK;
    bad += is_busy(&m, &b);
    bad += mlp_update(&m, &out) != EDL_OK;
    bad += mlp_evaluate(&m, &b, &out) != EDL_OK;
    bad += mlp_set_lr(&m, 0.5) != EDL_OK;
    bad += mlp_save(&m, "turn.safetensors") != EDL_OK;
    bad += mlp_forward(&m, &b) != EDL_OK;
    bad += mlp_load(&m, "turn.safetensors") != EDL_OK;
    bad += mlp_step(&m, &b, &out) != EDL_OK;
    mlp_close(&m);
    printf("%d failures\n", bad);
    return bad;
}
