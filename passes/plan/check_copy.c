/* Copies between spaces. That each is waited for, once and before its result
 * is read, is of the form of a schedule (ir/verify_copy.c). A wait reads both
 * sides, so bytes that somebody else writes while a copy is under way are lost
 * to it, as to any reader. What is left to check here is what goes back. */
#include "ir/extent.h"
#include "passes/plan/check_parts.h"

static Held *
held(const Value *v)
{
    return v->note;
}

void
check_copy(const Node *n)
{
    held(n->results[0])->renewed = held(n->args[0])->renewed;
}

void
check_copy_renew(Check *c, const Node *n, Held *h)
{
    const Tensor *t = value_tensor(h->value);
    Track *track = check_track(c, t);
    if (track->changed || track->owed)
        check_fault_at(c, n, "%s is updated already", t->name);
    track->owed = n;
    h->renewed = t;
}

bool
check_is_write_back(const Node *n)
{
    return n->op == OP_write && n->args[0]->def->op == OP_offload &&
           (n->tensor->kind == TENSOR_opt || n->tensor->kind == TENSOR_param);
}

void
check_write_back(Check *c, const Node *n)
{
    const Tensor *t = n->tensor;
    const Value *v = n->args[0];
    const Held *h = held(v);
    Track *track = check_track(c, t);
    if (h->renewed != t || !track->owed)
        check_fault_at(c, n, "%s is not the new value of %s", v->name,
                       t->name);
    else if (v->home->tensor != t ||
             !extent_same(&v->type, &v->layout, &t->layout))
        check_fault_at(c, n, "%s does not lie as %s does", v->name, t->name);
    track->owed = NULL;
    track->changed = true;
    track->cell[0].lost = NULL;
}
