/* The data of a train block. */
#include "frontend/low_train.h"

/* ---- kinds of sources ---- */

typedef struct SourceKind {
    const char *name;
    Setting settings[5]; /* after the path */
    int n;
} SourceKind;

#define ORDER                                                                  \
    {                                                                          \
        "order", ARG_word, false, { "sequential", "shuffled" }                 \
    }

static const SourceKind source_kinds[] = {
    {"next_token",
     {{"dtype", ARG_word, true, {"u8", "u16", "u32", "i32"}},
      ORDER,
      {"skip", ARG_int, false, {0}}},
     3},
    {"npy", {ORDER}, 1},
    {"table",
     {{"columns", ARG_list, false, {0}},
      {"skip", ARG_int, false, {0}},
      {"scale", ARG_number, false, {0}},
      ORDER},
     4},
};

enum { N_SOURCES = sizeof source_kinds / sizeof source_kinds[0] };

static const SourceKind *
source_named(Lower *l, const Name *name)
{
    const char *legal[N_SOURCES];
    for (int i = 0; i < N_SOURCES; i++) {
        legal[i] = source_kinds[i].name;
        if (strcmp(legal[i], name->text) == 0)
            return &source_kinds[i];
    }
    if (low_error(l, name->at, "there is no data source `%s`", name->text))
        low_legal(l, name->text, legal, N_SOURCES, "the sources are");
    return NULL;
}

/* ---- one source ---- */

static Attr
option(Lower *l, const char *key, const Setting *row, const Val *v)
{
    if (row->kind == ARG_word)
        return attr_word(key, v->s);
    if (row->kind == ARG_int)
        return attr_int(key, v->i);
    if (row->kind == ARG_number)
        return attr_float(key, low_number(v));
    int64_t *list = ARENA_ARRAY(l->arena, int64_t, v->n + 1);
    for (int i = 0; i < v->n; i++)
        list[i] = v->list[i].i;
    return attr_ints(key, list, v->n);
}

static bool
columns_fit(Lower *l, const Expr *e, const Val *v, int inputs)
{
    bool good = v->n == inputs;
    for (int i = 0; good && i < v->n; i++)
        good = v->list[i].kind == VAL_INT;
    if (!good)
        low_error(l, e->at,
                  "columns says where each of the %d inputs begins: "
                  "a list of %d integers",
                  inputs, inputs);
    return good;
}

static bool
fill_options(Lower *l, const SourceKind *kind, const Call *c, DataSource *d)
{
    Args rest = {c->args.at + 1, c->args.n - 1, 0};
    Settings s = {.l = l, .what = kind->name};
    if (!settings_take(&s, c->callee.name.at, &rest, kind->settings, kind->n))
        return false;
    for (int i = 0; i < kind->n; i++) {
        const Setting *row = &kind->settings[i];
        if (!s.given[i])
            continue;
        if (row->kind == ARG_list &&
            !columns_fit(l, s.given[i], &s.value[i], d->names.n))
            return false;
        vec_push(l->arena, &d->options, option(l, row->name, row, &s.value[i]));
    }
    return true;
}

static const Tensor *
input_named(Lower *l, const char *name)
{
    const Tensor *t = module_tensor(l->module, name);
    return t && t->kind == TENSOR_input ? t : NULL;
}

static bool
unknown_input(Lower *l, const Name *name)
{
    VEC(const char *) legal = {0};
    for (int i = 0; i < l->module->tensors.n; i++)
        if (l->module->tensors.at[i]->kind == TENSOR_input)
            vec_push(l->arena, &legal, l->module->tensors.at[i]->name);
    if (low_error(l, name->at, "the model has no input `%s`", name->text))
        low_legal(l, name->text, legal.at, legal.n, "its inputs are");
    return false;
}

static bool
token_inputs(Lower *l, Span at, const DataSource *d)
{
    const Tensor *a = d->names.n == 2 ? input_named(l, d->names.at[0]) : NULL;
    const Tensor *b = d->names.n == 2 ? input_named(l, d->names.at[1]) : NULL;
    if (a && b && type_equal(&a->type, &b->type) && a->type.rank == 2 &&
        dtype_info[a->type.dtype].kind == KIND_INT)
        return true;
    low_error(l, at,
              "next_token fills two integer inputs [B, T] of one "
              "shape: the tokens, and the same one token later");
    return false;
}

static bool
source(Lower *l, const Line *line, const Item *item, DataSource *d)
{
    const Expr *e = item->value;
    if (item->kind != ITEM_EXPR || e->kind != EX_CALL) {
        low_error(l, item->at,
                  "expected a source: next_token(...), npy(...) "
                  "or table(...)");
        return false;
    }
    const Call *c = &e->u.call;
    const SourceKind *kind = source_named(l, &c->callee.name);
    if (!kind)
        return false;
    bool path = c->args.n && !c->args.at[0].name.text &&
                c->args.at[0].value->kind == EX_STRING;
    if (!path) {
        low_error(l, c->callee.name.at, "`%s` needs the name of a file first",
                  kind->name);
        return false;
    }
    d->kind = kind->name;
    d->path = c->args.at[0].value->u.string;
    for (int i = 0; i < line->targets.n; i++) {
        if (!input_named(l, line->targets.at[i].text))
            return unknown_input(l, &line->targets.at[i]);
        vec_push(l->arena, &d->names, line->targets.at[i].text);
    }
    return true;
}

