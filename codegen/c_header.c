/* NAME.h, and the functions of NAME.c that it declares: the calls that a
 * user's program makes. docs/api.md is their manual. */
#include "codegen/c.h"

#include <inttypes.h>

/* "i32 [B, T] = [4, 1024], a microbatch" */
static const char *
input_comment(CModel *m, const Tensor *t)
{
    Emit e = emit_new(m->cg.arena);
    emit(&e, "%s [", dtype_info[t->type.dtype].name);
    for (int i = 0; i < t->type.rank; i++)
        emit(&e, "%s%" PRId64, i ? ", " : "", t->type.dim[i]);
    emit(&e, "], a microbatch");
    return emit_string(&e);
}

static void
emit_bytes(CModel *m, Emit *e)
{
    static const struct {
        const char *name;
        Region region;
    } rows[] = {
        {"STATE", REGION_state}, {"GRADS", REGION_grads},
        {"STASH", REGION_stash}, {"WORKSPACE", REGION_workspace},
        {"IO", REGION_io},       {"HOST", REGION_host},
    };
    emit_line(e, "/* Bytes of the regions, which the caller owns. */");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        emit_line(e, "#define %s_%s_BYTES %" PRId64 "u", m->upper, rows[i].name,
                  m->cg.m->region_bytes[rows[i].region]);
}

static void
emit_batch(CModel *m, Emit *e)
{
    emit_line(e, "typedef struct %s_batch {", m->name);
    for (int i = 0; i < m->inputs.n; i++) {
        const Tensor *t = m->inputs.at[i];
        emit_line(e, "    const %s *%s; /* %s */",
                  dtype_info[t->type.dtype].c_type,
                  c_input_field(m->cg.arena, m->cg.m, t),
                  input_comment(m, t));
    }
    if (m->inputs.n == 0)
        emit_line(e, "    const void *nothing; /* the model has no inputs */");
    emit_line(e, "} %s_batch;\n", m->name);
}

/* ---- the calls ---- */

/* A call without a batch hands on to the runtime: one row each. %s is the
 * model's name. */
typedef struct Wrapper {
    const char *type, *name, *parameters, *body;
    bool trains;
} Wrapper;

static const Wrapper wrappers[] = {
    {"EdlStatus", "init_params", "uint64_t seed",
     "edl_init_params(&m->self, seed)", false},
    {"EdlStatus", "get", "const char *name, void *dst, uint64_t bytes",
     "edl_get(&m->self, name, dst, bytes)", false},
    {"EdlStatus", "set", "const char *name, const void *src, uint64_t bytes",
     "edl_set(&m->self, name, src, bytes)", false},
    {"EdlStatus", "save", "const char *path", "edl_save(&m->self, path)",
     false},
    {"EdlStatus", "load", "const char *path", "edl_load(&m->self, path)",
     false},
    {"EdlStatus", "set_lr", "double lr", "edl_set_lr(&m->self, lr)", true},
    {"void", "close", "", "edl_close(&m->self)", false},
};

enum { N_WRAPPERS = sizeof wrappers / sizeof wrappers[0] };

/* A call with a batch: an action of the model. */
typedef struct BatchCall {
    const char *name;
    bool there, metrics;
} BatchCall;

static int
batch_calls(const CModel *m, BatchCall *out)
{
    const BatchCall all[] = {
        {"step", m->has_step, true},        {"forward", m->has_phases, false},
        {"backward", m->has_phases, false}, {"evaluate", m->has_evaluate, true},
        {"infer", m->has_infer, false},
    };
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there)
            out[n++] = all[i];
    return n;
}

static void
emit_head(CModel *m, Emit *e, const char *type, const char *name,
          const char *parameters, const char *tail)
{
    Arena *a = m->cg.arena;
    bool split = *tail != ';';
    VEC(const char *) items = {0};
    char *rest = arena_strndup(a, parameters, strlen(parameters));
    while (*rest) {
        size_t n = strcspn(rest, ",");
        vec_push(a, &items, arena_strndup(a, rest, n));
        rest += n;
        rest += strspn(rest, ", ");
    }
    if (split)
        emit_line(e, "%s", type);
    emit_list(e,
              arena_printf(a, "%s%s%s_%s(", split ? "" : type, split ? "" : " ",
                           m->name, name),
              items.at, items.n, tail);
}

static const char *
with_model(CModel *m, const char *rest)
{
    return arena_printf(m->cg.arena, "%s *m%s%s", m->name, *rest ? ", " : "",
                        rest);
}

static const char *
batch_parameters(CModel *m, const BatchCall *c)
{
    return with_model(m,
                      arena_printf(m->cg.arena, "const %s_batch *b%s", m->name,
                                   c->metrics ? ", EdlMetrics *out" : ""));
}

static const char *
init_parameters(CModel *m)
{
    return with_model(m, "uint32_t abi, size_t size, "
                         "const EdlRegions *regions, const EdlHooks *hooks");
}

