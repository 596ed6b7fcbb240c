/* The trainer of every model: memory, data, steps, validation, checkpoints.
 * It never calls setlocale, and it holds no state outside a Trainer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "edl.h"

#include "edl_data.h"
#include "edl_exchange.h"
#include "edl_flags.h"
#include "edl_machine.h"
#include "edl_profile.h"
#include "edl_progress.h"
#include "edl_tensor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Trainer {
    const EdlModel *model;
    EdlFlags flags;
    EdlInstance m;
    EdlPool *pool;
#ifdef EDL_PROFILE
    EdlProfile *profile;
#endif
    EdlMemory memory;
    unsigned char **inputs; /* of microbatch 0 */
    EdlFeed data, validate;
    EdlBatches given;
    int has_data, has_validate, has_given;
    uint64_t first_step;      /* 0, or where a resumed run begins */
    uint64_t checkpoint_step; /* of the last checkpoint written */
    int64_t steps;
    EdlProgress progress;
    double *sums; /* of progress.scalars, over all passes */
    EdlError error;
    int stopped;
} Trainer;

static EdlStatus
model_failed(Trainer *t, EdlStatus s)
{
    if (s != EDL_OK)
        edl_error(&t->error, s, "%s",
                  t->m.error[0] ? t->m.error : edl_status_text(s));
    return s;
}

/* ---- the model ---- */

/* Batches lie in the io region or, of a device, in host memory. */
static EdlStatus
place_inputs(Trainer *t)
{
    int64_t n = t->model->step ? t->model->accumulate : 1;
    for (int32_t i = 0; i < t->model->ninputs; i++) {
        const EdlTensor *x = &t->model->inputs[i];
        t->inputs[i] = t->model->device
                           ? (unsigned char *)malloc(
                                 (size_t)(edl_tensor_bytes(x) * (uint64_t)n))
                           : edl_address(&t->m, x);
        if (!t->inputs[i])
            return edl_error(&t->error, EDL_ENOMEM, "out of memory");
    }
    return EDL_OK;
}

/* Errors are told once, at the end. */
static void
tell(void *user, int level, const char *text)
{
    (void)user;
    if (level == EDL_LOG_INFO)
        fprintf(stderr, "warning: %s\n", text);
}

static EdlStatus
make_model(Trainer *t)
{
    EdlRegions regions;
    EdlHooks hooks;
    int threads = t->flags.threads ? (int)t->flags.threads : edl_processors();
    memset(&regions, 0, sizeof regions);
    memset(&hooks, 0, sizeof hooks);
    EdlStatus s = edl_memory_take(&t->memory, t->model, &regions, &t->error);
    t->progress.bytes = t->memory.bytes;
    if (s != EDL_OK)
        return s;
    t->pool = edl_pool_new(threads);
    if (!t->pool)
        return edl_error(&t->error, EDL_ENOMEM, "cannot make %d threads",
                         threads);
    hooks.parallel_for = edl_pool_for;
    hooks.log = tell;
    hooks.user = t->pool;
    hooks.disk = t->flags.disk;
#ifdef EDL_PROFILE
    t->profile = hooks.profile = edl_profile_new();
    if (!t->profile)
        return edl_error(&t->error, EDL_ENOMEM, "out of memory");
#endif
    s = edl_init(&t->m, t->model, EDL_ABI, sizeof t->m, &regions, &hooks);
    if (s != EDL_OK)
        return model_failed(t, s);
    t->inputs = (unsigned char **)calloc((size_t)t->model->ninputs + 1,
                                         sizeof *t->inputs);
    t->progress.model = t->model;
    t->progress.scalars =
        (double *)calloc((size_t)t->model->noutputs + 1, sizeof(double));
    t->sums = (double *)calloc((size_t)t->model->noutputs + 1, sizeof(double));
    if (!t->inputs || !t->progress.scalars || !t->sums)
        return edl_error(&t->error, EDL_ENOMEM, "out of memory");
    return place_inputs(t);
}

static EdlStatus
set_parameters(Trainer *t)
{
    const EdlFlags *f = &t->flags;
    uint64_t seed = f->has_seed       ? f->seed
                    : t->model->train ? t->model->train->seed
                                      : 0;
    if (f->resume)
        return model_failed(t, edl_load(&t->m, f->resume));
    EdlStatus s = model_failed(t, edl_init_params(&t->m, seed));
    if (s == EDL_OK && f->init)
        s = edl_init_from(&t->m, f->init, f->names, &t->error);
    return s;
}

/* ---- data ---- */

/* How many microbatches a call of the model takes. */
static int64_t
per_step(const Trainer *t)
{
    return t->model->step ? t->model->accumulate : 1;
}

