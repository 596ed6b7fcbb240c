#include "edl_code.h"

#include <stdio.h>
#include <stdlib.h>

static int bad;

#define CHECK(x) \
    ((x) ? (void)0 : (void)(printf("line %d: %s\n", __LINE__, #x), bad++))

static uint8_t
nearest(float x, float scale)
{
    return edl_code_of(x, scale, 1u << (EDL_CODE_CUT - 1));
}

/* Every code is the code of its value, whatever the scale. */
static void
values(void)
{
    static const float scales[] = {1.0f, 3.7e-5f, 1.3e20f, 0.1f};
    for (int s = 0; s < 4; s++)
        for (int c = 0; c < 256; c++) {
            float x = edl_code_value((uint8_t)c, scales[s]);
            float root = edl_root_value((uint8_t)c, scales[s]);
            CHECK((nearest(x, scales[s]) & 127) == (c & 127));
            CHECK(edl_root_of(root, scales[s], 1u << (EDL_ROOT_CUT - 1)) == c);
            CHECK(c < 129 || x < 0.0f);
            CHECK(edl_absf(x) <= scales[s]);
        }
    CHECK(edl_code_value(127, 0.1f) == 0.1f);
    CHECK(edl_code_value(0, 5.0f) == 0.0f);
    CHECK(edl_code_value(1, 1.0f) == 1.25f / 65536);
    CHECK(edl_root_value(255, 0.1f) == 0.1f);
    CHECK(edl_root_value(1, 1.0f) == 1.125f / 65536);
}

/* Rounding up or down, but the mean stays. */
static void
means(void)
{
    for (int k = 0; k < 40; k++) {
        float x = (float)(k + 1) / 41, from[2] = {x, -1.0f};
        double sum = 0;
        enum { N = 20000 };
        for (int i = 0; i < N; i++) {
            uint8_t codes[2];
            float scale =
                edl_codes_put(codes, from, 2, edl_code_key(7, i), 256);
            float y = edl_code_value(codes[0], scale);
            CHECK(scale == 1.0f && codes[1] == (127 | 128));
            CHECK(edl_absf(y - x) <= x / 8);
            sum += (double)y;
        }
        CHECK(fabs(sum / N / (double)x - 1) < 2e-3);
    }
}

/* Roots of second moments: never 0 unless they were. */
static void
roots(void)
{
    float v[EDL_CODES] = {4.0f, 0.0f, 1e-30f, 1e-12f}, back[EDL_CODES];
    uint8_t codes[EDL_CODES];
    float scale = edl_codes_put_roots(codes, v, 100, 1, 0);
    edl_codes_get_squares(back, codes, scale, 100);
    CHECK(scale == 2.0f && back[0] == 4.0f && back[1] == 0.0f);
    CHECK(back[2] > 0.0f && back[3] > 0.0f && back[99] == 0.0f);
    CHECK(codes[4] == 0 && codes[2] == 1);
}

static void
odd(void)
{
    float zero[3] = {0.0f, -0.0f, 0.0f}, back[3];
    float wild[3] = {NAN, 1.0f, INFINITY};
    uint8_t codes[3];
    edl_codes_get(back, codes, edl_codes_put(codes, zero, 3, 9, 0), 3);
    CHECK(back[0] == 0.0f && back[1] == 0.0f && back[2] == 0.0f);
    edl_codes_get(back, codes, edl_codes_put(codes, wild, 3, 9, 0), 3);
    CHECK(back[0] != back[0]); /* a NaN shows */
    edl_codes_get(back, codes, edl_codes_put(codes, wild + 1, 2, 9, 0), 2);
    CHECK(back[1] == INFINITY);
}

/* Neighbours, updates and tensors have bits of their own. */
static void
noise(void)
{
    int same = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        same += edl_code_noise(5, i) == edl_code_noise(5, i + 1);
        same += edl_code_key(1, i) == edl_code_key(1, i + 1);
        same += edl_code_key(i, 1) == edl_code_key(i + 1, 1);
    }
    CHECK(same == 0);
}

int
main(void)
{
    values();
    means();
    roots();
    odd();
    noise();
    puts(bad ? "wrong" : "all right");
    return bad != 0;
}
