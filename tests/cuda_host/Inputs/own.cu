/* mlp in a program that has CUDA of its own: one arena for all regions, and a
 * stream on which it queues before a step. Prints what differs from a program
 * without; EDL_OWN=other leaves the stream out. */
#include "edl_cuda.cuh"
#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = MLP_DIM_B };

static float x[B * 64];
static int32_t label[B];

static float
step(mlp *m)
{
    const mlp_batch b = {x, label};
    EdlMetrics out;
    if (mlp_step(m, &b, &out) != EDL_OK) {
        printf("%s\n", mlp_last_error(m));
        exit(1);
    }
    return (float)out.loss;
}

/* Regions one behind the other; 0: they do not fit. */
static int
cut(unsigned char *arena, uint64_t bytes, EdlRegions *out)
{
    uint64_t at = 0;
    for (int i = 0; i < EDL_REGION_COUNT; i++) {
        out->at[i] = i == EDL_HOST ? NULL : arena + at;
        at += i == EDL_HOST ? 0 : mlp_model.regions.bytes[i];
    }
    return at <= bytes;
}

int
main(void)
{
    const char *how = getenv("EDL_OWN");
    const int other = how && strcmp(how, "other") == 0;
    const uint64_t size = mlp_model.regions.bytes[EDL_STATE];
    uint64_t all = 0;
    void *arena = NULL, *kept = NULL;
    cudaStream_t mine;
    EdlRegions r;
    mlp m;
    for (int i = 0; i < B * 64; i++)
        x[i] = (float)(i * 37 % 17) / 17.0f;
    for (int i = 0; i < B; i++)
        label[i] = i * 7 % 10;
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        all += mlp_model.regions.bytes[i];
    cudaMalloc(&arena, all);
    cudaMallocHost(&kept, size);
    cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking);
    if (!cut((unsigned char *)arena, all, &r) ||
        mlp_init(&m, EDL_ABI, sizeof m, &r, NULL) != EDL_OK ||
        (!other && edl_cuda_set_stream(&m.self, mine) != EDL_OK))
        return 1;
    mlp_init_params(&m, 1);
    cudaMemcpyAsync(kept, r.at[EDL_STATE], size, cudaMemcpyDeviceToHost, mine);
    cudaStreamSynchronize(mine);
    const float first = step(&m), second = step(&m);
    /* the first state again: nobody waits for it but the stream */
    cudaMemcpyAsync(r.at[EDL_STATE], kept, size, cudaMemcpyHostToDevice, mine);
    const float again = step(&m);
    mlp_close(&m);
    cudaStreamSynchronize(mine); /* it is still there */
    printf("%s: %s, %s\n", other ? "other" : "own",
           second != first ? "trains" : "does not train",
           again == first ? "in order" : "out of order");
    cudaStreamDestroy(mine);
    cudaFree(arena);
    cudaFreeHost(kept);
    return 0;
}
