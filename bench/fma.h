/* Chains of fused multiply-adds: the most that a core computes. */
#ifndef EDL_BENCH_FMA_H
#define EDL_BENCH_FMA_H

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#elif defined(__AVX2__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
enum { CHAINS = 12 };

typedef float Vec __attribute__((vector_size(WIDTH * 4)));

/* 2 * WIDTH * CHAINS * links operations; the result is to be kept. */
static float
fma_chains(float start, long links)
{
    Vec s[CHAINS], x, y;
    for (int l = 0; l < WIDTH; l++) {
        x[l] = 0.999f;
        y[l] = start;
    }
    for (int i = 0; i < CHAINS; i++)
        s[i] = x * (float)i;
    for (long n = 0; n < links; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            s[i] = s[i] * x + y;
    }
    for (int i = 1; i < CHAINS; i++)
        s[0] += s[i];
    return s[0][0];
}

#endif
