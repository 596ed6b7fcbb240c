#include "ir/graph.h"

const char *const region_name[REGION_COUNT] = {
    [REGION_none] = "none",   [REGION_state] = "state",
    [REGION_grads] = "grads", [REGION_stash] = "stash",
    [REGION_workspace] = "workspace", [REGION_io] = "io",
    [REGION_host] = "host",   [REGION_disk] = "disk",
};

const char *const tensor_kind_name[TENSOR_KIND_COUNT] = {
    [TENSOR_param] = "param",     [TENSOR_frozen] = "frozen",
    [TENSOR_state] = "state",     [TENSOR_opt] = "opt",
    [TENSOR_counter] = "counter", [TENSOR_grad] = "grad",
    [TENSOR_input] = "input",     [TENSOR_output] = "output",
    [TENSOR_stash] = "stash",
};

const char *const phase_name[3] = {
    [PHASE_forward] = "forward",
    [PHASE_backward] = "backward",
    [PHASE_update] = "update",
};

Module *
module_new(Arena *a, Diag *d, const char *name)
{
    Module *m = ARENA_NEW(a, Module);
    m->arena = a;
    m->interner = interner_new(a);
    m->diag = d;
    m->name = intern(m->interner, name);
    m->slots = 1;
    return m;
}

Graph *
module_add_graph(Module *m, const char *name)
{
    Graph *g = ARENA_NEW(m->arena, Graph);
    g->module = m;
    g->name = intern(m->interner, name);
    vec_push(m->arena, &m->graphs, g);
    return g;
}

Graph *
module_graph(const Module *m, const char *name)
{
    for (int i = 0; i < m->graphs.n; i++)
        if (strcmp(m->graphs.at[i]->name, name) == 0)
            return m->graphs.at[i];
    return NULL;
}

const char *
module_fresh(Module *m, const char *name)
{
    const char *fresh = name;
    for (int i = 2; module_tensor(m, fresh); i++)
        fresh = arena_printf(m->arena, "%s'%d", name, i);
    return fresh;
}

Tensor *
module_add_tensor(Module *m, TensorKind kind, const char *name, const Type *t)
{
    if (module_tensor(m, name))
        bug("two tensors are called %s", name);
    Tensor *x = ARENA_NEW(m->arena, Tensor);
    x->name = intern(m->interner, name);
    x->kind = kind;
    x->type = *t;
    x->layout = layout_dense(t);
    x->sharding = sharding_none();
    x->lr_scale = 1;
    x->place = -1;
    vec_push(m->arena, &m->tensors, x);
    map_put(m->arena, &m->tensor_map, x->name, x);
    return x;
}

Tensor *
module_tensor(const Module *m, const char *name)
{
    return map_get(&m->tensor_map, name);
}

const Option *
module_stated(const Module *m, const char *key)
{
    for (int i = 0; i < m->options.n; i++)
        if (strcmp(m->options.at[i].key, key) == 0)
            return &m->options.at[i];
    return NULL;
}

const char *
module_option(const Module *m, const char *key)
{
    const Option *o = module_stated(m, key);
    return o ? o->value : NULL;
}

bool
module_option_is(const Module *m, const char *key, const char *value)
{
    const char *now = module_option(m, key);
    return now && strcmp(now, value) == 0;
}

void
module_set_option(Module *m, const char *key, const char *value)
{
    value = intern(m->interner, value);
    for (int i = 0; i < m->options.n; i++)
        if (strcmp(m->options.at[i].key, key) == 0) {
            m->options.at[i].value = value;
            return;
        }
    Option o = {.key = intern(m->interner, key), .value = value};
    vec_push(m->arena, &m->options, o);
}
