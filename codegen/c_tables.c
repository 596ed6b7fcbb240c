/* The descriptor of a model: what the runtime needs to know of tensors, data
 * and training. */
#include "codegen/c.h"
#include "ir/optimizer.h"

#include <inttypes.h>

/* ---- the range of an integer input, from what reads it ---- */

typedef struct Range {
    int64_t lo, hi, also;
    bool has_also;
} Range;

static void
narrow(Range *r, int64_t n, const Attr *also)
{
    if (r->hi == r->lo) {
        r->hi = n;
        if (also) {
            r->also = also->i;
            r->has_also = true;
        }
        return;
    }
    if (n < r->hi)
        r->hi = n;
    if (!also || also->i != r->also)
        r->has_also = false;
}

/* What node n asks of operand i, if that is an index. */
static void
ask(Range *r, const Node *n, int i)
{
    int axis = (int)node_int(n, "axis", 0);
    bool index = i == 1;
    if ((n->op == OP_embedding || n->op == OP_take || n->op == OP_take_along) &&
        index)
        narrow(r, n->args[0]->type.dim[axis], NULL);
    if (n->op == OP_slice_at && index)
        narrow(r, n->args[0]->type.dim[axis] - node_int(n, "size", 1) + 1,
               NULL);
    if (n->op == OP_cross_entropy && index) {
        const Type *x = &n->args[0]->type;
        narrow(r, x->dim[x->rank - 1], node_attr(n, "ignore"));
    }
}

/* The input itself, or a value with the same elements. */
static const Tensor *
input_of(const Value *v)
{
    while (v->def->op == OP_reshape || v->def->op == OP_transpose ||
           v->def->op == OP_broadcast)
        v = v->def->args[0];
    const Node *n = v->def;
    return n->op == OP_read && n->tensor->kind == TENSOR_input ? n->tensor
                                                               : NULL;
}

static void
find_range(Range *r, const Graph *g, const Tensor *t)
{
    graph_each(g, n) {
        if (n->body)
            find_range(r, n->body, t);
        for (int i = 0; !n->body && i < n->n_args; i++)
            if (input_of(n->args[i]) == t)
                ask(r, n, i);
    }
}

static Range
range_of(const CModel *m, const Tensor *t)
{
    Range r = {0};
    const Module *mod = m->cg.m;
    for (int i = 0; t->kind == TENSOR_input && i < mod->graphs.n; i++)
        find_range(&r, mod->graphs.at[i], t);
    if (!r.has_also)
        r.also = r.lo;
    return r;
}

/* ---- tensors ---- */

static const char *
kind_text(TensorKind kind)
{
    switch (kind) {
    case TENSOR_param:
        return "EDL_PARAM";
    case TENSOR_frozen:
        return "EDL_FROZEN";
    case TENSOR_state:
        return "EDL_BUFFER";
    case TENSOR_opt:
        return "EDL_OPTIMIZER";
    case TENSOR_counter:
        return "EDL_COUNTER";
    case TENSOR_grad:
        return "EDL_GRAD";
    case TENSOR_input:
        return "EDL_INPUT";
    case TENSOR_output:
        return "EDL_OUTPUT";
    case TENSOR_stash:
    case TENSOR_KIND_COUNT:
        break;
    }
    bug("codegen: a tensor of kind %d has no table", (int)kind);
}

static const char *
region_text(Region r)
{
    switch (r) {
    case REGION_state:
        return "EDL_STATE";
    case REGION_grads:
        return "EDL_GRADS";
    case REGION_stash:
        return "EDL_STASH";
    case REGION_workspace:
        return "EDL_WORKSPACE";
    case REGION_io:
        return "EDL_IO";
    case REGION_host:
        return "EDL_HOST";
    case REGION_disk:
        return "EDL_DISK";
    case REGION_none:
    case REGION_COUNT:
        break;
    }
    bug("codegen: a tensor in region %d", (int)r);
}

static const char *
dtype_text(CModel *m, Dtype d)
{
    return arena_printf(m->cg.arena, "EDL_%s",
                        name_upper(m->cg.arena, dtype_info[d].name));
}

static const char *
tensor_name(CModel *m, const Tensor *t)
{
    if (t->kind == TENSOR_opt)
        return arena_printf(m->cg.arena, "optimizer/%s/%s", t->role,
                            t->owner->name);
    if (t->kind == TENSOR_grad)
        return arena_printf(m->cg.arena, "grad/%s", t->owner->name);
    return t->name;
}

