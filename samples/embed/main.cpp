// Two models in one C++ program, which owns all their memory:
//     edlc two.edl -o out && make
#include "line.h"
#include "logic.h"

#include <cstdio>
#include <cstdlib>

// A block for each region; this program keeps them until it ends.
static EdlRegions allocate(const EdlModel &model)
{
    EdlRegions r = {};
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (model.regions.bytes[i])
            r.at[i] = std::aligned_alloc(EDL_ALIGN, model.regions.bytes[i]);
    return r;
}

static void check(EdlStatus s, const char *why)
{
    if (s != EDL_OK) {
        std::fprintf(stderr, "%s: %s\n", edl_status_text(s), why);
        std::exit(1);
    }
}

int main()
{
    // exclusive or
    const float x[] = {0, 0, 0, 1, 1, 0, 1, 1}, y[] = {0, 1, 1, 0};
    logic a;
    EdlRegions mine = allocate(logic_model);
    check(logic_init(&a, EDL_ABI, sizeof a, &mine, nullptr), "init");
    check(logic_init_params(&a, 1), "init_params");
    logic_batch batch = {x, y};
    EdlMetrics metrics;
    for (int step = 0; step < 300; step++)
        check(logic_step(&a, &batch, &metrics), logic_last_error(&a));
    float p[4];
    check(logic_get(&a, "p", p, sizeof p), logic_last_error(&a));
    std::printf("logic: loss %.3f, p %.2f %.2f %.2f %.2f\n", metrics.loss,
                p[0], p[1], p[2], p[3]);

    // a line: 16 points a microbatch, 2 microbatches a step
    float u[32], v[32], w, before, after;
    for (int i = 0; i < 32; i++) {
        u[i] = (float)i / 16 - 1;
        v[i] = 3 * u[i] - 2;
    }
    line b;
    EdlRegions other = allocate(line_model);
    check(line_init(&b, EDL_ABI, sizeof b, &other, nullptr), "init");
    check(line_init_params(&b, 2), "init_params");
    line_batch points = {u, v};
    for (int step = 0; step < 200; step++)
        check(line_step(&b, &points, &metrics), line_last_error(&b));
    check(line_get(&b, "fit.w", &w, sizeof w), line_last_error(&b));
    std::printf("line: loss %.3f, slope %.2f\n", metrics.loss, w);

    // a checkpoint, and the same weights back from it
    check(line_save(&b, "line.safetensors"), line_last_error(&b));
    before = w;
    check(line_init_params(&b, 3), "init_params");
    check(line_load(&b, "line.safetensors"), line_last_error(&b));
    check(line_get(&b, "fit.w", &after, sizeof after), line_last_error(&b));
    std::printf("loaded: %s\n", before == after ? "the same" : "different");
    logic_close(&a);
    line_close(&b);
}
