/* What changes tensors: every effect of the model once a microbatch (or once
 * a step), on one tensor in the model's order, in the graph of its phase. */
#include <inttypes.h>

#include "passes/plan/check_parts.h"

static const Tensor *
effect_tensor(const Node *n)
{
    if (check_is_update(n) && n->n_args)
        return value_tensor(n->args[0]);
    return n->op == OP_wait || check_is_write_back(n) ? NULL : n->tensor;
}

Track *
check_track(Check *c, const Tensor *t)
{
    return &c->tracks[t->mark];
}

static void
collect(Check *c, const Graph *g, Phase phase)
{
    graph_each(g, n) {
        Phase of = g->owner ? phase : n->phase;
        if (n->body)
            collect(c, n->body, of);
        const Tensor *t = n->n_results ? NULL : effect_tensor(n);
        if (!t)
            continue;
        const Tensor *mine = module_tensor(c->m, t->name);
        if (!mine) /* check_may_lack */
            continue;
        Track *track = check_track(c, mine);
        Effect e = {n->mark, n};
        if (of == PHASE_update)
            vec_push(c->arena, &track->update, e);
        else
            vec_push(c->arena, &track->micro, e);
    }
}

void
check_effects_begin(Check *c)
{
    for (int i = 0; i < c->n_tracks; i++) {
        Track *t = &c->tracks[i];
        t->micro.n = t->update.n = 0;
        t->done = t->updated = 0;
        t->changed = false;
        t->owed = NULL;
    }
    collect(c, c->main, PHASE_forward);
}

/* ---- none is missing ---- */

static void
count(Check *c, const Graph *g, bool update)
{
    graph_each(g, n) {
        if (n->body)
            count(c, n->body, update);
        const Tensor *t = n->n_results ? NULL : effect_tensor(n);
        if (t)
            check_track(c, t)->found[update || check_is_update(n)]++;
    }
}

static void
check_count(Check *c, const Track *t, bool update)
{
    int want = update ? t->update.n : t->micro.n, found = t->found[update];
    if (found >= want)
        return;
    const Effect *e = update ? &t->update.at[found] : &t->micro.at[found];
    check_fault(c, t->tensor->loc,
                "%s: the model changes it %d times in %s, the schedule %d "
                "times: %s is missing",
                t->tensor->name, want, update ? "its update" : "a microbatch",
                found, op_info[e->node->op].name);
    check_note(c, e->node->loc, "the model has it from here");
}

void
check_effects_count(Check *c, Graph *const *graphs, int n)
{
    for (int i = 0; i < c->n_tracks; i++)
        c->tracks[i].found[0] = c->tracks[i].found[1] = 0;
    for (int i = 0; i < n; i++)
        count(c, graphs[i],
              c->steps &&
                  strcmp(graphs[i]->name, phase_name[PHASE_update]) == 0);
    for (int i = 0; i < c->n_tracks; i++) {
        check_count(c, &c->tracks[i], false);
        check_count(c, &c->tracks[i], true);
    }
}

void
check_effects_end(Check *c, Span at)
{
    for (int i = 0; i < c->n_tracks; i++) {
        const Track *t = &c->tracks[i];
        if (t->owed)
            check_fault(c, t->owed->loc,
                        "changes a copy of %s, which is never written back",
                        t->tensor->name);
        if (t->done != t->micro.n * c->microbatches ||
            t->updated != t->update.n)
            check_fault(c, at, "%s is not changed as often as in the model",
                        t->tensor->name);
    }
}

void
check_effects_skip(Check *c, int64_t more)
{
    for (int i = 0; i < c->n_tracks; i++) {
        Track *t = &c->tracks[i];
        t->done += more * t->micro.n;
        for (int64_t s = 0; t->cell && s < c->m->slots; s++) {
            t->cell[s].mb += more;
            if (t->tensor->kind != TENSOR_stash)
                break;
        }
    }
}

/* ---- reads ---- */

static bool
state_is_old(Check *c, const Node *n, const Track *t)
{
    int64_t before = c->mb * t->micro.n;
    if (t->done == before)
        return true;
    if (t->done > before)
        check_fault_at(c, n,
                       "%s has its next value already: every read of a "
                       "microbatch sees the old one",
                       n->tensor->name);
    else
        check_fault_at(c, n, "%s has not its value of this microbatch yet",
                       n->tensor->name);
    return false;
}

bool
check_effects_read(Check *c, const Node *n)
{
    const Track *t = check_track(c, n->tensor);
    switch (n->tensor->kind) {
    case TENSOR_param:
    case TENSOR_frozen:
    case TENSOR_opt:
    case TENSOR_counter:
        if (!t->changed && !t->updated && !t->owed)
            return true;
        check_fault_at(c, n, "%s is updated already", n->tensor->name);
        return false;
    case TENSOR_state:
        return state_is_old(c, n, t);
    case TENSOR_grad:
        if (t->done == t->micro.n * c->microbatches)
            return true;
        check_fault_at(c, n, "%s is not complete yet", n->tensor->name);
        return false;
    case TENSOR_input:
    case TENSOR_output:
    case TENSOR_stash:
    case TENSOR_KIND_COUNT:
        break;
    }
    return true;
}

/* ---- changes ---- */

static void
check_turn(Check *c, const Node *n, const Effect *want, int number)
{
    const Node *outer = want->node;
    while (outer->graph->owner)
        outer = outer->graph->owner;
    if (number != NO_NUMBER && number != want->number) {
        check_fault_at(c, n, "another change of %s comes first in the model",
                       effect_tensor(n)->name);
        check_note(c, want->node->loc, "the model has it from here");
    } else if (outer->phase != c->phase && !check_is_early(c, n)) {
        check_fault_at(c, n, "belongs to the %s pass",
                       phase_name[outer->phase]);
    }
}

static void
check_micro(Check *c, const Node *n, Track *t, int number)
{
    int64_t first = c->mb * t->micro.n;
    if (t->micro.n == 0) {
        check_fault_at(c, n, "the model does not change %s in this pass",
                       t->tensor->name);
        return;
    }
    if (t->done < first) {
        check_fault_at(c, n, "%s lacks a change of an earlier microbatch",
                       t->tensor->name);
        return;
    }
    if (t->done >= first + t->micro.n) {
        check_fault_at(c, n, "changes %s once more than the model",
                       t->tensor->name);
        return;
    }
    check_turn(c, n, &t->micro.at[t->done - first], number);
    t->done++;
}

void
check_effect(Check *c, const Node *n, int number)
{
    Track *t = check_track(c, effect_tensor(n));
    if (c->phase != PHASE_update && !check_is_early(c, n)) {
        check_micro(c, n, t, number);
        return;
    }
    if (t->updated >= t->update.n) {
        check_fault_at(c, n,
                       t->update.n ? "changes %s once more than the model"
                                   : "the model does not change %s in "
                                     "its update",
                       t->tensor->name);
        return;
    }
    check_turn(c, n, &t->update.at[t->updated], number);
    t->updated++;
}
