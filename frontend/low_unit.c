#include "frontend/low.h"
#include "frontend/parse.h"
#include "ir/base/embedded.h"

#include <stdio.h>

/* ---- finding a file ---- */

/* Names a file of lib/ in messages. */
#define LIBRARY_PREFIX "<edlc>/"

static const char *
library_text(Lower *l, const char *name, size_t *n)
{
    const char *file = arena_printf(l->arena, "lib/%s.edl", name);
    for (int i = 0; i < embedded_count; i++)
        if (strcmp(embedded_files[i].name, file) == 0) {
            *n = embedded_files[i].n;
            return embedded_files[i].text;
        }
    return NULL;
}

static char *
read_file(Lower *l, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t cap = 0, got = 0;
    do {
        size_t want = cap ? 2 * cap : 65536;
        text = arena_grow(l->arena, text, cap, want);
        cap = want;
        got += fread(text + got, 1, cap - 1 - got, f);
    } while (got == cap - 1);
    bool failed = ferror(f);
    fclose(f);
    *n = got;
    return failed ? NULL : text;
}

typedef struct Found {
    const char *path, *text;
    size_t n;
} Found;

static bool
try_file(Lower *l, const char *path, Found *out)
{
    out->path = path;
    out->text = read_file(l, path, &out->n);
    return out->text != NULL;
}

/* Beside the file that imports, then -I, then the installed library. */
static bool
find_import(Lower *l, const Unit *from, const char *name, Found *out)
{
    const char *slash = strrchr(from->path, '/');
    int dir = slash ? (int)(slash - from->path) + 1 : 0;
    bool library =
        strncmp(from->path, LIBRARY_PREFIX, strlen(LIBRARY_PREFIX)) == 0;
    if (!library &&
        try_file(l, arena_printf(l->arena, "%.*s%s.edl", dir, from->path, name),
                 out))
        return true;
    const LowerOptions *o = l->options;
    for (int i = 0; i < o->n_folders; i++)
        if (try_file(l,
                     arena_printf(l->arena, "%s/%s.edl", o->folders[i], name),
                     out))
            return true;
    out->path = arena_printf(l->arena, "%s%s.edl", LIBRARY_PREFIX, name);
    out->text = library_text(l, name, &out->n);
    return out->text != NULL;
}

/* ---- the declarations of a file ---- */

static void
add_decl(Lower *l, Unit *u, Decl *d)
{
    bool layer = d->kind == DECL_LAYER;
    Map *m = layer ? &u->layers : &u->decls;
    const Decl *old = map_get(m, d->name.text);
    if (old) {
        if (low_error(l, d->name.at, "`%s` is declared twice", d->name.text))
            low_note(l, old->name.at, "first here");
        return;
    }
    map_put(l->arena, m, d->name.text, d);
    if (layer)
        vec_push(l->arena, &u->layer_names, d->name.text);
    else if (d->kind != DECL_FUNCTION)
        vec_push(l->arena, &u->names, d->name.text);
}

static Unit *unit_new(Lower *l, Unit *importer, const char *name, Span at,
                      const Found *f);

static void
say_cycle(Lower *l, const Unit *from, const Unit *to, const Name *name)
{
    const char *chain = arena_printf(l->arena, "`%s`", to->path);
    for (const Unit *u = from; u && u != to; u = u->importer)
        chain = arena_printf(l->arena, "`%s` imports %s", u->path, chain);
    if (from == to)
        low_error(l, name->at, "`%s` imports itself", to->path);
    else
        low_error(l, name->at, "these files import each other: `%s` imports %s",
                  to->path, chain);
}

static void
add_import(Lower *l, Unit *u, const Decl *d)
{
    const char *name = d->name.text;
    if (map_get(&u->imports, name)) {
        low_error(l, d->name.at, "`%s` is imported twice", name);
        return;
    }
    Found f;
    if (!find_import(l, u, name, &f)) {
        if (low_error(l, d->name.at, "there is no `%s.edl` to import", name))
            low_note(l, (Span){0},
                     "looked beside `%s`, in the folders of -I "
                     "and in the library that came with edlc",
                     u->path);
        return;
    }
    Unit *have = map_get(&l->unit_of, f.path);
    if (have && have->busy) {
        say_cycle(l, u, have, &d->name);
        return;
    }
    if (!have)
        have = unit_new(l, u, name, d->name.at, &f);
    map_put(l->arena, &u->imports, name, have);
}

