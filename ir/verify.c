#include "ir/verify.h"

#include "ir/optimizer.h"
#include "ir/verify_check.h"

/* Enough to see what is wrong; keeping and sorting more costs the square. */
enum { MAX_FAULTS = 1000 };

void
verify_fault(Verifier *v, const char *fmt, ...)
{
    va_list ap;
    if (++v->faults > MAX_FAULTS)
        return;
    va_start(ap, fmt);
    const char *text = arena_vprintf(v->arena, fmt, ap);
    va_end(ap);
    diag_error(v->m->diag, v->at, "%s: %s", v->what, text);
}

void
verify_at(Verifier *v, const Node *n)
{
    v->at = n->loc;
    v->what = op_info[n->op].name;
    if (n->n_results)
        v->what = n->results[0]->name;
    else if (n->tensor)
        v->what = arena_printf(v->arena, "%s %s", v->what, n->tensor->name);
}

/* ---- tensors ---- */

static bool
counts(const Type *t)
{
    return t->dtype == DT_i64 && t->rank == 0;
}

static void
verify_owner(Verifier *v, const Tensor *t)
{
    bool owned = t->kind == TENSOR_opt || t->kind == TENSOR_grad;
    if (owned != (t->owner != NULL)) {
        verify_fault(v, owned ? "of which param?"
                              : "only opt and grad tensors are of another");
        return;
    }
    if (!owned)
        return;
    if (t->owner->kind != TENSOR_param ||
        module_tensor(v->m, t->owner->name) != t->owner)
        verify_fault(v, "%s is no param", t->owner->name);
    if ((t->kind == TENSOR_opt) != (t->role != NULL))
        verify_fault(v, "an opt tensor has a role, no other has");
    Type mine = t->type, scales = optimizer_scales(&t->owner->type);
    mine.dtype = t->owner->type.dtype;
    if (optimizer_is_scale(t) && type_equal(&t->type, &scales))
        return;
    bool coded = t->kind == TENSOR_opt && t->type.dtype == DT_i8;
    if (!type_equal(&mine, &t->owner->type) ||
        (!type_is_float(&t->type) && !coded))
        verify_fault(v, "not the shape of %s", t->owner->name);
}

static void
verify_tensor(Verifier *v, const Tensor *t)
{
    v->at = t->loc;
    v->what = t->name;
    if (module_tensor(v->m, t->name) != t)
        verify_fault(v, "the module does not know it by this name");
    verify_owner(v, t);
    if (t->kind == TENSOR_counter && !counts(&t->type))
        verify_fault(v, "a counter is i64[]");
    if (t->kind == TENSOR_param && !type_is_float(&t->type))
        verify_fault(v, "a param is of a floating type");
    if (t->init.kind != INIT_none && t->kind != TENSOR_param &&
        t->kind != TENSOR_frozen && t->kind != TENSOR_state &&
        t->kind != TENSOR_opt)
        verify_fault(v, "%s tensors have no initial value",
                     tensor_kind_name[t->kind]);
    for (int i = 0; i < MAX_RANK; i++)
        if (t->sharding.group[i] >= 0 && i >= t->type.rank)
            verify_fault(v, "sharded over an axis that it does not have");
}

/* ---- the train section ---- */

static void
verify_source(Verifier *v, const DataSource *s)
{
    for (int i = 0; i < s->names.n; i++) {
        const Tensor *t = module_tensor(v->m, s->names.at[i]);
        if (!t || t->kind != TENSOR_input)
            verify_fault(v, "%s is no input", s->names.at[i]);
    }
}

static void
verify_train(Verifier *v)
{
    const Train *t = v->m->train;
    v->what = "train";
    if (!t)
        return;
    v->at = t->loc;
    const Tensor *loss = t->minimize ? module_tensor(v->m, t->minimize) : NULL;
    if (t->minimize && (!loss || loss->kind != TENSOR_output))
        verify_fault(v, "%s is no output", t->minimize);
    for (int i = 0; i < t->data.n; i++)
        verify_source(v, &t->data.at[i]);
    for (int i = 0; i < t->validate.n; i++)
        verify_source(v, &t->validate.at[i]);
    if (t->accumulate < 1) {
        verify_fault(v, "a step has at least one microbatch");
        v->unsound = true;
    }
}

/* ---- the module ---- */

bool
verify_module(Module *m)
{
    Verifier v = {.m = m, .arena = arena_new()};
    for (int i = 0; i < m->tensors.n; i++)
        verify_tensor(&v, m->tensors.at[i]);
    verify_train(&v);
    if (m->slots < 1) {
        verify_fault(&v, "there is at least one stash slot");
        v.unsound = true;
    }
    for (int i = 0; i < m->graphs.n; i++) {
        int before = v.faults;
        verify_graph(&v, m->graphs.at[i]);
        v.unsound |= v.faults != before;
        if (v.faults == before)
            verify_storage(&v, m->graphs.at[i]);
        if (v.faults == before)
            verify_copies(&v, m->graphs.at[i]);
    }
    verify_programs(&v);
    if (!v.unsound)
        verify_placement(&v);
    arena_free(v.arena);
    return v.faults == 0;
}
