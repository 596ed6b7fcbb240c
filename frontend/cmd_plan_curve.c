#include "frontend/cmd_plan_curve.h"

#include <math.h>

#include "frontend/output.h"
#include "passes/plan/ladder.h"

enum {
    WIDTH = 720,
    HEIGHT = 440, /* of the picture */
    LEFT = 80,
    RIGHT = 20,
    TOP = 40,
    BOTTOM = 60,
    TICKS = 5
};

/* ---- the points ---- */

static bool
has_backward(const Module *m)
{
    const Graph *g = module_graph(m, "main");
    for (const Node *n = g ? g->first : NULL; n; n = n->next)
        if (n->phase == PHASE_backward)
            return true;
    return false;
}

/* Limits at which another plan may be the fastest: each less than the one
 * before. The last one is the smallest. */
typedef VEC(int64_t) Grid;

static Grid
find_grid(Arena *a, Ladder *l, bool again)
{
    Grid grid = {0};
    int64_t best = INT64_MAX;
    int64_t least = ladder_total(l, ladder_smallest(l, again));
    for (int i = 0; i < l->at.n; i++) {
        if (!ladder_fits(l, i, best - 1))
            continue;
        best = ladder_total(l, i);
        if (best > least)
            vec_push(a, &grid, best);
    }
    vec_push(a, &grid, least);
    return grid;
}

/* Of what fits, the fastest: with less memory it is never faster. */
Curve
curve_find(Arena *a, Module *m)
{
    Curve c = {0};
    Ladder *l = has_backward(m) ? ladder_make(a, m) : NULL;
    bool again = !module_option_is(m, "recompute", "none");
    if (!l)
        return c;
    c.bound = ladder_ns(l, 0);
    Grid grid = find_grid(a, l, again);
    for (int i = 0; i < grid.n; i++) {
        int rung = ladder_fastest(l, grid.at[i], again);
        int64_t bytes = rung < 0 ? 0 : ladder_total(l, rung);
        if (rung >= 0 && (c.at.n == 0 || bytes < c.at.at[c.at.n - 1].bytes))
            vec_push(a, &c.at, ((CurvePoint){bytes, ladder_ns(l, rung)}));
    }
    ladder_free(l);
    return c;
}

/* ---- the picture ---- */

typedef struct Unit {
    const char *name;
    double bytes;
} Unit;

typedef struct Picture {
    Arena *a;
    Page *page;
    Unit unit;
    double low, high; /* of it, at the left and right */
    double most;      /* times the bound at the top; 1 at the bottom */
} Picture;

static const Unit mebibytes = {"MiB", 1 << 20};

/* Cost graphs may be of any size, with their bytes as small as 1. */
static Unit
unit_for(int64_t most)
{
    static const Unit units[] = {{"bytes", 1}, {"KiB", 1 << 10}};
    for (int i = 0; i < 2; i++)
        if ((double)most < 1000 * units[i].bytes)
            return units[i];
    return mebibytes;
}

static double
size_of(const Picture *p, int64_t bytes)
{
    return (double)bytes / p->unit.bytes;
}

static double
across(const Picture *p, double x)
{
    return LEFT + (x - p->low) / (p->high - p->low) * (WIDTH - LEFT - RIGHT);
}

static double
up(const Picture *p, double y)
{
    return HEIGHT - BOTTOM - (y - 1) / (p->most - 1) * (HEIGHT - TOP - BOTTOM);
}

static void
put_text(Picture *p, double x, double y, const char *anchor, const char *text)
{
    page_put(p->page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y,
             anchor);
    page_text(p->page, text);
    page_put(p->page, "</text>\n");
}