static void
emit_declarations(CModel *m, Emit *e)
{
    BatchCall calls[5];
    emit_head(m, e, "EdlStatus", "regions", "int rank, EdlRegionSizes *out",
              ");");
    emit_head(m, e, "EdlStatus", "init", init_parameters(m), ");");
    for (int i = 0, n = batch_calls(m, calls); i < n; i++)
        emit_head(m, e, "EdlStatus", calls[i].name,
                  batch_parameters(m, &calls[i]), ");");
    if (m->has_phases && m->has_update)
        emit_head(m, e, "EdlStatus", "update", with_model(m, "EdlMetrics *out"),
                  ");");
    for (int i = 0; i < N_WRAPPERS; i++)
        if (!wrappers[i].trains || m->has_update)
            emit_head(m, e, wrappers[i].type, wrappers[i].name,
                      with_model(m, wrappers[i].parameters), ");");
    emit_line(e, "const char *%s_last_error(const %s *m);", m->name, m->name);
}

void
c_header(CModel *m, Emit *e)
{
    const char *up = m->upper;
    const Module *mod = m->cg.m;
    emit_line(e,
              "/* %s.h: written by edlc from %s.sched; docs/api.md tells "
              "its use. */",
              m->name, m->name);
    emit_line(e, "#ifndef EDL_MODEL_%s_H\n#define EDL_MODEL_%s_H\n", up, up);
    emit_line(e, "#include \"edl.h\"\n");
    emit_line(e, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    emit_line(e, "#define %s_ABI 3u /* EDL_ABI of the compiler */", up);
    emit_line(e, "#define %s_ID \"%s\" /* hash of the schedule */", up, m->id);
    emit_line(e,
              "#define %s_ACCUMULATE %" PRId64 " /* microbatches of a step */",
              up, m->accumulate);
    for (int i = 0; i < mod->dims.n; i++)
        emit_line(e, "#define %s_DIM_%s %" PRId64, up,
                  name_mangle(m->cg.arena, mod->dims.at[i].name),
                  mod->dims.at[i].value);
    emit_line(e, "%s", "");
    emit_bytes(m, e);
    emit_line(e, "\ntypedef struct %s {\n    EdlInstance self;\n} %s;\n",
              m->name, m->name);
    emit_batch(m, e);
    emit_line(e, "extern const EdlModel %s_model;\n", m->name);
    emit_declarations(m, e);
    emit_line(e, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif");
}

/* ---- their bodies ---- */

static void
emit_batch_call(CModel *m, Emit *e, const BatchCall *c)
{
    Arena *a = m->cg.arena;
    VEC(const char *) fields = {0};
    for (int i = 0; i < m->inputs.n; i++)
        vec_push(a, &fields,
                 arena_printf(a, "b->%s", c_input_field(a, m->cg.m,
                                                m->inputs.at[i])));
    if (m->inputs.n == 0)
        vec_push(a, &fields, "b->nothing");
    emit_head(m, e, "EdlStatus", c->name, batch_parameters(m, c), ")");
    emit_line(e, "{");
    e->indent++;
    emit_line(e, "if (!b)");
    emit_line(e, "    return edl_fail(&m->self, EDL_EINVAL, \"%s: no batch\");",
              c->name);
    emit_list(e, "const void *const in[] = {", fields.at, fields.n, "};");
    bool infer = strcmp(c->name, "infer") == 0;
    emit_line(e, "return run_%s(&m->self, in%s);", c->name,
              c->metrics ? ", out"
              : infer    ? ", NULL"
                         : "");
    e->indent--;
    emit_line(e, "}\n");
}

static void
emit_function(CModel *m, Emit *e, const char *type, const char *name,
              const char *parameters, const char *body)
{
    emit_head(m, e, type, name, parameters, ")");
    emit_line(e, "{\n    %s%s;\n}\n",
              strcmp(type, "void") == 0 ? "" : "return ", body);
}

void
c_api(CModel *m, Emit *e)
{
    Arena *a = m->cg.arena;
    BatchCall calls[5];
    emit_head(m, e, "EdlStatus", "regions", "int rank, EdlRegionSizes *out",
              ")");
    emit_line(e,
              "{\n    if (rank != 0 || !out)\n        return EDL_EINVAL;\n"
              "    *out = %s_model.regions;\n    return EDL_OK;\n}\n",
              m->name);
    emit_function(m, e, "EdlStatus", "init", init_parameters(m),
                  arena_printf(a,
                               "edl_init(&m->self, &%s_model, abi, size, "
                               "regions, hooks)",
                               m->name));
    for (int i = 0, n = batch_calls(m, calls); i < n; i++)
        emit_batch_call(m, e, &calls[i]);
    if (m->has_phases && m->has_update)
        emit_function(m, e, "EdlStatus", "update",
                      with_model(m, "EdlMetrics *out"),
                      "run_update(&m->self, out)");
    for (int i = 0; i < N_WRAPPERS; i++)
        if (!wrappers[i].trains || m->has_update)
            emit_function(m, e, wrappers[i].type, wrappers[i].name,
                          with_model(m, wrappers[i].parameters),
                          wrappers[i].body);
    emit_line(e,
              "const char *\n%s_last_error(const %s *m)\n{\n"
              "    return m->self.error;\n}",
              m->name, m->name);
}
