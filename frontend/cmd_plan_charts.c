#include "frontend/cmd_plan_charts.h"

enum {
    LEFT = 90,
    WIDTH = 860, /* of what is drawn */
    HEIGHT = 240,
    TOP = 34,
    BOTTOM = 44,
    LANE = 26,
    TICKS = 6
};

/* ---- frame ---- */

typedef struct Chart {
    Page *page;
    int height;
    double ms;   /* of the whole width */
    double most; /* at the top; 0: there is no scale */
} Chart;

static void
put_tag(Chart *c, double x, double y, const char *anchor, const char *text)
{
    page_put(c->page,
             "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s"
             "</text>\n",
             x, y, anchor, text);
}

static double
across(const Chart *c, double ms)
{
    return LEFT + (c->ms > 0 ? ms / c->ms : 0) * WIDTH;
}

static double
up(const Chart *c, double v)
{
    return TOP + c->height - (c->most > 0 ? v / c->most : 0) * c->height;
}

static void
put_scales(Chart *c)
{
    double step = page_step(c->ms, TICKS), rise = page_step(c->most, TICKS);
    for (double x = 0; step > 0 && x <= c->ms; x += step) {
        page_put(c->page, "<path stroke=\"#e6eaef\" d=\"M%.1f %d V%d\"/>\n",
                 across(c, x), TOP, TOP + c->height);
        put_tag(c, across(c, x), TOP + c->height + 18, "middle",
                arena_printf(c->page->a, "%g", x));
    }
    for (double y = 0; rise > 0 && y <= c->most; y += rise) {
        page_put(c->page, "<path stroke=\"#e6eaef\" d=\"M%d %.1f H%d\"/>\n",
                 LEFT, up(c, y), LEFT + WIDTH);
        put_tag(c, LEFT - 8, up(c, y) + 4, "end",
                arena_printf(c->page->a, "%g", y));
    }
    put_tag(c, LEFT + WIDTH, TOP + c->height + 36, "end", "ms");
}

static Chart
begin(Page *page, const PlanView *p, int height, double most)
{
    Chart c = {page, height, (double)p->timeline.ns / 1e6, most};
    int total = TOP + height + BOTTOM;
    page_put(page,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
             "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
             "font-size=\"12\" fill=\"#1c2430\">\n",
             LEFT + WIDTH + 20, total, LEFT + WIDTH + 20, total);
    put_scales(&c);
    return c;
}

static void
put_legend(Chart *c, double *x, const char *color, const char *text)
{
    page_put(c->page,
             "<rect x=\"%.0f\" y=\"8\" width=\"12\" height=\"12\" "
             "fill=\"%s\"/>\n",
             *x, color);
    put_tag(c, *x + 17, 18, "start", text);
    *x += 40 + 7 * (double)strlen(text);
}

/* ---- memory ---- */

enum { BANDS = 5 };

static const struct {
    const char *text, *color;
    Region region;
} bands[BANDS] = {
    {"state", "#aab4c2", REGION_state},
    {"gradients", "#8093b0", REGION_grads},
    {"inputs and outputs", "#6b7a52", REGION_io},
    {"stash", "#2f78c4", REGION_stash},
    {"workspace", "#e08a3c", REGION_workspace},
};

static int64_t
band_bytes(const PlanView *p, int band, const Moment *x)
{
    if (bands[band].region == REGION_stash)
        return x->stash;
    if (bands[band].region == REGION_workspace)
        return x->workspace;
    return p->m->region_bytes[bands[band].region];
}

/* By column, the most that is alive in it, in MiB: of the moment with the
 * most of all bands. */
typedef struct Columns {
    int64_t band[WIDTH][BANDS];
    int64_t total[WIDTH];
} Columns;

static Columns *
find_columns(Arena *a, const PlanView *p, bool all)
{
    Columns *c = ARENA_NEW(a, Columns);
    const Timeline *t = &p->timeline;
    for (int i = 0; i < t->at.n; i++) {
        const Moment *x = &t->at.at[i];
        double scale = (double)WIDTH / (double)t->ns;
        int from = (int)((double)x->start * scale);
        int64_t next = i + 1 < t->at.n ? x[1].start : t->ns; /* it may wait */
        int to = (int)((double)next * scale);
        int64_t total = x->stash + x->workspace;
        for (int k = from; k <= to && k < WIDTH; k++) {
            if (total < c->total[k])
                continue;
            c->total[k] = total;
            for (int b = 0; b < BANDS; b++)
                c->band[k][b] = all || b >= 3 ? band_bytes(p, b, x) : 0;
        }
    }
    return c;
}

static double
height_of(const Columns *c, int column, int bands_below)
{
    int64_t bytes = 0;
    for (int b = 0; b < bands_below; b++)
        bytes += c->band[column][b];
    return (double)bytes / (1 << 20);
}

/* The outline of a band: along its top, and back along its foot. */
static void
put_band(Chart *c, const Columns *columns, int band)
{
    double last = -1;
    page_put(c->page, "<path fill=\"%s\" d=\"M%d %.1f", bands[band].color, LEFT,
             up(c, height_of(columns, 0, band)));
    for (int k = 0; k < WIDTH; k++) {
        double y = height_of(columns, k, band + 1);
        if (y != last)
            page_put(c->page, "H%dV%.1f", LEFT + k, up(c, y));
        last = y;
    }
    page_put(c->page, "H%d", LEFT + WIDTH);
    last = -1;
    for (int k = WIDTH - 1; k >= 0; k--) {
        double y = height_of(columns, k, band);
        if (y != last)
            page_put(c->page, "H%dV%.1f", LEFT + k + 1, up(c, y));
        last = y;
    }
    page_put(c->page, "H%dZ\"/>\n", LEFT);
}

