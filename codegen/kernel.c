#include "codegen/kernel.h"

#include "ir/extent.h"
#include "ir/scratch.h"

#include <inttypes.h>

/* ---- element types ---- */

const char *
c_compute(Dtype d)
{
    switch (d) {
    case DT_f32:
    case DT_f16:
    case DT_bf16:
        return "float";
    case DT_f64:
        return "double";
    case DT_i64:
        return "int64_t";
    case DT_u8:
        return "uint8_t";
    case DT_i32:
    case DT_bool:
        return "int32_t";
    case DT_i8:
    case DT_i4:
    case DT_fp8:
    case DT_COUNT:
        break;
    }
    bug("codegen: %s is storage, not a type to compute in", dtype_info[d].name);
}

const char *
c_load(Arena *a, Dtype d, const char *element)
{
    if (d == DT_bf16)
        return arena_printf(a, "edl_bf16_to_f32(%s)", element);
    if (d == DT_f16)
        return arena_printf(a, "edl_f16_to_f32(%s)", element);
    return element;
}

const char *
c_store(Arena *a, Dtype d, const char *value)
{
    if (d == DT_bf16)
        return arena_printf(a, "edl_f32_to_bf16(%s)", value);
    if (d == DT_f16)
        return arena_printf(a, "edl_f32_to_f16(%s)", value);
    if (d == DT_bool)
        return arena_printf(a, "(uint8_t)(%s)", value);
    return value;
}

/* ---- addresses ---- */

static const char *const region_variable[REGION_COUNT] = {
    [REGION_none] = "none",      [REGION_state] = "state",
    [REGION_grads] = "grads",    [REGION_stash] = "stash",
    [REGION_workspace] = "work", [REGION_io] = "io",
    [REGION_host] = "host",      [REGION_disk] = "disk",
};

/* The accessor of a dtype: bf16 and f16 are read as bits. */
static Dtype
access_dtype(Dtype d)
{
    if (d == DT_bf16 || d == DT_f16)
        return DT_bf16;
    return d == DT_bool ? DT_u8 : d;
}

static const char *
access_name(Dtype d)
{
    return access_dtype(d) == DT_bf16 ? "u16"
                                      : dtype_info[access_dtype(d)].name;
}

/* The constant of a place. */
static const char *
offset_text(Cg *cg, Region region, int64_t at, const char *prefix,
            const char *path, const char *comment)
{
    const char *key = arena_printf(cg->arena, "%d %" PRId64 " %s %s",
                                   (int)region, at, prefix, path);
    int known = (int)(intptr_t)map_get(&cg->offset_map, key);
    if (!known) {
        Offset o = {.region = region, .at = at, .comment = comment};
        o.name =
            names_take(&cg->names, arena_printf(cg->arena, "%s_%s", prefix,
                                                name_mangle(cg->arena, path)));
        vec_push(cg->arena, &cg->offsets, o);
        known = cg->offsets.n;
        map_put(cg->arena, &cg->offset_map, key, (void *)(intptr_t)known);
    }
    return cg->offsets.at[known - 1].name;
}

/* "region, offset constant" of a place. */
static const char *
place_text(Cg *cg, Region region, int64_t at, const char *prefix,
           const char *path, const char *comment)
{
    cg->uses[region] = true;
    return arena_printf(
        cg->arena, "%s, %s", region_variable[region],
        offset_text(cg, region, at, prefix, path, comment));
}

static const char *
plus(Cg *cg, const char *base, int64_t offset)
{
    if (offset == 0)
        return base;
    return arena_printf(cg->arena, "%s %c %" PRId64, base,
                        offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
}

static const char *
accessor(Cg *cg, Dtype d, const char *place)
{
    cg->has_access[access_dtype(d)] = true;
    return arena_printf(cg->arena, "%s(%s)", access_name(d), place);
}

static const char *
type_text(Cg *cg, const Type *t)
{
    Emit e = emit_new(cg->arena);
    emit(&e, "%s[", dtype_info[t->dtype].name);
    for (int i = 0; i < t->rank; i++)
        emit(&e, "%s%" PRId64, i ? ", " : "", t->dim[i]);
    emit(&e, "]");
    return emit_string(&e);
}

const char *
describe(Cg *cg, const Value *v)
{
    return type_text(cg, &v->type);
}

const char *
c_input_field(Arena *a, const Module *m, const Tensor *t)
{
    Names names = names_new(a);
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *other = m->tensors.at[i];
        if (other->kind != TENSOR_input)
            continue;
        const char *name = name_mangle(a, other->name);
        if (name_is_keyword(name))
            name = arena_printf(a, "%s_", name);
        name = names_take(&names, name);
        if (other == t)
            return name;
    }
    bug("%s is no input", t->name);
}

const char *
c_input_name(Cg *cg, const Tensor *t)
{
    return arena_printf(cg->arena, "in_%s",
                        c_input_field(cg->arena, cg->m, t));
}

