/* bench/step.c: times the steps of an emitted model. Built beside its files
 * with -DMODEL=gpt2_model. Prints one JSON object; with --kernels first a
 * line a kernel: processor time of its pieces, calls, address. With --turns 1
 * it waits for a line before each step and answers one, until its input ends:
 * so several programs run in turns. With -DEDL_PROFILE, of *.profile.o, it
 * prints what the program's own profile says of each kernel. */
#include "edl.h"
#ifdef EDL_PROFILE
#include "edl_profile.h"
#endif
#include "fma.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

extern const EdlModel MODEL;

enum { MAX_KERNELS = 512, MAX_STEPS = 4096 };

typedef struct Spent {
    EdlBody body;
    int64_t calls, pieces, cpu, fma; /* nanoseconds */
    double wall;
} Spent;

typedef struct Bench {
    EdlPool *pool;
    int peaks;
    int nspent;
    Spent spent[MAX_KERNELS];
} Bench;

typedef struct Timed {
    EdlBody body;
    void *arg;
    int64_t cpu, fma;
    int peaks;
} Timed;

static double
now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

enum { LINKS = 10000 }; /* 20 microseconds */

static void
timed_piece(void *arg, int64_t i)
{
    Timed *t = arg;
    double from = now(CLOCK_THREAD_CPUTIME_ID), ms = 0;
    if (t->peaks) {
        volatile float sink = fma_chains((float)i, LINKS);
        (void)sink;
        ms = now(CLOCK_THREAD_CPUTIME_ID) - from;
        __atomic_fetch_add(&t->fma, (int64_t)(ms * 1e6), __ATOMIC_RELAXED);
        from = now(CLOCK_THREAD_CPUTIME_ID);
    }
    t->body(t->arg, i);
    ms = now(CLOCK_THREAD_CPUTIME_ID) - from;
    __atomic_fetch_add(&t->cpu, (int64_t)(ms * 1e6), __ATOMIC_RELAXED);
}

static Spent *
spent_of(Bench *b, EdlBody body)
{
    int i = 0;
    while (i < b->nspent && b->spent[i].body != body)
        i++;
    if (i == MAX_KERNELS)
        abort();
    if (i == b->nspent)
        b->spent[b->nspent++] = (Spent){.body = body};
    return &b->spent[i];
}

static void
plain_for(void *user, int64_t n, EdlBody body, void *arg)
{
    edl_pool_for(((Bench *)user)->pool, n, body, arg);
}

static void
timed_for(void *user, int64_t n, EdlBody body, void *arg)
{
    Bench *b = user;
    Spent *s = spent_of(b, body);
    Timed t = {body, arg, 0, 0, b->peaks};
    double from = now(CLOCK_MONOTONIC);
    edl_pool_for(b->pool, n, timed_piece, &t);
    s->wall += now(CLOCK_MONOTONIC) - from;
    s->cpu += t.cpu;
    s->fma += t.fma;
    s->calls++;
    s->pieces += n;
}

