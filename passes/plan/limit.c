#include "passes/plan/limit.h"

#include <stdlib.h>

#include "passes/plan/report.h"

enum { LARGEST = 5 };

/* -1: no limit. */
static int64_t
limit_bytes(const char *text, int64_t total)
{
    if (!text || !*text)
        return -1;
    char *end;
    if (text[strlen(text) - 1] == '%')
        return (int64_t)((double)total * strtod(text, NULL) / 100);
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

bool
limit_check(Module *m)
{
    Arena *a = arena_new();
    const char *text = module_option(m, "limit");
    bool fits = true;
    if (text) {
        Report r = report_make(a, m);
        int64_t limit = limit_bytes(text, r.total);
        fits = limit < 0 || r.total <= limit;
        if (!fits) {
            diag_error(m->diag, (Span){0},
                       "needs %lld bytes, but the limit is %lld",
                       (long long)r.total, (long long)limit);
            say_regions(m, &r);
            m->over_limit = true;
        }
    }
    arena_free(a);
    return fits;
}