const char *
address_tensor(Cg *cg, const Tensor *t, int64_t offset)
{
    if (t->kind == TENSOR_input) {
        map_put(cg->arena, &cg->inputs, t->name, (void *)t);
        return plus(cg, c_input_name(cg, t), offset);
    }
    const char *path =
        t->kind == TENSOR_grad && t->owner ? t->owner->name : t->name;
    const char *place =
        place_text(cg, t->region, t->place, region_variable[t->region], path,
                   type_text(cg, &t->type));
    return plus(cg, accessor(cg, t->type.dtype, place), offset);
}

const char *
address_value(Cg *cg, const Value *v, int64_t offset)
{
    const Value *home = v->home;
    offset += v->layout.offset;
    if (home->tensor && home->tensor->type.dtype == v->type.dtype)
        return address_tensor(cg, home->tensor, offset);
    if (home->tensor)
        bug("codegen: %s lies in a tensor of another dtype", v->name);
    if (home->place < 0)
        bug("codegen: %s has no place", v->name);
    const char *place = place_text(cg, home->region, home->place, cg->prefix,
                                   home->name, type_text(cg, &home->type));
    return plus(cg, accessor(cg, v->type.dtype, place), offset);
}

const char *
address_offset(Cg *cg, const Value *home)
{
    const Tensor *t = home->tensor;
    if (t)
        return offset_text(cg, t->region, t->place, region_variable[t->region],
                           t->name, type_text(cg, &t->type));
    return offset_text(cg, home->region, home->place, cg->prefix, home->name,
                       type_text(cg, &home->type));
}

/* ---- operands ---- */

const char *
kernel_local(Kernel *k, const char *path)
{
    if (!k->canonical)
        return names_take(&k->names, name_last(k->cg->arena, path));
    /* canonical names follow from the order of asking alone */
    return names_take(&k->names, "v");
}

static void
widen(Reach *s, const Reach *with)
{
    int64_t end = s->at + s->bytes, other = with->at + with->bytes;
    s->known &= with->known && s->region == with->region;
    s->at = s->at < with->at ? s->at : with->at;
    s->bytes = (end > other ? end : other) - s->at;
}

static int
add_param(Kernel *k, Param p, const char *path)
{
    for (int i = 0; i < k->params.n; i++)
        if (strcmp(k->params.at[i].pass, p.pass) == 0 &&
            strcmp(k->params.at[i].type, p.type) == 0) {
            k->params.at[i].written |= p.written;
            k->params.at[i].uses++;
            widen(&k->params.at[i].whole, &p.whole);
            return i;
        }
    if (!p.name)
        p.name = kernel_local(k, path);
    p.uses = 1;
    vec_push(k->cg->arena, &k->params, p);
    return k->params.n - 1;
}

static const char *
pointer_type(Kernel *k, Dtype d)
{
    return arena_printf(k->cg->arena, "%s *", dtype_info[d].c_type);
}

/* Where the elements of a layout lie from `place` on, the first of which is
 * `shift` elements behind it. */
static void
locate(Param *p, Region region, int64_t place, const Type *t, const Layout *l,
       int64_t shift)
{
    int64_t first, last, bits = dtype_info[t->dtype].bits;
    if (bits % 8 || !extent_range(t, l, &first, &last))
        return;
    p->size = bits / 8;
    p->start = place + (l->offset + shift) * p->size;
    int64_t at = place + first / 8 + shift * p->size;
    p->whole = (Reach){true, region, at, 0, (last - first) / 8 + 1};
}

int
kernel_value(Kernel *k, const Value *v, int64_t offset, bool write)
{
    Param p = {.type = pointer_type(k, v->type.dtype),
               .pointer = true,
               .pass = address_value(k->cg, v, offset),
               .written = write,
               .offset = offset + v->layout.offset};
    const Tensor *t = v->home->tensor;
    if (t && t->kind == TENSOR_input) { /* a microbatch begins anywhere */
        p.offset += type_elements(&t->type);
        p.whole.known = true;
    } else {
        locate(&p, t ? t->region : v->home->region,
               t ? t->place : v->home->place, &v->type, &v->layout, offset);
    }
    return add_param(k, p, v->name);
}

int
kernel_tensor(Kernel *k, const Tensor *t, bool write)
{
    Param p = {.type = pointer_type(k, t->type.dtype),
               .pointer = true,
               .pass = address_tensor(k->cg, t, t->layout.offset),
               .written = write,
               .offset = t->layout.offset};
    locate(&p, t->region, t->place, &t->type, &t->layout, 0);
    return add_param(k, p, t->kind == TENSOR_grad ? "grad" : t->name);
}

/* Whose scratch a node uses: its own or its group's. */
static const Node *
scratch_owner(const Node *n)
{
    while (n->scratch < 0 && n->graph->owner)
        n = n->graph->owner;
    if (n->scratch < 0)
        bug("codegen: the scratch of %s has no place", op_info[n->op].name);
    return n;
}