static void
put_line(Chart *c, double mib, const char *text)
{
    if (mib > c->most)
        return;
    page_put(c->page,
             "<path stroke=\"#c22f2f\" stroke-dasharray=\"6 4\" "
             "d=\"M%d %.1f H%d\"/>\n",
             LEFT, up(c, mib), LEFT + WIDTH);
    put_tag(c, LEFT + WIDTH - 4, up(c, mib) - 4, "end", text);
}

static double
band_most(const Columns *c)
{
    double most = 0;
    for (int k = 0; k < WIDTH; k++)
        if (height_of(c, k, BANDS) > most)
            most = height_of(c, k, BANDS);
    return most;
}

void
charts_memory(Page *page, const PlanView *p, bool all)
{
    const int64_t *bytes = p->m->region_bytes;
    int64_t held = bytes[REGION_stash] + bytes[REGION_workspace];
    double line = (double)(all ? p->report.total : held) / (1 << 20), x = LEFT;
    Columns *columns = find_columns(page->a, p, all);
    double most = band_most(columns);
    Chart c = begin(page, p, HEIGHT, 1.08 * (most > line ? most : line));
    for (int b = all ? 0 : 3; b < BANDS; b++) {
        put_band(&c, columns, b);
        put_legend(&c, &x, bands[b].color, bands[b].text);
    }
    put_line(&c, line, "size of the regions");
    put_tag(&c, LEFT - 8, 18, "end", "MiB");
    page_put(page, "</svg>\n");
}

/* ---- queues ---- */

enum { FORWARD, AGAIN, BACKWARD, UPDATE, OUT, IN, LANES };

static const struct {
    const char *text, *color;
} lanes[LANES] = {
    {"forward", "#2f78c4"}, {"made again", "#c22f2f"}, {"backward", "#7d5bbe"},
    {"update", "#3d9970"},  {"copy out", "#b8862b"},   {"copy in", "#5f9ea8"},
};

static int
lane_of(const Moment *x)
{
    if (x->node->recomputed)
        return AGAIN;
    if (strcmp(x->graph->name, "update") == 0)
        return UPDATE;
    return strcmp(x->graph->name, "backward") == 0 ? BACKWARD : FORWARD;
}

typedef struct Bar {
    double from, to; /* ms */
    const char *name, *block;
    int n; /* kernels that are drawn as one */
} Bar;

static void
put_bar(Chart *c, int lane, const Bar *b)
{
    if (b->n == 0)
        return;
    double x = across(c, b->from), w = across(c, b->to) - x;
    page_put(c->page,
             "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
             "fill=\"%s\"><title>",
             x, TOP + lane * LANE + 4, w > 0.4 ? w - 0.1 : 0.3, LANE - 8,
             lanes[lane].color);
    page_text(c->page, b->name);
    if (b->n > 1)
        page_put(c->page, " and %d more", b->n - 1);
    if (b->block)
        page_put(c->page, ", of %s", b->block);
    page_put(c->page, ": %.3f to %.3f ms</title></rect>\n", b->from, b->to);
}

/* Bars of less than a pixel join the one that they touch. */
static void
add_bar(Chart *c, int lane, Bar *now, const Node *n, int64_t start, int64_t ns)
{
    double from = (double)start / 1e6, pixel = c->ms / WIDTH;
    double to = from + (double)ns / 1e6;
    bool near = now->n > 0 && from - now->to < pixel / 2 &&
                (to - from < pixel || now->to - now->from < pixel);
    if (near) {
        now->to = to;
        now->n++;
        return;
    }
    put_bar(c, lane, now);
    *now = (Bar){from, to, report_node_name(n), n->block, 1};
}

/* Queues of copies are shown where there are copies. */
void
charts_queues(Page *page, const PlanView *p)
{
    const Timeline *t = &p->timeline;
    int n = t->copies.n > 0 ? LANES : OUT;
    Chart c = begin(page, p, n * LANE, 0);
    Bar now[LANES] = {0};
    for (int i = 0; i < t->at.n; i++) {
        const Moment *x = &t->at.at[i];
        int lane = lane_of(x);
        add_bar(&c, lane, &now[lane], x->node, x->start, x->ns);
    }
    for (int i = 0; i < t->copies.n; i++) {
        const Transfer *x = &t->copies.at[i];
        int lane = x->queue == FLOW_out ? OUT : IN;
        add_bar(&c, lane, &now[lane], x->node, x->start, x->ns);
    }
    for (int lane = 0; lane < n; lane++) {
        put_bar(&c, lane, &now[lane]);
        put_tag(&c, LEFT - 8, TOP + lane * LANE + LANE / 2 + 4, "end",
                lanes[lane].text);
    }
    put_tag(&c, LEFT, 18, "start",
            n > OUT ? "compute, and copies off the device and back"
                    : "compute");
    page_put(page, "</svg>\n");
}
