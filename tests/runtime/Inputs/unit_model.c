/* The calls that are the same for every model, on the model of toy.c. */
#include "toy.h"
#include "unit.h"

#include "edl_tensor.h"

#include <math.h>
#include <stdlib.h>

typedef struct Box {
    EdlInstance m;
    void *memory[EDL_REGION_COUNT];
    EdlRegions regions;
} Box;

static void
open_box(Box *b, const EdlHooks *hooks)
{
    memset(b, 0, sizeof *b);
    for (int r = 0; r < EDL_REGION_COUNT; r++) {
        uint64_t n = toy_model.regions.bytes[r];
        b->memory[r] = malloc((size_t)n + EDL_ALIGN);
        uintptr_t at = (uintptr_t)b->memory[r] + EDL_ALIGN - 1;
        b->regions.at[r] = (void *)(at / EDL_ALIGN * EDL_ALIGN);
        memset(b->regions.at[r], 0xa5, (size_t)n);
    }
    edl_init(&b->m, &toy_model, EDL_ABI, sizeof b->m, &b->regions, hooks);
    edl_init_params(&b->m, 7);
}

static void
close_box(Box *b)
{
    edl_close(&b->m);
    for (int r = 0; r < EDL_REGION_COUNT; r++)
        free(b->memory[r]);
}

/* init refuses what does not match, and says what. */
int
unit_init(void)
{
    Box b;
    EdlRegions r;
    int failed = 0;
    open_box(&b, NULL);
    r = b.regions;
    CHECK(edl_init(&b.m, &toy_model, EDL_ABI + 1, sizeof b.m, &r, NULL) ==
          EDL_EABI);
    CHECK(edl_init(&b.m, &toy_model, EDL_ABI, sizeof b.m - 8, &r, NULL) ==
          EDL_EABI);
    r.at[EDL_STATE] = (char *)r.at[EDL_STATE] + 4;
    CHECK(edl_init(&b.m, &toy_model, EDL_ABI, sizeof b.m, &r, NULL) ==
          EDL_EALIGN);
    CHECK(strstr(b.m.error, "region state is not aligned") != NULL);
    r.at[EDL_STATE] = NULL;
    CHECK(edl_init(&b.m, &toy_model, EDL_ABI, sizeof b.m, &r, NULL) ==
          EDL_ESIZE);
    r = b.regions;
    r.at[EDL_HOST] = NULL;
    CHECK(edl_init(&b.m, &toy_model, EDL_ABI, sizeof b.m, &r, NULL) == EDL_OK);
    close_box(&b);
    return failed;
}

/* A padded tensor goes in and out in logical order; values of the seed. */
int
unit_layout(void)
{
    Box b;
    float w[TOY_V * TOY_V], back[TOY_V * TOY_V];
    int failed = 0;
    double sum = 0, squares = 0;
    open_box(&b, NULL);
    CHECK(edl_get(&b.m, "w", w, sizeof w) == EDL_OK);
    for (int i = 0; i < TOY_V * TOY_V; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
        w[i] = (float)i;
    }
    CHECK(fabs(sum / 64) < 0.2 && fabs(sqrt(squares / 64) - 0.5) < 0.15);
    CHECK(edl_set(&b.m, "w", w, sizeof w) == EDL_OK);
    CHECK(((float *)b.regions.at[EDL_STATE])[TOY_ROW + 3] == 11.0f);
    CHECK(edl_get(&b.m, "w", back, sizeof back) == EDL_OK);
    CHECK(!memcmp(w, back, sizeof w));
    CHECK(edl_get(&b.m, "w", w, 12) == EDL_EINVAL);
    CHECK(edl_get(&b.m, "x", w, 12) == EDL_EINVAL);
    CHECK(edl_set(&b.m, "grad/w", w, sizeof w) == EDL_EINVAL);
    ((float *)b.regions.at[EDL_GRADS])[2] = 3.0f;
    CHECK(edl_get(&b.m, "grad/w", back, sizeof back) == EDL_OK);
    CHECK(back[2] == 1.5f);
    edl_set_lr(&b.m, 0.125);
    CHECK(edl_lr(&b.m) == 0.125);
    edl_set_lr(&b.m, NAN);
    CHECK(edl_lr(&b.m) == 0.5);
    close_box(&b);
    return failed;
}

/* An id out of range is a status before anything changes. */
int
unit_range(void)
{
    Box b;
    EdlMetrics metrics;
    int32_t tokens[TOY_N * TOY_B * TOY_T] = {0};
    int32_t targets[TOY_N * TOY_B * TOY_T] = {0};
    const void *in[2] = {tokens, targets};
    unsigned char *before;
    int failed = 0;
    open_box(&b, NULL);
    before = (unsigned char *)malloc(toy_model.regions.bytes[EDL_STATE]);
    memcpy(before, b.regions.at[EDL_STATE], toy_model.regions.bytes[EDL_STATE]);
    tokens[13] = TOY_V;
    CHECK(toy_model.step(&b.m, in, &metrics) == EDL_ERANGE);
    CHECK(!strcmp(b.m.error, "tokens[1, 1] of microbatch 1 is 8, not in 0..7"));
    CHECK(!memcmp(before, b.regions.at[EDL_STATE],
                  toy_model.regions.bytes[EDL_STATE]));
    CHECK(b.m.count.step == 0 && b.m.count.microbatch == 0);
    in[1] = NULL;
    tokens[13] = 0;
    CHECK(toy_model.step(&b.m, in, &metrics) == EDL_EINVAL);
    free(before);
    close_box(&b);
    return failed;
}

typedef struct Pipe {
    unsigned char at[8192];
    uint64_t in, out;
} Pipe;

static int
pipe_write(void *user, const void *src, uint64_t n)
{
    Pipe *p = (Pipe *)user;
    if (n > sizeof p->at - p->in)
        return -1;
    memcpy(p->at + p->in, src, (size_t)n);
    p->in += n;
    return 0;
}

static int
pipe_read(void *user, void *dst, uint64_t n)
{
    Pipe *p = (Pipe *)user;
    if (n > p->in - p->out)
        return -1;
    memcpy(dst, p->at + p->out, (size_t)n);
    p->out += n;
    return 0;
}

/* A checkpoint through the hooks; a short one changes nothing. */
int
unit_hooks(void)
{
    static Pipe pipe;
    Box a, b;
    EdlHooks hooks;
    int failed = 0;
    memset(&hooks, 0, sizeof hooks);
    hooks.read = pipe_read;
    hooks.write = pipe_write;
    hooks.user = &pipe;
    open_box(&a, &hooks);
    open_box(&b, &hooks);
    edl_init_params(&b.m, 8);
    a.m.count.step = 5;
    CHECK(edl_save(&a.m, NULL) == EDL_OK);
    CHECK(edl_load(&b.m, NULL) == EDL_OK);
    CHECK(b.m.count.step == 5 && b.m.count.seed == 7);
    CHECK(!memcmp(a.regions.at[EDL_STATE], b.regions.at[EDL_STATE], 4 * 8));
    CHECK(edl_load(&b.m, NULL) == EDL_EIO);
    pipe.out = 0;
    pipe.in -= 1;
    b.m.count.step = 6;
    CHECK(edl_load(&b.m, NULL) == EDL_EIO && b.m.count.step == 6);
    close_box(&a);
    close_box(&b);
    return failed;
}
