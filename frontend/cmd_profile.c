/* edlc profile: measures this machine by a program of its own kernels, which
 * it builds in a temporary folder, and writes a machine file. */
#include "frontend/cmd_profile.h"

#include <unistd.h>

#include "frontend/cmd_build.h"
#include "frontend/compile.h"
#include "frontend/lower.h"
#include "frontend/output.h"
#include "frontend/profile_file.h"
#include "frontend/safetensors.h"
#include "ir/base/embedded.h"
#include "ir/base/text_file.h"
#include "passes/plan/cost.h"
#include "passes/plan/fit.h"

enum { STEPS = 15, QUICK_STEPS = 5, CLASSES = 512 };

static Status
write_machine(Session *s, const Machine *k)
{
    TextFile f;
    if (!s->options->output) {
        machine_print(k, stdout);
        return STATUS_DONE;
    }
    text_file_open(&f);
    machine_print(k, f.to);
    const char *text = text_file_close(&f, s->arena);
    return output_write_file(s, s->options->output, text, f.n) ? STATUS_DONE
                                                               : STATUS_INPUT;
}

/* Four digits are more than a measurement is worth. */
static double
rounded(double x)
{
    double unit = 1;
    while (x >= 1e4 * unit)
        unit *= 10;
    while (x > 0 && x < 1e3 * unit && unit > 1e-6)
        unit /= 10;
    double whole = (double)(int64_t)(x / unit + 0.5);
    return unit >= 1 ? whole * unit : whole / (double)(int64_t)(1 / unit + 0.5);
}

static void
round_all(Machine *k)
{
#define NUMBER(table, key, least, c, h200, help)                               \
    k->table##_##key = rounded(k->table##_##key);
#include "passes/plan/machine.def"
#undef NUMBER
    for (int c = 0; c < WORK_COUNT; c++)
        for (int i = 0; i < k->rate[c].n; i++) {
            RatePoint *p = &k->rate[c].at[i];
            *p = (RatePoint){rounded(p->work), rounded(p->per_us)};
        }
}

/* ---- the program ---- */

static Module *
lower_probe(Session *s)
{
    static const Dim quick[] = {{.name = "B", .value = 1}};
    LowerOptions o = {.file = "probe.edl"};
    for (int i = 0; i < embedded_count; i++)
        if (strcmp(embedded_files[i].name, "lib/probe.edl") == 0) {
            o.text = embedded_files[i].text;
            o.n = embedded_files[i].n;
        }
    if (s->options->quick) {
        o.dims = quick;
        o.n_dims = 1;
    }
    return lower_model(s->arena, s->interner, s->diag, &o);
}

static bool
write_inputs(Session *s, const Module *m, const char *path)
{
    VEC(StOut) outs = {0};
    const char *why;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_input)
            continue;
        int64_t n = type_elements(&t->type);
        double *at = ARENA_ARRAY(s->arena, double, n);
        for (int64_t k = 0; k < n; k++)
            at[k] = (double)(k * 131 % CLASSES);
        StOut out = {t->name, t->type, at};
        vec_push(s->arena, &outs, out);
    }
    if (st_write(s->arena, path, outs.at, outs.n, NULL, 0, &why))
        return true;
    diag_error(s->diag, (Span){0}, "%s: %s", path, why);
    return false;
}

/* threads 0: all. */
static bool
run_probe(const Build *b, int steps, int threads, ProfileFile *out)
{
    Arena *a = b->s->arena;
    Words w = {0};
    const char *path = build_path(b, "nodes.json");
    build_add(b, &w, build_path(b, "trainer"));
    build_add(b, &w, "--quiet");
    build_add(b, &w, arena_printf(a, "--steps=%d", steps));
    build_add(b, &w, arena_printf(a, "--inputs=%s", build_path(b, "in.st")));
    build_add(b, &w, arena_printf(a, "--profile=%s", path));
    if (threads > 0)
        build_add(b, &w, arena_printf(a, "--threads=%d", threads));
    build_add(b, &w, NULL);
    bool good = build_run(&w);
    if (!good)
        diag_error(b->s->diag, (Span){0}, "the probe has failed");
    good = good && profile_read(b->s, path, out);
    unlink(path);
    return good;
}

