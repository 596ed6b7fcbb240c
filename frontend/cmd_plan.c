/* edlc plan: what a model takes, by class; where the peak is; what is large. */
#include <jansson.h>

#include "frontend/cmd_plan_costs.h"
#include "frontend/load.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "passes/plan/report.h"

enum { LARGEST = 10 };

/* A class of memory: a region, or a part of one. */
typedef struct Class {
    const char *key, *text;
    Region region;
    bool part; /* of the region's row above */
    unsigned kinds;
} Class;

#define KIND(k) (1u << TENSOR_##k)

static const Class classes[] = {
    {"state", "state", REGION_state, false, 0},
    {"parameters", "  parameters", REGION_state, true,
     KIND(param) | KIND(frozen)},
    {"optimizer", "  optimizer", REGION_state, true, KIND(opt) | KIND(counter)},
    {"buffers", "  buffers", REGION_state, true, KIND(state)},
    {"gradients", "gradients", REGION_grads, false, 0},
    {"stash", "stash", REGION_stash, false, 0},
    {"workspace", "workspace", REGION_workspace, false, 0},
    {"io", "inputs and outputs", REGION_io, false, 0},
};

enum { N_CLASSES = sizeof classes / sizeof classes[0] };

static int64_t
class_bytes(const Module *m, const Class *c)
{
    int64_t bytes = 0;
    if (!c->part)
        return m->region_bytes[c->region];
    for (int i = 0; i < m->tensors.n; i++)
        if (c->kinds >> m->tensors.at[i]->kind & 1)
            bytes += m->tensors.at[i]->bytes;
    return bytes;
}

static const char *
line_type(Arena *a, const ReportLine *l)
{
    return l->type ? text_type(a, l->type) : "temporaries of the kernel";
}

static int
count_nodes(const Graph *g)
{
    int n = 0;
    graph_each(g, node)
        n++;
    return n;
}

/* ---- text ---- */

static void
print_row(const char *text, int64_t bytes)
{
    printf("  %-22s %16lld %12.2f MiB\n", text, (long long)bytes,
           (double)bytes / (1 << 20));
}

static void
print_text(Session *s, const Module *m, const Report *r)
{
    printf("%s\n", m->name);
    for (int i = 0; i < N_CLASSES; i++) {
        int64_t bytes = class_bytes(m, &classes[i]);
        if (!classes[i].part || bytes > 0)
            print_row(classes[i].text, bytes);
    }
    print_row("total", r->total);
    if (module_option(m, "limit"))
        printf("  %-22s %16s\n", "limit", module_option(m, "limit"));
    if (r->peak)
        printf("peak at step %d of %d of %s: %s, %lld bytes of workspace\n",
               r->peak->order + 1, count_nodes(r->graph), r->graph->name,
               report_node_name(r->peak), (long long)r->load);
    printf("largest\n");
    for (int i = 0; i < r->largest.n && i < LARGEST; i++) {
        const ReportLine *l = &r->largest.at[i];
        printf("  %16lld  %-10s %s : %s\n", (long long)l->bytes,
               region_name[l->region], l->name, line_type(s->arena, l));
    }
}

/* ---- JSON ---- */

static json_t *
json_peak(const Report *r)
{
    if (!r->peak)
        return json_null();
    return json_pack("{s:s, s:s, s:i, s:i, s:I}", "graph", r->graph->name,
                     "node", report_node_name(r->peak), "step",
                     r->peak->order + 1, "steps", count_nodes(r->graph),
                     "workspace", (json_int_t)r->load);
}

static json_t *
json_largest(Session *s, const Report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->largest.n; i++) {
        const ReportLine *l = &r->largest.at[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:I}", "name", l->name,
                                        "region", region_name[l->region],
                                        "type", line_type(s->arena, l), "bytes",
                                        (json_int_t)l->bytes));
    }
    return list;
}

static void
print_json(Session *s, const Module *m, const Report *r)
{
    json_t *top = json_object(), *bytes = json_object();
    const char *limit = module_option(m, "limit");
    for (int i = 0; i < N_CLASSES; i++)
        json_object_set_new(bytes, classes[i].key,
                            json_integer(class_bytes(m, &classes[i])));
    json_object_set_new(top, "model", json_string(m->name));
    json_object_set_new(top, "total", json_integer(r->total));
    json_object_set_new(top, "limit", limit ? json_string(limit) : json_null());
    json_object_set_new(top, "fits", json_boolean(!m->over_limit));
    json_object_set_new(top, "classes", bytes);
    json_object_set_new(top, "peak", json_peak(r));
    json_object_set_new(top, "largest", json_largest(s, r));
    json_dumpf(top, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(top);
}

Status
cmd_plan(Session *s)
{
    const char *path;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (load_has_suffix(path, ".csv"))
        return cmd_plan_costs(s, path);
    Module *m = load_module(s, path);
    if (!m)
        return STATUS_INPUT;
    PassOptions o = {.out = stdout};
    if (m->programs.n > 0) /* a schedule stays as it is */
        o.only = "place";
    bool done = passes_run(m, &o);
    if (!done && !m->over_limit)
        return STATUS_INPUT;
    Report r = report_make(s->arena, m);
    if (s->options->json)
        print_json(s, m, &r);
    else
        print_text(s, m, &r);
    return done ? STATUS_DONE : STATUS_LIMIT;
}
