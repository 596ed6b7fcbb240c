#include "frontend/lower_session.h"

bool
lower_options(Session *s, const char *path, LowerOptions *o)
{
    const Options *from = s->options;
    *o = (LowerOptions){.file = path,
                        .model = from->model,
                        .folders = from->include.at,
                        .n_folders = from->include.n,
                        .n_dims = from->dims.n};
    if (from->mode && strcmp(from->mode, "infer") == 0)
        o->mode = LOWER_infer;
    Dim *dims = ARENA_ARRAY(s->arena, Dim, from->dims.n + 1);
    for (int i = 0; i < from->dims.n; i++)
        dims[i] = (Dim){.name = from->dims.at[i].name,
                        .value = from->dims.at[i].value};
    o->dims = dims;
    return session_read(s, path, &o->text, &o->n);
}

uint64_t
lower_seed(Session *s, const LowerOptions *o, const Module *m)
{
    LowerOptions trained = *o;
    trained.mode = LOWER_train;
    trained.model = m->name;
    if (o->mode == LOWER_infer)
        m = lower_model(s->arena, s->interner, diag_new(s->arena), &trained);
    return m && m->train ? m->train->seed : 0;
}
