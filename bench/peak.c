/* bench/peak.c: GFLOP/s of fused multiply-adds, of 1 thread and of 2. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "fma.h"

enum { LINKS = 20000000 };

static void *
work(void *arg)
{
    *(float *)arg = fma_chains(0.001f, LINKS);
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
    return 2.0 * WIDTH * CHAINS * LINKS * threads / s * 1e-9;
}

int
main(void)
{
    double one = measure(1), two = measure(2);
    printf("{\"one\": %.1f, \"two\": %.1f}\n", one, two);
    return 0;
}
