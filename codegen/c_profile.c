/* What a build with -DEDL_PROFILE adds to NAME.c: a table of the nodes, and
 * macros of the names of kernels and graphs that time their calls. Other
 * builds see nothing of it. */
#include "codegen/c.h"
#include "ir/work.h"

#include <inttypes.h>

void
profile_node(Cg *cg, const Node *n)
{
    if (cg->node_calls > 0) {
        ProfiledNode p = {n, cg->node_kernel, cg->node_calls};
        vec_push(cg->arena, &cg->profiled, p);
    }
    cg->node_calls = 0;
    cg->node_kernel = NULL;
}

int
profile_call(Cg *cg)
{
    bool first = cg->node_calls == 0;
    cg->node_calls += cg->repeats > 0 ? cg->repeats : 1;
    return first ? cg->profiled.n : -1;
}

void
profile_name(Cg *cg, int call, const char *kernel)
{
    if (call >= cg->profiled.n)
        cg->node_kernel = kernel;
    else if (call >= 0)
        cg->profiled.at[call].kernel = kernel;
}

void
profile_macro(Cg *cg, const char *kernel)
{
    if (map_get(&cg->profiled_kernels, kernel))
        return;
    map_put(cg->arena, &cg->profiled_kernels, kernel, (void *)kernel);
    vec_push(cg->arena, &cg->kernel_names, kernel);
}

/* #define NAME(...) (first, NAME(__VA_ARGS__)last) over two lines. */
static void
emit_macro(Emit *e, const char *name, const char *first, const char *last)
{
    char *head = arena_printf(e->arena, "#define %s(...)", name);
    emit_line(e, "%-79s\\", head);
    head = arena_printf(e->arena, "    (%s,", first);
    emit_line(e, "%-79s\\", head);
    emit_line(e, "     %s(__VA_ARGS__)%s)", name, last);
}

static void
emit_table(CModel *m, Emit *e, GraphCode *g)
{
    Arena *a = m->cg.arena;
    if (g->profiled.n == 0)
        return;
    const char *nodes = names_take(&m->cg.names,
                                   arena_printf(a, "%s_nodes", g->name));
    g->table = names_take(&m->cg.names, arena_printf(a, "%s_profile", g->name));
    emit_line(e, "static const EdlProfileNode %s[] = {", nodes);
    e->indent++;
    for (int i = 0; i < g->profiled.n; i++) {
        const ProfiledNode *p = &g->profiled.at[i];
        Work w = work_kernel(p->node);
        const char *items[] = {
            c_string(a, work_name(p->node)), c_string(a, p->kernel),
            arena_printf(a, "%" PRId64, p->calls),
            c_double(a, work_operations(&w)), c_double(a, (double)w.bytes)};
        emit_list(e, "{", items, 5, "},");
    }
    e->indent--;
    emit_line(e, "};");
    emit_line(e, "static const EdlProfileGraph %s = {%s, %s, %d};\n", g->table,
              c_string(a, g->graph->name), nodes, g->profiled.n);
}

void
c_profile_kernels(CModel *m, Emit *e)
{
    emit_line(e, "#ifdef EDL_PROFILE");
    emit_line(e, "/* Nodes in the order of their calls: calls, operations and "
                 "bytes of each. */");
    for (int i = 0; i < m->graphs.n; i++)
        emit_table(m, e, &m->graphs.at[i]);
    for (int i = 0; i < m->cg.kernel_names.n; i++)
        emit_macro(e, m->cg.kernel_names.at[i], "edl_profile_begin(m)",
                   ", edl_profile_end(m)");
    emit_line(e, "#endif\n");
}

void
c_profile_graphs(CModel *m, Emit *e)
{
    emit_line(e, "#ifdef EDL_PROFILE");
    for (int i = 0; i < m->graphs.n; i++) {
        const GraphCode *g = &m->graphs.at[i];
        if (!g->table)
            continue;
        emit_macro(e, g->name,
                   arena_printf(m->cg.arena, "edl_profile_graph(m, &%s)",
                                g->table), "");
    }
    emit_line(e, "#endif\n");
}
