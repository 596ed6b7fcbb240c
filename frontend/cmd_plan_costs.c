/* edlc plan COSTS.csv: the order of a bare cost graph that takes the least
 * time within a limit, with runs repeated where that saves memory. */
#include "frontend/cmd_plan_costs.h"

#include <jansson.h>
#include <stdlib.h>

#include "frontend/cmd_plan_curve.h"
#include "frontend/output.h"
#include "frontend/size.h"
#include "passes/plan/prove.h"

typedef struct Plan {
    Session *s;
    const char *path;
    const CostGraph *g;
    int64_t limit; /* -1: none */
    int effort;
    RematPlan plan;
    bool found;
    bool proved_none; /* no order is within the limit */
    RematPoint curve[REMAT_GRID + 1];
    int n_curve; /* 0: nobody asks */
} Plan;

static double
share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 1;
}

/* By how much the plan may be above the best one, as a part of that. */
static double
gap(const Plan *p)
{
    return share(p->plan.result.time, p->plan.bound) - 1;
}

static bool
take_limit(Plan *p, const char *text)
{
    char *end;
    p->limit = -1;
    if (!text)
        return true;
    double percent = strtod(text, &end);
    if (end != text && !strcmp(end, "%") && percent > 0 && percent <= 1e6) {
        p->limit = (int64_t)((double)p->g->peak * percent / 100);
        return true;
    }
    p->limit = size_parse(text);
    if (p->limit > 0)
        return true;
    diag_error(p->s->diag, (Span){0},
               "--memory=%s: expected a size as 3GiB, or 80%%", text);
    return false;
}

static bool
write_order(const Plan *p, const char *path)
{
    VEC(char) text = {0};
    for (int i = 0; i < p->plan.n; i++) {
        const char *at = p->g->nodes[p->plan.order[i]].name;
        for (; *at; at++)
            vec_push(p->s->arena, &text, *at);
        vec_push(p->s->arena, &text, '\n');
    }
    return output_write_file(p->s, path, text.at, (size_t)text.n);
}

/* ---- what is printed ---- */

/* What --prove came to. */
static void
print_proof(const Plan *p)
{
    bool asked = p->s->options->prove;
    if (p->plan.proved)
        printf("  proved: no order takes less time, whatever it runs again\n");
    else if (asked && p->g->n > PROVE_NODES)
        printf("  not proved: the graph has more than %d nodes\n",
               PROVE_NODES);
    else if (asked)
        printf("  not proved: the gap is left\n");
}

static void
print_text(const Plan *p)
{
    const CostGraph *g = p->g;
    const CostResult *r = &p->plan.result;
    printf("%d nodes\n", g->n);
    printf("  %-12s %20lld bytes, time %.9g\n", "unplanned",
           (long long)g->peak, (double)g->time / (double)g->scale);
    if (p->limit >= 0)
        printf("  %-12s %20lld bytes, %.2f %%\n", "limit",
               (long long)p->limit, 100 * share(p->limit, g->peak));
    printf("  %-12s %20lld bytes, %.2f %%\n", "peak", (long long)r->peak,
           100 * share(r->peak, g->peak));
    printf("  %-12s %20.6f, time %.9g, %d of %d runs repeated\n",
           "time factor", share(r->time, g->time),
           (double)r->time / (double)g->scale, p->plan.n - g->n, p->plan.n);
    printf("  %-12s %20.6f, gap %.4f %%\n", "lower bound",
           share(p->plan.bound, g->time), 100 * gap(p));
    print_proof(p);
}

static json_t *
json_curve(const Plan *p)
{
    json_t *list = json_array();
    for (int k = p->n_curve - 1; k >= 0; k--) {
        const RematPoint *x = &p->curve[k];
        json_array_append_new(
            list, json_pack("{s:I, s:f, s:f}", "limit", (json_int_t)x->limit,
                            "time_factor",
                            share(x->plan.result.time, p->g->time),
                            "lower_bound", share(x->plan.bound, p->g->time)));
    }
    return list;
}

static void
print_json(const Plan *p)
{
    const CostGraph *g = p->g;
    const CostResult *r = &p->plan.result;
    double scale = (double)g->scale;
    json_t *top = json_pack(
        "{s:i, s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:i}", "nodes", g->n,
        "unplanned_peak", (json_int_t)g->peak, "unplanned_time",
        (double)g->time / scale, "peak", (json_int_t)r->peak, "time",
        (double)r->time / scale, "time_factor", share(r->time, g->time),
        "lower_bound", share(p->plan.bound, g->time), "gap", gap(p), "runs",
        p->plan.n);
    json_t *order = json_array();
    json_object_set_new(top, "proved", json_boolean(p->plan.proved));
    json_object_set_new(top, "limit",
                        p->limit < 0 ? json_null() : json_integer(p->limit));
    for (int i = 0; i < p->plan.n; i++)
        json_array_append_new(
            order, json_string(g->nodes[p->plan.order[i]].name));
    json_object_set_new(top, "order", order);
    if (p->n_curve > 0)
        json_object_set_new(top, "curve", json_curve(p));
    json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    printf("\n");
    json_decref(top);
}