static EdlStatus
open_data(Trainer *t)
{
    const EdlTrain *train = t->model->train;
    EdlStatus s = EDL_OK;
    if (t->flags.inputs) {
        s = edl_batches_open(&t->given, t->model, t->flags.inputs, &t->error);
        t->has_given = s == EDL_OK;
        return s;
    }
    if (train && train->data.nsources) {
        s = edl_feed_open(&t->data, t->model, &train->data, t->m.count.seed,
                          &t->error);
        t->has_data = s == EDL_OK;
    } else if (t->model->ninputs) {
        return edl_error(&t->error, EDL_EINVAL,
                         "the model has no data: give --inputs=FILE");
    }
    if (s == EDL_OK && train && train->validate.nsources &&
        t->model->evaluate) {
        s = edl_feed_open(&t->validate, t->model, &train->validate,
                          t->m.count.seed, &t->error);
        t->has_validate = s == EDL_OK;
    }
    return s;
}

/* Of the whole run, with those before a resume: what the flag says, else what
 * the file of batches holds, else the model. */
static int64_t
choose_steps(const Trainer *t)
{
    if (t->flags.steps >= 0)
        return t->flags.steps;
    if (t->has_given && t->given.microbatches)
        return t->given.microbatches / per_step(t);
    return t->model->train ? t->model->train->steps : 1;
}

static EdlStatus
read_batch(Trainer *t, uint64_t step, uint64_t *epoch, uint64_t *index)
{
    int64_t n = per_step(t);
    if (t->has_given)
        return edl_batches_read(&t->given, (int64_t)step * n, n, t->inputs,
                                &t->error);
    if (t->has_data)
        return edl_feed_read(&t->data, epoch, index, n, t->inputs, &t->error);
    return EDL_OK;
}

/* ---- validation, checkpoints ---- */

/* Adds weight times the floating scalar outputs to progress.scalars. */
static void
add_scalars(Trainer *t, double weight)
{
    for (int32_t i = 0; i < t->model->noutputs; i++) {
        double raw = 0, x = 0;
        const EdlTensor *o = &t->model->outputs[i];
        if (!edl_is_scalar(o))
            continue;
        edl_gather(&t->m, o, 0, 1, &raw);
        edl_convert(o->dtype, &raw, EDL_F64, &x, 1);
        t->progress.scalars[i] += weight * x;
    }
}

static void
clear_scalars(Trainer *t)
{
    for (int32_t i = 0; i < t->model->noutputs; i++)
        t->progress.scalars[i] = 0;
}

static EdlStatus
evaluate(Trainer *t, EdlMetrics *out)
{
    const void *const *in = (const void *const *)t->inputs;
    return model_failed(t, t->model->evaluate(&t->m, in, out));
}

/* The mean over the batches, the same ones every time. */
static EdlStatus
run_validation(Trainer *t)
{
    const EdlTrain *train = t->model->train;
    uint64_t epoch = 0, index = 0;
    double sum = 0;
    int64_t most = t->validate.samples / edl_feed_batch(&t->validate);
    int64_t n = train->validate_batches;
    if (n == 0 || n > most)
        n = most > 0 ? most : 1;
    clear_scalars(t);
    for (int64_t i = 0; i < n; i++) {
        EdlMetrics metrics;
        EdlStatus s = edl_feed_read(&t->validate, &epoch, &index, 1, t->inputs,
                                    &t->error);
        if (s == EDL_OK)
            s = evaluate(t, &metrics);
        if (s != EDL_OK)
            return s;
        sum += metrics.loss;
        add_scalars(t, 1.0 / (double)n);
    }
    edl_progress_validation(&t->progress, t->m.count.step, sum / (double)n, n);
    return EDL_OK;
}

static EdlStatus
save(Trainer *t, const char *path)
{
    EdlStatus s = edl_save(&t->m, path);
    if (s != EDL_OK && t->m.error[0] == '\0')
        return edl_error(&t->error, s, "%s: cannot save", path);
    return model_failed(t, s);
}

static int
every(int64_t n, uint64_t step)
{
    return n > 0 && step % (uint64_t)n == 0;
}

/* SIGINT and SIGTERM are blocked from the start and looked at between steps:
 * no handler, hence no state that a handler could reach. */
static void
block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigprocmask(SIG_BLOCK, set, NULL);
}

static int
signal_waits(void)
{
    sigset_t set;
    if (sigpending(&set) != 0)
        return 0;
    return sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1;
}

/* ---- steps ---- */

/* One step or, of a model that does not train, one forward pass. */
static EdlStatus
call_model(Trainer *t, EdlMetrics *out)
{
    if (!t->model->step) {
        EdlStatus s = evaluate(t, out);
        out->step = t->m.count.step++;
        return s;
    }
    const void *const *in = (const void *const *)t->inputs;
    return model_failed(t, t->model->step(&t->m, in, out));
}

