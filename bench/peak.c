/* bench/peak.c: GFLOP/s of fused multiply-adds, of 1 thread and of 2. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#elif defined(__AVX2__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
enum { CHAINS = 12, ROUNDS = 20000000 };

typedef float Vec __attribute__((vector_size(WIDTH * 4)));

static void *
work(void *arg)
{
    Vec s[CHAINS], x, y;
    for (int l = 0; l < WIDTH; l++) {
        x[l] = 0.999f;
        y[l] = 0.001f;
    }
    for (int i = 0; i < CHAINS; i++)
        s[i] = x * (float)i;
    for (long n = 0; n < ROUNDS; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            s[i] = s[i] * x + y;
    }
    for (int i = 1; i < CHAINS; i++)
        s[0] += s[i];
    *(float *)arg = s[0][0];
    return NULL;
}

static double
measure(int threads)
{
    pthread_t t[2];
    float sink[2];
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, work, &sink[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double s = (double)(to.tv_sec - from.tv_sec) +
               1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    return 2.0 * WIDTH * CHAINS * ROUNDS * threads / s * 1e-9;
}

int
main(void)
{
    double one = measure(1), two = measure(2);
    printf("{\"one\": %.1f, \"two\": %.1f}\n", one, two);
    return 0;
}