static const char *
list_text(CModel *m, const int64_t *x, int n)
{
    Emit e = emit_new(m->cg.arena);
    emit(&e, "{");
    for (int i = 0; i < n; i++)
        emit(&e, "%s%" PRId64, i ? ", " : "", x[i]);
    emit(&e, "%s}", n ? "" : "0");
    return emit_string(&e);
}

static const char *
init_text(CModel *m, const Tensor *t)
{
    static const char *const kinds[] = {
        [INIT_none] = "EDL_INIT_CONST",
        [INIT_constant] = "EDL_INIT_CONST",
        [INIT_normal] = "EDL_INIT_NORMAL",
        [INIT_uniform] = "EDL_INIT_UNIFORM",
    };
    Arena *a = m->cg.arena;
    return arena_printf(a, "%s, %s, %s", kinds[t->init.kind],
                        c_double(a, t->init.a), c_double(a, t->init.b));
}

static const char *
stored_text(const Tensor *t)
{
    if (t->kind != TENSOR_opt || t->type.dtype != DT_i8)
        return "EDL_AS_IS";
    return strcmp(t->role, "v") == 0 ? "EDL_CODES_ROOT" : "EDL_CODES_OF";
}

static void
emit_tensor(CModel *m, Emit *e, const Tensor *t)
{
    Arena *a = m->cg.arena;
    Range r = range_of(m, t);
    int64_t size = dtype_info[t->type.dtype].bits / 8;
    double scale = t->kind == TENSOR_grad ? 1.0 / (double)m->accumulate : 1;
    bool codes = t->kind == TENSOR_opt && t->type.dtype == DT_i8;
    const Tensor *scales = codes ? optimizer_scales_of(m->cg.m, t) : NULL;
    const char *items[] = {
        c_string(a, tensor_name(m, t)),
        kind_text(t->kind),
        dtype_text(m, codes ? DT_f32 : t->type.dtype),
        region_text(t->region),
        arena_printf(a, "%" PRId64 "u", t->place + t->layout.offset * size),
        arena_printf(a, "%d", t->type.rank),
        list_text(m, t->type.dim, t->type.rank),
        list_text(m, t->layout.stride, t->type.rank),
        c_double(a, scale),
        init_text(m, t),
        c_integer(a, DT_i64, r.lo),
        c_integer(a, DT_i64, r.hi),
        c_integer(a, DT_i64, r.also),
        stored_text(t),
        arena_printf(a, "%" PRId64 "u", scales ? scales->place : 0),
    };
    emit_list(e, "{", items, sizeof items / sizeof *items, "},");
}

static void
emit_tensors(CModel *m, Emit *e, const char *what, const Tensor *const *list,
             int n)
{
    if (n == 0)
        return;
    emit_line(e, "static const EdlTensor %s[] = {", what);
    e->indent++;
    for (int i = 0; i < n; i++)
        emit_tensor(m, e, list[i]);
    e->indent--;
    emit_line(e, "};\n");
}

/* ---- the train section ---- */

static const Attr *
option(const DataSource *d, const char *key)
{
    for (int i = 0; i < d->options.n; i++)
        if (strcmp(d->options.at[i].key, key) == 0)
            return &d->options.at[i];
    return NULL;
}

static int
input_index(const CModel *m, const char *name)
{
    for (int i = 0; i < m->inputs.n; i++)
        if (strcmp(m->inputs.at[i]->name, name) == 0)
            return i;
    bug("codegen: data for %s, which is no input", name);
}

static void
emit_source(CModel *m, Emit *e, const DataSource *d)
{
    Arena *a = m->cg.arena;
    int64_t input[8] = {0}, column[8] = {0};
    const Attr *dtype = option(d, "dtype"), *skip = option(d, "skip");
    const Attr *columns = option(d, "columns"), *scale = option(d, "scale");
    int n = d->names.n < 8 ? d->names.n : 8;
    for (int i = 0; i < n; i++) {
        input[i] = input_index(m, d->names.at[i]);
        column[i] = columns && i < columns->i ? columns->list[i] : 0;
    }
    const char *items[] = {
        strcmp(d->kind, "next_token") == 0 ? "EDL_NEXT_TOKEN"
        : strcmp(d->kind, "npy") == 0      ? "EDL_NPY"
                                           : "EDL_TABLE",
        c_string(a, d->path),
        dtype ? arena_printf(a, "EDL_%s", name_upper(a, dtype->s)) : "EDL_F32",
        arena_printf(a, "%" PRId64, skip ? skip->i : 0),
        arena_printf(a, "%d", n),
        list_text(m, input, n),
        list_text(m, column, n),
        c_double(a,
                 scale ? (scale->kind == ATTR_int ? (double)scale->i : scale->f)
                       : 1),
    };
    emit_list(e, "{", items, 8, "},");
}