static EdlStatus
run_step(Trainer *t)
{
    EdlMetrics metrics;
    EdlCounters *c = &t->m.count;
    uint64_t epoch = c->epoch, index = c->index;
    memset(&metrics, 0, sizeof metrics);
    EdlStatus s = read_batch(t, c->step, &epoch, &index);
    if (s == EDL_OK)
        s = call_model(t, &metrics);
    if (s != EDL_OK)
        return s;
    c->epoch = epoch;
    c->index = index;
    clear_scalars(t);
    add_scalars(t, 1.0);
    for (int32_t i = 0; i < t->model->noutputs; i++)
        t->sums[i] += t->progress.scalars[i];
    edl_progress_step(&t->progress, &metrics, c);
    return EDL_OK;
}

static EdlStatus
write_checkpoint(Trainer *t)
{
    t->checkpoint_step = t->m.count.step;
    return save(t, t->model->train->checkpoint);
}

/* What is due after a step. The validation after the last one waits until
 * the outputs are written: it writes over them. */
static EdlStatus
after_step(Trainer *t)
{
    const EdlTrain *train = t->model->train;
    uint64_t done = t->m.count.step;
    EdlStatus s = EDL_OK;
    if (!train)
        return EDL_OK;
    if (t->has_validate && (int64_t)done < t->steps &&
        every(train->validate_every, done))
        s = run_validation(t);
    if (s == EDL_OK && train->checkpoint &&
        every(train->checkpoint_every, done))
        s = write_checkpoint(t);
    return s;
}

static EdlStatus
run_steps(Trainer *t)
{
    while ((int64_t)t->m.count.step < t->steps) {
        EdlStatus s = run_step(t);
        if (s == EDL_OK)
            s = after_step(t);
        if (s != EDL_OK)
            return s;
        if (signal_waits()) {
            t->stopped = 1;
            return EDL_OK;
        }
    }
    return EDL_OK;
}

/* ---- the end of a run ---- */

/* Passes of a model that does not train are the microbatches of one whole:
 * its floating scalars are means over them. */
static void
take_means(Trainer *t)
{
    double n = (double)(t->m.count.step - t->first_step);
    for (int32_t i = 0; i < t->model->noutputs && !t->model->step; i++) {
        const EdlTensor *o = &t->model->outputs[i];
        double mean = t->sums[i] / n, raw = 0;
        if (!edl_is_scalar(o))
            continue;
        edl_convert(EDL_F64, &mean, o->dtype, &raw, 1);
        edl_scatter(&t->m, o, 0, 1, &raw);
    }
}

static EdlStatus
write_outputs(Trainer *t)
{
    if (!t->flags.outputs)
        return EDL_OK;
    if (t->m.count.step == t->first_step)
        return edl_error(&t->error, EDL_EINVAL,
                         "no step was made: there are no outputs");
    take_means(t);
    return edl_write_outputs(&t->m, t->flags.outputs, t->flags.grads,
                             &t->error);
}

static void
say_end(Trainer *t)
{
    edl_progress_say(&t->progress, "%s after %llu steps, %.1f s",
                     t->stopped ? "stopped" : "done",
                     (unsigned long long)t->m.count.step,
                     edl_progress_seconds(&t->progress));
    if (t->checkpoint_step)
        edl_progress_say(&t->progress, "checkpoint of step %llu: %s",
                         (unsigned long long)t->checkpoint_step,
                         t->model->train->checkpoint);
    if (t->flags.save)
        edl_progress_say(&t->progress, "saved: %s", t->flags.save);
}

/* Steps that no checkpoint holds get one at the end, unless --save holds them
 * or the run was on given batches, which is no training to continue. */
static int
wants_checkpoint(const Trainer *t)
{
    if (!t->model->train || !t->model->train->checkpoint ||
        t->m.count.step == t->first_step ||
        t->m.count.step == t->checkpoint_step)
        return 0;
    return t->stopped || (!t->flags.save && !t->has_given);
}

/* The table of kernels, and what the flags ask for. */
static EdlStatus
write_profile(Trainer *t)
{
#ifdef EDL_PROFILE
    EdlStatus s = EDL_OK;
    EdlPeaks peaks = {0, 0};
    if (!t->flags.quiet || t->flags.profile)
        peaks = edl_profile_peaks(&t->m);
    if (!t->flags.quiet)
        edl_profile_print(t->profile, peaks, stdout);
    if (t->flags.trace)
        s = edl_profile_trace(t->profile, t->flags.trace);
    if (s != EDL_OK)
        return edl_error(&t->error, s, "cannot write %s", t->flags.trace);
    if (t->flags.profile)
        s = edl_profile_save(t->profile, peaks, t->flags.profile);
    if (s != EDL_OK)
        return edl_error(&t->error, s, "cannot write %s", t->flags.profile);
#else
    (void)t;
#endif
    return EDL_OK;
}

