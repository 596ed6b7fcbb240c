/* probe.cu: what `edlc profile --target=cuda` measures on a device, a line a
 * figure: "device.memory 4012.5"; "class bf16 NS FLOPS BYTES"; "product INDEX NS
 * ID TILE ..." of products of probe_products.h. */
#include "edl_cuda_parts.cuh"
#include "probe_products.h"

#include <stdlib.h>

/* The side of the largest square product; bytes of the largest copy. */
#ifndef EDL_PROBE_MOST
#define EDL_PROBE_MOST 8192
#endif
#ifndef EDL_PROBE_BYTES
#define EDL_PROBE_BYTES (1 << 30)
#endif

enum { TRIES = 5, KERNELS = 200, CANDIDATES = 24 };

typedef struct Probe {
    Context c; /* its library, its stream, its first failure */
    cudaStream_t other;
    cudaEvent_t from, to;
    FILE *out;
} Probe;

static void
note(Probe *p, cudaError_t e)
{
    if (e != cudaSuccess)
        fail(&p->c, "cuda", cudaGetErrorString(e));
}

static void
say(Probe *p, const char *key, double value)
{
    fprintf(p->out, "%s %.9g\n", key, value);
}

/* ---- kernels ---- */

static __global__ void
copy_kernel(const float4 *from, float4 *to, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = edl_thread(); i < n; i += step)
        to[i] = from[i];
}

/* Numbers around 1 of both signs, as f32 or two bf16: a device that multiplies
 * zeros draws less power, and is faster. */
static __global__ void
fill_kernel(uint32_t *to, int64_t n, int narrow)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = edl_thread(); i < n; i += step) {
        const uint32_t x = (uint32_t)i * 2654435761u;
        const uint32_t low = 0x3f00u | (x >> 8 & 0x807fu);
        to[i] = narrow ? low | low << 16 : 0x3f000000u | (x & 0x807fffffu);
    }
}

static __global__ void
empty_kernel(void)
{
}

template <typename... P>
static void
launch(Probe *p, void (*kernel)(P...), int blocks, int threads, P... a)
{
    void *list[] = {(void *)&a..., NULL};
    note(p, cudaLaunchKernel(kernel, dim3((unsigned)blocks),
                             dim3((unsigned)threads), list, 0, p->c.stream));
}

/* ---- time ---- */

static int
by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double
median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

static void
begin(Probe *p)
{
    note(p, cudaEventRecord(p->from, p->c.stream));
}

/* ns since `begin` */
static double
end(Probe *p)
{
    float ms = 0.0f;
    note(p, cudaEventRecord(p->to, p->c.stream));
    note(p, cudaStreamSynchronize(p->c.stream));
    note(p, cudaEventElapsedTime(&ms, p->from, p->to));
    return ms > 1e-6f ? 1e6 * (double)ms : 1.0;
}

/* ---- the device ---- */

static void
ask(Probe *p, const char *key, enum cudaDeviceAttr what)
{
    int device = 0, value = 0;
    note(p, cudaGetDevice(&device));
    note(p, cudaDeviceGetAttribute(&value, what, device));
    say(p, key, value);
}

static void *
allocate(Probe *p, size_t bytes)
{
    void *x = NULL;
    note(p, cudaMalloc(&x, bytes));
    return x;
}

static void
measure_memory(Probe *p)
{
    const size_t bytes = EDL_PROBE_BYTES / 2;
    double rate[TRIES];
    float4 *from = (float4 *)allocate(p, bytes);
    float4 *to = (float4 *)allocate(p, bytes);
    for (int i = -1; i < TRIES && !p->c.failed; i++) {
        begin(p);
        launch(p, copy_kernel, 2048, 256, (const float4 *)from, to,
               (int64_t)(bytes / sizeof *to));
        const double ns = end(p);
        if (i >= 0)
            rate[i] = 2.0 * (double)bytes / ns;
    }
    if (!p->c.failed)
        say(p, "device.memory", median(rate, TRIES));
    note(p, cudaFree(from));
    note(p, cudaFree(to));
}

/* In a graph, as a step is. */
static void
measure_start(Probe *p)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t all = NULL;
    double ns[TRIES];
    note(p, cudaStreamBeginCapture(p->c.stream,
                                   cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < KERNELS; i++)
        launch(p, empty_kernel, 1, 32);
    note(p, cudaStreamEndCapture(p->c.stream, &graph));
    if (p->c.failed)
        return;
    note(p, cudaGraphInstantiate(&all, graph, 0));
    for (int i = -1; i < TRIES && !p->c.failed; i++) {
        begin(p);
        note(p, cudaGraphLaunch(all, p->c.stream));
        const double now = end(p) / KERNELS;
        if (i >= 0)
            ns[i] = now;
    }
    if (!p->c.failed)
        say(p, "device.start_ns", median(ns, TRIES));
    note(p, cudaGraphExecDestroy(all));
    note(p, cudaGraphDestroy(graph));
}

