#include "frontend/lower.h"

#include "frontend/low.h"

/* ---- what was asked for ---- */

static void
take_settings(Lower *l)
{
    const LowerOptions *o = l->options;
    for (int i = 0; i < o->n_dims; i++)
        map_put(l->arena, &l->given, o->dims[i].name, (void *)&o->dims[i]);
}

static void
check_settings(Lower *l)
{
    VEC(const char *) dims = {0};
    for (int i = 0; i < l->main->names.n; i++) {
        const char *name = l->main->names.at[i];
        const Decl *d = map_get(&l->main->decls, name);
        if (d->kind == DECL_DIM)
            vec_push(l->arena, &dims, name);
    }
    const LowerOptions *o = l->options;
    for (int i = 0; i < o->n_dims; i++) {
        const Dim *set = &o->dims[i];
        const Decl *d = map_get(&l->main->decls, set->name);
        Span top = {l->main->syntax->file, 1, 1, 1, 1};
        if (!d || d->kind != DECL_DIM) {
            diag_error(l->diag, top, "--set %s=%lld: there is no dim `%s`",
                       set->name, (long long)set->value, set->name);
            l->said_last = true;
            low_legal(l, set->name, dims.at, dims.n, "the dims are");
        } else if (set->value < 1) {
            diag_error(l->diag, d->name.at,
                       "--set %s=%lld: a dim is 1 or "
                       "more",
                       set->name, (long long)set->value);
        }
    }
}

/* Every train and plan block is of a model of the file. */
static void
check_blocks(Lower *l)
{
    VEC(const char *) models = {0};
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++)
        if (decls->at[i]->kind == DECL_MODEL)
            vec_push(l->arena, &models, decls->at[i]->name.text);
    for (int i = 0; i < decls->n; i++) {
        const Decl *d = decls->at[i];
        bool block = d->kind == DECL_TRAIN || d->kind == DECL_PLAN;
        bool found = !block;
        if (block && !d->name.text) {
            found = models.n < 2 || d->kind == DECL_PLAN;
            if (!found && low_error(l, low_block_at(d),
                                    "the file has several models: "
                                    "say whose `train` this is"))
                low_legal(l, "", models.at, models.n, "the models are");
            continue;
        }
        for (int k = 0; k < models.n; k++)
            found = found || strcmp(models.at[k], d->name.text) == 0;
        if (!found &&
            low_error(l, d->name.at, "there is no model `%s`", d->name.text))
            low_legal(l, d->name.text, models.at, models.n, "the models are");
    }
}

/* One model a name. */
static void
check_models(Lower *l)
{
    Map seen = {0};
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++) {
        const Decl *d = decls->at[i];
        if (d->kind != DECL_MODEL)
            continue;
        const Decl *old = map_get(&seen, d->name.text);
        if (old &&
            low_error(l, d->name.at, "`%s` is declared twice", d->name.text))
            low_note(l, old->name.at, "first here");
        map_put(l->arena, &seen, d->name.text, (void *)d);
    }
}

/* Computes every constant, so that a wrong one is found though unused. */
static void
check_constants(Lower *l)
{
    for (int i = 0; i < l->main->names.n; i++)
        low_constant(l, l->main, l->main->names.at[i]);
}

/* ---- the model ---- */

static const Decl *
find_model(Lower *l, const char *name)
{
    const Decl *found = NULL;
    VEC(const char *) all = {0};
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++) {
        const Decl *d = decls->at[i];
        if (d->kind != DECL_MODEL || !d->name.text)
            continue;
        vec_push(l->arena, &all, d->name.text);
        if (!name || strcmp(name, d->name.text) == 0)
            found = d;
    }
    Span top = {l->main->syntax->file, 1, 1, 1, 1};
    if (!name && all.n > 1) {
        diag_error(l->diag, top,
                   "the file has several models; choose one "
                   "with --model=NAME");
        found = NULL;
    } else if (!found && name) {
        diag_error(l->diag, top, "there is no model `%s`", name);
    } else if (!found) {
        diag_error(l->diag, top, "the file has no model");
    }
    l->said_last = true;
    if (!found && all.n)
        low_legal(l, name ? name : "", all.at, all.n, "its models are");
    return found;
}

static void
bind_input(Lower *l, const Param *p)
{
    Val v = low_poison();
    Type t;
    Shape s = {.text = p->name.text, .at = p->at};
    bool constant =
        !p->type || strcmp(p->type->name.text, "int") == 0 ||
        (!p->type->has_dims && (strcmp(p->type->name.text, "bool") == 0 ||
                                strcmp(p->type->name.text, "float") == 0));
    if (p->init) {
        v = low_expr(l, p->init, NULL);
        low_bind_argument(l, p, &v, p->init->at, l->frame->decl->name.text);
        return;
    }
    if (constant) {
        if (low_error(l, p->at, "the input `%s` needs the type of a tensor",
                      p->name.text))
            low_note(l, (Span){0}, "for instance %s: f32[B, C]", p->name.text);
    } else if (low_declared(l, p->type, &t, &s)) {
        Tensor *x =
            low_tensor(l, TENSOR_input, p->name.text, &t, &s, p->name.at);
        if (x)
            v = (Val){.kind = VAL_TENSOR, .at = p->at, .tensor = x};
    }
    l->frame->poisoned |= v.kind == VAL_POISON;
    low_bind(l, &p->name, v);
}