static EdlStatus
finish(Trainer *t)
{
    EdlStatus s = write_outputs(t);
    if (s == EDL_OK)
        s = write_profile(t);
    if (s == EDL_OK && wants_checkpoint(t))
        s = write_checkpoint(t);
    if (s == EDL_OK && t->flags.save)
        s = save(t, t->flags.save);
    if (s == EDL_OK && t->has_validate && !t->stopped)
        s = run_validation(t);
    if (s == EDL_OK)
        say_end(t);
    return s;
}

/* Tokens where the first input holds ids in rows, else samples. */
static void
count_items(Trainer *t)
{
    const EdlTensor *x = t->model->inputs;
    t->progress.quiet = t->flags.quiet;
    t->progress.steps = t->steps;
    t->progress.unit = "samples";
    t->progress.items = per_step(t);
    if (t->model->ninputs == 0 || x->ndim == 0)
        return;
    int ids = x->ndim >= 2 && (x->dtype == EDL_I32 || x->dtype == EDL_I64);
    t->progress.unit = ids ? "tokens" : "samples";
    t->progress.items *= ids ? edl_tensor_elements(x) : x->dims[0];
}

static int32_t
count_kind(const EdlModel *m, EdlKind kind)
{
    int32_t n = 0;
    for (int32_t i = 0; i < m->ntensors; i++)
        n += m->tensors[i].kind == kind;
    return n;
}

static EdlStatus
check_model(Trainer *t)
{
    int32_t grads = count_kind(t->model, EDL_GRAD);
    if (!t->model->step && !t->model->evaluate)
        return edl_error(&t->error, EDL_EUNSUPPORTED,
                         "the model has neither a step nor a forward pass");
    if (!t->flags.grads || (grads && grads == count_kind(t->model, EDL_PARAM)))
        return EDL_OK;
    return edl_error(&t->error, EDL_EUNSUPPORTED,
                     t->model->step
                         ? "--grads: under its limit the model keeps gradients "
                           "for a moment only; compile it with --grads"
                         : "--grads: the model was compiled without "
                           "gradients");
}

static EdlStatus
run(Trainer *t)
{
    EdlStatus s = check_model(t);
    if (s == EDL_OK)
        s = make_model(t);
    if (s == EDL_OK)
        s = set_parameters(t);
    if (s == EDL_OK)
        s = open_data(t);
    if (s != EDL_OK)
        return s;
    t->first_step = t->m.count.step;
    t->steps = choose_steps(t);
    count_items(t);
    if (t->has_given)
        s = edl_batches_cover(&t->given, per_step(t), (int64_t)t->first_step,
                              t->steps, &t->error);
    if (s == EDL_OK)
        s = edl_progress_open(&t->progress, t->flags.metrics,
                              t->flags.resume != NULL, &t->error);
    if (s == EDL_OK)
        s = run_steps(t);
    return s == EDL_OK ? finish(t) : s;
}

static void
release(Trainer *t)
{
    if (t->has_data)
        edl_feed_close(&t->data);
    if (t->has_validate)
        edl_feed_close(&t->validate);
    if (t->has_given)
        edl_batches_close(&t->given);
    edl_close(&t->m);
    edl_pool_free(t->pool);
#ifdef EDL_PROFILE
    edl_profile_free(t->profile);
#endif
    for (int32_t i = 0;
         t->inputs && t->model->device && i < t->model->ninputs; i++)
        free(t->inputs[i]);
    free(t->inputs);
    free(t->progress.scalars);
    free(t->sums);
    edl_memory_free(&t->memory, t->model);
}

int
edl_trainer_main(const EdlModel *model, int argc, char **argv)
{
    Trainer t;
    sigset_t set;
    memset(&t, 0, sizeof t);
    t.model = model;
    if (!edl_flags_parse(&t.flags, argc, argv))
        return 2;
    if (t.flags.help) {
        edl_flags_help(model, argc > 0 ? argv[0] : model->name);
        return 0;
    }
    block_signals(&set);
    EdlStatus s = run(&t);
    EdlError closing;
    EdlStatus last = edl_progress_close(&t.progress, &closing);
    if (s == EDL_OK && last != EDL_OK) {
        s = last;
        t.error = closing;
    }
    if (s != EDL_OK)
        fprintf(stderr, "error: %s\n", t.error.text);
    release(&t);
    return s == EDL_OK ? 0 : s == EDL_ENOMEM ? 3 : 1;
}
