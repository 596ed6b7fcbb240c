#include "passes/plan/limit.h"

#include <stdlib.h>

#include "passes/plan/report.h"

enum { LARGEST = 5 };

int64_t
limit_bytes(const Module *m, int64_t total)
{
    const char *text = module_option(m, "limit");
    if (!text || !*text)
        return -1;
    char *end;
    if (text[strlen(text) - 1] == '%') {
        double bytes = (double)total * strtod(text, NULL) / 100;
        return bytes < (double)INT64_MAX ? (int64_t)bytes : INT64_MAX;
    }
    long long v = strtoll(text, &end, 10);
    return *end ? -1 : (int64_t)v;
}

static void
say_regions(Module *m, const Report *r)
{
    Span nowhere = {0};
    const int64_t *b = m->region_bytes;
    diag_note(m->diag, nowhere,
              "state %lld, gradients %lld, stash %lld, workspace %lld, inputs "
              "and outputs %lld bytes",
              (long long)b[REGION_state], (long long)b[REGION_grads],
              (long long)b[REGION_stash], (long long)b[REGION_workspace],
              (long long)b[REGION_io]);
    if (r->peak)
        diag_note(m->diag, r->peak->loc,
                  "the workspace is fullest at %s in %s: %lld bytes",
                  report_node_name(r->peak), r->graph->name,
                  (long long)r->load);
    for (int i = 0; i < r->largest.n && i < LARGEST; i++)
        diag_note(m->diag, nowhere, "%s takes %lld bytes of %s",
                  r->largest.at[i].name, (long long)r->largest.at[i].bytes,
                  region_name[r->largest.at[i].region]);
}

static int64_t
optimizer_bytes(const Module *m)
{
    int64_t bytes = 0;
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_opt)
            bytes += m->tensors.at[i]->bytes;
    return bytes;
}

/* Of f32: a byte an element, and a scale for every 256 of them. */
static int64_t
in_8_bits(int64_t bytes)
{
    return bytes / 4 + bytes / 256;
}

/* The smallest limit, and what would lower it. */
static void
say_help(Module *m, const Report *r)
{
    Span nowhere = {0};
    int64_t optimizer = optimizer_bytes(m);
    diag_note(m->diag, nowhere, "the smallest limit that works is %lld bytes",
              (long long)r->total);
    if (m->planned.lowest > 0 && m->planned.lowest < r->total)
        diag_note(m->diag, nowhere,
                  "with --recompute=auto %lld bytes are enough",
                  (long long)m->planned.lowest);
    if (m->planned.moved > 0 && m->planned.moved < r->total)
        diag_note(m->diag, nowhere,
                  "with --offload=host %lld bytes of the device are enough",
                  (long long)m->planned.moved);
    bool adam = m->train && strcmp(m->train->optimizer, "adamw") == 0;
    if (optimizer > 0 && adam && !module_option_is(m, "quantize", "optimizer:i8"))
        diag_note(m->diag, nowhere,
                  "in 8 bits the optimizer's state would take about %lld "
                  "bytes, not %lld (--quantize=optimizer:i8, which changes "
                  "results)",
                  (long long)in_8_bits(optimizer), (long long)optimizer);
}

bool
limit_check(Module *m)
{
    Arena *a = arena_new();
    const char *text = module_option(m, "limit");
    bool fits = true;
    if (text) {
        Report r = report_make(a, m);
        int64_t limit = limit_bytes(m, r.total);
        fits = limit < 0 || r.total <= limit;
        if (!fits) {
            diag_error(m->diag, (Span){0},
                       "needs %lld bytes, but the limit is %lld",
                       (long long)r.total, (long long)limit);
            say_regions(m, &r);
            say_help(m, &r);
            m->over_limit = true;
        }
    }
    arena_free(a);
    return fits;
}
