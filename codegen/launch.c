#include "codegen/launch.h"

#include <inttypes.h>
#include <stdio.h>

const char *
kernel_declaration(Kernel *k, const Param *p, bool with_restrict)
{
    bool keep = !p->pointer || p->written;
    return arena_printf(k->cg->arena, "%s%s%s%s", keep ? "" : "const ", p->type,
                        p->pointer && with_restrict ? "EDL_RESTRICT " : "",
                        p->name);
}

static void
emit_head(Kernel *k, Emit *e, bool with_restrict, bool instance)
{
    Arena *a = k->cg->arena;
    VEC(const char *) items = {0};
    if (instance)
        vec_push(a, &items, "const EdlInstance *m");
    for (int i = 0; i < k->params.n; i++)
        vec_push(a, &items,
                 kernel_declaration(k, &k->params.at[i], with_restrict));
    emit_line(e, "static void");
    if (items.n == 0)
        vec_push(a, &items, "void");
    emit_list(e, arena_printf(a, "%s(", k->name), items.at, items.n, ")");
    emit_line(e, "{");
}

static void
emit_struct(Kernel *k, Emit *e)
{
    emit_line(e, "typedef struct %s_args {", k->name);
    for (int i = 0; i < k->params.n; i++)
        emit_line(e, "    %s;", kernel_declaration(k, &k->params.at[i], false));
    emit_line(e, "} %s_args;\n", k->name);
}

static void
emit_piece(Kernel *k, Emit *e)
{
    emit_struct(k, e);
    if (!k->canonical && k->comment)
        emit_comment(e, k->comment);
    emit_line(e, "static void");
    emit_line(e, "%s_piece(void *arg, int64_t piece)", k->name);
    emit_line(e, "{");
    const char *after = strlen(k->name) > 16 ? "\n        " : " ";
    emit_line(e, "    const %s_args *const in =%s(const %s_args *)arg;",
              k->name, after, k->name);
    for (int i = 0; i < k->params.n; i++) {
        const Param *p = &k->params.at[i];
        emit_line(e, "    %s%s = in->%s;", p->pointer ? "" : "const ",
                  kernel_declaration(k, p, true), p->name);
    }
    emit_text(e, k->out.at, k->out.n);
    if (k->pieces == 1)
        emit_line(e, "    (void)piece;");
    emit_line(e, "}\n");
}

static void
emit_launch(Kernel *k, Emit *e)
{
    Arena *a = k->cg->arena;
    VEC(const char *) names = {0};
    for (int i = 0; i < k->params.n; i++)
        vec_push(a, &names, k->params.at[i].name);
    emit_head(k, e, false, true);
    e->indent++;
    emit_list(e, arena_printf(a, "%s_args args = {", k->name), names.at,
              names.n, "};");
    const char *items[] = {"m", arena_printf(a, "%" PRId64, k->pieces),
                           arena_printf(a, "%s_piece", k->name), "&args"};
    emit_list(e, "edl_parallel(", items, 4, ");");
    e->indent--;
    emit_line(e, "}\n");
}

static void
emit_whole(Kernel *k, Emit *e)
{
    if (!k->canonical && k->comment)
        emit_comment(e, k->comment);
    emit_head(k, e, true, false);
    emit_text(e, k->out.at, k->out.n);
    emit_line(e, "}\n");
}

Launch
launch_new(Cg *cg, const Node *node, const char *label, const char *path,
           KernelBody body, const void *aux, int64_t want)
{
    Launch s = {.node = node,
                .label = label,
                .path = path,
                .body = body,
                .aux = aux,
                .want = want};
    s.plain = kernel_run(cg, node, body, aux, NULL, want);
    if (cg->failed)
        s.plain.pieces = 0;
    return s;
}

static Kernel *
named(Cg *cg, Launch *s)
{
    if (!s->is_named)
        s->named = kernel_run(cg, s->node, s->body, s->aux, "K", s->want);
    s->is_named = true;
    return &s->named;
}

typedef void FunctionText(Kernel *k, Emit *e);

static FunctionText *
text_of(const Cg *cg, const Launch *s)
{
    if (cg->cuda)
        return cuda_function;
    return s->plain.pieces == 1 ? emit_whole : emit_piece;
}

/* The text with canonical names, by which functions are known. */
static const char *
key_of(Cg *cg, Launch *s, FunctionText *text)
{
    const char **key = text == emit_piece ? &s->piece_key : &s->key;
    if (*key)
        return *key;
    Emit e = emit_new(cg->arena);
    text(&s->plain, &e);
    *key = emit_string(&e);
    return *key;
}

void
launch_keep(Cg *cg, Launch *s, bool in_chain)
{
    if (!s->aux)
        return;
    FunctionText *text = in_chain ? emit_piece : text_of(cg, s);
    if (!map_get(&cg->known, key_of(cg, s, text)))
        named(cg, s);
    s->aux = NULL;
}

/* Its name; it is written once. */
static const char *
function_of(Cg *cg, Launch *s, FunctionText *text)
{
    const char *key = key_of(cg, s, text), *name = map_get(&cg->known, key);
    if (name)
        return name;
    const char *path = name_strip(cg->arena, s->path);
    name = names_take(&cg->names,
                      arena_printf(cg->arena, "%s_%s", s->label, path));
    map_put(cg->arena, &cg->known, key, (void *)name);
    Kernel *k = ARENA_NEW(cg->arena, Kernel);
    *k = *named(cg, s);
    k->name = name;
    text(k, &cg->kernels);
    map_put(cg->arena, &cg->written, name, k);
    return name;
}

const char *
piece_function(Cg *cg, Launch *s)
{
    return function_of(cg, s, emit_piece);
}

const char *
launch_function(Cg *cg, Launch *s)
{
    const char *name = function_of(cg, s, text_of(cg, s));
    if (cg->cuda || s->plain.pieces == 1 || map_get(&cg->launched, name))
        return name;
    map_put(cg->arena, &cg->launched, name, (void *)name);
    emit_launch(map_get(&cg->written, name), &cg->kernels);
    return name;
}