static void
write_states(Lower *l)
{
    for (int i = 0; i < l->nexts.n && l->train_mode; i++) {
        const Next *n = &l->nexts.at[i];
        l->graph->context.loc = n->at;
        graph_write(l->graph, OP_write, n->tensor, n->value);
    }
    l->nexts.n = 0;
}

static void
clear_notes(Lower *l)
{
    for (int i = 0; i < l->noted.n; i++)
        l->noted.at[i]->note = NULL;
    l->noted.n = 0;
}

static void
build_graph(Lower *l, const Decl *model, const char *name, bool train_mode)
{
    Frame frame = {.decl = model,
                   .unit = l->main,
                   .scope = "",
                   .own_scope = "",
                   .call = model->name.at};
    l->graph = module_add_graph(l->module, name);
    l->again = l->module->graphs.n > 1;
    l->train_mode = train_mode;
    l->reads = l->scopes = (Map){0};
    l->unit = l->main;
    l->frame = &frame;
    l->env = frame.env = low_env(l, NULL);
    const Layer *layer = &model->u.layer;
    for (int i = 0; i < layer->params.n; i++)
        bind_input(l, &layer->params.at[i]);
    low_block(l, &layer->body);
    write_states(l);
    clear_notes(l);
    l->failed |= frame.poisoned;
    l->frame = NULL;
    l->env = NULL;
    l->graph = NULL;
}

static void
need_output(Lower *l, const Decl *model)
{
    for (int i = 0; i < l->module->tensors.n; i++)
        if (l->module->tensors.at[i]->kind == TENSOR_output)
            return;
    low_error(l, model->name.at, "the model `%s` has no output",
              model->name.text);
}

static void
fill_head(Lower *l, bool trains)
{
    Module *m = l->module;
    module_set_option(m, "mode", trains ? "train" : "infer");
    for (int i = 0; i < l->main->names.n; i++) {
        const char *name = l->main->names.at[i];
        const Decl *d = map_get(&l->main->decls, name);
        const Val *v = low_constant(l, l->main, name);
        if (d->kind == DECL_DIM && v && v->kind == VAL_INT)
            vec_push(m->arena, &m->dims, ((Dim){.name = name, .value = v->i}));
    }
}

/* What only an update reads. */
static void
forget_decay(Module *m)
{
    for (int i = 0; i < m->tensors.n; i++) {
        m->tensors.at[i]->weight_decay = 0;
        m->tensors.at[i]->lr_scale = 1;
    }
}

static void
build_model(Lower *l, const Decl *model, LowerMode mode)
{
    int before = l->mistakes;
    const char *name = model->name.text;
    const Decl *block = low_train_decl(l, name);
    bool trains = mode == LOWER_grads || (mode == LOWER_train && block);
    l->module = module_new(l->arena, l->diag, name);
    l->shapes = (Map){0};
    l->n_nodes = 0;
    l->failed = false;
    fill_head(l, trains);
    build_graph(l, model, "main", trains);
    l->failed |= l->mistakes != before;
    if (!l->failed)
        need_output(l, model);
    l->failed |= l->mistakes != before;
    Train *train = block ? low_train(l, block) : NULL;
    if (trains)
        l->module->train = train;
    else
        forget_decay(l->module);
    low_plan(l, name);
    if (trains && train && train->validate.n && l->mistakes == before)
        build_graph(l, model, "evaluate", false);
}

/* ---- doors ---- */

static Lower *
start(Arena *a, Interner *in, Diag *d, const LowerOptions *o)
{
    Lower *l = ARENA_NEW(a, Lower);
    l->arena = a;
    l->interner = in;
    l->diag = d;
    l->options = o;
    take_settings(l);
    low_load(l);
    if (l->unparsed)
        return NULL;
    l->unit = l->main;
    check_settings(l);
    check_constants(l);
    check_models(l);
    check_blocks(l);
    return l;
}

Module *
lower_model(Arena *a, Interner *in, Diag *d, const LowerOptions *o)
{
    int before = diag_count(d);
    Lower *l = start(a, in, d, o);
    const Decl *model = l ? find_model(l, o->model) : NULL;
    if (model)
        build_model(l, model, o->mode);
    return diag_count(d) == before ? l->module : NULL;
}

bool
lower_file(Arena *a, Interner *in, Diag *d, const LowerOptions *o, Modules *out)
{
    int before = diag_count(d), n = 0;
    Lower *l = start(a, in, d, o);
    if (!l)
        return false;
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++) {
        const Decl *model = decls->at[i];
        if (model->kind != DECL_MODEL ||
            (o->model && strcmp(o->model, model->name.text) != 0))
            continue;
        n++;
        build_model(l, model, o->mode);
        vec_push(a, out, l->module);
    }
    if (n == 0 && o->model)
        find_model(l, o->model);
    return diag_count(d) == before;
}