/* ---- rates ---- */

/* What nodes of that name do; those that read or view a tensor do nothing, and
 * may be called as the kernel that changes it. */
static Work
find_work(const Module *m, const ProfileEntry *e)
{
    const Graph *g = module_graph(m, e->graph);
    for (const Node *n = g ? g->first : NULL; n; n = n->next) {
        Work w = work_kernel(n);
        if (!work_is_none(&w) && strcmp(work_name(n), e->node) == 0)
            return w;
    }
    return (Work){0};
}

static void
fit_rates(Session *s, const Module *m, const ProfileFile *p, Machine *k)
{
    VEC(FitKernel) kernels = {0};
    for (int i = 0; i < p->entries.n; i++) {
        Work w = find_work(m, &p->entries.at[i]);
        FitKernel x = {w, p->entries.at[i].ns};
        if (!work_is_none(&w) && x.ns > 0)
            vec_push(s->arena, &kernels, x);
    }
    fit_machine(s->arena, k, kernels.at, kernels.n);
}

static bool
measure(Session *s, const Module *m, const Build *b, Machine *k)
{
    ProfileFile all, one;
    bool quick = s->options->quick;
    if (!write_inputs(s, m, build_path(b, "in.st")) ||
        !run_probe(b, quick ? QUICK_STEPS : STEPS, 0, &all) ||
        !run_probe(b, 0, 1, &one) ||
        !profile_links(s, b->folder, quick, k))
        return false;
    k->device_f32 = all.gflops;
    k->device_f32_core = one.gflops;
    k->device_memory = all.gbytes > 0 ? all.gbytes : k->device_memory;
    k->device_memory_core = one.gbytes;
    fit_rates(s, m, &all, k);
    return true;
}

static void
ask_system(Machine *k)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    k->device_cores = cores > 0 ? (double)cores : 1;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    k->device_l1 = l1 > 0 ? (double)l1 : k->device_l1;
    k->device_l2 = l2 > 0 ? (double)l2 : k->device_l2;
    k->device_l3 = l3 > 0 ? (double)l3 : 0;
#endif
}

static Status
measure_cuda(Session *s, Machine *k)
{
    Status status = profile_cuda(s, k);
    const Machine whole = *k;
    round_all(k);
    k->device_cores = whole.device_cores;
    k->device_l1 = whole.device_l1;
    k->device_l2 = whole.device_l2;
    return status == STATUS_DONE ? write_machine(s, k) : status;
}

Status
cmd_profile(Session *s)
{
    Machine k = *machine_default(s->options->target);
    OutFiles files = {0};
    bool cuda = strcmp(k.target, "cuda") == 0;
    if (s->options->inputs.n > (cuda ? 1 : 0)) {
        fprintf(stderr, "edlc: profile takes %s\n",
                cuda ? "one file" : "no file but with --target=cuda");
        return STATUS_USAGE;
    }
    if (s->options->show)
        return write_machine(s, &k);
    if (s->options->output && !output_ask(s, s->options->output))
        return STATUS_INPUT;
    k.name = "measured by edlc profile";
    if (cuda)
        return measure_cuda(s, &k);
    Module *m = lower_probe(s);
    if (!m)
        bug("the probe is not right");
    Status status = compile_model(s, m, &files);
    if (status != STATUS_DONE)
        return status;
    Build b = {.s = s, .files = &files, .define = "-DEDL_PROFILE"};
    if (!build_make(&b, "profile"))
        return STATUS_INPUT;
    bool good = measure(s, m, &b, &k);
    round_all(&k);
    ask_system(&k); /* whole bytes */
    unlink(build_path(&b, "in.st"));
    build_remove(&b);
    return good ? write_machine(s, &k) : STATUS_INPUT;
}
