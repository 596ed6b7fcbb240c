#include "ir/eval.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/eval_frame.h"

Eval *
eval_new(Module *m, uint64_t seed)
{
    Arena *a = arena_new();
    Eval *e = ARENA_NEW(a, Eval);
    e->arena = a;
    e->module = m;
    e->seed = seed;
    return e;
}

void
eval_free(Eval *e)
{
    for (int i = 0; i < e->all.n; i++)
        for (int64_t k = 0; k < e->all.at[i]->n_slots; k++)
            free(e->all.at[i]->slots[k].at);
    arena_free(e->arena);
}

/* ---- tensors ---- */

Store *
eval_store(Eval *e, Tensor *t)
{
    Store *s = map_get(&e->stores, t->name);
    if (s)
        return s;
    s = ARENA_NEW(e->arena, Store);
    s->tensor = t;
    s->n_slots =
        t->kind == TENSOR_stash && e->module->slots > 1 ? e->module->slots : 1;
    s->slots = ARENA_ARRAY(e->arena, Array, s->n_slots);
    for (int64_t k = 0; k < s->n_slots; k++)
        s->slots[k] = (Array){t->type, eval_alloc(type_elements(&t->type))};
    eval_init(&s->slots[0], &t->init,
              e->seed ^ hash64(t->name, strlen(t->name)));
    map_put(e->arena, &e->stores, t->name, s);
    vec_push(e->arena, &e->all, s);
    return s;
}

static Store *
store_named(Eval *e, const char *name)
{
    Tensor *t = module_tensor(e->module, name);
    if (!t)
        bug("eval: no tensor %s", name);
    return eval_store(e, t);
}

Array *
eval_tensor(Eval *e, const char *name)
{
    Store *s = store_named(e, name);
    if (s->tensor->kind == TENSOR_input && s->n_inputs == 0)
        s->n_inputs = 1;
    return &s->slots[0];
}

void
eval_set_tensor(Eval *e, const char *name, const double *data)
{
    Array *a = eval_tensor(e, name);
    for (int64_t i = 0; i < type_elements(&a->type); i++)
        a->at[i] = eval_round_to(a->type.dtype, data[i]);
}

void
eval_set_input(Eval *e, const char *name, const double *data, int64_t n)
{
    Store *s = store_named(e, name);
    int64_t count = n * type_elements(&s->tensor->type);
    free(s->slots[0].at);
    s->slots[0].at = eval_alloc(count);
    for (int64_t i = 0; i < count; i++)
        s->slots[0].at[i] = eval_round_to(s->tensor->type.dtype, data[i]);
    s->n_inputs = n;
}

double
eval_output_mean(const Eval *e, const char *name)
{
    const Store *s = map_get(&e->stores, name);
    return s && s->writes ? s->sum / (double)s->writes : 0;
}

/* ---- programs ---- */

static bool
no_such(Eval *e, const char *what, const char *name)
{
    snprintf(e->why, EVAL_WHY_BYTES, "the module has no %s %s", what, name);
    return false;
}

static bool
call(Eval *e, Graph *g, int64_t mb, int64_t slot, unsigned phases)
{
    Frame f = frame_open(e, g);
    f.mb = mb;
    f.slot = slot;
    bool ok = frame_run(&f, phases);
    frame_close(&f);
    return ok;
}

/* i: of the innermost repeat. */
static bool
run_action(Eval *e, const Action *a, int64_t i)
{
    if (a->kind == ACTION_call)
        return call(e, a->graph, a->mb == MB_LOOP ? i : a->mb,
                    a->slot == MB_LOOP ? i : a->slot, PHASES_all);
    for (i = a->lo; i < a->hi; i++)
        for (int k = 0; k < a->body.n; k++)
            if (!run_action(e, a->body.at[k], i))
                return false;
    return true;
}

static int64_t
microbatches(const Eval *e)
{
    const Train *t = e->module->train;
    return t && t->accumulate > 1 ? t->accumulate : 1;
}

/* A module before its program is made: the forward and backward nodes of
 * main for each microbatch, then those of the update once. */
static bool
run_main(Eval *e, Graph *g)
{
    Frame f = frame_open(e, g);
    bool ok = true;
    for (f.mb = 0; ok && f.mb < microbatches(e); f.mb++)
        ok = frame_run(&f, PHASES_microbatch);
    f.mb = 0;
    ok = ok && frame_run(&f, PHASES_update);
    frame_close(&f);
    return ok;
}

/* Without a program of that name: a step is graph main whole, infer is its
 * forward pass; a graph may have the name itself. */
static bool
run_graph(Eval *e, const char *name)
{
    Graph *g = module_graph(e->module, name);
    Graph *whole = module_graph(e->module, "main");
    if (g)
        return call(e, g, 0, 0, PHASES_all);
    if (whole && strcmp(name, "step") == 0)
        return run_main(e, whole);
    if (whole && strcmp(name, "infer") == 0)
        return call(e, whole, 0, 0, 1 << PHASE_forward);
    return no_such(e, "program", name);
}

static bool
run_program(Eval *e, const char *name)
{
    Module *m = e->module;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (p->rank != 0 || strcmp(p->name, name) != 0)
            continue;
        for (int k = 0; k < p->actions.n; k++)
            if (!run_action(e, p->actions.at[k], 0))
                return false;
        return true;
    }
    return run_graph(e, name);
}

bool
eval_run(Eval *e, const char *program, const char **why)
{
    for (int i = 0; i < e->all.n; i++) {
        e->all.at[i]->sum = 0;
        e->all.at[i]->writes = 0;
    }
    bool ok = run_program(e, program);
    if (strcmp(program, "step") == 0)
        e->microbatch += microbatches(e);
    *why = e->why;
    return ok;
}

bool
eval_graph(Eval *e, const char *graph, int64_t mb, const char **why)
{
    Graph *g = module_graph(e->module, graph);
    *why = e->why;
    return g ? call(e, g, mb, 0, PHASES_all) : no_such(e, "graph", graph);
}
