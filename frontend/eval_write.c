/* What `edlc eval` writes: outputs, gradients, the checkpoint. */
#include "frontend/eval_files.h"
#include "ir/optimizer.h"
#include "ir/text.h"

typedef struct OutList {
    VEC(StOut) tensors;
    VEC(StMeta) meta;
} OutList;

bool
eval_is_output(const Tensor *t)
{
    return t->kind == TENSOR_output && strncmp(t->name, "edl.", 4) != 0;
}

static bool
write_list(EvalRun *r, const char *path, const OutList *l)
{
    const char *why;
    if (st_write(r->s->arena, path, l->tensors.at, l->tensors.n, l->meta.at,
                 l->meta.n, &why))
        return true;
    diag_error(r->s->diag, (Span){0}, "cannot write %s: %s", path, why);
    return false;
}

/* ---- outputs ---- */

/* A floating scalar: the mean over the microbatches. Others: of the last. */
static const double *
output_values(EvalRun *r, const Tensor *t, int i)
{
    if (t->type.rank > 0 || !type_is_float(&t->type))
        return eval_tensor(r->eval, t->name)->at;
    double *mean = ARENA_NEW(r->s->arena, double);
    *mean = r->trains ? eval_output_mean(r->eval, t->name)
                      : r->output_sums.at[i] / (double)r->steps;
    return mean;
}

/* The mean over the microbatches. */
static const double *
grad_values(EvalRun *r, const Tensor *t)
{
    const Array *sum = eval_tensor(r->eval, t->name);
    int64_t n = type_elements(&t->type);
    double *mean = ARENA_ARRAY(r->s->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        mean[i] = sum->at[i] / (double)r->microbatches;
    return mean;
}

bool
eval_write_outputs(EvalRun *r, const char *path, bool grads)
{
    OutList l = {0};
    for (int i = 0; i < r->module->tensors.n; i++) {
        const Tensor *t = r->module->tensors.at[i];
        StOut out = {t->name, t->type, NULL};
        if (eval_is_output(t)) {
            out.at = output_values(r, t, i);
        } else if (grads && t->kind == TENSOR_grad) {
            out.name = arena_printf(r->s->arena, "grad/%s", t->owner->name);
            out.at = grad_values(r, t);
        }
        if (out.at)
            vec_push(r->s->arena, &l.tensors, out);
    }
    return write_list(r, path, &l);
}

bool
eval_print_outputs(EvalRun *r, FILE *to)
{
    for (int i = 0; i < r->module->tensors.n; i++) {
        const Tensor *t = r->module->tensors.at[i];
        if (eval_is_output(t) && t->type.rank == 0)
            fprintf(to, "%s %s\n", t->name,
                    text_double(r->s->arena, output_values(r, t, i)[0]));
    }
    return true;
}

/* ---- the checkpoint ---- */

static void
add_number(EvalRun *r, OutList *l, const char *key, uint64_t value)
{
    StMeta m = {key,
                arena_printf(r->s->arena, "%llu", (unsigned long long)value)};
    vec_push(r->s->arena, &l->meta, m);
}

/* The name in a checkpoint, or NULL. */
static const char *
saved_name(EvalRun *r, const Tensor *t)
{
    switch (t->kind) {
    case TENSOR_param:
    case TENSOR_frozen:
    case TENSOR_state:
        return t->name;
    case TENSOR_opt:
        if (optimizer_is_scale(t)) /* what it scales is saved whole */
            return NULL;
        return arena_printf(r->s->arena, "optimizer/%s/%s", t->role,
                            t->owner->name);
    case TENSOR_counter:
    case TENSOR_grad:
    case TENSOR_input:
    case TENSOR_output:
    case TENSOR_stash:
    case TENSOR_KIND_COUNT:
        break;
    }
    return NULL;
}

bool
eval_write_checkpoint(EvalRun *r, const char *path)
{
    OutList l = {0};
    uint64_t steps = r->trains ? (uint64_t)r->steps : 0;
    add_number(r, &l, "edl.step", steps);
    add_number(r, &l, "edl.microbatch", steps * (uint64_t)r->microbatches);
    add_number(r, &l, "edl.epoch", 0);
    add_number(r, &l, "edl.index", 0);
    add_number(r, &l, "edl.seed", r->seed);
    for (int i = 0; i < r->module->tensors.n; i++) {
        const Tensor *t = r->module->tensors.at[i];
        const char *name = saved_name(r, t);
        if (t->kind == TENSOR_counter)
            add_number(r, &l, arena_printf(r->s->arena, "edl.%s", t->name),
                       (uint64_t)eval_tensor(r->eval, t->name)->at[0]);
        if (!name)
            continue;
        StOut out = {name, t->type, eval_tensor(r->eval, t->name)->at};
        if (t->type.dtype == DT_i8)
            out.type.dtype = DT_f32;
        vec_push(r->s->arena, &l.tensors, out);
    }
    return write_list(r, path, &l);
}
