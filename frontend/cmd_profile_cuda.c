/* edlc profile --target=cuda: builds lib/probe.cu with nvcc, runs it on the
 * GPU, and takes its figures into a machine. */
#include "frontend/cmd_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/cmd_build.h"
#include "frontend/compile.h"
#include "frontend/lower_session.h"
#include "ir/algorithm.h"
#include "ir/base/embedded.h"
#include "passes/plan/fit.h"

typedef struct Probe {
    Session *s;
    Machine *k;
    LibraryProducts products;
    VEC(FitKernel) kernels;
} Probe;

/* ---- what is measured ---- */

static void
add_products(Probe *p, const LibraryProducts *more)
{
    for (int i = 0; i < more->n; i++) {
        bool known = false;
        for (int k = 0; k < p->products.n; k++)
            known |= strcmp(p->products.at[k].words, more->at[i].words) == 0;
        if (!known)
            vec_push(p->s->arena, &p->products, more->at[i]);
    }
}

/* The products of all models of the file. */
static Status
find_products(Probe *p, const char *path)
{
    Session *s = p->s;
    LowerOptions o;
    Modules models = {0};
    if (!lower_options(s, path, &o) ||
        !lower_file(s->arena, s->interner, s->diag, &o, &models))
        return STATUS_INPUT;
    for (int i = 0; i < models.n; i++) {
        OutFiles files = {0};
        LibraryProducts found = {0};
        Status status = compile_model(s, models.at[i], &files);
        if (status != STATUS_DONE)
            return status;
        if (!codegen_products(models.at[i], &found))
            return STATUS_INPUT;
        add_products(p, &found);
    }
    return STATUS_DONE;
}

/* probe_products.h */
static const char *
products_text(const Probe *p)
{
    Arena *a = p->s->arena;
    const char *rows = "";
    for (int i = 0; i < p->products.n; i++)
        rows = arena_printf(a, "%s    {\"%s\", %s, 0, {-1}},\n", rows,
                            p->products.at[i].words,
                            p->products.at[i].numbers);
    return arena_printf(a,
                        "enum { PRODUCTS = %d };\n"
                        "static const EdlProductShape products[] = {\n%s"
                        "    {\"\", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                        "0, 0, 0, 0, 0, {-1}},\n};\n",
                        p->products.n, rows);
}

/* ---- the program ---- */

/* The probe, the products of the runtime, and all of its headers. */
static bool
is_needed(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strcmp(name, "lib/probe.cu") == 0 ||
           strcmp(name, "runtime/edl_cuda_product.cu") == 0 ||
           strcmp(dot, ".h") == 0 || strcmp(dot, ".cuh") == 0;
}

static void
add_sources(Probe *p, OutFiles *files)
{
    for (int i = 0; i < embedded_count; i++) {
        const Embedded *f = &embedded_files[i];
        OutFile x = {strrchr(f->name, '/') + 1, f->text, f->n};
        if (is_needed(f->name))
            vec_push(p->s->arena, &files->files, x);
    }
    const char *text = products_text(p);
    OutFile x = {"probe_products.h", text, strlen(text)};
    vec_push(p->s->arena, &files->files, x);
}

static bool
compile(const Build *b)
{
    static const char *const flags[] = {"-O3", "-std=c++17", "-arch=native"};
    Session *s = b->s;
    const char *nvcc = getenv("NVCC");
    Words w = {0};
    build_add(b, &w, nvcc && *nvcc ? nvcc : "nvcc");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        build_add(b, &w, flags[i]);
    if (s->options->quick) {
        build_add(b, &w, "-DEDL_PROBE_MOST=2048");
        build_add(b, &w, "-DEDL_PROBE_BYTES=(1<<28)");
    }
    build_add(b, &w, build_path(b, "probe.cu"));
    build_add(b, &w, build_path(b, "edl_cuda_product.cu"));
    build_add(b, &w, "-o");
    build_add(b, &w, build_path(b, "trainer"));
    build_add(b, &w, "-lcublasLt");
    build_add(b, &w, NULL);
    if (build_run(&w))
        return true;
    diag_error(s->diag, (Span){0}, "the CUDA compiler has failed; `profile "
               "--target=cuda` needs a working nvcc and a GPU");
    return false;
}