const char *
address_scratch(Cg *cg, const Node *n, int64_t at, Dtype d, const char *name)
{
    n = scratch_owner(n);
    const char *path = n->n_results ? n->results[0]->name : op_info[n->op].name;
    const char *place =
        place_text(cg, REGION_workspace, n->scratch + at, cg->prefix,
                   arena_printf(cg->arena, "%s_%s", path, name), "scratch");
    return accessor(cg, d, place);
}

int
kernel_address(Kernel *k, Dtype d, const char *pass, bool write,
               const char *path)
{
    Param p = {.type = pointer_type(k, d),
               .pointer = true,
               .pass = pass,
               .written = write,
               .offset = 1};
    return add_param(k, p, path);
}

int
kernel_scratch(Kernel *k, int64_t at, Dtype d, const char *name)
{
    const Node *n = scratch_owner(k->node);
    Param p = {.type = pointer_type(k, d),
               .pointer = true,
               .pass = address_scratch(k->cg, k->node, at, d, name),
               .written = true,
               .start = n->scratch + at,
               .size = dtype_info[d].bits / 8};
    p.whole =
        (Reach){true, REGION_workspace, n->scratch, 0, node_scratch(n)};
    return add_param(k, p, name);
}

void
kernel_cut(Kernel *k, int param, int64_t first, int64_t step, int64_t n)
{
    Param *p = &k->params.at[param];
    Reach cut = p->whole;
    cut.at = p->start + first * p->size;
    cut.step = step * p->size;
    cut.bytes = n * p->size;
    if (p->said > 0 && (cut.at != p->cut.at || cut.step != p->cut.step ||
                        cut.bytes != p->cut.bytes))
        cut = p->whole;
    p->cut = cut;
    p->said++;
}

void
kernel_aligned(Kernel *k, int param)
{
    k->params.at[param].offset = 0;
}

int
kernel_region(Kernel *k, Region region, Dtype d, bool write, const char *path)
{
    Cg *cg = k->cg;
    cg->uses[region] = true;
    const char *name = region_variable[region];
    Param p = {.type = pointer_type(k, d), .pointer = true, .written = write};
    p.pass = accessor(cg, d, arena_printf(cg->arena, "%s, 0", name));
    return add_param(k, p, path ? path : name);
}

void
emit_one_piece(Kernel *k)
{
    Emit body = k->out;
    k->out = emit_new(k->cg->arena);
    k->out.indent = body.indent;
    emit_line(&k->out, "const int64_t piece = 0;");
    emit_text(&k->out, body.at, body.n);
}

int
kernel_scalar(Kernel *k, const char *type, const char *name, const char *pass)
{
    Param p = {.type = arena_printf(k->cg->arena, "%s ", type),
               .name = name,
               .pass = pass,
               .whole = {.known = true}};
    return add_param(k, p, name);
}

const char *
kernel_name(const Kernel *k, int param)
{
    return k->params.at[param].name;
}

const char *
kernel_add(Kernel *k, const Node *accumulate)
{
    bool more = node_flag(accumulate, "more");
    k->cg->uses_mb |= !more;
    kernel_scalar(k, "int", more ? "more" : "add", more ? "1" : "mb > 0");
    return more ? "more" : "add";
}

bool
has_memory(const Value *v)
{
    return v->home->tensor || v->home->place >= 0;
}

const char *
kernel_fault(Kernel *k)
{
    Param p = {.type = "int32_t *",
               .name = "fault",
               .pass = k->cg->cuda ? "edl_fault(m)" : "&m->fault",
               .pointer = true,
               .written = true,
               .whole = {.known = true}}; /* all write the same */
    add_param(k, p, "fault");
    return "fault";
}

void
kernel_microbatch(Kernel *k)
{
    if (!k->cg->cuda) {
        kernel_scalar(k, "uint64_t", "microbatch", "m->count.microbatch");
        return;
    }
    Param p = {.type = "EdlControl *",
               .name = "control",
               .pass = "edl_control(m)",
               .pointer = true};
    int n = k->params.n;
    add_param(k, p, "control");
    HeadLine line = {"microbatch",
                     "const uint64_t microbatch = control->microbatch;"};
    if (k->params.n > n)
        vec_push(k->cg->arena, &k->head, line);
}

Kernel
kernel_run(Cg *cg, const Node *node, KernelBody body, const void *aux,
           const char *name, int64_t want)
{
    Kernel k = {.cg = cg,
                .node = node,
                .aux = aux,
                .pieces = 1,
                .want = want,
                .canonical = name == NULL,
                .name = name ? name : "K"};
    k.out = emit_new(cg->arena);
    k.out.indent = 1;
    k.names = names_new(cg->arena);
    body(&k);
    return k;
}

void
cg_refuse(Cg *cg, const Node *n, const char *why)
{
    diag_error(cg->m->diag, n->loc, "%s: %s", op_info[n->op].name, why);
    cg->failed = true;
}
