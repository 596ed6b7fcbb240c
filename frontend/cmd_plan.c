/* edlc plan: what a model takes, by class; where the peak is; what is kept,
 * moved and made again; what is large. */
#include "frontend/cmd_plan.h"

#include "frontend/cmd_limit.h"
#include "frontend/cmd_plan_costs.h"
#include "frontend/load.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "passes/plan/flow.h"

enum { LARGEST = 10, WORDS = 12 };

#define KIND(k) (1u << TENSOR_##k)

const PlanClass plan_classes[PLAN_CLASSES] = {
    {"state", "state", REGION_state, false, 0},
    {"parameters", "  parameters", REGION_state, true,
     KIND(param) | KIND(frozen)},
    {"optimizer", "  optimizer", REGION_state, true, KIND(opt) | KIND(counter)},
    {"buffers", "  buffers", REGION_state, true, KIND(state)},
    {"gradients", "gradients", REGION_grads, false, 0},
    {"stash", "stash", REGION_stash, false, 0},
    {"workspace", "workspace", REGION_workspace, false, 0},
    {"io", "inputs and outputs", REGION_io, false, 0},
    {"host", "off: memory of the host", REGION_host, false, 0},
    {"disk", "off: on disk", REGION_disk, false, 0},
};

int64_t
plan_class_bytes(const Module *m, const PlanClass *c)
{
    int64_t bytes = 0;
    if (!c->part)
        return m->region_bytes[c->region];
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->region == c->region &&
            c->kinds >> m->tensors.at[i]->kind & 1)
            bytes += m->tensors.at[i]->bytes;
    return bytes;
}

const char *
plan_line_type(Arena *a, const ReportLine *l)
{
    return l->type ? text_type(a, l->type) : "temporaries of the kernel";
}

double
plan_factor(const PlanView *p)
{
    return p->before.ns > 0 ? (double)p->after.ns / (double)p->before.ns : 1;
}

static void
find_change(PlanView *p)
{
    const char *program = module_graph(p->m, "infer") ? "infer" : "step";
    const Planned *n = &p->m->planned;
    int64_t ns = n->ns ? n->ns : flow_program(p->m, program);
    p->after = (CurvePoint){p->report.total, ns};
    p->before = n->ns ? (CurvePoint){n->kept_bytes, n->kept_ns} : p->after;
}

/* ---- text ---- */

/* The first ones and the last. */
static const char *
joined(Arena *a, const char *const *words, int n)
{
    const char *text = "";
    for (int i = 0; i < n; i++) {
        bool skips = n > WORDS && i == WORDS - 2;
        text = arena_printf(a, "%s%s%s%s", text, i ? ", " : "",
                            skips ? "... " : "", words[skips ? n - 1 : i]);
        if (skips)
            return arena_printf(a, "%s (%d)", text, n);
    }
    return text;
}

static void
print_fate(Arena *a, Fate fate, const FateLine *f)
{
    if (f->values.n == 0)
        return;
    printf("    %-10s %16lld bytes", fate_name[fate], (long long)f->bytes);
    if (f->ns > 0)
        printf(", %.3f ms a microbatch", (double)f->ns / 1e6);
    printf(": %s\n", joined(a, f->values.at, f->values.n));
}

static void
print_blocks(const PlanView *p)
{
    Arena *a = p->s->arena;
    if (p->summary.at.n > 0)
        printf("for the backward pass\n");
    for (int i = 0; i < p->summary.at.n; i++) {
        const BlockLine *x = &p->summary.at.at[i];
        printf("  %s%s%s\n", x->blocks.n ? "in " : "outside of blocks",
               joined(a, x->blocks.at, x->blocks.n),
               x->blocks.n > 1 ? " alike, together" : "");
        for (int f = 0; f < FATE_COUNT; f++)
            print_fate(a, f, &x->fate[f]);
    }
    if (p->summary.early > 0)
        printf("updated in the backward pass: %d parameters, whose gradients "
               "of %lld bytes are not kept\n",
               p->summary.early, (long long)p->summary.early_bytes);
}

static void
print_change(const PlanView *p)
{
    printf("  %-22s %16.3f ms, as predicted\n", "time of a step",
           (double)p->after.ns / 1e6);
    if (p->before.ns != p->after.ns || p->before.bytes != p->after.bytes)
        printf("  %-22s %16lld bytes, %.3f ms; now x %.4f\n", "with all kept",
               (long long)p->before.bytes, (double)p->before.ns / 1e6,
               plan_factor(p));
}

