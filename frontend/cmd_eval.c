#include "frontend/eval_files.h"
#include "frontend/lower_session.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

#include <errno.h>
#include <stdlib.h>

static bool
has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* ---- the module ---- */

/* Whole steps are run where something of them is asked for. */
static bool
wants_steps(const Options *o)
{
    return o->grads || o->steps || o->save;
}

static Module *
read_module(Session *s, const char *path, const char *text, size_t n)
{
    Module *m = text_read(s->arena, s->diag, path, text, n);
    if (!m || !verify_module(m))
        return NULL;
    if (s->options->grads && !module_option(m, "mode"))
        module_set_option(m, "mode", "train");
    return m;
}

static Module *
lower(Session *s, const char *path, uint64_t *seed)
{
    LowerOptions o;
    if (!lower_options(s, path, &o))
        return NULL;
    o.mode = s->options->grads         ? LOWER_grads
             : wants_steps(s->options) ? LOWER_train
                                       : LOWER_infer;
    Module *m = lower_model(s->arena, s->interner, s->diag, &o);
    if (m)
        *seed = lower_seed(s, &o, m);
    if (m && s->options->quantize)
        module_set_option(m, "quantize", s->options->quantize);
    return m;
}

static Module *
load(Session *s, const char *path, uint64_t *seed)
{
    const char *text;
    size_t n;
    if (!has_suffix(path, ".eir") && !has_suffix(path, ".sched"))
        return lower(s, path, seed);
    Module *m = NULL;
    if (s->options->quantize)
        diag_error(s->diag, (Span){0}, "--quantize: %s says itself what is "
                   "stored in few bits", path);
    else if (session_read(s, path, &text, &n))
        m = read_module(s, path, text, n);
    if (m && m->train)
        *seed = m->train->seed;
    return m;
}

static bool
has_kind(const Module *m, TensorKind kind)
{
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == kind)
            return true;
    return false;
}

static bool
has_program(const Module *m, const char *name)
{
    for (int i = 0; i < m->programs.n; i++)
        if (strcmp(m->programs.at[i]->name, name) == 0)
            return true;
    return false;
}

/* Differentiates a module that is not; then says whether it is trained. */
static bool
prepare(EvalRun *r)
{
    Module *m = r->module;
    r->trains = has_program(m, "step");
    if (r->trains || !wants_steps(r->s->options) || !module_graph(m, "main"))
        return true;
    bool ok = has_kind(m, TENSOR_grad) || (pass_grad(m) && pass_update(m));
    r->trains = true;
    return ok;
}

/* A step may update a parameter in its backward pass; then no tensor is there
 * to be written. */
static bool
keeps_gradients(EvalRun *r)
{
    const Module *m = r->module;
    Session *s = r->s;
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_grad)
            m->tensors.at[i]->owner->mark = 1;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_param || t->mark)
            continue;
        diag_error(s->diag, (Span){0},
                   "--grads: %s is updated in the backward pass, so its "
                   "gradient is not kept",
                   t->name);
        diag_note(s->diag, (Span){0},
                  "the model compiled with --grads keeps them all");
        return false;
    }
    return true;
}

/* ---- running ---- */

/* A flag's whole number; *out keeps its value where the flag is not there. */
static bool
read_number(Session *s, const char *flag, const char *text, int64_t least,
            int64_t *out)
{
    char *end;
    if (!text)
        return true;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (*text && !*end && !errno && *out >= least)
        return true;
    diag_error(s->diag, (Span){0},
               "%s: expected a number from %lld, found "
               "`%s`",
               flag, (long long)least, text);
    return false;
}

/* The microbatches from `first` on. */
static void
set_inputs(EvalRun *r, int64_t first, int64_t n)
{
    for (int i = 0; i < r->feeds.n; i++) {
        const Feed *f = &r->feeds.at[i];
        int64_t size = type_elements(&f->tensor->type);
        if (f->n == 0)
            eval_set_input(r->eval, f->tensor->name, f->at, 1);
        else
            eval_set_input(r->eval, f->tensor->name, f->at + first * size, n);
    }
}

static void
add_outputs(EvalRun *r)
{
    const Module *m = r->module;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (eval_is_output(t) && t->type.rank == 0)
            r->output_sums.at[i] += eval_tensor(r->eval, t->name)->at[0];
    }
}

static bool
run_steps(EvalRun *r)
{
    const char *why;
    for (int i = 0; i < r->module->tensors.n; i++)
        vec_push(r->s->arena, &r->output_sums, 0);
    for (int64_t i = 0; i < r->steps; i++) {
        set_inputs(r, i * r->microbatches, r->microbatches);
        if (!eval_run(r->eval, r->trains ? "step" : "infer", &why)) {
            diag_error(r->s->diag, (Span){0}, "step %lld: %s", (long long)i,
                       why);
            return false;
        }
        if (!r->trains)
            add_outputs(r);
    }
    return true;
}

static bool
evaluate(EvalRun *r)
{
    const Options *o = r->s->options;
    return (!o->init || eval_read_init(r, o->init, o->names)) &&
           eval_read_inputs(r, o->inputs_file) && run_steps(r) &&
           (o->outputs ? eval_write_outputs(r, o->outputs, o->grads)
                       : eval_print_outputs(r, stdout)) &&
           (!o->save || eval_write_checkpoint(r, o->save));
}

/* edlc eval: a model on the slow reference evaluator, in float64. */
Status
cmd_eval(Session *s)
{
    const Options *o = s->options;
    EvalRun r = {.s = s, .microbatches = 1};
    const char *path;
    uint64_t seed = 0;
    int64_t given = -1;
    if (!session_one_input(s, &path) ||
        !read_number(s, "--steps", o->steps, 1, &r.steps) ||
        !read_number(s, "--seed", o->seed, 0, &given))
        return STATUS_USAGE;
    r.module = load(s, path, &seed);
    if (!r.module || !prepare(&r) ||
        (o->grads && r.trains && !keeps_gradients(&r)))
        return STATUS_INPUT;
    if (r.trains && r.module->train && r.module->train->accumulate > 1)
        r.microbatches = r.module->train->accumulate;
    r.seed = given < 0 ? seed : (uint64_t)given;
    r.eval = eval_new(r.module, r.seed);
    bool ok = evaluate(&r);
    eval_free(r.eval);
    return ok ? STATUS_DONE : STATUS_INPUT;
}