static bool
finish(Lower *l, const Item *item, DataSource *d)
{
    const Call *c = &item->value->u.call;
    Span at = c->callee.name.at;
    const SourceKind *kind = source_named(l, &c->callee.name);
    if (!fill_options(l, kind, c, d))
        return false;
    if (strcmp(d->kind, "next_token") == 0)
        return token_inputs(l, at, d);
    if (strcmp(d->kind, "npy") != 0 || d->names.n == 1)
        return true;
    low_error(l, at, "npy fills one input, found %d", d->names.n);
    return false;
}

void
train_data(Lower *l, const Line *line, Train *t)
{
    DataSource d = {0};
    if (line->targets.n == 0) {
        low_error(l, line->keyword.at,
                  "`data` says which inputs it fills: "
                  "data x, y = ...");
        return;
    }
    if (line->items.n != 1) {
        low_error(l, line->at, "expected one source");
        return;
    }
    if (source(l, line, &line->items.at[0], &d) &&
        finish(l, &line->items.at[0], &d))
        vec_push(l->arena, &t->data, d);
}

/* ---- validate SOURCE every N batches M ---- */

/* All lines speak of one validation. */
static bool
same_counts(Lower *l, const Line *line, Train *t, int64_t every,
            int64_t batches)
{
    bool same = t->validate.n == 0 || (t->validate_every == every &&
                                       t->validate_batches == batches);
    if (!same)
        low_error(l, line->keyword.at,
                  "every `validate` line says the same: every %lld batches "
                  "%lld",
                  (long long)t->validate_every,
                  (long long)t->validate_batches);
    t->validate_every = every;
    t->validate_batches = batches;
    return same;
}

static bool
counts(Lower *l, const Line *line, Train *t)
{
    int64_t every, batches;
    const Items *x = &line->items;
    bool form = x->n == 5 && x->at[1].kind == ITEM_WORD &&
                strcmp(x->at[1].word, "every") == 0 &&
                x->at[3].kind == ITEM_WORD &&
                strcmp(x->at[3].word, "batches") == 0;
    if (!form) {
        low_error(l, line->keyword.at,
                  "expected validate SOURCE every N "
                  "batches M");
        return false;
    }
    return train_int(l, line, &x->at[2], 1, &every) &&
           train_int(l, line, &x->at[4], 1, &batches) &&
           same_counts(l, line, t, every, batches);
}

void
train_validate(Lower *l, const Line *line, Train *t)
{
    DataSource d = {0};
    if (!counts(l, line, t) || !source(l, line, &line->items.at[0], &d))
        return;
    for (int i = 0; line->targets.n == 0 && i < t->data.n; i++) {
        if (d.names.n || strcmp(t->data.at[i].kind, d.kind) != 0)
            continue;
        for (int k = 0; k < t->data.at[i].names.n; k++)
            vec_push(l->arena, &d.names, t->data.at[i].names.at[k]);
    }
    if (d.names.n == 0)
        low_error(l, line->keyword.at,
                  "`validate` without names needs a "
                  "`data` line of the same kind");
    else if (finish(l, &line->items.at[0], &d))
        vec_push(l->arena, &t->validate, d);
}

/* ---- all inputs ---- */

/* How many of the sources fill an input. */
static int
fills(const DataSource *sources, int n_sources, const char *name)
{
    int n = 0;
    for (int i = 0; i < n_sources; i++)
        for (int k = 0; k < sources[i].names.n; k++)
            n += strcmp(sources[i].names.at[k], name) == 0;
    return n;
}

/* Each input once, where there is any source at all. */
static void
check_sources(Lower *l, const char *word, const DataSource *sources, int n,
              const Decl *block)
{
    for (int i = 0; n && i < l->module->tensors.n; i++) {
        const Tensor *x = l->module->tensors.at[i];
        if (x->kind != TENSOR_input)
            continue;
        int times = fills(sources, n, x->name);
        if (times == 1)
            continue;
        if (low_error(l, x->loc, "%s `%s` %s the input `%s`",
                      times ? "two" : "no", word,
                      times ? "lines fill" : "line fills", x->name))
            low_note(l, low_block_at(block), "the train block is here");
    }
}

void
train_check_data(Lower *l, const Train *t, const Decl *block)
{
    check_sources(l, "data", t->data.at, t->data.n, block);
    check_sources(l, "validate", t->validate.at, t->validate.n, block);
}