static void
print_row(const char *text, int64_t bytes)
{
    printf("  %-22s %16lld %12.2f MiB\n", text, (long long)bytes,
           (double)bytes / (1 << 20));
}

static void
print_rows(const PlanView *p)
{
    const char *limit = module_option(p->m, "limit");
    for (int i = 0; i < PLAN_CLASSES; i++) {
        const PlanClass *c = &plan_classes[i];
        int64_t bytes = plan_class_bytes(p->m, c);
        bool off = c->region == REGION_host || c->region == REGION_disk;
        if (!(c->part || off) || bytes > 0)
            print_row(c->text, bytes);
    }
    print_row("total", p->report.total);
    if (limit)
        printf("  %-22s %16s\n", "limit", limit);
}

static void
print_text(const PlanView *p)
{
    const Report *r = &p->report;
    printf("%s\n", p->m->name);
    print_rows(p);
    print_change(p);
    print_blocks(p);
    if (r->peak)
        printf("peak at step %d of %d of %s: %s, %lld bytes of workspace\n",
               r->peak->order + 1, report_count(r->graph), r->graph->name,
               report_node_name(r->peak), (long long)r->load);
    printf("largest\n");
    for (int i = 0; i < r->largest.n && i < LARGEST; i++) {
        const ReportLine *l = &r->largest.at[i];
        printf("  %16lld  %-10s %s : %s\n", (long long)l->bytes,
               region_name[l->region], l->name, plan_line_type(p->s->arena, l));
    }
}

/* ---- the command ---- */

/* Up to where the ladder begins, the curve if somebody asks, and the rest. */
static bool
run_passes(PlanView *p)
{
    const Options *o = p->s->options;
    PassOptions first = {.stop_after = "narrow", .out = stdout};
    PassOptions rest = {.after = "narrow", .out = stdout};
    if (p->m->programs.n > 0) /* a schedule stays as it is */
        rest = (PassOptions){.only = "place", .out = stdout};
    else if (!passes_run(p->m, &first))
        return false;
    if (o->curve || o->report)
        p->curve = curve_find(p->s->arena, p->m);
    return passes_run(p->m, &rest);
}

static bool
write_files(PlanView *p)
{
    const Options *o = p->s->options;
    if (o->report || o->trace)
        p->timeline = timeline_make(p->s->arena, p->m);
    return (!o->curve ||
            curve_write(p->s, o->curve, p->m->name, &p->curve, p->after)) &&
           (!o->report || plan_report(p, o->report)) &&
           (!o->trace || plan_trace(p, o->trace));
}

/* The flags that say something of cost graphs alone; of models in EDL, that IR
 * text has behind it; and what a schedule has decided. */
static const char *const of_costs[] = {"--order", "--effort", "--prove", NULL};
static const char *const of_source[] = {"--set", "-I", "--model", "--mode",
                                        NULL};
static const char *const of_passes[] = {
    "--target", "--precision", "--recompute", "--offload", "--grads", NULL};

/* Whether none of flags is given; what: the input, owner: what takes them. */
static bool
lacks(const Session *s, const char *const *flags, const char *what,
      const char *owner)
{
    const char *flag = options_given(s->options, flags, true);
    if (flag)
        diag_error(s->diag, (Span){0}, "%s: not made for %s, only for %s", flag,
                   what, owner);
    return !flag;
}

Status
cmd_plan(Session *s)
{
    PlanView p = {.s = s};
    const char *path;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (load_has_suffix(path, ".csv"))
        return cmd_plan_costs(s, path);
    if (!lacks(s, of_costs, "models", "cost graphs (.csv)") ||
        (!load_has_suffix(path, ".edl") &&
         !lacks(s, of_source, "IR text", "models (.edl)")))
        return STATUS_USAGE;
    if (!(p.m = load_module(s, path)))
        return STATUS_INPUT;
    if (p.m->programs.n > 0 && !lacks(s, of_passes, "schedules", "models"))
        return STATUS_USAGE;
    bool done = run_passes(&p);
    if (!done && !p.m->over_limit)
        return STATUS_INPUT;
    if (!done)
        cmd_limit_help(s, p.m);
    p.report = report_make(s->arena, p.m);
    p.summary = summary_make(s->arena, p.m);
    find_change(&p);
    if (s->options->json)
        plan_json(&p);
    else if (s->options->kernels)
        plan_kernels(&p);
    else
        print_text(&p);
    if (!write_files(&p))
        return STATUS_INPUT;
    return done ? STATUS_DONE : STATUS_LIMIT;
}
