#include "frontend/cmd_limit.h"

#include "frontend/load.h"
#include "frontend/lower_session.h"
#include "passes/pass.h"
#include "passes/plan/report.h"

/* ---- the batch ---- */

/* Of all inputs, the first axis is so long. */
static bool
leads_inputs(const Module *m, int64_t length)
{
    int n = 0;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind != TENSOR_input)
            continue;
        if (t->type.rank == 0 || t->type.dim[0] != length)
            return false;
        n++;
    }
    return n > 0;
}

/* The dim that is the batch and can be halved; NULL: there is none. */
static const Dim *
find_batch(const Module *m)
{
    for (int i = 0; i < m->dims.n; i++) {
        const Dim *d = &m->dims.at[i];
        if (d->value > 1 && d->value % 2 == 0 && leads_inputs(m, d->value))
            return d;
    }
    return NULL;
}

/* ---- half of it ---- */

static void
set_dim(Arena *a, LowerOptions *o, const char *name, int64_t value)
{
    Dim *dims = ARENA_ARRAY(a, Dim, o->n_dims + 1);
    int n = 0;
    for (int i = 0; i < o->n_dims; i++)
        if (strcmp(o->dims[i].name, name) != 0)
            dims[n++] = o->dims[i];
    dims[n++] = (Dim){.name = name, .value = value};
    o->dims = dims;
    o->n_dims = n;
}

/* The smallest limit of the same model with another batch; -1: unknown. */
static int64_t
smallest(Session *s, const Module *m, const Dim *batch, int64_t value)
{
    LowerOptions o;
    PassOptions passes = {.out = stdout};
    if (!lower_options(s, s->options->inputs.at[0], &o))
        return -1;
    o.model = m->name;
    set_dim(s->arena, &o, batch->name, value);
    Module *half = lower_model(s->arena, s->interner, s->diag, &o);
    if (!half || !leads_inputs(half, value) || load_plan(s, half) != STATUS_DONE)
        return -1;
    module_set_option(half, "limit", "1");
    /* Nobody asks what moving things would give. */
    if (!module_option(half, "offload"))
        module_set_option(half, "offload", "none");
    passes_run(half, &passes);
    return half->over_limit ? report_make(s->arena, half).total : -1;
}

/* Planning once more takes no time that matters. */
static bool
is_small(const Module *m)
{
    enum { MOST = 20000 };
    int nodes = 0;
    for (int i = 0; i < m->graphs.n; i++)
        nodes += report_count(m->graphs.at[i]);
    return nodes <= MOST;
}

/* Where there was one microbatch, gradients may have lent bytes, or not been
 * kept. */
static const char *
samples_text(Session *s, const Train *t)
{
    return arena_printf(s->arena,
                        "; `accumulate %lld` keeps the number of samples in a "
                        "step%s",
                        2 * (long long)t->accumulate,
                        t->accumulate > 1 ? ""
                                          : ", and gradients between its "
                                            "microbatches: it takes more");
}

void
cmd_limit_help(Session *s, const Module *m)
{
    const Dim *batch = find_batch(m);
    if (!batch || !is_small(m) ||
        !load_has_suffix(s->options->inputs.at[0], ".edl"))
        return;
    Arena *a = arena_new();
    Session apart = *s;
    apart.arena = a;
    apart.diag = diag_new(a);
    int64_t bytes = smallest(&apart, m, batch, batch->value / 2);
    if (bytes > 0)
        diag_note(s->diag, (Span){0},
                  "with half the batch, --set=%s=%lld, %lld bytes are enough%s",
                  batch->name, (long long)batch->value / 2, (long long)bytes,
                  m->train ? samples_text(s, m->train) : "");
    arena_free(a);
}
