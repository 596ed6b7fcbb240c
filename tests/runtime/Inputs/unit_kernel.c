/* Random numbers, 16-bit floats, corners of the functions, the pool. */
#include "unit.h"

#include "edl.h"
#include "edl_data.h"
#include "edl_kernel.h"
#include "edl_tensor.h"

#include <stdlib.h>

/* The known answers that come with the paper's library. */
int
unit_philox(void)
{
    int failed = 0;
    uint32_t w[4];
    edl_philox(0, 0, 0, w);
    CHECK(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d);
    CHECK(w[2] == 0xbc57ac4c && w[3] == 0x9b00dbd8);
    edl_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
    CHECK(w[0] == 0x408f276d && w[1] == 0x41c83b0e);
    CHECK(w[2] == 0xa20bc7c6 && w[3] == 0x6d5451fd);
    edl_philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu,
               w);
    CHECK(w[0] == 0xd16cfe09 && w[1] == 0x94fdcceb);
    CHECK(w[2] == 0x5001e420 && w[3] == 0x24126ea1);
    CHECK(edl_hash64("") == 0xcbf29ce484222325u);
    CHECK(edl_hash64("a") == 0xaf63dc4c8601ec8cu);
    CHECK(edl_unitf(UINT32_MAX) < 1.0f && edl_unitf(255) == 0.0f);
    return failed;
}

/* Neighbours together have what each has alone, wherever they begin. */
int
unit_uniforms(void)
{
    enum { MOST = 150 };
    static const int64_t starts[3] = {0, 1000003, (INT64_C(1) << 34) - 70};
    static const uint64_t key = UINT64_C(0xfedcba9876543210);
    static float all[EDL_UNIFORMS(MOST) + 1];
    int failed = 0;
    for (int n = 1; n <= MOST; n++) {
        int wrong = 0;
        for (int i = 0; i < 3 * 5; i++) {
            int64_t first = starts[i / 5] + i % 5;
            all[EDL_UNIFORMS(n)] = 5;
            const float *u = edl_uniforms(all, key, first, 1ull << 33, n);
            for (int j = 0; j < n; j++)
                wrong += u[j] != edl_uniform_at(key, first + j, 1ull << 33);
            wrong += u < all || u > all + 3 || all[EDL_UNIFORMS(n)] != 5;
        }
        CHECK(wrong == 0);
    }
    return failed;
}

/* All of f16 and bf16 go through f32 unchanged; halves round to even. */
int
unit_half(void)
{
    int failed = 0, wrong = 0;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = edl_f16_to_f32((uint16_t)h), y;
        uint16_t back = edl_f32_to_f16(x);
        wrong += x == x ? back != h : (back & 0x7c00) != 0x7c00;
        y = edl_bf16_to_f32((uint16_t)h);
        back = edl_f32_to_bf16(y);
        wrong += y == y ? back != h : (back & 0x7fff) <= 0x7f80;
    }
    CHECK(wrong == 0);
    CHECK(edl_f32_to_f16(65519.0f) == 0x7bff);
    CHECK(edl_f32_to_f16(65520.0f) == 0x7c00);
    CHECK(edl_f32_to_f16(0x1p-25f) == 0 && edl_f32_to_f16(0x1.8p-24f) == 2);
    CHECK(edl_f32_to_f16(0x1.00000002p-25f) == 0);
    CHECK(edl_f32_to_f16(0x1.000002p-25f) == 1);
    CHECK(edl_f32_to_f16(2049.0f) == 0x6800);
    CHECK(edl_f32_to_bf16(edl_float(0x3f808000)) == 0x3f80);
    CHECK(edl_f32_to_bf16(edl_float(0x3f818000)) == 0x3f82);
    CHECK(edl_f32_to_bf16(edl_float(0x7f7fffff)) == 0x7f80);
    return failed;
}

/* Sums of 16 lanes are a fixed tree; of the largest, NaN is kept. */
int
unit_lanes(void)
{
    int failed = 0;
    float x[16];
    double d[16];
    for (int i = 0; i < 16; i++)
        d[i] = x[i] = (float)i;
    CHECK(edl_sum16f(x) == 120 && edl_sum16(d) == 120);
    x[3] = 0x1p+30f; /* 3 + 11, 7 + 15: it meets 11, 22, then the rest */
    CHECK(edl_sum16f(x) == (0x1p+30f + 11 + 22) + (1 + 9 + 5 + 13) +
                               (0 + 8 + 4 + 12 + 2 + 10 + 6 + 14));
    for (int i = 0; i < 16; i++) {
        x[3] = -1;
        x[i] = 100;
        CHECK(edl_max16f(x) == 100 && edl_top16f(x) == 100);
        x[i] = (float)NAN;
        CHECK(isnan(edl_max16f(x)));
        x[i] = (float)i;
    }
    return failed;
}

/* f64 to 16 bits rounds once: what is just above a tie does not become one
 * on its way through f32. */
int
unit_narrow(void)
{
    static const double in[6] = {1 + 0x1p-8 + 0x1p-40,    1 + 0x1p-11 + 0x1p-40,
                                 -(1 + 0x1p-8 + 0x1p-40), 1 + 3 * 0x1p-8 - 0x1p-40,
                                 1e300,                   0x1p-1074};
    uint16_t b[6], h[6];
    int failed = 0;
    CHECK(edl_convert(EDL_F64, in, EDL_BF16, b, 6) == 0);
    CHECK(edl_convert(EDL_F64, in, EDL_F16, h, 6) == 0);
    CHECK(b[0] == 0x3f81 && b[2] == 0xbf81 && b[3] == 0x3f81);
    CHECK(b[4] == 0x7f80 && b[5] == 0);
    CHECK(h[1] == 0x3c01 && h[4] == 0x7c00 && h[5] == 0);
    return failed;
}

