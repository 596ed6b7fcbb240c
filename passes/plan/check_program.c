/* Programs: every microbatch once, in ascending order, forward before its
 * backward, the update last; and each call is run. */
#include <inttypes.h>

#include "passes/plan/check_parts.h"

/* Iterations of a repeat that are run before those that are like them are
 * left out: from the second on all find the same but for the number. */
enum { RUNS = 3, MAX_SLOTS = 4096 };

typedef struct Order {
    Check *c;
    const Program *program;
    bool backward, update; /* that the model has */
    int64_t next[3];       /* microbatch, by phase */
    int64_t *slot;         /* the microbatch that it holds + 1; 0: none */
} Order;

static bool
has_phase(const Graph *g, Phase phase)
{
    graph_each(g, n)
        if (n->phase == phase)
            return true;
    return false;
}

/* ---- order ---- */

static bool
fault(Order *o, const Action *a, const char *text)
{
    check_fault(o->c, a->loc, "%s of microbatch %" PRId64 ": %s",
                a->graph->name, o->c->mb, text);
    return false;
}

static bool
check_forward(Order *o, const Action *a)
{
    int64_t mb = o->c->mb;
    if (o->next[PHASE_update])
        return fault(o, a, "comes after the update");
    if (mb != o->next[PHASE_forward])
        return fault(o, a, "microbatches come once each, ascending");
    if (o->backward && o->slot[a->slot])
        return fault(o, a,
                     "its slot holds a microbatch whose backward pass "
                     "comes later");
    o->slot[a->slot] = mb + 1;
    o->next[PHASE_forward]++;
    return true;
}

static bool
check_backward(Order *o, const Action *a)
{
    int64_t mb = o->c->mb;
    if (o->next[PHASE_update])
        return fault(o, a, "comes after the update");
    if (mb != o->next[PHASE_backward])
        return fault(o, a, "microbatches come once each, ascending");
    if (mb >= o->next[PHASE_forward])
        return fault(o, a, "comes before its forward pass");
    if (o->slot[a->slot] != mb + 1)
        return fault(o, a, "its slot holds another microbatch");
    o->slot[a->slot] = 0;
    o->next[PHASE_backward]++;
    return true;
}

static bool
check_update(Order *o, const Action *a)
{
    int64_t all = o->c->microbatches;
    if (o->next[PHASE_forward] != all ||
        (o->backward && o->next[PHASE_backward] != all))
        return fault(o, a, "the update comes after all microbatches");
    if (o->next[PHASE_update]++)
        return fault(o, a, "there is one update in a step");
    if (o->c->mb != 0)
        return fault(o, a, "the update is of no microbatch");
    return true;
}

static bool
check_single(Order *o, const Action *a)
{
    if (strcmp(a->graph->name, o->program->name) != 0)
        return fault(o, a, "belongs to another program");
    if (o->c->mb || a->slot || o->next[PHASE_forward]++)
        return fault(o, a, "this program calls its graph once");
    return true;
}

static bool
check_order(Order *o, const Action *a)
{
    if (!o->c->steps)
        return check_single(o, a);
    for (Phase p = PHASE_forward; p <= PHASE_update; p++) {
        if (strcmp(a->graph->name, phase_name[p]) != 0)
            continue;
        o->c->phase = p;
        return p == PHASE_forward    ? check_forward(o, a)
               : p == PHASE_backward ? check_backward(o, a)
                                     : check_update(o, a);
    }
    return fault(o, a, "a step calls forward, backward and update");
}

/* ---- running ---- */

static bool run_actions(Order *o, Action *const *list, int n, int64_t mb);

static bool
run_call(Order *o, const Action *a, int64_t mb)
{
    Check *c = o->c;
    c->mb = a->mb == MB_LOOP ? mb : a->mb;
    c->slot = a->slot;
    c->phase = PHASE_forward;
    if (!check_order(o, a))
        return false;
    check_call(c, a->graph);
    return true;
}

/* Nothing is under way: all that was begun is complete. */
static bool
is_even(const Order *o, int64_t mb)
{
    if (o->next[PHASE_forward] != mb ||
        (o->backward && o->next[PHASE_backward] != mb))
        return false;
    for (int i = 0; i < o->c->n_tracks; i++)
        if (o->c->tracks[i].done != mb * o->c->tracks[i].micro.n)
            return false;
    return true;
}

static bool
run_repeat(Order *o, const Action *a)
{
    for (int64_t mb = a->lo; mb < a->hi; mb++) {
        int64_t more = a->hi - 1 - mb;
        if (mb - a->lo >= RUNS && more > 0 && is_even(o, mb)) {
            check_effects_skip(o->c, more);
            o->next[PHASE_forward] += more;
            o->next[PHASE_backward] += o->backward ? more : 0;
            mb += more;
        }
        if (!run_actions(o, a->body.at, a->body.n, mb))
            return false;
    }
    return true;
}

static bool
run_actions(Order *o, Action *const *list, int n, int64_t mb)
{
    for (int i = 0; i < n; i++) {
        bool good = list[i]->kind == ACTION_repeat ? run_repeat(o, list[i])
                                                   : run_call(o, list[i], mb);
        if (!good)
            return false;
    }
    return true;
}