/* ---- the link to the host ---- */

/* GB/s; in, out: bytes each way at once. */
static double
link_rate(Probe *p, unsigned char *device, unsigned char *host, size_t in,
          size_t out)
{
    double rate[TRIES];
    for (int i = -1; i < TRIES && !p->c.failed; i++) {
        begin(p);
        note(p, cudaStreamWaitEvent(p->other, p->from, 0));
        if (in)
            note(p, cudaMemcpyAsync(device, host, in, cudaMemcpyHostToDevice,
                                    p->c.stream));
        if (out)
            note(p, cudaMemcpyAsync(host + in, device + in, out,
                                    cudaMemcpyDeviceToHost, p->other));
        note(p, cudaEventRecord(p->to, p->other));
        note(p, cudaStreamWaitEvent(p->c.stream, p->to, 0));
        const double ns = end(p);
        if (i >= 0)
            rate[i] = (double)(in + out) / ns;
    }
    return p->c.failed ? 0.0 : median(rate, TRIES);
}

static void
measure_link(Probe *p)
{
    const size_t half = EDL_PROBE_BYTES / 4;
    void *host = NULL;
    note(p, cudaMallocHost(&host, 2 * half));
    unsigned char *device = (unsigned char *)allocate(p, 2 * half);
    unsigned char *at = (unsigned char *)host;
    if (!p->c.failed) {
        memset(host, 1, 2 * half);
        say(p, "host.in", link_rate(p, device, at, half, 0));
        say(p, "host.out", link_rate(p, device, at, 0, half));
        say(p, "host.both", link_rate(p, device, at, half, half));
        say(p, "host.latency_ns", 64.0 / link_rate(p, device, at, 64, 0));
    }
    note(p, cudaFree(device));
    note(p, cudaFreeHost(host));
}

/* ---- products ---- */

/* Bytes of a matrix and what a batch of it spans. */
static size_t
extent(int64_t lines, int64_t lead, int64_t batch, int64_t stride, int narrow)
{
    return (size_t)((batch - 1) * stride + lines * lead) * (narrow ? 2 : 4);
}

static size_t
aligned(size_t n)
{
    return (n + 255) / 256 * 256;
}

/* ns of one; what is slower by far than `best` is timed once. */
static double
time_plan(Probe *p, const Plan *plan, void *const *at, double best)
{
    const float one = 1.0f, none = 0.0f;
    double ns = 0.0;
    int runs = 1;
    for (int turn = 0; turn < 2 && !p->c.failed; turn++) {
        begin(p);
        for (int i = 0; i < runs; i++)
            if (cublasLtMatmul(p->c.library, plan->product, &one, at[1],
                               plan->b, at[0], plan->a, &none, at[2], plan->c,
                               at[2], plan->c, &plan->algo, at[3],
                               plan->workspace,
                               p->c.stream) != CUBLAS_STATUS_SUCCESS)
                return -1.0;
        ns = end(p) / runs;
        if (best > 0.0 && ns > 4.0 * best)
            break;
        runs = ns > 1e7 ? 3 : ns > 1e5 ? 20 : 100;
    }
    return ns;
}

/* Every candidate, made again from its settings as `init` will make it: the
 * best in *out, its ns; 0 after a failure. */
static double
search(Probe *p, const Plan *found, void *const *at, int32_t *out)
{
    cublasLtMatmulHeuristicResult_t all[CANDIDATES];
    int n = edl_cuda_candidates(&p->c, found, all, CANDIDATES);
    double best = 0.0;
    for (int i = 0; i < n && !p->c.failed; i++) {
        Plan plan;
        EdlProductShape shape = found->shape;
        Context quiet = p->c;
        memset(&plan, 0, sizeof plan);
        edl_cuda_read_algorithm(&all[i].algo, shape.algorithm);
        edl_cuda_plan(&quiet, &plan, &shape);
        const double ns =
            quiet.failed ? -1.0 : time_plan(p, &plan, at, best);
        edl_cuda_plan_end(&plan);
        if (ns <= 0.0 || (best > 0.0 && ns >= best))
            continue;
        best = ns;
        memcpy(out, shape.algorithm, sizeof shape.algorithm);
    }
    return best;
}

/* ns of the best algorithm; 0 after a failure, and where none can be made again
 * from its settings: then `init` finds one. */
