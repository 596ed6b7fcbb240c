/* From a module to the files of out/. */
#include "codegen/cuda.h"
#include "ir/base/embedded.h"
#include "ir/base/text_file.h"
#include "ir/optimizer.h"
#include "ir/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the model's parts ---- */

static bool
has_program(const Module *m, const char *name)
{
    for (int i = 0; i < m->programs.n; i++)
        if (strcmp(m->programs.at[i]->name, name) == 0)
            return true;
    return false;
}

static bool
calls_graph(const Module *m, const char *program, const char *graph)
{
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        for (int j = 0; j < p->actions.n; j++)
            if (strcmp(p->name, program) == 0 &&
                p->actions.at[j]->kind == ACTION_call &&
                strcmp(p->actions.at[j]->graph->name, graph) == 0)
                return true;
    }
    return false;
}

static void
sort_tensors(CModel *c)
{
    Module *m = c->cg.m;
    Arena *a = c->cg.arena;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind == TENSOR_input)
            vec_push(a, &c->inputs, t);
        else if (t->kind == TENSOR_output && strncmp(t->name, "edl.", 4) != 0)
            vec_push(a, &c->outputs, t);
        else if (t->kind != TENSOR_output && t->kind != TENSOR_stash &&
                 !optimizer_is_scale(t)) /* a part of what it scales */
            vec_push(a, &c->tensors, t);
    }
}

static const char *
schedule_text(Module *m)
{
    TextFile f;
    text_file_open(&f);
    text_print(m, f.to);
    return text_file_close(&f, m->arena);
}

/* What NAME.c calls its own things at file scope. */
static const char *const statics[] = {
    "f32",          "f64",          "i32",       "i64",         "u8",
    "u16",          "main",         "run_step",  "run_forward", "run_backward",
    "run_update",   "run_evaluate", "run_infer", "report",      "tensors",
    "inputs",       "outputs",      "sources",   "validation",  "train",
    "learning_rate", "offload",     "run_queue", "run_open",    "run_device",
    "run_products"};

enum { N_STATICS = sizeof statics / sizeof *statics };

static bool
name_is_free(const char *name)
{
    for (int i = 0; i < N_STATICS; i++)
        if (strcmp(name, statics[i]) == 0)
            return false;
    return !name_is_keyword(name) && !name_in_libc(name);
}

static void
take_api_names(CModel *c)
{
    static const char *const verbs[] = {
        "batch",  "model",   "regions",   "init",   "init_params",
        "step",   "forward", "backward",  "update", "evaluate",
        "infer",  "get",     "set",       "save",   "load",
        "set_lr", "close",   "last_error"};
    Names *n = &c->cg.names;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        names_take(n, arena_printf(n->arena, "%s_%s", c->name, verbs[i]));
    for (int i = 0; i < N_STATICS; i++)
        names_take(n, statics[i]);
    names_take(n, c->name);
}

static bool
updates(const Graph *g)
{
    for (const Node *n = g ? g->first : NULL; n; n = n->next)
        if ((op_info[n->op].flags & OP_OPTIMIZER) || updates(n->body))
            return true;
    return false;
}

static CModel
model_new(Module *m, bool cuda)
{
    Arena *a = m->arena;
    CModel c = {.cg = {.m = m, .arena = a, .cuda = cuda}};
    c.cg.names = names_new(a);
    c.cg.kernels = emit_new(a);
    c.name = name_mangle(a, m->name);
    if (!name_is_free(c.name))
        c.name = arena_printf(a, "%s_", c.name);
    c.upper = name_upper(a, c.name);
    c.sched = schedule_text(m);
    c.id = arena_printf(a, "%016" PRIx64, hash64(c.sched, strlen(c.sched)));
    c.has_step = has_program(m, "step");
    c.has_phases = c.has_step && module_graph(m, "forward") &&
                   module_graph(m, "backward") && m->slots <= 1;
    c.has_update = calls_graph(m, "step", "update");
    c.early = updates(module_graph(m, "backward"));
    c.has_evaluate = has_program(m, "evaluate");
    c.has_infer = has_program(m, "infer");
    c.accumulate = m->train && m->train->accumulate ? m->train->accumulate : 1;
    take_api_names(&c);
    sort_tensors(&c);
    return c;
}

