/* by_hand FILE: wide driven action by action for two steps, the second at a
 * rate of its own, and saved. */
#include "edl_cuda.cuh"
#include "wide.h"

enum { N = WIDE_DIM_B * 256 };

static float x[N], y[N];

int
main(int argc, char **argv)
{
    const wide_batch b = {x, y};
    EdlRegions r = {};
    EdlMetrics out;
    wide m;
    int bad = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i * 37 % 17) / 17.0f;
        y[i] = (float)(i * 7 % 10) / 10.0f;
    }
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (wide_model.regions.bytes[i])
            cudaMalloc((void **)&r.at[i], wide_model.regions.bytes[i]);
    bad += wide_init(&m, EDL_ABI, sizeof m, &r, NULL) != EDL_OK;
    wide_init_params(&m, 1);
    for (int step = 0; step < 2 && !bad; step++) {
        bad += wide_forward(&m, &b) != EDL_OK;
        bad += wide_set_lr(&m, 0.5) != EDL_EINVAL;
        bad += wide_backward(&m, &b) != EDL_OK;
        bad += wide_update(&m, &out) != EDL_OK;
        bad += wide_set_lr(&m, 0.25) != EDL_OK;
    }
    bad += wide_save(&m, argc > 1 ? argv[1] : "by_hand.st") != EDL_OK;
    wide_close(&m);
    return bad;
}
