/* The first step of AdamW moves every element by the learning rate. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2051, M = 2047 };

static float x[2 * N], y[2 * M], before[N * M], after[N * M];

int
main(void)
{
    sweep m;
    EdlRegions r = {0};
    EdlRegionSizes sizes;
    EdlMetrics out;
    sweep_batch b = {x, y};
    for (int i = 0; i < 2 * N; i++)
        x[i] = (float)(i % 7) + 1.0f;
    for (int i = 0; i < 2 * M; i++)
        y[i] = (float)(i % 5) + 1.0f;
    sweep_regions(0, &sizes);
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (sizes.bytes[i])
            r.at[i] = aligned_alloc(EDL_ALIGN, sizes.bytes[i]);
    int bad = sweep_init(&m, EDL_ABI, sizeof m, &r, NULL) != EDL_OK;
    bad += sweep_init_params(&m, 1) != EDL_OK;
    bad += sweep_get(&m, "w", before, sizeof before) != EDL_OK;
    bad += sweep_step(&m, &b, &out) != EDL_OK;
    bad += sweep_get(&m, "w", after, sizeof after) != EDL_OK;
    for (int i = 0; i < N * M; i++)
        bad += fabsf(before[i] - after[i] - 0.125f) > 1e-5f;
    sweep_close(&m);
    printf("%d failures\n", bad);
    return bad != 0;
}
