/* edlc plan: what a model takes, by class; where the peak is; what is large. */
#include <jansson.h>

#include "frontend/cmd_plan_costs.h"
#include "frontend/cmd_plan_curve.h"
#include "frontend/load.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "passes/plan/again.h"
#include "passes/plan/cost.h"
#include "passes/plan/report.h"

enum { LARGEST = 10, WORDS = 12 };

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

/* What a plan changes: a step that makes nothing again, and the step now. */
typedef struct Change {
    CurvePoint before, after;
    Agains again;
} Change;

static Change
find_change(Session *s, const Module *m, const Report *r)
{
    Change c = {.again = again_find(s->arena, m)};
    const char *program = module_graph(m, "infer") ? "infer" : "step";
    const Planned *p = &m->planned;
    c.after = (CurvePoint){r->total,
                           p->ns ? p->ns : cost_program(m, program)};
    c.before = p->ns ? (CurvePoint){p->kept_bytes, p->kept_ns} : c.after;
    return c;
}

static double
factor(const Change *c)
{
    return c->before.ns > 0 ? (double)c->after.ns / (double)c->before.ns : 1;
}

/* ---- text ---- */

/* The first ones and the last. */
static const char *
joined(Session *s, const char *const *words, int n)
{
    const char *text = "";
    for (int i = 0; i < n; i++) {
        bool skips = n > WORDS && i == WORDS - 2;
        text = arena_printf(s->arena, "%s%s%s%s", text, i ? ", " : "",
                            skips ? "... " : "", words[skips ? n - 1 : i]);
        if (skips)
            return arena_printf(s->arena, "%s (%d)", text, n);
    }
    return text;
}

static void
print_change(Session *s, const Change *c)
{
    printf("  %-22s %16.3f ms, as predicted\n", "time of a step",
           (double)c->after.ns / 1e6);
    if (c->again.at.n == 0)
        return;
    printf("  %-22s %16lld bytes, %.3f ms; now x %.4f\n", "with all kept",
           (long long)c->before.bytes, (double)c->before.ns / 1e6, factor(c));
    printf("made again\n");
    for (int i = 0; i < c->again.at.n; i++) {
        const Again *x = &c->again.at.at[i];
        const char *where = joined(s, x->blocks.at, x->blocks.n);
        printf("  %s%s%s: %lld bytes, %.3f ms a microbatch\n",
               x->blocks.n ? "in " : "outside of blocks", where,
               x->blocks.n > 1 ? " alike, together" : "", (long long)x->bytes,
               (double)x->ns / 1e6);
        printf("    %s\n", joined(s, x->values.at, x->values.n));
    }
}

static void
print_row(const char *text, int64_t bytes)
{
    printf("  %-22s %16lld %12.2f MiB\n", text, (long long)bytes,
           (double)bytes / (1 << 20));
}

static void
print_text(Session *s, const Module *m, const Report *r, const Change *c)
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
    print_change(s, c);
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

static json_t *
json_words(const char *const *words, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(words[i]));
    return list;
}

static json_t *
json_point(CurvePoint p)
{
    return json_pack("{s:I, s:I}", "bytes", (json_int_t)p.bytes, "ns",
                     (json_int_t)p.ns);
}

static json_t *
json_again(const Agains *all)
{
    json_t *list = json_array();
    for (int i = 0; i < all->at.n; i++) {
        const Again *x = &all->at.at[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:I, s:I}", "blocks",
                            json_words(x->blocks.at, x->blocks.n), "values",
                            json_words(x->values.at, x->values.n), "bytes",
                            (json_int_t)x->bytes, "ns", (json_int_t)x->ns));
    }
    return list;
}

static json_t *
json_curve(const Curve *c)
{
    json_t *list = json_array();
    for (int i = 0; i < c->at.n; i++)
        json_array_append_new(list, json_point(c->at.at[i]));
    return list;
}

static void
print_json(Session *s, const Module *m, const Report *r, const Change *c,
           const Curve *curve)
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
    json_object_set_new(top, "before", json_point(c->before));
    json_object_set_new(top, "after", json_point(c->after));
    json_object_set_new(top, "recomputed", json_again(&c->again));
    if (curve->at.n > 0)
        json_object_set_new(top, "curve", json_curve(curve));
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
    Curve curve = {0};
    const char *svg = s->options->curve;
    PassOptions first = {.stop_after = "fuse", .out = stdout};
    PassOptions rest = {.after = "fuse", .out = stdout};
    if (m->programs.n > 0) /* a schedule stays as it is */
        rest = (PassOptions){.only = "place", .out = stdout};
    else if (!passes_run(m, &first))
        return STATUS_INPUT;
    if (svg)
        curve = curve_find(s->arena, m);
    bool done = passes_run(m, &rest);
    if (!done && !m->over_limit)
        return STATUS_INPUT;
    Report r = report_make(s->arena, m);
    Change c = find_change(s, m, &r);
    if (s->options->json)
        print_json(s, m, &r, &c, &curve);
    else
        print_text(s, m, &r, &c);
    if (svg && !curve_write(s, svg, m->name, &curve, c.after))
        return STATUS_INPUT;
    return done ? STATUS_DONE : STATUS_LIMIT;
}