static void
emit_sources(CModel *m, Emit *e, const char *what, const DataSource *d, int n)
{
    if (n == 0)
        return;
    emit_line(e, "static const EdlSource %s[] = {", what);
    e->indent++;
    for (int i = 0; i < n; i++)
        emit_source(m, e, &d[i]);
    e->indent--;
    emit_line(e, "};\n");
}

static const char *
data_text(CModel *m, const char *what, const DataSource *d, int n)
{
    bool shuffled = false;
    for (int i = 0; i < n; i++) {
        const Attr *order = option(&d[i], "order");
        shuffled |= order && strcmp(order->s, "shuffled") == 0;
    }
    return arena_printf(m->cg.arena, "{%s, %d, %s}", n ? what : "NULL", n,
                        shuffled ? "EDL_SHUFFLED" : "EDL_SEQUENTIAL");
}

static void
emit_lr(CModel *m, Emit *e, const LrSchedule *s)
{
    Arena *a = m->cg.arena;
    const char *peak = c_double(a, s->peak);
    int64_t rest = s->steps - s->warmup;
    bool flat =
        strcmp(s->kind, "linear") != 0 && strcmp(s->kind, "cosine") != 0;
    emit_line(e, "/* %s: the rate of an update, counted from 0 */", s->kind);
    emit_line(e, "static double");
    emit_line(e, "learning_rate(uint64_t update)");
    emit_line(e, "{");
    e->indent++;
    if (s->warmup > 0) {
        emit_line(e, "if (update < %" PRId64 ")", s->warmup);
        emit_line(e, "    return %s * (double)(update + 1) / %s;", peak,
                  c_double(a, (double)s->warmup));
    }
    if (flat && s->warmup <= 0)
        emit_line(e, "(void)update;");
    if (flat) {
        emit_line(e, "return %s;", peak);
    } else {
        if (rest > 0) {
            emit_line(e,
                      "const double at = (double)(update - %" PRId64 ") / %s;",
                      s->warmup, c_double(a, (double)rest));
            emit_line(e, "const double part = at < 1.0 ? at : 1.0;");
        } else {
            emit_line(e, "const double part = 1.0;");
        }
        const char *floor = c_double(a, s->floor);
        if (strcmp(s->kind, "linear") == 0)
            emit_line(e, "return %s + (%s - %s) * part;", peak, floor, peak);
        else
            emit_line(e,
                      "return %s +\n           (%s - %s) * 0.5 * "
                      "(1.0 + cos(3.14159265358979323846 * part));",
                      floor, peak, floor);
    }
    e->indent--;
    emit_line(e, "}\n");
}

static void
emit_train(CModel *m, Emit *e)
{
    Arena *a = m->cg.arena;
    const Train *t = m->cg.m->train;
    emit_sources(m, e, "sources", t->data.at, t->data.n);
    emit_sources(m, e, "validation", t->validate.at, t->validate.n);
    if (m->has_update)
        emit_lr(m, e, &t->lr);
    emit_line(e, "static const EdlTrain train = {");
    e->indent++;
    emit_line(e, "%" PRIu64 "u, /* seed */", t->seed);
    emit_line(e, "%" PRId64 ", /* steps */", t->steps);
    emit_line(e, "%s,", data_text(m, "sources", t->data.at, t->data.n));
    emit_line(e, "%s,",
              data_text(m, "validation", t->validate.at, t->validate.n));
    emit_line(e, "%" PRId64 ", /* validate every so many steps */",
              t->validate_every);
    emit_line(e, "%" PRId64 ", /* batches of a validation */",
              t->validate_batches);
    emit_line(e, "%s,", t->checkpoint ? c_string(a, t->checkpoint) : "NULL");
    emit_line(e, "%" PRId64 " /* checkpoint every so many steps */",
              t->checkpoint_every);
    e->indent--;
    emit_line(e, "};\n");
}