/* ---- NAME.c ---- */

static int
by_place(const void *x, const void *y)
{
    const Offset *a = x, *b = y;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void
emit_offsets(CModel *c, Emit *e)
{
    Cg *cg = &c->cg;
    if (cg->offsets.n)
        qsort(cg->offsets.at, (size_t)cg->offsets.n, sizeof *cg->offsets.at,
              by_place);
    Region last = REGION_none;
    for (int i = 0; i < cg->offsets.n; i++) {
        const Offset *o = &cg->offsets.at[i];
        if (o->region != last)
            emit_line(e, "%s/* Places in region %s, in bytes. */",
                      i ? "\n" : "", region_name[o->region]);
        last = o->region;
        const char *at = arena_printf(c->cg.arena, "%" PRId64 "; /* %s */",
                                      o->at, o->comment);
        bool fits = strlen(o->name) + strlen(at) + 23 < 80;
        emit_line(e, "static const int64_t %s =%s%s", o->name,
                  fits ? " " : "\n    ", at);
    }
    if (cg->offsets.n)
        emit(e, "\n");
}

static void
emit_accessors(CModel *c, Emit *e)
{
    static const struct {
        Dtype dtype;
        const char *name;
    } rows[] = {{DT_f32, "f32"}, {DT_f64, "f64"}, {DT_bf16, "u16"},
                {DT_i32, "i32"}, {DT_i64, "i64"}, {DT_u8, "u8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!c->cg.has_access[rows[i].dtype])
            continue;
        const char *type = dtype_info[rows[i].dtype].c_type;
        emit_line(e, "static %s *\n%s(unsigned char *region, int64_t at)\n{",
                  type, rows[i].name);
        emit_line(e, "    return (%s *)(void *)(region + at);\n}\n", type);
    }
}

static const char *
source_text(CModel *c)
{
    Arena *a = c->cg.arena;
    Emit programs = emit_new(a), e = emit_new(a);
    c_programs(c, &programs); /* asks for places as well */
    bool cuda = c->cg.cuda;
    emit_line(&e,
              "/* %s.%s: written by edlc from %s.sched. Every kernel is a "
              "function of\n * pointers; the graphs at the end %s them "
              "in the order of the schedule. */",
              c->name, cuda ? "cu" : "c", c->name, cuda ? "launch" : "call");
    emit_line(&e, "#include \"%s.h\"\n", c->name);
    if (c->cg.has_plain_attention)
        emit_line(&e, "#include \"edl_cuda_attention_plain.cuh\"");
    emit_line(&e, c->cg.has_mma
                      ? "#include \"edl_cuda_attention_mma.cuh\"\n"
                  : c->cg.has_attention ? "#include \"edl_cuda_attention.cuh\"\n"
                  : cuda              ? "#include \"edl_cuda.cuh\"\n"
                  : c->cg.has_bf16
                      ? "#include \"edl_kernel.h\"\n"
                        "#include \"edl_matmul.h\"\n"
                        "#include \"edl_matmul_bf16.h\"\n"
                      : "#include \"edl_kernel.h\"\n"
                        "#include \"edl_matmul.h\"\n");
    if (c->cg.has_codes)
        emit_line(&e, "#include \"edl_code.h\"\n");
    if (!cuda)
        emit_line(&e, "#ifdef EDL_PROFILE\n#include \"edl_profile.h\"\n"
                      "#endif\n");
    emit_offsets(c, &e);
    emit_accessors(c, &e);
    emit_line(&e, "/* ---- kernels ---- */\n");
    emit_text(&e, c->cg.kernels.at, c->cg.kernels.n);
    if (!cuda)
        c_profile_kernels(c, &e);
    emit_line(&e, "/* ---- graphs ---- */\n");
    for (int i = 0; i < c->graphs.n; i++)
        emit(&e, "%s", c->graphs.at[i].text);
    if (!cuda)
        c_profile_graphs(c, &e);
    emit_line(&e, "/* ---- actions ---- */\n");
    emit_text(&e, programs.at, programs.n);
    emit_line(&e, "/* ---- the model ---- */\n");
    c_tables(c, &e);
    c_api(c, &e);
    return emit_string(&e);
}

/* ---- the other files ---- */

static void
add_file(CModel *c, OutFiles *out, const char *name, const char *text)
{
    OutFile f = {.name = name, .text = text, .n = strlen(text)};
    vec_push(c->cg.arena, &out->files, f);
}

/* Lists the objects of the runtime, and adds its files where they are to lie
 * beside the output. */
static void
add_runtime(CModel *c, OutFiles *out, Emit *sources, bool copied)
{
    for (int i = 0; i < embedded_count; i++) {
        const Embedded *f = &embedded_files[i];
        bool device = strncmp(f->name, "runtime/edl_cuda", 16) == 0;
        if (strncmp(f->name, "runtime/", 8) != 0 || (device && !c->cg.cuda))
            continue;
        OutFile copy = {.name = f->name + 8, .text = f->text, .n = f->n};
        /* They take seconds to compile: only where a product needs them. */
        bool bf16 = strstr(copy.name, "_bf16.") != NULL;
        if (copied && (!bf16 || c->cg.has_bf16))
            vec_push(c->cg.arena, &out->files, copy);
        if (copied && bf16)
            continue; /* the Makefile looks for it */
        const char *dot = strrchr(copy.name, '.');
        if (strcmp(dot, ".c") == 0 || strcmp(dot, ".cu") == 0)
            emit(sources, " \\\n\t%.*s.o", (int)(dot - copy.name), copy.name);
    }
}

/* A second program whose kernels are timed. */
static void
emit_profile_rules(Emit *e)
{
    emit_line(e, "# Trainers that time every kernel: --trace, --profile.");
    emit_line(e, "PROFILES = $(MODELS:%%=%%_profile)\n\n"
                 "profile: $(PROFILES)\n");
    emit_line(e, "$(PROFILES): %%_profile: %%.profile.o %%_main.profile.o "
                 "$(RUNTIME:.o=.profile.o)\n"
                 "\t$(CC) $(FAST) $(CFLAGS) $(NEEDED) $(LDFLAGS) -o $@ $^ "
                 "$(LDLIBS) -lm\n");
    emit_line(e, "%%.profile.o: %%.c $(wildcard *.h)\n"
                 "\t$(CC) -DEDL_PROFILE $(CPPFLAGS) $(FAST) $(CFLAGS) $(NEEDED) -c "
                 "-o $@ $<\n");
}

/* The same for every model, so that several may share a folder. */
static const char *
makefile_text(CModel *c, const char *runtime, bool copied)
{
    Emit e = emit_new(c->cg.arena);
    emit_line(&e, "# Written by edlc. make: the trainer of each model here.");
    emit_line(&e, "CC ?= cc");
    emit_line(&e, "# ARCH: the processor that it is for. CFLAGS come behind it, "
                  "and may say\n# otherwise.");
    emit_line(&e, "ARCH ?= -march=native");
    emit_line(&e, "FAST = -O3 $(ARCH)");
    if (c->cg.cuda)
        emit_line(&e, "NVCC ?= nvcc\n"
                      "GPU ?= -gencode arch=compute_80,code=sm_80 \\\n"
                      "\t-gencode arch=compute_90,code=[sm_90,compute_90]\n"
                      "NVFLAGS ?= -O3 $(GPU)");
    emit_line(&e, "# Results depend on these: no contraction, no fast-math.");
    if (c->cg.cuda)
        emit_line(&e, "NVNEEDED = -std=c++17 -fmad=false "
                      "-Xcompiler -ffp-contract=off");
    emit_line(&e, "NEEDED = -std=c11 -ffp-contract=off -fno-math-errno "
                  "-fno-trapping-math -pthread");
    if (!copied)
        emit_line(&e, "INSTALLED := $(shell pkg-config --variable=runtimedir "
                      "edl)\nCPPFLAGS += -I$(INSTALLED)\n"
                      "vpath %%.c $(INSTALLED)\nvpath %%.cu $(INSTALLED)");
    emit_line(&e, "MODELS = $(patsubst %%_main.c,%%,$(wildcard *_main.c))");
    emit_line(&e, "RUNTIME =%s", runtime);
    if (copied)
        emit_line(&e, "# Where a model has products of bf16.\n"
                      "RUNTIME += $(patsubst %%.c,%%.o,$(wildcard *_bf16.c))");
    emit(&e, "\n");
    emit_line(&e, "all: $(MODELS)\n");
    emit_line(&e, "$(MODELS): %%: %%.o %%_main.o $(RUNTIME)");
    if (c->cg.cuda)
        emit_line(&e, "\t$(NVCC) $(NVFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) "
                      "-lcublasLt -lpthread -lm\n\n"
                      "%%.o: %%.cu $(wildcard *.h *.cuh)\n"
                      "\t$(NVCC) $(CPPFLAGS) $(NVFLAGS) $(NVNEEDED) -c -o $@ "
                      "$<\n");
    else
        emit_line(&e, "\t$(CC) $(FAST) $(CFLAGS) $(NEEDED) $(LDFLAGS) -o $@ $^ "
                      "$(LDLIBS) -lm\n");
    emit_line(&e, "%%.o: %%.c $(wildcard *.h)");
    emit_line(&e, "\t$(CC) $(CPPFLAGS) $(FAST) $(CFLAGS) $(NEEDED) -c -o $@ "
                  "$<\n");
    if (!c->cg.cuda)
        emit_profile_rules(&e);
    emit_line(&e, "clean:");
    emit_line(&e, "\trm -f $(MODELS) $(RUNTIME) $(MODELS:%%=%%.o) "
                  "$(MODELS:%%=%%_main.o)%s\n",
              c->cg.cuda ? "" : " $(PROFILES) *.profile.o");
    emit_line(&e, ".PHONY: all%s clean", c->cg.cuda ? "" : " profile");
    return emit_string(&e);
}

static const char *
main_text(CModel *c)
{
    return arena_printf(
        c->cg.arena,
        "/* %s_main.c: the trainer; --help tells its flags. */\n"
        "#include \"%s.h\"\n\n"
        "int\nmain(int argc, char **argv)\n{\n"
        "    return edl_trainer_main(&%s_model, argc, argv);\n}\n",
        c->name, c->name, c->name);
}

static const char *
with_suffix(CModel *c, const char *suffix)
{
    return arena_printf(c->cg.arena, "%s%s", c->name, suffix);
}

static bool
emit_files(Module *m, const CodegenOptions *o, bool cuda, OutFiles *out)
{
    CModel c = model_new(m, cuda);
    if (!c_graphs(&c))
        return false;
    Emit header = emit_new(m->arena), objects = emit_new(m->arena);
    c_header(&c, &header);
    add_file(&c, out, with_suffix(&c, cuda ? ".cu" : ".c"), source_text(&c));
    add_file(&c, out, with_suffix(&c, ".h"), emit_string(&header));
    add_file(&c, out, with_suffix(&c, ".sched"), c.sched);
    add_file(&c, out, with_suffix(&c, "_main.c"), main_text(&c));
    add_runtime(&c, out, &objects, o->copy_runtime);
    add_file(&c, out, "Makefile",
             makefile_text(&c, objects.n ? emit_string(&objects) : "",
                           o->copy_runtime));
    if (cuda)
        add_file(&c, out, "CMakeLists.txt",
                 cuda_cmake(m->arena, o->copy_runtime));
    return !c.cg.failed;
}

bool
codegen_c(Module *m, const CodegenOptions *o, OutFiles *out)
{
    return emit_files(m, o, false, out);
}

bool
codegen_cuda(Module *m, const CodegenOptions *o, OutFiles *out)
{
    return emit_files(m, o, true, out);
}

bool
codegen_products(Module *m, LibraryProducts *out)
{
    CModel c = model_new(m, true);
    bool good = c_graphs(&c);
    *out = c.cg.products;
    return good;
}

/* ---- the targets ---- */

static const struct {
    const char *name;
    Codegen emit;
} targets[] = {{"c", codegen_c}, {"cuda", codegen_cuda}};

enum { N_TARGETS = sizeof targets / sizeof *targets };

Codegen
codegen_target(const char *name)
{
    for (int i = 0; i < N_TARGETS; i++)
        if (strcmp(targets[i].name, name) == 0)
            return targets[i].emit;
    return NULL;
}

const char *
codegen_targets(Arena *a)
{
    const char *text = targets[0].name;
    for (int i = 1; i < N_TARGETS; i++)
        text = arena_printf(a, "%s, %s", text, targets[i].name);
    return text;
}
