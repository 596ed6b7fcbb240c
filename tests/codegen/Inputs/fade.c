/* What a gradient left in the states of an optimizer fades to 0, not to the
 * least denormal number. */
#include "adam.h"
#include "momentum.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 40, STEPS = 400 };

static float x[2 * N], state[N * 3];

static int
faded(const EdlModel *model, const char *name)
{
    EdlInstance m;
    EdlRegions r = {{0}};
    const void *in[] = {x};
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (model->regions.bytes[i])
            r.at[i] = aligned_alloc(EDL_ALIGN, model->regions.bytes[i]);
    int bad = edl_init(&m, model, EDL_ABI, sizeof m, &r, NULL) != EDL_OK;
    edl_init_params(&m, 1);
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 2 * N; i++)
            x[i] = s == 0 ? (float)i : 0.0f;
        bad += model->step(&m, in, NULL) != EDL_OK;
    }
    bad += edl_get(&m, name, state, sizeof state) != EDL_OK;
    for (int i = 0; i < N * 3; i++)
        bad += state[i] != 0.0f;
    edl_close(&m);
    return bad;
}

int
main(void)
{
    printf("%d %d %d failures\n", faded(&adam_model, "optimizer/m/w"),
           faded(&adam_model, "optimizer/v/w"),
           faded(&momentum_model, "optimizer/momentum/w"));
    return 0;
}