static void
check_complete(Order *o)
{
    Check *c = o->c;
    int64_t want = c->steps ? c->microbatches : 1;
    if (o->next[PHASE_forward] != want)
        check_fault(c, o->program->loc,
                    "runs %" PRId64 " microbatches of %" PRId64,
                    o->next[PHASE_forward], want);
    else if (o->backward && o->next[PHASE_backward] != want)
        check_fault(c, o->program->loc,
                    "runs %" PRId64 " backward passes of %" PRId64,
                    o->next[PHASE_backward], want);
    else if (o->update && !o->next[PHASE_update])
        check_fault(c, o->program->loc, "does not call the update");
}

static bool
calls(Action *const *list, int n, const Graph *g)
{
    for (int i = 0; i < n; i++)
        if (list[i]->kind == ACTION_repeat
                ? calls(list[i]->body.at, list[i]->body.n, g)
                : list[i]->graph == g)
            return true;
    return false;
}

static void
count_effects(Check *c, const Program *p)
{
    int n = 0;
    Graph **called = ARENA_ARRAY(c->arena, Graph *, c->m->graphs.n + 1);
    for (int i = 0; i < c->m->graphs.n; i++)
        if (calls(p->actions.at, p->actions.n, c->m->graphs.at[i]))
            called[n++] = c->m->graphs.at[i];
    check_effects_count(c, called, n);
}

static void
run_program(Check *c, const Program *p)
{
    Order o = {.c = c, .program = p};
    c->steps = strcmp(p->name, "step") == 0;
    c->main = module_graph(
        c->model, strcmp(p->name, "evaluate") == 0 ? "evaluate" : "main");
    c->microbatches = c->steps && c->m->train ? c->m->train->accumulate : 1;
    o.backward = c->steps && has_phase(c->main, PHASE_backward);
    o.update = c->steps && has_phase(c->main, PHASE_update);
    o.slot = ARENA_ARRAY(c->arena, int64_t, c->m->slots);
    check_effects_begin(c);
    check_memory_begin(c);
    int before = c->faults;
    count_effects(c, p);
    if (c->faults != before || !run_actions(&o, p->actions.at, p->actions.n, 0))
        return;
    check_complete(&o);
    if (c->faults != before)
        return;
    check_effects_end(c, p->loc);
    check_memory_end(c, p->loc);
}

/* ---- which programs there are ---- */

static const Program *
program_named(const Module *m, const char *name)
{
    for (int i = 0; i < m->programs.n; i++)
        if (strcmp(m->programs.at[i]->name, name) == 0)
            return m->programs.at[i];
    return NULL;
}

static const char *
main_program(const Graph *g)
{
    return has_phase(g, PHASE_backward) || has_phase(g, PHASE_update) ? "step"
                                                                      : "infer";
}

static void
check_called(Check *c, const Graph *g)
{
    for (int i = 0; i < c->m->programs.n; i++) {
        const Program *p = c->m->programs.at[i];
        if (calls(p->actions.at, p->actions.n, g))
            return;
    }
    check_fault(c, c->m->programs.n ? c->m->programs.at[0]->loc : (Span){0},
                "no program calls graph %s", g->name);
}

static bool
check_set(Check *c, const char *const *want, int n)
{
    int before = c->faults;
    for (int i = 0; i < c->m->programs.n; i++) {
        const Program *p = c->m->programs.at[i];
        bool known = false;
        for (int k = 0; k < n; k++)
            known |= strcmp(p->name, want[k]) == 0;
        if (!known || p->rank != 0)
            check_fault(c, p->loc, "the model has no program %s of rank %d",
                        p->name, p->rank);
    }
    for (int k = 0; k < n; k++)
        if (!program_named(c->m, want[k]))
            check_fault(c, (Span){0}, "there is no program %s", want[k]);
    for (int i = 0; i < c->m->graphs.n; i++)
        check_called(c, c->m->graphs.at[i]);
    return c->faults == before;
}

void
check_programs(Check *c)
{
    const Graph *main = module_graph(c->model, "main");
    const char *want[2] = {"", "evaluate"};
    int n = module_graph(c->model, "evaluate") ? 2 : 1;
    if (!main) {
        check_fault(c, (Span){0}, "the model has no graph main");
        return;
    }
    want[0] = main_program(main);
    if (!check_set(c, want, n))
        return;
    if (c->m->slots > MAX_SLOTS) {
        check_fault(c, c->m->region_loc[REGION_stash],
                    "more than %d stash slots", MAX_SLOTS);
        return;
    }
    c->n_tracks = c->m->tensors.n;
    c->tracks = ARENA_ARRAY(c->arena, Track, c->n_tracks + 1);
    for (int i = 0; i < c->n_tracks; i++) {
        c->m->tensors.at[i]->mark = i;
        c->tracks[i].tensor = c->m->tensors.at[i];
    }
    for (int i = 0; i < c->m->graphs.n; i++)
        check_prepare(c, c->m->graphs.at[i]);
    for (int k = 0; k < n; k++)
        run_program(c, program_named(c->m, want[k]));
}
