/* What `edlc eval` reads: inputs and initial parameters. */
#include "frontend/eval_files.h"

#include "frontend/renames.h"
#include "ir/text.h"

#include <math.h>

static void say(EvalRun *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(EvalRun *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_error(r->s->diag, (Span){0}, "%s",
               arena_vprintf(r->s->arena, fmt, ap));
    va_end(ap);
}

/* As [4, 64], with the sizes of a file's entry. */
static const char *
entry_shape(Arena *a, const StEntry *e)
{
    const char *out = "";
    for (int k = 0; k < e->rank && k < ST_MAX_RANK; k++)
        out = arena_printf(a, "%s%s%lld", out, k ? ", " : "",
                           (long long)e->dim[k]);
    return arena_printf(a, "[%s%s]", out, e->rank > ST_MAX_RANK ? ", ..." : "");
}

static StFile *
open_file(EvalRun *r, const char *path)
{
    const char *why;
    StFile *f = st_read(r->s->arena, path, &why);
    if (!f)
        say(r, "cannot read %s: %s", path, why);
    return f;
}

typedef VEC(const char *) Legal;

static void
say_unknown(EvalRun *r, const char *path, const char *what, const char *name,
            const Legal *legal)
{
    const char *near = diag_nearest(name, legal->at, legal->n);
    say(r, "%s: the model has no %s `%s`%s%s%s", path, what, name,
        near ? "; is it `" : "", near ? near : "", near ? "`?" : "");
}

/* Whether the file's numbers can become elements of t: floats floats,
 * integers and bool each other where the values fit. */
static bool
kind_fits(EvalRun *r, const char *path, const StEntry *e, const Tensor *t)
{
    DtypeKind have = st_kind(e), want = dtype_info[t->type.dtype].kind;
    bool floats = have == KIND_FLOAT, wants_floats = want == KIND_FLOAT;
    if (have != KIND_STORAGE && floats == wants_floats)
        return true;
    say(r, "%s: `%s` is %s, expected %s", path, e->name, e->dtype,
        dtype_info[t->type.dtype].safetensors);
    return false;
}

/* The least and the most that an integer or bool holds; of i64 the next
 * double. */
static double
most_of(Dtype d)
{
    return d == DT_bool ? 1 : d == DT_u8 ? 255
                                         : ldexp(1, dtype_info[d].bits - 1) -
                                               (d != DT_i64);
}

static double
least_of(Dtype d)
{
    return d == DT_bool || d == DT_u8 ? 0
                                      : -ldexp(1, dtype_info[d].bits - 1);
}

/* Integers that the type does not hold are no ids of anything. */
static bool
values_fit(EvalRun *r, const char *path, const StEntry *e, const Tensor *t,
           double *at)
{
    Dtype d = t->type.dtype;
    bool whole = dtype_info[d].kind != KIND_FLOAT;
    for (int64_t i = 0; i < e->elements; i++) {
        if (d == DT_f32)
            at[i] = (float)at[i];
        if (!whole || (at[i] >= least_of(d) && at[i] <= most_of(d)))
            continue;
        say(r, "%s: `%s` has %.0f at place %lld, which %s does not hold", path,
            e->name, at[i], (long long)i, dtype_info[d].name);
        return false;
    }
    return true;
}

static double *
entry_values(EvalRun *r, const char *path, const StEntry *e, const Tensor *t)
{
    if (!kind_fits(r, path, e, t))
        return NULL;
    double *at = ARENA_ARRAY(r->s->arena, double, e->elements + 1);
    st_values(e, at);
    return values_fit(r, path, e, t, at) ? at : NULL;
}

/* ---- inputs ---- */

/* Is e's shape, after `skip` axes, that of t? */
static bool
same_dims(const StEntry *e, int skip, const Type *t)
{
    if (e->rank != t->rank + skip)
        return false;
    for (int k = 0; k < t->rank; k++)
        if (e->dim[k + skip] != t->dim[k])
            return false;
    return true;
}

/* Does t take an entry of this shape? Then *n is how many microbatches it
 * holds, 0 where every one is the same. */
static bool
count_microbatches(EvalRun *r, const char *path, const StEntry *e,
                   const Tensor *t, int64_t *n)
{
    Arena *a = r->s->arena;
    *n = 0;
    if (same_dims(e, 0, &t->type))
        return true;
    *n = e->dim[0];
    if (same_dims(e, 1, &t->type) && *n > 0)
        return true;
    say(r,
        "%s: `%s` has shape %s, expected %s, or that with one axis of "
        "microbatches before it",
        path, e->name, entry_shape(a, e), text_shape(a, &t->type));
    return false;
}

static bool
feed(EvalRun *r, const char *path, const StEntry *e, const Tensor *t)
{
    Feed f = {.tensor = t};
    if (count_microbatches(r, path, e, t, &f.n))
        f.at = entry_values(r, path, e, t);
    if (!f.at)
        return false;
    vec_push(r->s->arena, &r->feeds, f);
    return true;
}

/* How many microbatches the file holds; 0: every one is the same; -1 after an
 * error. */
static int64_t
agreed_microbatches(EvalRun *r, const char *path)
{
    const Feed *first = NULL;
    for (int i = 0; i < r->feeds.n; i++) {
        const Feed *f = &r->feeds.at[i];
        if (first && f->n && f->n != first->n) {
            say(r, "%s: `%s` holds %lld microbatches, `%s` %lld", path,
                f->tensor->name, (long long)f->n, first->tensor->name,
                (long long)first->n);
            return -1;
        }
        first = f->n ? f : first;
    }
    return first ? first->n : 0;
}

/* The steps, or forward passes, that were not asked for are as many as the
 * file holds batches for. */
static bool
choose_steps(EvalRun *r, const char *path)
{
    int64_t n = agreed_microbatches(r, path), each = r->microbatches;
    if (n < 0)
        return false;
    if (n % each) {
        say(r, "%s: %lld microbatches are no whole steps of %lld", path,
            (long long)n, (long long)each);
        return false;
    }
    if (r->steps == 0)
        r->steps = n ? n / each : 1;
    if (n == 0 || n / each >= r->steps)
        return true;
    say(r, "%s: batches for %lld steps, the run needs %lld", path,
        (long long)(n / each), (long long)r->steps);
    return false;
}

/* No entry that is no input: a misspelled name is told by its own. */
static bool
known_inputs(EvalRun *r, const char *path, const StFile *f)
{
    Legal legal = {0};
    bool ok = true;
    for (int i = 0; i < r->module->tensors.n; i++)
        if (r->module->tensors.at[i]->kind == TENSOR_input)
            vec_push(r->s->arena, &legal, r->module->tensors.at[i]->name);
    for (int i = 0; i < f->entries.n; i++) {
        const char *name = f->entries.at[i].name;
        const Tensor *t = module_tensor(r->module, name);
        if (t && t->kind == TENSOR_input)
            continue;
        say_unknown(r, path, "input", name, &legal);
        ok = false;
    }
    return ok;
}

static void
mark_reads(const Graph *g)
{
    for (const Node *n = g->first; n; n = n->next) {
        if (n->op == OP_read)
            n->tensor->mark = 1;
        if (n->body)
            mark_reads(n->body);
    }
}

/* The inputs that a graph reads: the others need no values. */
static void
mark_needed(const Module *m)
{
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    for (int i = 0; i < m->graphs.n; i++)
        if (strcmp(m->graphs.at[i]->name, "evaluate") != 0)
            mark_reads(m->graphs.at[i]);
}

bool
eval_read_inputs(EvalRun *r, const char *path)
{
    StFile *f = path ? open_file(r, path) : NULL;
    if (path && !f)
        return false;
    bool ok = !f || known_inputs(r, path, f);
    mark_needed(r->module);
    for (int i = 0; i < r->module->tensors.n; i++) {
        const Tensor *t = r->module->tensors.at[i];
        if (t->kind != TENSOR_input)
            continue;
        const StEntry *e = f ? map_get(&f->by_name, t->name) : NULL;
        if (e)
            ok &= feed(r, path, e, t);
        else if (t->mark) {
            say(r, "%s%sthe input `%s`, %s, is missing%s", path ? path : "",
                path ? ": " : "", t->name, text_type(r->s->arena, &t->type),
                path ? "" : "; --inputs=FILE gives it");
            ok = false;
        }
    }
    return ok && choose_steps(r, path);
}

/* ---- initial parameters ---- */

static bool
is_parameter(const Tensor *t)
{
    return t->kind == TENSOR_param || t->kind == TENSOR_frozen;
}

static bool
load_entry(EvalRun *r, const char *path, const StEntry *e, Tensor *t)
{
    Arena *a = r->s->arena;
    if (!same_dims(e, 0, &t->type)) {
        say(r, "%s: `%s` has shape %s, expected %s", path, e->name,
            entry_shape(a, e), text_shape(a, &t->type));
        return false;
    }
    const double *at = entry_values(r, path, e, t);
    if (!at)
        return false;
    eval_set_tensor(r->eval, t->name, at);
    t->mark = 1;
    return true;
}

/* What a checkpoint holds beside parameters and states. */
static bool
is_ignored(const char *name)
{
    return strncmp(name, "optimizer/", 10) == 0;
}

static bool
load_all(EvalRun *r, const char *path, const StFile *f, const Renames *names)
{
    bool ok = true;
    Legal legal = {0};
    for (int i = 0; i < r->module->tensors.n; i++) {
        r->module->tensors.at[i]->mark = 0;
        if (is_parameter(r->module->tensors.at[i]))
            vec_push(r->s->arena, &legal, r->module->tensors.at[i]->name);
    }
    for (int i = 0; i < f->entries.n; i++) {
        const StEntry *e = &f->entries.at[i];
        const char *name = renames_apply(r->s->arena, names, e->name);
        Tensor *t = module_tensor(r->module, name);
        if (t && (is_parameter(t) || t->kind == TENSOR_state) && t->mark) {
            say(r, "%s: `%s` is given twice", path, name);
            ok = false;
        } else if (t && (is_parameter(t) || t->kind == TENSOR_state)) {
            ok &= load_entry(r, path, e, t);
        } else if (!is_ignored(name)) {
            say_unknown(r, path, "parameter", name, &legal);
            ok = false;
        }
    }
    return ok;
}

bool
eval_read_init(EvalRun *r, const char *path, const char *names)
{
    Renames renames = {0};
    if (names && !renames_read(r->s, names, &renames))
        return false;
    StFile *f = open_file(r, path);
    if (!f || !load_all(r, path, f, &renames))
        return false;
    bool ok = true;
    for (int i = 0; i < r->module->tensors.n; i++) {
        const Tensor *t = r->module->tensors.at[i];
        if (!is_parameter(t) || t->mark)
            continue;
        say(r, "%s: the parameter `%s`, %s, is missing", path, t->name,
            text_type(r->s->arena, &t->type));
        ok = false;
    }
    return ok;
}