static float
at(float (*f)(float), float x)
{
    return f(x);
}

#define WRAP(name)                                                             \
    static float w_##name(float x) { return edl_##name(x); }
WRAP(expf)
WRAP(logf)
WRAP(log1pf)
WRAP(tanhf)
WRAP(sigmoidf)
WRAP(erff)
WRAP(siluf)
WRAP(silu_slopef)
WRAP(softplusf)
WRAP(gelu_erff)
WRAP(gelu_erf_slopef)
WRAP(gelu_tanhf)
WRAP(gelu_tanh_slopef)

int
unit_tails(void)
{
    float (*const all[])(float) = {
        w_expf,
        w_logf,
        w_log1pf,
        w_tanhf,
        w_sigmoidf,
        w_erff,
        w_siluf,
        w_silu_slopef,
        w_softplusf,
        w_gelu_erff,
        w_gelu_erf_slopef,
        w_gelu_tanhf,
        w_gelu_tanh_slopef,
    };
    int failed = 0;
    const float inf = (float)INFINITY, nan = (float)NAN;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(isnan(at(all[i], nan)));
    CHECK(edl_expf(-inf) == 0 && edl_expf(inf) == inf);
    CHECK(edl_expf(-103.0f) == 0x1p-149f && edl_expf(0.0f) == 1.0f);
    CHECK(edl_logf(0.0f) == -inf && edl_logf(inf) == inf);
    CHECK(isnan(edl_logf(-1.0f)) && edl_logf(1.0f) == 0.0f);
    CHECK(edl_log1pf(-1.0f) == -inf && isnan(edl_log1pf(-2.0f)));
    CHECK(edl_log1pf(inf) == inf && edl_log1pf(0x1p-140f) == 0x1p-140f);
    CHECK(edl_tanhf(inf) == 1 && edl_tanhf(-inf) == -1);
    CHECK(edl_bits(edl_tanhf(-0.0f)) == 0x80000000u);
    CHECK(edl_sigmoidf(inf) == 1 && edl_sigmoidf(-inf) == 0);
    CHECK(edl_erff(inf) == 1 && edl_erff(-inf) == -1);
    CHECK(edl_siluf(-inf) == 0 && edl_siluf(inf) == inf);
    CHECK(edl_silu_slopef(inf) == 1 && edl_silu_slopef(-inf) == 0);
    CHECK(edl_softplusf(1000.0f) == 1000 && edl_softplusf(-1000.0f) == 0);
    CHECK(edl_gelu_tanh_slopef(100.0f) == 1);
    CHECK(edl_gelu_tanh_slopef(-100.0f) == 0);
    CHECK(edl_gelu_tanh_slopef(0.0f) == 0.5f);
    CHECK(edl_gelu_tanhf(-inf) == 0 && edl_gelu_tanhf(1e30f) == 1e30f);
    CHECK(edl_gelu_erf_slopef(100.0f) == 1);
    CHECK(edl_gelu_erf_slopef(-100.0f) == 0);
    CHECK(edl_gelu_erf_slopef(0.0f) == 0.5f);
    CHECK(edl_gelu_erff(-inf) == 0 && edl_gelu_erff(inf) == inf);
    CHECK(isnan(edl_maxf(nan, 1)) && isnan(edl_maxf(1, nan)));
    CHECK(isnan(edl_minf(nan, 1)) && isnan(edl_minf(1, nan)));
    CHECK(isnan(edl_reluf(nan)) && isnan(edl_clampf(nan, 0, 1)));
    CHECK(edl_clampf(2, 0, 1) == 1 && edl_signf(-3) == -1);
    return failed;
}

/* Every value once, another order in another epoch, any number of them. */
int
unit_permute(void)
{
    int failed = 0, moved = 0;
    for (int64_t n = 1; n < 300; n = n * 2 + 1) {
        unsigned char seen[512] = {0};
        for (int64_t i = 0; i < n; i++) {
            int64_t x = edl_permute(3, 1, n, i);
            CHECK(x >= 0 && x < n && !seen[x]);
            if (x >= 0 && x < n)
                seen[x] = 1;
            moved += x != edl_permute(3, 2, n, i);
        }
    }
    CHECK(moved > 200);
    return failed;
}

enum { PIECES = 1000, ROUNDS = 2000 };

typedef struct Work {
    int32_t done[PIECES];
    EdlPool *pool;
} Work;

static void
body(void *arg, int64_t i)
{
    Work *w = (Work *)arg;
    w->done[i]++;
}

static void
nested(void *arg, int64_t i)
{
    Work *w = (Work *)arg;
    if (i % 100 == 0)
        edl_pool_for(w->pool, 2, body, w);
}

/* Every piece once, also with more threads than processors, also from
 * within a piece. */
int
unit_pool(void)
{
    static Work w;
    int failed = 0;
    for (int threads = 1; threads <= 5; threads += 2) {
        int wrong = 0;
        memset(&w, 0, sizeof w);
        w.pool = edl_pool_new(threads);
        CHECK(w.pool != NULL);
        for (int round = 0; round < ROUNDS; round++)
            edl_pool_for(w.pool, 1 + round % PIECES, body, &w);
        for (int i = 0; i < PIECES; i++)
            wrong += w.done[i] != 2 * (PIECES - i);
        CHECK(wrong == 0);
        edl_pool_for(w.pool, 1, nested, &w);
        CHECK(w.done[0] == 2 * PIECES + 1 && w.done[1] == 2 * PIECES - 1);
        edl_pool_free(w.pool);
    }
    return failed;
}