/* ---- the model ---- */

static int
index_of(const Tensor *const *list, int n, const char *name)
{
    for (int i = 0; name && i < n; i++)
        if (strcmp(list[i]->name, name) == 0)
            return i;
    return -1;
}

static int
counter_index(const CModel *m)
{
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_counter)
            return i;
    return -1;
}

static bool
has_offload(const CModel *m)
{
    return m->cg.m->region_bytes[REGION_host] > 0 ||
           m->cg.m->region_bytes[REGION_disk] > 0;
}

/* Of `disk:FOLDER`; NULL: the current one. */
static const char *
offload_folder(const CModel *m)
{
    const char *text = module_option(m->cg.m, "offload");
    return text && strncmp(text, "disk:", 5) == 0 ? text + 5 : NULL;
}

static void
emit_offload(CModel *m, Emit *e)
{
    const char *folder = offload_folder(m);
    if (!has_offload(m))
        return;
    emit_line(e, "static const EdlOffload offload = {");
    emit_line(e, "    %" PRId64 "u, /* bytes of the file */",
              m->cg.m->region_bytes[REGION_disk]);
    emit_line(e, "    %" PRId64 "u, /* its buffers in the io region */",
              m->cg.m->region_bytes[REGION_io] - storage_stage_room(m->cg.m));
    emit_line(e, "    %" PRId64 "u, /* bytes of each */",
              storage_stage(m->cg.m));
    emit_line(e, "    %s /* its folder */",
              folder ? c_string(m->cg.arena, folder) : "NULL");
    emit_line(e, "};\n");
}

static void
emit_model(CModel *m, Emit *e)
{
    const char *up = m->upper;
    const Train *t = m->cg.m->train;
    emit_line(e, "const EdlModel %s_model = {", m->name);
    e->indent++;
    emit_line(e, "%s_ABI,", up);
    emit_line(e, "%s,", c_string(m->cg.arena, m->cg.m->name));
    emit_line(e, "%s_ID,", up);
    emit_line(e, "{{%s_STATE_BYTES, %s_GRADS_BYTES, %s_STASH_BYTES,", up, up,
              up);
    emit_line(e, "  %s_WORKSPACE_BYTES, %s_IO_BYTES, %s_HOST_BYTES}},", up, up,
              up);
    emit_line(e, "%s, %d,", m->tensors.n ? "tensors" : "NULL", m->tensors.n);
    emit_line(e, "%s, %d,", m->inputs.n ? "inputs" : "NULL", m->inputs.n);
    emit_line(e, "%s, %d,", m->outputs.n ? "outputs" : "NULL", m->outputs.n);
    emit_line(e, "%d, /* loss, an output */",
              index_of(m->outputs.at, m->outputs.n, t ? t->minimize : NULL));
    emit_line(e, "%d, /* updates, a tensor */", counter_index(m));
    emit_line(e, "%s_ACCUMULATE,", up);
    emit_line(e, "%s,", t ? "&train" : "NULL");
    emit_line(e, "NULL, /* schedule: it is in %s.sched */", m->name);
    emit_line(e, "%s,", m->has_update ? "learning_rate" : "NULL");
    emit_line(e, "%s,", m->has_step ? "run_step" : "NULL");
    emit_line(e, "%s,", m->has_phases ? "run_forward" : "NULL");
    emit_line(e, "%s,", m->has_phases ? "run_backward" : "NULL");
    emit_line(e, "%s,", m->has_phases && m->has_update ? "run_update" : "NULL");
    emit_line(e, "%s,",
              m->has_evaluate ? "run_evaluate"
              : m->has_infer  ? "run_infer"
                              : "NULL");
    emit_line(e, "%s,", m->cg.cuda ? "&run_device" : "NULL");
    emit_line(e, "%s", has_offload(m) ? "&offload" : "NULL");
    e->indent--;
    emit_line(e, "};\n");
}

void
c_tables(CModel *m, Emit *e)
{
    emit_tensors(m, e, "tensors", m->tensors.at, m->tensors.n);
    emit_tensors(m, e, "inputs", m->inputs.at, m->inputs.n);
    emit_tensors(m, e, "outputs", m->outputs.at, m->outputs.n);
    if (m->cg.m->train)
        emit_train(m, e);
    emit_offload(m, e);
    emit_model(m, e);
}
