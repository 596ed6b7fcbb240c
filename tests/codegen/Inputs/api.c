/* The contracts of the calls, on model head of ops.edl: 70 rows, 31 classes,
 * 3 microbatches, clip_norm. */
#include "head.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 70, CLASSES = 31 };

static int failures;

static void
expect(int good, const char *what)
{
    if (!good)
        printf("wrong: %s\n", what);
    failures += !good;
}

static EdlRegions
allocate(void)
{
    EdlRegions r = {{NULL}};
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (head_model.regions.bytes[i])
            r.at[i] = aligned_alloc(EDL_ALIGN, head_model.regions.bytes[i]);
    return r;
}

static int
same_state(const EdlRegions *a, const EdlRegions *b)
{
    return memcmp(a->at[EDL_STATE], b->at[EDL_STATE], HEAD_STATE_BYTES) == 0;
}

static int
same_metrics(const EdlMetrics *a, const EdlMetrics *b)
{
    return a->loss == b->loss && a->grad_norm == b->grad_norm &&
           a->lr == b->lr && a->valid_targets == b->valid_targets &&
           a->step == b->step && a->skipped == b->skipped;
}

int
main(void)
{
    int32_t ids[3 * N], targets[3 * N];
    for (int i = 0; i < 3 * N; i++) {
        ids[i] = i * 7 % CLASSES;
        targets[i] = i * 11 % CLASSES;
    }
    EdlRegions ra = allocate(), rb = allocate();
    head a, b;
    EdlMetrics ma, mb;
    head_batch all = {ids, targets};
    expect(head_init(&a, EDL_ABI + 1, sizeof a, &ra, NULL) == EDL_EABI, "abi");
    expect(head_init(&a, EDL_ABI, sizeof a - 1, &ra, NULL) == EDL_EABI,
           "size of the instance");
    expect(head_init(&a, EDL_ABI, sizeof a, &ra, NULL) == EDL_OK, "init");
    expect(head_init(&b, EDL_ABI, sizeof b, &rb, NULL) == EDL_OK, "init");
    head_init_params(&a, 4);
    head_init_params(&b, 4);
    expect(same_state(&ra, &rb), "init_params repeats");

    /* a step is forward and backward of each microbatch and the update */
    for (int step = 0; step < 2; step++) {
        expect(head_step(&a, &all, &ma) == EDL_OK, "step");
        for (int i = 0; i < 3; i++) {
            head_batch one = {ids + i * N, targets + i * N};
            expect(head_backward(&b, &one) == EDL_EINVAL, "backward first");
            expect(head_forward(&b, &one) == EDL_OK, "forward");
            expect(head_forward(&b, &one) == EDL_EINVAL, "forward twice");
            expect(head_update(&b, &mb) == EDL_EINVAL, "update too early");
            expect(head_backward(&b, &one) == EDL_OK, "backward");
        }
        expect(head_step(&b, &all, &mb) == EDL_EINVAL, "step in between");
        expect(head_update(&b, &mb) == EDL_OK, "update");
        expect(same_metrics(&ma, &mb), "the same metrics");
        expect(same_state(&ra, &rb), "the same bits");
        expect(ma.step == (uint64_t)step && ma.valid_targets > 0 &&
                   ma.grad_norm > 0 && ma.skipped == 0,
               "metrics");
    }

    /* an id out of range is found before anything changes */
    ids[2 * N + 5] = CLASSES;
    expect(head_step(&a, &all, NULL) == EDL_ERANGE, "an id out of range");
    expect(strstr(head_last_error(&a), "ids") != NULL, "its name");
    ids[2 * N + 5] = 0;
    targets[0] = -1;
    expect(head_step(&a, &all, NULL) == EDL_ERANGE, "a class out of range");
    targets[0] = 7; /* ignored */
    expect(same_state(&ra, &rb), "a refused step changes nothing");

    /* evaluation and moves in memory change nothing */
    head moved = a;
    expect(head_step(&moved, &all, &ma) == EDL_OK, "step after a move");
    expect(head_step(&b, &all, &mb) == EDL_OK, "step");
    expect(same_state(&ra, &rb), "a moved instance");

    /* a gradient that is not finite: nothing but the counts */
    float g[24], old[24];
    head_get(&b, "g", old, sizeof old);
    for (int i = 0; i < 24; i++)
        g[i] = INFINITY;
    head_set(&moved, "g", g, sizeof g);
    head_set(&b, "g", g, sizeof g);
    expect(head_step(&moved, &all, &ma) == EDL_OK, "step");
    expect(ma.skipped == 1 && ma.skipped_steps == 1, "it is skipped");
    expect(same_state(&ra, &rb), "and changes nothing");
    expect(head_get(&b, "h", g, sizeof g) == EDL_EINVAL, "a wrong name");
    printf("%d failures\n", failures);
    return failures != 0;
}
