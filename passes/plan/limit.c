#include "passes/plan/limit.h"

#include <stdlib.h>

#include "ir/optimizer.h"
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

/* Of the optimizer's states, and what they would take in codes. */
static void
optimizer_bytes(const Module *m, int64_t *now, int64_t *codes)
{
    *now = *codes = 0;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_opt)
            continue;
        *now += t->bytes;
        *codes += optimizer_can_code(&t->type) ? optimizer_code_bytes(&t->type)
                                               : t->bytes;
    }
}

/* States in codes do not leave the device, and CUDA has none. */
static bool
may_code(const Module *m)
{
    const char *offload = module_option(m, "offload");
    return m->train && m->train->optimizer &&
           strcmp(m->train->optimizer, "adamw") == 0 &&
           (!offload || strcmp(offload, "none") == 0) &&
           !module_option_is(m, "target", "cuda") &&
           !module_option_is(m, "quantize", "optimizer:i8");
}

/* The smallest limit, and what would lower it. */
static void
say_help(Module *m, const Report *r)
{
    Span nowhere = {0};
    int64_t now, codes;
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
    optimizer_bytes(m, &now, &codes);
    if (codes < now && may_code(m))
        diag_note(m->diag, nowhere,
                  "in 8 bits the optimizer's state would take %lld bytes, not "
                  "%lld (--quantize=optimizer:i8, which changes results)",
                  (long long)codes, (long long)now);
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