static void
put_axes(Picture *p, const char *model)
{
    put_text(p, WIDTH / 2.0, 22, "middle",
             arena_printf(p->a, "%s: time of a step over memory", model));
    put_text(p, WIDTH / 2.0, HEIGHT - 14, "middle",
             arena_printf(p->a, "memory of the device, %s", p->unit.name));
    double step = page_step(p->high - p->low, TICKS);
    for (double x = ceil(p->low / step) * step; x <= p->high; x += step) {
        page_put(p->page, "<path class=\"grid\" d=\"M%.1f %d V%d\"/>\n",
                 across(p, x), TOP, HEIGHT - BOTTOM);
        put_text(p, across(p, x), HEIGHT - BOTTOM + 18, "middle",
                 arena_printf(p->a, "%g", x));
    }
    step = page_step(p->most - 1, TICKS);
    for (double y = 1; y <= p->most; y += step) {
        page_put(p->page, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT,
                 up(p, y), WIDTH - RIGHT);
        put_text(p, LEFT - 8, up(p, y) + 4, "end", arena_printf(p->a, "%g", y));
    }
}

/* A limit between two points gets the plan of the one below it. */
static void
put_curve(Picture *p, const Curve *c)
{
    page_put(p->page, "<path class=\"curve\" d=\"M%d %.1f", WIDTH - RIGHT,
             up(p, 1));
    for (int i = 0; i < c->at.n; i++)
        page_put(p->page, " V%.1f H%.1f",
                 up(p, (double)c->at.at[i].ns / (double)c->bound),
                 across(p, size_of(p, c->at.at[i].bytes)));
    page_put(p->page, " V%d\"/>\n", TOP);
    page_put(p->page, "<path class=\"bound\" d=\"M%d %.1f", WIDTH - RIGHT,
             up(p, 1));
    for (int i = 0; i < c->bounds.n; i++)
        page_put(p->page, " H%.1f V%.1f",
                 across(p, size_of(p, c->bounds.at[i].bytes)),
                 up(p, (double)c->bounds.at[i].ns / (double)c->bound));
    page_put(p->page, " H%d\"/>\n", LEFT);
}

static void
put_now(Picture *p, const Curve *c, CurvePoint now)
{
    double x = across(p, size_of(p, now.bytes));
    double y = up(p, (double)now.ns / (double)c->bound);
    page_put(p->page,
             "<circle class=\"now\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y);
    put_text(p, x + (x > WIDTH / 2.0 ? -8 : 8), y - 8,
             x > WIDTH / 2.0 ? "end" : "start",
             arena_printf(p->a, "%.1f %s, x %.4f", size_of(p, now.bytes),
                          p->unit.name,
                          (double)now.ns / (double)c->bound));
}

static void
put_head(Picture *p)
{
    page_put(p->page,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
             "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n",
             WIDTH, HEIGHT, WIDTH, HEIGHT);
    page_put(p->page,
             "<style>.grid{stroke:#ddd}.curve{stroke:#06c;stroke-width:2;"
             "fill:none}.bound{stroke:#c30;stroke-dasharray:6 4;fill:none}"
             ".now{fill:#06c}</style>\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
}

void
curve_draw(Page *page, const char *model, const Curve *c, CurvePoint now)
{
    Picture p = {.a = page->a, .page = page};
    CurvePoint last = c->at.at[c->at.n - 1];
    p.unit = c->bounds.n > 0 ? unit_for(c->at.at[0].bytes) : mebibytes;
    double room = size_of(&p, c->at.at[0].bytes - last.bytes);
    p.low = size_of(&p, last.bytes) - 0.05 * room;
    p.high = size_of(&p, c->at.at[0].bytes) + (room > 0 ? 0.05 * room : 1);
    p.most = last.ns > c->bound ? (double)last.ns / (double)c->bound : 1.01;
    put_head(&p);
    put_axes(&p, model);
    put_curve(&p, c);
    put_now(&p, c, now);
    page_put(page, "</svg>\n");
}

bool
curve_write(Session *s, const char *path, const char *model, const Curve *c,
            CurvePoint now)
{
    Page page = {.a = s->arena};
    if (c->at.n == 0) {
        diag_error(s->diag, (Span){0},
                   "--curve: %s has no backward pass to plan", model);
        return false;
    }
    curve_draw(&page, model, c, now);
    return output_write_file(s, path, page.text.at, (size_t)page.text.n);
}