static void
log_error(void *user, int level, const char *text)
{
    (void)user;
    if (level == EDL_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
}

static void
check(EdlInstance *m, EdlStatus s)
{
    if (s == EDL_OK)
        return;
    fprintf(stderr, "step: %s\n", m->error);
    exit(1);
}

/* Whole huge pages where the system has them. */
static void *
region(uint64_t bytes)
{
    enum { HUGE_PAGE = 2 << 20 };
    if (bytes == 0)
        return NULL;
    uint64_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *p = aligned_alloc(HUGE_PAGE, size);
    if (!p)
        exit(3);
    madvise(p, size, MADV_HUGEPAGE);
    return p;
}

static uint32_t
draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void
fill_element(const EdlTensor *t, void *at, int64_t i, uint64_t *state)
{
    uint32_t u = draw(state);
    int64_t range = t->hi > t->lo ? t->hi - t->lo : 1;
    switch (t->dtype) {
    case EDL_I32:
        ((int32_t *)at)[i] = (int32_t)(t->lo + u % range);
        break;
    case EDL_F32:
        ((float *)at)[i] = (float)(u & 0xffff) / 32768.0f - 1.0f;
        break;
    default:
        fprintf(stderr, "step: an input of type %s\n",
                edl_dtype_name(t->dtype));
        exit(1);
    }
}

static void *
input(const EdlTensor *t, int64_t accumulate, uint64_t *state)
{
    int64_t n = edl_tensor_elements(t) * accumulate;
    void *at = calloc((size_t)n, 8);
    if (!at)
        exit(3);
    for (int64_t i = 0; i < n; i++)
        fill_element(t, at, i, state);
    return at;
}

/* A file of u16 tokens behind 1024 bytes: inputs 0 and 1 are one apart. */
static void
read_tokens(const char *path, int32_t *x, int32_t *y, int64_t n)
{
    FILE *f = fopen(path, "rb");
    uint16_t *ids = calloc((size_t)n + 1, sizeof *ids);
    if (!f || !ids || fseek(f, 1024, SEEK_SET) != 0 ||
        fread(ids, sizeof *ids, (size_t)n + 1, f) != (size_t)n + 1) {
        fprintf(stderr, "step: cannot read %s\n", path);
        exit(1);
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = ids[i];
        y[i] = ids[i + 1];
    }
    free(ids);
    fclose(f);
}

/* All parameters as f32, in the order of the table. */
static void
read_params(EdlInstance *m, const char *path)
{
    FILE *f = fopen(path, "rb");
    for (int i = 0; i < MODEL.ntensors; i++) {
        const EdlTensor *t = &MODEL.tensors[i];
        uint64_t bytes = edl_tensor_bytes(t);
        if (t->kind != EDL_PARAM)
            continue;
        void *at = malloc(bytes);
        if (!f || !at || fread(at, 1, bytes, f) != bytes) {
            fprintf(stderr, "step: cannot read %s\n", path);
            exit(1);
        }
        check(m, edl_set(m, t->name, at, bytes));
        free(at);
    }
    if (f)
        fclose(f);
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long
rss_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

/* GFLOP/s of a thread */
static double
peak_of(const Spent *s)
{
    double flop = 2.0 * WIDTH * CHAINS * LINKS * (double)s->pieces;
    return s->fma ? flop / (double)s->fma : 0;
}

static void
report(Bench *b, double *ms, double cpu, const double *loss, int steps,
       int warm)
{
    int n = steps - warm;
    for (int i = 0; i < b->nspent; i++)
        printf("kernel %10.3f cpu %10.3f wall %6lld calls %8lld pieces "
               "%6.1f peak %p\n",
               (double)b->spent[i].cpu * 1e-6 / n, b->spent[i].wall / n,
               (long long)b->spent[i].calls / n,
               (long long)b->spent[i].pieces / n, peak_of(&b->spent[i]),
               (void *)((char *)(size_t)b->spent[i].body -
                        (size_t)(void *)&MODEL));
    qsort(ms + warm, (size_t)n, sizeof *ms, by_size);
    printf("{\"steps_timed\": %d, \"ms_median\": %.3f, \"ms_min\": %.3f, "
           "\"ms_max\": %.3f, \"cpu_ms\": %.3f, \"rss_mib_peak\": %ld, "
           "\"losses\": [",
           n, ms[warm + n / 2], ms[warm], ms[steps - 1], cpu / n, rss_mib());
    for (int i = 0; i < steps && i < 8; i++)
        printf("%s%.6f", i ? ", " : "", loss[i]);
    printf("]}\n");
}

static const char *
flag(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

/* Answers the step before, and waits; false when no more are wanted. */
static bool
next_turn(double last)
{
    int c;
    printf("{\"ms\": %.3f}\n", last);
    fflush(stdout);
    while ((c = getchar()) != EOF && c != '\n')
        continue;
    return c != EOF;
}

static double ms[MAX_STEPS], losses[MAX_STEPS];

int
main(int argc, char **argv)
{
    int steps = atoi(flag(argc, argv, "--steps", "10"));
    int warm = atoi(flag(argc, argv, "--warmup", "2"));
    double lr = atof(flag(argc, argv, "--lr", "1e-4"));
    const char *params = flag(argc, argv, "--params", NULL);
    const char *tokens = flag(argc, argv, "--tokens", NULL);
    int kernels = atoi(flag(argc, argv, "--kernels", "0"));
    bool turns = atoi(flag(argc, argv, "--turns", "0"));
    static Bench b;
    static EdlInstance m;
    steps = turns ? MAX_STEPS : steps;
    if (steps <= warm || steps > MAX_STEPS)
        return 2;
    b.peaks = kernels > 1;
    b.pool = edl_pool_new(atoi(flag(argc, argv, "--threads", "2")));
    EdlHooks hooks = {kernels ? timed_for : plain_for, log_error, NULL, NULL,
                      &b, NULL, NULL};
#ifdef EDL_PROFILE
    hooks.profile = edl_profile_new();
#endif
    EdlRegions regions;
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        regions.at[i] = region(MODEL.regions.bytes[i]);
    check(&m, edl_init(&m, &MODEL, EDL_ABI, sizeof m, &regions, &hooks));
    check(&m, edl_init_params(&m, 1));
    if (params)
        read_params(&m, params);
    edl_set_lr(&m, lr);
    for (int i = EDL_GRADS; i <= EDL_WORKSPACE; i++) /* no first touch later */
        if (regions.at[i])
            memset(regions.at[i], 0, MODEL.regions.bytes[i]);
    uint64_t state = 1;
    void *in[16];
    for (int i = 0; i < MODEL.ninputs && i < 16; i++)
        in[i] = input(&MODEL.inputs[i], MODEL.accumulate, &state);
    if (tokens)
        read_tokens(tokens, in[0], in[1],
                    edl_tensor_elements(&MODEL.inputs[0]) * MODEL.accumulate);
    double cpu = 0;
    for (int i = 0; i < steps; i++) {
        EdlMetrics out;
        if (turns && i >= warm && !next_turn(ms[i > 0 ? i - 1 : 0]))
            steps = i;
        if (i == steps)
            break;
        if (i == warm) {
            b.nspent = 0;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        }
        double from = now(CLOCK_MONOTONIC);
        check(&m, MODEL.step(&m, (const void *const *)in, &out));
        ms[i] = now(CLOCK_MONOTONIC) - from;
        losses[i] = out.loss;
    }
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (steps <= warm)
        return 0;
#ifdef EDL_PROFILE
    edl_profile_print(hooks.profile, edl_profile_peaks(&m), stdout);
    edl_profile_free(hooks.profile);
#endif
    report(&b, ms, cpu, losses, steps, warm);
    return 0;
}
