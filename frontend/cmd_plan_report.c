/* edlc plan --report: one page that needs nothing but a browser. */
#include "frontend/cmd_plan.h"
#include "frontend/cmd_plan_charts.h"
#include "frontend/output.h"
#include "ir/text.h"

static double
mib(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* ---- what stands above ---- */

static void
put_head(Page *page, const char *model)
{
    page_put(page,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n<title>Plan of %s</title>\n<style>\n"
             "body{font:15px/1.45 system-ui,sans-serif;color:#1c2430;"
             "max-width:1000px;margin:2em auto;padding:0 1em}\n"
             "h1{font-size:1.5em;margin:0}h2{font-size:1.1em;"
             "margin:2em 0 .4em}\np{margin:.3em 0 .8em;color:#4a5563}\n"
             ".tiles{display:flex;flex-wrap:wrap;gap:10px;margin:1.2em 0}\n"
             ".tile{border:1px solid #d8dee6;border-radius:6px;"
             "padding:8px 14px}\n.tile b{display:block;font-size:1.3em;"
             "font-weight:600}\n.tile span{color:#4a5563;font-size:.85em}\n"
             "table{border-collapse:collapse;width:100%%;font-size:.87em}\n"
             "th,td{text-align:left;padding:3px 10px 3px 0;"
             "border-bottom:1px solid #e6eaef;vertical-align:top}\n"
             "th{position:sticky;top:0;background:#fff}\n"
             ".n{text-align:right;font-variant-numeric:tabular-nums;"
             "white-space:nowrap}\n.box{max-height:480px;overflow:auto}\n"
             "svg{max-width:100%%;height:auto}\n"
             "code{font:.95em ui-monospace,monospace}\n"
             "</style>\n</head>\n<body>\n<h1>%s</h1>\n",
             model, model);
}

static void
put_tile(Page *page, const char *value, const char *what)
{
    page_put(page, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n",
             value, what);
}

static void
put_tiles(Page *page, const PlanView *p)
{
    Arena *a = page->a;
    const char *limit = module_option(p->m, "limit");
    page_put(page, "<div class=\"tiles\">\n");
    put_tile(page, arena_printf(a, "%.1f MiB", mib(p->after.bytes)),
             arena_printf(a, "memory of the device: %lld bytes",
                          (long long)p->after.bytes));
    put_tile(page, arena_printf(a, "%.1f MiB", mib(p->before.bytes)),
             "with all kept");
    if (limit && *limit)
        put_tile(page, limit,
                 p->m->over_limit ? "limit, which this does not keep"
                                  : "limit, in bytes");
    put_tile(page, arena_printf(a, "%.3f ms", (double)p->after.ns / 1e6),
             arena_printf(a, "a step of %lld microbatch%s, as predicted",
                          (long long)p->timeline.batches,
                          p->timeline.batches == 1 ? "" : "es"));
    put_tile(page, arena_printf(a, "× %.4f", plan_factor(p)),
             "of the time with all kept");
    page_put(page, "</div>\n");
}

/* ---- tables ---- */

static void
put_names(Page *page, const char *const *names, int n)
{
    enum { MOST = 24 };
    for (int i = 0; i < n; i++) {
        if (n > MOST && i == MOST - 1) {
            page_put(page, "... ");
            i = n - 1;
        }
        page_text(page, names[i]);
        page_put(page, i + 1 < n ? ", " : "");
    }
}

static void
put_fate(Page *page, const FateLine *f, bool timed)
{
    page_put(page, "<td><code>");
    put_names(page, f->values.at, f->values.n);
    page_put(page, "</code></td><td class=\"n\">");
    if (f->values.n > 0)
        page_put(page, "%.2f", mib(f->bytes));
    page_put(page, "</td>");
    if (timed && f->values.n > 0)
        page_put(page, "<td class=\"n\">%.3f</td>", (double)f->ns / 1e6);
    else if (timed)
        page_put(page, "<td></td>");
}

static void
put_blocks(Page *page, const PlanView *p)
{
    bool moves = false;
    for (int i = 0; i < p->summary.at.n; i++)
        moves |= p->summary.at.at[i].fate[FATE_moved].values.n > 0;
    page_put(page,
             "<h2>Values for the backward pass</h2>\n<table>\n"
             "<tr><th>blocks</th><th>kept</th><th class=\"n\">MiB</th>"
             "%s<th>made again</th><th class=\"n\">MiB</th>"
             "<th class=\"n\">ms a microbatch</th></tr>\n",
             moves ? "<th>moved</th><th class=\"n\">MiB</th>" : "");
    for (int i = 0; i < p->summary.at.n; i++) {
        const BlockLine *x = &p->summary.at.at[i];
        page_put(page, "<tr><td>");
        if (x->blocks.n == 0)
            page_put(page, "outside of blocks");
        put_names(page, x->blocks.at, x->blocks.n);
        page_put(page, "</td>");
        put_fate(page, &x->fate[FATE_kept], false);
        if (moves)
            put_fate(page, &x->fate[FATE_moved], false);
        put_fate(page, &x->fate[FATE_again], true);
        page_put(page, "</tr>\n");
    }
    page_put(page, "</table>\n");
}

static void
put_tensors(Page *page, const PlanView *p)
{
    page_put(page,
             "<h2>Tensors</h2>\n<p>All that outlives a call of a graph, "
             "and what is in the workspace where it is fullest%s",
             p->report.peak ? ": at <code>" : "");
    if (p->report.peak) {
        page_text(page, report_node_name(p->report.peak));
        page_put(page, "</code> in %s", p->report.graph->name);
    }
    page_put(page, ". Largest first.</p>\n<div class=\"box\"><table>\n"
                   "<tr><th>name</th><th>region</th><th>type</th>"
                   "<th class=\"n\">bytes</th></tr>\n");
    for (int i = 0; i < p->report.largest.n; i++) {
        const ReportLine *l = &p->report.largest.at[i];
        page_put(page, "<tr><td><code>");
        page_text(page, l->name);
        page_put(page, "</code></td><td>%s</td><td>", region_name[l->region]);
        page_text(page, plan_line_type(page->a, l));
        page_put(page, "</td><td class=\"n\">%lld</td></tr>\n",
                 (long long)l->bytes);
    }
    page_put(page, "</table></div>\n");
}

/* ---- the page ---- */

static void
put_charts(Page *page, const PlanView *p)
{
    page_put(page,
             "<h2>Memory over time</h2>\n<p>Bytes in use through one "
             "microbatch of %lld and the update. State, gradients and inputs "
             "are always there; of the regions of stash and workspace, what "
             "is alive.</p>\n",
             (long long)p->timeline.batches);
    charts_memory(page, p, true);
    page_put(page, "<h2>Activations over time</h2>\n<p>Stash and workspace "
                   "alone.</p>\n");
    charts_memory(page, p, false);
    page_put(page, "<h2>Queues over time</h2>\n<p>Kernels as predicted; those "
                   "that are too short to be seen are drawn as one.</p>\n");
    charts_queues(page, p);
}

bool
plan_report(PlanView *p, const char *path)
{
    Page page = {.a = p->s->arena};
    put_head(&page, p->m->name);
    put_tiles(&page, p);
    put_charts(&page, p);
    if (p->curve.at.n > 0) {
        page_put(&page, "<h2>Time over memory</h2>\n<p>What a limit costs. A "
                        "limit between two steps of the line gets the plan of "
                        "the one to its left; nothing lies below the dashed "
                        "line.</p>\n");
        curve_draw(&page, p->m->name, &p->curve, p->after);
    }
    if (p->summary.at.n > 0)
        put_blocks(&page, p);
    put_tensors(&page, p);
    page_put(&page, "</body>\n</html>\n");
    return output_write_file(p->s, path, page.text.at, (size_t)page.text.n);
}