static double
measure_product(Probe *p, const EdlProductShape *s, int32_t *algorithm)
{
    Plan plan;
    void *at[4];
    const size_t bytes[3] = {
        aligned(extent(s->a_turned ? s->k : s->m, s->lda, s->batch,
                       s->a_stride, s->narrow)),
        aligned(extent(s->b_turned ? s->n : s->k, s->ldb, s->batch,
                       s->b_stride, s->narrow)),
        aligned(extent(s->m, s->ldc, s->batch, s->c_stride, s->c_narrow)),
    };
    const size_t inputs = bytes[0] + bytes[1];
    const size_t workspace = aligned((size_t)s->workspace + 256);
    unsigned char *memory = (unsigned char *)allocate(
        p, inputs + bytes[2] + workspace);
    if (p->c.failed)
        return 0.0;
    memset(&plan, 0, sizeof plan);
    at[0] = memory;
    at[1] = memory + bytes[0];
    at[2] = memory + inputs;
    at[3] = memory + inputs + bytes[2];
    launch(p, fill_kernel, 1024, 256, (uint32_t *)(void *)memory,
           (int64_t)(inputs / 4), (int)s->narrow);
    edl_cuda_plan(&p->c, &plan, s);
    const double ns = p->c.failed ? 0.0 : search(p, &plan, at, algorithm);
    edl_cuda_plan_end(&plan);
    note(p, cudaFree(memory));
    return ns;
}

static void
measure_squares(Probe *p, int narrow)
{
    for (int64_t d = 256 < EDL_PROBE_MOST ? 256 : EDL_PROBE_MOST;
         d <= EDL_PROBE_MOST && !p->c.failed; d *= 2) {
        int32_t algorithm[9];
        const EdlProductShape s = {
            "a square product", d, d, d, 0, 0, d, d, d, 1, 0, 0, 0, 16, 16, 16,
            narrow, narrow, (32 << 20) + 256, 0, {-1}};
        const double ns = measure_product(p, &s, algorithm), side = (double)d;
        if (ns <= 0.0)
            fail(&p->c, s.name, "no algorithm of it runs");
        if (!p->c.failed)
            fprintf(p->out, "class %s %.9g %.9g %.9g\n", narrow ? "bf16" : "f32",
                    ns, 2.0 * side * side * side,
                    3.0 * side * side * (narrow ? 2.0 : 4.0));
    }
}

static void
measure_model(Probe *p)
{
    for (int i = 0; i < PRODUCTS && !p->c.failed; i++) {
        int32_t x[9];
        const double ns = measure_product(p, &products[i], x);
        if (ns <= 0.0) {
            fprintf(stderr, "probe: %s: no algorithm of it can be stated\n",
                    products[i].name);
            continue;
        }
        fprintf(p->out, "product %d %.9g", i, ns);
        for (int k = 0; k < 9; k++)
            fprintf(p->out, " %d", (int)x[k]);
        fprintf(p->out, "\n");
    }
}

/* ---- the whole ---- */

static void
measure(Probe *p)
{
    ask(p, "device.cores", cudaDevAttrMultiProcessorCount);
    ask(p, "device.l1", cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    ask(p, "device.l2", cudaDevAttrL2CacheSize);
    if (!p->c.failed)
        measure_memory(p);
    if (!p->c.failed)
        measure_start(p);
    if (!p->c.failed)
        measure_link(p);
    measure_squares(p, 0);
    measure_squares(p, 1);
    measure_model(p);
}

static void
open_probe(Probe *p)
{
    note(p, cudaStreamCreateWithFlags(&p->c.stream, cudaStreamNonBlocking));
    note(p, cudaStreamCreateWithFlags(&p->other, cudaStreamNonBlocking));
    note(p, cudaEventCreate(&p->from));
    note(p, cudaEventCreate(&p->to));
    if (cublasLtCreate(&p->c.library) != CUBLAS_STATUS_SUCCESS)
        fail(&p->c, "cublasLt", "it cannot be used");
}

static void
close_probe(Probe *p)
{
    (void)cublasLtDestroy(p->c.library);
    (void)cudaEventDestroy(p->from);
    (void)cudaEventDestroy(p->to);
    (void)cudaStreamDestroy(p->other);
    (void)cudaStreamDestroy(p->c.stream);
}

int
main(int argc, char **argv)
{
    Probe p;
    memset(&p, 0, sizeof p);
    p.out = argc == 2 ? fopen(argv[1], "w") : stdout;
    if (!p.out)
        return 2;
    open_probe(&p);
    if (!p.c.failed) {
        measure(&p);
        close_probe(&p);
    }
    if (p.out != stdout && fclose(p.out) != 0)
        return 2;
    if (p.c.failed)
        fprintf(stderr, "probe: %s\n", p.c.text);
    return p.c.failed;
}
