/* edlc plan --kernels: what a step moves and computes, by kernel, and how long
 * the machine needs for that at the least. Kernels of blocks that are alike
 * are one line. */
#include "frontend/cmd_plan.h"
#include "passes/plan/cost.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

typedef struct Line {
    const char *name; /* h.*.mlp.c_fc */
    const Graph *graph;
    double calls, bytes, flops, other, ns; /* of a step */
} Line;

typedef struct Table {
    Arena *a;
    const Machine *machine;
    VEC(Line) at;
    Map map; /* graph and name -> index + 1 */
} Table;

/* The number of the block instance is a star. */
static const char *
line_name(Arena *a, const Node *n)
{
    const char *name = work_name(n), *block = n->block;
    if (!block)
        return name;
    const char *dot = strrchr(block, '.');
    size_t whole = strlen(block), head = dot ? (size_t)(dot - block) : 0;
    if (!dot || strncmp(name, block, whole) != 0 || name[whole] != '.')
        return name;
    return arena_printf(a, "%.*s.*%s", (int)head, name, name + whole);
}

/* Products of bf16 are all that is not done at the rate of f32. */
static double
least_ns(const Machine *k, const Work *w, double flops)
{
    double narrow = w->narrow[WORK_product] + w->narrow[WORK_attention];
    double compute =
        narrow / k->device_bf16 + (flops - narrow) / k->device_f32;
    return fmax(compute, (double)w->bytes / k->device_memory);
}

static void
add_node(Table *t, const Graph *g, const Node *n, double times)
{
    Work w = work_kernel(n);
    double flops = w.amount[WORK_product] + w.amount[WORK_attention];
    if (work_is_none(&w))
        return;
    const char *name = line_name(t->a, n);
    const char *key = arena_printf(t->a, "%s %s", g->name, name);
    int known = (int)(intptr_t)map_get(&t->map, key);
    if (!known) {
        Line line = {.name = name, .graph = g};
        vec_push(t->a, &t->at, line);
        known = t->at.n;
        map_put(t->a, &t->map, key, (void *)(intptr_t)known);
    }
    Line *l = &t->at.at[known - 1];
    l->calls += times;
    l->bytes += times * (double)w.bytes;
    l->flops += times * flops;
    l->other += times * (work_operations(&w) - flops);
    l->ns += times * least_ns(t->machine, &w, flops);
}

static void
add_action(Table *t, const Action *x, double times)
{
    if (x->kind == ACTION_call) {
        graph_each(x->graph, n)
            add_node(t, x->graph, n, times);
        return;
    }
    for (int i = 0; i < x->body.n; i++)
        add_action(t, x->body.at[i], times * (double)(x->hi - x->lo));
}

static int
by_time(const void *a, const void *b)
{
    const Line *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    int graphs = strcmp(x->graph->name, y->graph->name);
    return graphs ? graphs : strcmp(x->name, y->name);
}

static void
add_all(Line *all, const Line *l)
{
    all->calls += l->calls;
    all->bytes += l->bytes;
    all->flops += l->flops;
    all->other += l->other;
    all->ns += l->ns;
}

static Table
find_kernels(const PlanView *p)
{
    Table t = {.a = p->s->arena, .machine = machine_of(p->m)};
    const char *want = module_graph(p->m, "infer") ? "infer" : "step";
    for (int i = 0; i < p->m->programs.n; i++) {
        const Program *x = p->m->programs.at[i];
        for (int j = 0; strcmp(x->name, want) == 0 && j < x->actions.n; j++)
            add_action(&t, x->actions.at[j], 1);
    }
    if (t.at.n)
        qsort(t.at.at, (size_t)t.at.n, sizeof *t.at.at, by_time);
    return t;
}

static void
print_line(const Line *l, double all)
{
    printf("%9.3f %5.1f%% %8.0f %10.4f %11.4f %11.4f  %s %s\n", l->ns / 1e6,
           all > 0 ? 100 * l->ns / all : 0, l->calls, l->bytes / 1e9,
           l->flops / 1e9, l->other / 1e9, l->graph ? l->graph->name : "",
           l->name);
}

void
plan_kernels(const PlanView *p)
{
    Table t = find_kernels(p);
    Line all = {.name = "in all"};
    for (int i = 0; i < t.at.n; i++)
        add_all(&all, &t.at.at[i]);
    printf("kernels of a step on %s, at the least\n", t.machine->name);
    printf("%9s %6s %8s %10s %11s %11s  %s\n", "ms", "share", "calls",
           "GB", "GFLOP", "G other", "graph, kernel");
    for (int i = 0; i < t.at.n; i++)
        print_line(&t.at.at[i], all.ns);
    print_line(&all, all.ns);
}

json_t *
plan_kernels_json(const PlanView *p)
{
    Table t = find_kernels(p);
    json_t *list = json_array();
    for (int i = 0; i < t.at.n; i++) {
        const Line *l = &t.at.at[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:I}", "graph",
                            l->graph->name, "kernel", l->name, "calls",
                            (json_int_t)l->calls, "bytes", (json_int_t)l->bytes,
                            "flop", l->flops, "other", l->other, "ns",
                            (json_int_t)cost_whole(l->ns)));
    }
    return list;
}