static Unit *
unit_new(Lower *l, Unit *importer, const char *name, Span at, const Found *f)
{
    Unit *u = ARENA_NEW(l->arena, Unit);
    *u = (Unit){.name = name,
                .path = f->path,
                .importer = importer,
                .import_at = at,
                .busy = true};
    map_put(l->arena, &l->unit_of, f->path, u);
    vec_push(l->arena, &l->units, u);
    int before = diag_count(l->diag);
    u->syntax =
        parse_file(l->arena, l->interner, l->diag, f->path, f->text, f->n);
    l->unparsed = l->unparsed || diag_count(l->diag) != before;
    if (!importer)
        l->main = u;
    for (int i = 0; i < u->syntax->decls.n; i++) {
        Decl *d = u->syntax->decls.at[i];
        if (!d->name.text)
            continue;
        switch (d->kind) {
        case DECL_IMPORT:
            add_import(l, u, d);
            break;
        case DECL_DIM:
        case DECL_CONST:
        case DECL_FUNCTION:
        case DECL_LAYER:
            add_decl(l, u, d);
            break;
        case DECL_MODEL:
        case DECL_TRAIN:
        case DECL_PLAN:
            break;
        }
    }
    u->busy = false;
    return u;
}

Unit *
low_load(Lower *l)
{
    const LowerOptions *o = l->options;
    Found f = {o->file, o->text, o->n};
    return unit_new(l, NULL, NULL, (Span){0}, &f);
}

static bool
is_value(Lower *l, const char *name)
{
    return (l->env && low_find(l->env, name)) ||
           map_get(&l->unit->decls, name);
}

/* x.T, x.reshape(...): as others write it. */
static void
say_no_part(Lower *l, const Path *path)
{
    const char *value = path->module.text, *part = path->name.text;
    if (!low_error(l, path->name.at, "`%s` is a value: it has no `%s`", value,
                   part))
        return;
    if (strcmp(part, "T") == 0)
        low_note(l, (Span){0}, "its transpose is written %s'", value);
    else if (low_builtin(part))
        low_note(l, (Span){0}, "the operation is written %s(%s, ...)", part,
                 value);
}

Unit *
low_module(Lower *l, const Path *path)
{
    const char *name = path->module.text;
    if (!name)
        return l->unit;
    Unit *u = map_get(&l->unit->imports, name);
    if (u)
        return u;
    const char *from = NULL;
    for (int i = 0; i < l->unit->syntax->decls.n; i++)
        if (l->unit->syntax->decls.at[i]->kind == DECL_IMPORT &&
            l->unit->syntax->decls.at[i]->name.text == name)
            from = name; /* its import has failed, and said so */
    if (!from && is_value(l, name))
        say_no_part(l, path);
    else if (!from &&
             low_error(l, path->module.at, "`%s` is not imported", name))
        low_note(l, (Span){0}, "write `import %s` at the top of the file",
                 name);
    return NULL;
}

/* ---- dims and consts ---- */

static Val
check_dim(Lower *l, const Decl *d, Val v)
{
    if (v.kind == VAL_POISON || (v.kind == VAL_INT && v.i > 0))
        return v;
    low_error(l, d->u.constant ? d->u.constant->at : d->name.at,
              "dim `%s` must be an integer of 1 or more, found %s",
              d->name.text, low_describe(l, &v));
    return low_poison();
}

static Val
compute(Lower *l, Unit *u, const Decl *d)
{
    const Dim *set = u == l->main && d->kind == DECL_DIM
                         ? map_get(&l->given, d->name.text)
                         : NULL;
    if (set)
        return low_int(d->name.at, set->value);
    if (!d->u.constant) {
        if (low_error(l, d->name.at, "dim `%s` has no value", d->name.text))
            low_note(l, (Span){0}, "give one with --set %s=N", d->name.text);
        return low_poison();
    }
    Unit *unit = l->unit;
    Env *env = l->env;
    Frame *frame = l->frame;
    l->unit = u;
    l->env = NULL;
    l->frame = NULL;
    Val v = low_expr(l, d->u.constant, NULL);
    l->unit = unit;
    l->env = env;
    l->frame = frame;
    if (low_is_value(&v)) {
        low_error(l, d->u.constant->at, "`%s` is not a constant", d->name.text);
        return low_poison();
    }
    return v;
}

const Val *
low_constant(Lower *l, Unit *u, const char *name)
{
    static const Val computing = {.kind = VAL_POISON, .i = 1};
    const Val *have = map_get(&u->constants, name);
    const Decl *d = map_get(&u->decls, name);
    if (have == &computing) {
        low_error(l, d->name.at, "`%s` is defined by itself", name);
        return have;
    }
    if (have || !d || d->kind == DECL_FUNCTION)
        return have;
    map_put(l->arena, &u->constants, name, (void *)&computing);
    Val *v = ARENA_NEW(l->arena, Val);
    *v = compute(l, u, d);
    if (d->kind == DECL_DIM)
        *v = check_dim(l, d, *v);
    if (v->kind != VAL_POISON)
        v->at = d->name.at;
    v->text = name;
    map_put(l->arena, &u->constants, name, v);
    return v;
}
