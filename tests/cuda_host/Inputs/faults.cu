/* Programs that are wrong on a device, and one that is right. argv[1] says
 * which; the last line says what the host saw. */
#include <cuda_runtime.h>
#include <host_copy.h>

#include <stdio.h>
#include <string.h>

enum { N = 256 };

static __global__ void
turn(const int *x, int *y, int wait)
{
    __shared__ int all[N];
    all[threadIdx.x] = x[threadIdx.x];
    if (wait)
        __syncthreads();
    y[threadIdx.x] = all[N - 1 - threadIdx.x];
}

/* The same with a copy that goes on beside the thread. */
static __global__ void
turn_copied(const int *x, int *y, int wait)
{
    alignas(16) __shared__ int all[N];
    if (threadIdx.x % 4 == 0)
        edl_copy16(all + threadIdx.x, x + threadIdx.x, 16);
    if (wait)
        edl_copies_wait();
    __syncthreads();
    y[threadIdx.x] = all[N - 1 - threadIdx.x];
}

/* In shared memory that the launch gives: so many numbers of it. */
static __global__ void
turn_given(const int *x, int *y, int skip)
{
    int *const all = (int *)(void *)edl_shared() + skip;
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = all[N - 1 - threadIdx.x];
}

/* Blocks add to one number without waiting for each other. */
static __global__ void
race(int *y)
{
    if (threadIdx.x == 0)
        *y = *y * 3 + (int)blockIdx.x;
}

static __global__ void
beyond(int *y, int by)
{
    y[threadIdx.x + by] = 1;
}

static __global__ void
apart(int *y)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncwarp();
    y[threadIdx.x] = 1;
}

template <typename... P>
static void
launch(cudaStream_t s, void (*kernel)(P...), unsigned blocks, P... a)
{
    void *list[] = {(void *)&a..., NULL};
    cudaLaunchKernel(kernel, dim3(blocks), dim3(N), list, 0, s);
}

/* "given": right; "given-beyond": a number too far; "given-much": more than a
 * kernel gets that has not asked. */
static void
given(const char *what, cudaStream_t s, const int *x, int *y)
{
    int skip = strcmp(what, "given-beyond") == 0;
    const bool much = strcmp(what, "given-much") == 0;
    void *list[] = {&x, &y, &skip, NULL};
    if (cudaLaunchKernel(turn_given, dim3(1), dim3(N), list,
                         much ? 50 << 10 : N * sizeof *y, s) != cudaSuccess)
        edl_host::stop("not launched");
}

/* x comes in on a stream of its own, y is made of it on another: with events
 * between them or without one; in a graph or as it is queued. */
static void
overlap(int *host, int *x, int *y, bool graph, bool fork, bool join)
{
    cudaStream_t copies, s;
    cudaEvent_t began, came, read;
    cudaGraph_t g;
    cudaGraphExec_t run;
    cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&began, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&came, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&read, cudaEventDisableTiming);
    if (graph)
        cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(began, s);
    cudaStreamWaitEvent(copies, began, 0);
    for (int i = 0; i < 4; i++) {
        cudaMemcpyAsync(x, host + i * N, N * sizeof *x, cudaMemcpyHostToDevice,
                        copies);
        cudaEventRecord(came, copies);
        if (fork || (graph && i == 3))
            cudaStreamWaitEvent(s, came, 0);
        launch<const int *, int *, int>(s, turn, 1, x, y + i * N, 1);
        cudaEventRecord(read, s);
        if (join)
            cudaStreamWaitEvent(copies, read, 0);
    }
    if (graph) {
        cudaStreamEndCapture(s, &g);
        cudaGraphInstantiate(&run, g, 0);
        cudaGraphDestroy(g);
        cudaGraphLaunch(run, s);
    }
    cudaStreamSynchronize(s);
    cudaStreamSynchronize(copies);
    if (graph)
        cudaGraphExecDestroy(run);
    cudaEventDestroy(began);
    cudaEventDestroy(came);
    cudaEventDestroy(read);
    cudaStreamDestroy(copies);
    cudaStreamDestroy(s);
}

static unsigned
hash(const int *x, int n)
{
    unsigned h = 0;
    for (int i = 0; i < n; i++)
        h = h * 31 + (unsigned)x[i];
    return h;
}

/* "graph", "streams": right; "-fork": nobody waits for what comes in; "-join":
 * nor for what has been read. */
static int
many(const char *what)
{
    int *host;
    void *p, *q, *r;
    cudaStream_t s;
    cudaMallocHost(&r, 4 * N * sizeof *host);
    host = (int *)r;
    for (int i = 0; i < 4 * N; i++)
        host[i] = i;
    cudaMalloc(&p, N * sizeof *host);
    cudaMalloc(&q, 4 * N * sizeof *host);
    overlap(host, (int *)p, (int *)q, what[0] == 'g', !strstr(what, "-fork"),
            !strstr(what, "-join"));
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMemcpyAsync(host, q, 4 * N * sizeof *host, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
    printf("%u\n", hash(host, 4 * N));
    cudaFreeHost(host);
    cudaFree(p);
    cudaFree(q);
    return 0;
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "right";
    int host[N], *x, *y;
    cudaStream_t s;
    void *p, *q;
    if (strncmp(what, "streams", 7) == 0 || strncmp(what, "graph", 5) == 0)
        return many(what);
    for (int i = 0; i < N; i++)
        host[i] = i;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMalloc(&p, sizeof host);
    cudaMalloc(&q, sizeof host);
    x = (int *)p;
    y = (int *)q;
    cudaMemcpyAsync(x, host, sizeof host, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(y, host, sizeof host, cudaMemcpyHostToDevice, s);
    if (strcmp(what, "race") == 0)
        launch<int *>(s, race, 9, y);
    else if (strcmp(what, "beyond") == 0)
        launch<int *, int>(s, beyond, 1, y, 1);
    else if (strcmp(what, "apart") == 0)
        launch<int *>(s, apart, 1, y);
    else if (strstr(what, "given"))
        given(what, s, x, y);
    else if (strstr(what, "copied"))
        launch<const int *, int *, int>(s, turn_copied, 1, x, y,
                                        strcmp(what, "copied") == 0);
    else
        launch<const int *, int *, int>(s, turn, 1, x, y,
                                        strcmp(what, "unsynced") != 0);
    if (strcmp(what, "touch") == 0)
        printf("%d\n", y[0]);
    memset(host, 0, sizeof host);
    cudaMemcpyAsync(host, y, sizeof host, cudaMemcpyDeviceToHost, s);
    if (strcmp(what, "early") != 0)
        cudaStreamSynchronize(s);
    printf("%u\n", hash(host, N));
    cudaStreamDestroy(s);
    cudaFree(p);
    cudaFree(q);
    return 0;
}