static bool
run(const Build *b, const char *out)
{
    Words w = {0};
    build_add(b, &w, build_path(b, "trainer"));
    build_add(b, &w, out);
    build_add(b, &w, NULL);
    if (build_run(&w))
        return true;
    diag_error(b->s->diag, (Span){0}, "the probe has failed on the GPU");
    return false;
}

/* ---- its figures ---- */

/* "device.memory 4012.5" */
static bool
take_number(Machine *k, const char *line)
{
    const size_t n = strcspn(line, " ");
#define NUMBER(table, key, least, c, h200, help)                               \
    if (strlen(#table "." #key) == n &&                                        \
        strncmp(line, #table "." #key, n) == 0) {                              \
        k->table##_##key = strtod(line + n, NULL);                             \
        return true;                                                           \
    }
#include "passes/plan/machine.def"
#undef NUMBER
    return false;
}

/* "class bf16 NS FLOPS BYTES", of a square product. */
static bool
take_square(Probe *p, const char *line)
{
    char type[8];
    double ns, flops, bytes;
    if (sscanf(line, "class %7s %lf %lf %lf", type, &ns, &flops, &bytes) != 4 ||
        !(ns > 0))
        return false;
    bool narrow = strcmp(type, "bf16") == 0;
    double *most = narrow ? &p->k->device_bf16 : &p->k->device_f32;
    FitKernel x = {.ns = ns};
    x.work.amount[WORK_product] = flops;
    x.work.narrow[WORK_product] = narrow ? flops : 0;
    x.work.bytes = (int64_t)bytes;
    vec_push(p->s->arena, &p->kernels, x);
    if (flops / ns > *most)
        *most = flops / ns;
    return true;
}

/* "product INDEX NS ID TILE ..." */
static bool
take_product(Probe *p, const char *line)
{
    int at, used;
    double ns;
    Algorithm x;
    if (sscanf(line, "product %d %lf %" SCNd64 "%n", &at, &ns, &x.id, &used) !=
            3 || at < 0 || at >= p->products.n)
        return false;
    for (int i = 0; i < ALGORITHM_SETTINGS; i++) {
        int more;
        if (sscanf(line + used, " %" SCNd64 "%n", &x.setting[i], &more) != 1)
            return false;
        used += more;
    }
    const char *text = algorithm_text(p->s->arena, &x);
    ProductChoice c = {.product = p->products.at[at].words, .algorithm = text};
    Algorithm again;
    if (!algorithm_read(p->s->arena, text, &again)) /* else `init` finds one */
        vec_push(p->s->arena, &p->k->products, c);
    return true;
}

static bool
take_figures(Probe *p, char *text)
{
    p->k->device_f32 = p->k->device_bf16 = 0;
    p->k->device_l3 = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!take_square(p, line) && !take_product(p, line) &&
            !take_number(p->k, line)) {
            diag_error(p->s->diag, (Span){0}, "the probe says `%s`", line);
            return false;
        }
    if (p->k->device_f32 > 0 && p->k->device_bf16 > 0)
        return true;
    diag_error(p->s->diag, (Span){0}, "the probe has measured no products");
    return false;
}

/* Memory and start of a kernel were measured by themselves. */
static void
fit_products(Probe *p)
{
    const Machine was = *p->k;
    fit_machine(p->s->arena, p->k, p->kernels.at, p->kernels.n);
    p->k->device_memory = was.device_memory;
    p->k->device_start_ns = was.device_start_ns;
    p->k->device_f32_core = was.device_f32 / was.device_cores;
}

static bool
measure(Probe *p, const Build *b)
{
    const char *out = build_path(b, "figures.txt"), *text;
    size_t n;
    bool good = compile(b) && run(b, out) && session_read(p->s, out, &text, &n);
    unlink(out);
    if (!good || !take_figures(p, arena_strndup(p->s->arena, text, n)))
        return false;
    fit_products(p);
    return true;
}

Status
profile_cuda(Session *s, Machine *k)
{
    Probe p = {.s = s, .k = k};
    OutFiles files = {0};
    if (s->options->inputs.n > 0) {
        Status status = find_products(&p, s->options->inputs.at[0]);
        if (status != STATUS_DONE)
            return status;
    }
    add_sources(&p, &files);
    Build b = {.s = s, .files = &files};
    if (!build_open(&b))
        return STATUS_INPUT;
    bool good = measure(&p, &b);
    build_remove(&b);
    return good ? STATUS_DONE : STATUS_INPUT;
}
