/* edlc plan --json: docs/formats.md says what the fields are. */
#include <jansson.h>

#include "frontend/cmd_plan.h"

static json_t *
json_peak(const Report *r)
{
    if (!r->peak)
        return json_null();
    return json_pack("{s:s, s:s, s:i, s:i, s:I}", "graph", r->graph->name,
                     "node", report_node_name(r->peak), "step",
                     r->peak->order + 1, "steps", report_count(r->graph),
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
                                        "type", plan_line_type(s->arena, l),
                                        "bytes", (json_int_t)l->bytes));
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
json_fate(const FateLine *f)
{
    return json_pack("{s:o, s:I, s:I}", "values",
                     json_words(f->values.at, f->values.n), "bytes",
                     (json_int_t)f->bytes, "ns", (json_int_t)f->ns);
}

static json_t *
json_blocks(const Summary *all)
{
    static const char *const key[FATE_COUNT] = {"kept", "moved", "recomputed"};
    json_t *list = json_array();
    for (int i = 0; i < all->at.n; i++) {
        const BlockLine *x = &all->at.at[i];
        json_t *row = json_object();
        json_object_set_new(row, "blocks",
                            json_words(x->blocks.at, x->blocks.n));
        for (int f = 0; f < FATE_COUNT; f++)
            json_object_set_new(row, key[f], json_fate(&x->fate[f]));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *
json_early(const Summary *s)
{
    json_t *x = json_object();
    json_object_set_new(x, "parameters", json_integer(s->early));
    json_object_set_new(x, "bytes", json_integer(s->early_bytes));
    return x;
}

static json_t *
json_curve(const Curve *c)
{
    json_t *list = json_array();
    for (int i = 0; i < c->at.n; i++)
        json_array_append_new(list, json_point(c->at.at[i]));
    return list;
}

void
plan_json(const PlanView *p)
{
    json_t *top = json_object(), *bytes = json_object();
    const Module *m = p->m;
    const char *limit = module_option(m, "limit");
    for (int i = 0; i < PLAN_CLASSES; i++)
        json_object_set_new(
            bytes, plan_classes[i].key,
            json_integer(plan_class_bytes(m, &plan_classes[i])));
    json_object_set_new(top, "model", json_string(m->name));
    json_object_set_new(top, "total", json_integer(p->report.total));
    json_object_set_new(top, "limit", limit ? json_string(limit) : json_null());
    json_object_set_new(top, "fits", json_boolean(!m->over_limit));
    json_object_set_new(top, "classes", bytes);
    json_object_set_new(top, "before", json_point(p->before));
    json_object_set_new(top, "after", json_point(p->after));
    json_object_set_new(top, "blocks", json_blocks(&p->summary));
    json_object_set_new(top, "early", json_early(&p->summary));
    if (p->curve.at.n > 0)
        json_object_set_new(top, "curve", json_curve(&p->curve));
    if (p->s->options->kernels)
        json_object_set_new(top, "kernels", plan_kernels_json(p));
    json_object_set_new(top, "peak", json_peak(&p->report));
    json_object_set_new(top, "largest", json_largest(p->s, &p->report));
    json_dumpf(top, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(top);
}