/* ---- */

static Status
does_not_fit(Plan *p)
{
    int most;
    Diag *d = p->s->diag;
    int64_t least = costs_least_peak(p->g, &most);
    diag_error(d, (Span){0}, "%s: no order within %lld bytes", p->path,
               (long long)p->limit);
    diag_note(d, (Span){0},
              "%s with its inputs takes %lld bytes, %.2f %% of the unplanned "
              "peak: no limit below that works", p->g->nodes[most].name,
              (long long)least, 100 * share(least, p->g->peak));
    diag_note(d, (Span){0},
              "the smallest limit found is %lld bytes, %.2f %%, with the time "
              "factor %.6f", (long long)p->plan.result.peak,
              100 * share(p->plan.result.peak, p->g->peak),
              share(p->plan.result.time, p->g->time));
    if (p->s->options->prove)
        diag_note(d, (Span){0}, p->proved_none
                  ? "it is proved that no order is within the limit"
                  : "it is not proved that no order is within the limit");
    return STATUS_LIMIT;
}

static void
make_plan(Plan *p)
{
    Arena *a = p->s->arena;
    p->found = remat_plan(a, p->g, p->limit, p->effort, &p->plan);
    if (!p->s->options->prove)
        return;
    RematPlan proof = p->plan;
    int64_t effort = (int64_t)PROVE_LONG * p->effort;
    p->found = remat_prove(a, p->g, p->limit, effort, &proof, p->found);
    if (p->found)
        p->plan = proof;
    else
        p->proved_none = proof.proved;
}

/* The curve; and where it knows a faster order within the limit, the plan is
 * that one. */
static void
make_curve(Plan *p)
{
    p->n_curve = remat_curve(p->s->arena, p->g, p->effort, p->curve);
    for (int k = 0; k < p->n_curve; k++) {
        const RematPlan *at = &p->curve[k].plan;
        if (at->result.peak <= p->plan.result.peak &&
            at->result.time < p->plan.result.time) {
            int64_t bound = p->plan.bound;
            p->plan = *at;
            p->plan.bound = bound;
            p->plan.proved = at->result.time <= bound;
        }
    }
}

static bool
write_curve(const Plan *p)
{
    Curve c = {.bound = p->g->time > 0 ? p->g->time : 1};
    CurvePoint now = {p->plan.result.peak, p->plan.result.time};
    Arena *a = p->s->arena;
    for (int k = p->n_curve - 1; k >= 0; k--) {
        const RematPoint *x = &p->curve[k];
        int64_t time = x->plan.result.time;
        if (x->limit >= now.bytes && time > now.ns)
            time = now.ns;
        vec_push(a, &c.at, ((CurvePoint){x->limit, time}));
        vec_push(a, &c.bounds, ((CurvePoint){x->limit, x->plan.bound}));
    }
    const char *slash = strrchr(p->path, '/');
    return curve_write(p->s, p->s->options->curve, slash ? slash + 1 : p->path,
                       &c, now);
}

/* The flags that say something of a cost graph; the others of edlc plan are of
 * models. */
static const char *const costs_flags[] = {
    "--memory", "--json",  "--curve",       "--order",
    "--effort", "--prove", "--diagnostics", NULL};

static bool
refuse_flags(const Session *s)
{
    const char *flag = options_given(s->options, costs_flags, false);
    if (flag)
        diag_error(s->diag, (Span){0},
                   "%s: not made for cost graphs (.csv), only for models",
                   flag);
    return flag != NULL;
}

Status
cmd_plan_costs(Session *s, const char *path)
{
    Plan p = {.s = s, .path = path};
    const char *text;
    size_t n;
    if (refuse_flags(s))
        return STATUS_USAGE;
    if (!session_read(s, path, &text, &n))
        return STATUS_INPUT;
    p.g = costs_read(s->arena, s->diag, path, text, n);
    if (!p.g || !take_limit(&p, s->options->memory) ||
        !session_effort(s, &p.effort))
        return STATUS_INPUT;
    make_plan(&p);
    if (!p.found)
        return does_not_fit(&p);
    if (s->options->curve)
        make_curve(&p);
    if (s->options->curve && !write_curve(&p))
        return STATUS_INPUT;
    if (s->options->order && !write_order(&p, s->options->order))
        return STATUS_INPUT;
    if (s->options->json)
        print_json(&p);
    else
        print_text(&p);
    return STATUS_DONE;
}
