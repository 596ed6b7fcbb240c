/* Writes text with the parameters that chargpt.edl trained:
 *
 *     write_text chargpt.safetensors "This License" 400 [SEED]
 *
 * A program of one's own around an emitted model: it owns all memory, loads a
 * checkpoint, and runs `chargpt_next`, the forward pass of chargpt.edl. */
#include "chargpt_next.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = CHARGPT_NEXT_DIM_T };

static int
fail(const char *what)
{
    fprintf(stderr, "write_text: %s\n", what);
    return 1;
}

/* A number in [0, 1): xorshift64*. */
static double
unit(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 0x2545F4914F6CDD1Du >> 11) * 0x1p-53;
}

/* Draws a byte from softmax(logits / temperature). */
static int
draw(const float *logits, int n, double temperature, uint64_t *state)
{
    double largest = logits[0], sum = 0, weight[256];
    for (int i = 0; i < n; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int i = 0; i < n; i++)
        sum += weight[i] = exp((logits[i] - largest) / temperature);
    double left = unit(state) * sum;
    for (int i = 0; i < n; i++)
        if ((left -= weight[i]) < 0)
            return i;
    return n - 1;
}

/* Appends `count` bytes to text[0 .. n-1] and prints them. */
static int
write_text(chargpt_next *m, unsigned char *text, int n, int count, uint64_t seed)
{
    int vocabulary = (int)chargpt_next_model.outputs[0].dims[2];
    size_t bytes = sizeof(float) * (size_t)(T * vocabulary);
    float *logits = (float *)malloc(bytes);
    int ok = logits != NULL;
    for (int end = n + count; ok && n < end; n++) {
        int32_t tokens[T] = {0};
        int from = n > T ? n - T : 0;
        for (int i = from; i < n; i++)
            tokens[i - from] = text[i];
        chargpt_next_batch batch = {tokens};
        ok = chargpt_next_infer(m, &batch) == EDL_OK &&
             chargpt_next_get(m, "logits", logits, bytes) == EDL_OK;
        if (!ok)
            break;
        const float *last = logits + (size_t)(n - from - 1) * (size_t)vocabulary;
        text[n] = (unsigned char)draw(last, vocabulary, 0.7, &seed);
        putchar(text[n]);
    }
    free(logits);
    putchar('\n');
    return ok ? 0 : fail(chargpt_next_last_error(m));
}

int
main(int argc, char **argv)
{
    if (argc < 4)
        return fail("usage: write_text CHECKPOINT PROMPT COUNT [SEED]");
    int n = (int)strlen(argv[2]), count = atoi(argv[3]);
    uint64_t seed = argc > 4 ? (uint64_t)atoll(argv[4]) : 1;
    if (n == 0 || count < 1 || count > 1000000)
        return fail("expected a prompt and a count of 1 to 1000000");
    EdlRegions regions = {{NULL}};
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        regions.at[i] =
            aligned_alloc(EDL_ALIGN, (size_t)chargpt_next_model.regions.bytes[i]);
    chargpt_next m;
    EdlPool *pool = edl_pool_new(2);
    EdlHooks hooks = {edl_pool_for, NULL, NULL, NULL, pool, NULL, NULL};
    unsigned char *text = (unsigned char *)malloc((size_t)(n + count));
    int status = 1;
    if (!text || chargpt_next_init(&m, EDL_ABI, sizeof m, &regions, &hooks) ||
        chargpt_next_load(&m, argv[1])) {
        fail(text ? chargpt_next_last_error(&m) : "out of memory");
    } else {
        memcpy(text, argv[2], (size_t)n);
        fputs(argv[2], stdout);
        status = write_text(&m, text, n, count, seed * 0x9E3779B97F4A7C15u + 1);
    }
    chargpt_next_close(&m);
    edl_pool_free(pool);
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        free(regions.at[i]);
    free(text);
    return status;
}
