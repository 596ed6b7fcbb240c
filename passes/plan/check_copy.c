/* Copies between spaces: while one is under way, nobody writes what it reads,
 * touches what it writes, or ends the call. */
#include "ir/extent.h"
#include "passes/plan/check_parts.h"

static Held *
held(const Value *v)
{
    return v->note;
}

void
check_copy_begin(Check *c, const Node *n)
{
    const Value *x = n->args[0], *y = n->results[0];
    Layout from = x->layout, to = y->layout;
    from.offset = to.offset = 0;
    if (!extent_same(&x->type, &from, &to))
        check_fault_at(c, n, "does not lie as %s does", x->name);
    Held *h = held(y);
    h->flying = true;
    h->renewed = held(x)->renewed;
    vec_push(c->arena, &c->flying, h);
}

static const Node *
copy_of(const Held *h)
{
    return h->value->def;
}

void
check_copy_wait(Check *c, const Node *n)
{
    const Value *x = n->args[0];
    Held *h = held(x);
    int kept = 0;
    if (!h->flying)
        check_fault_at(c, n, "%s is no copy that is under way", x->name);
    else if (copy_of(h)->args[0] != n->args[1])
        check_fault_at(c, n, "%s is no copy of %s", x->name, n->args[1]->name);
    h->flying = false;
    for (int i = 0; i < c->flying.n; i++)
        if (c->flying.at[i] != h)
            c->flying.at[kept++] = c->flying.at[i];
    c->flying.n = kept;
}

void
check_copies_keep(Check *c, const Node *n, const Place *p)
{
    for (int i = 0; i < c->flying.n; i++) {
        const Node *copy = copy_of(c->flying.at[i]);
        const Value *x = copy->args[0];
        bool reads = check_overlaps(p, &held(x)->place);
        if (!reads && !check_overlaps(p, &c->flying.at[i]->place))
            continue;
        check_fault_at(c, n, "writes where %s %s while it is under way",
                       c->flying.at[i]->value->name,
                       reads ? "is copied from" : "is copied to");
        check_note(c, copy->loc, "the copy begins here");
    }
}

void
check_copies_end(Check *c)
{
    for (int i = 0; i < c->flying.n; i++)
        check_fault_at(c, copy_of(c->flying.at[i]), "is never waited for");
    c->flying.n = 0;
}

/* ---- what an optimizer changes off its place ---- */

void
check_copy_renew(Check *c, const Node *n, Held *h)
{
    const Tensor *t = value_tensor(h->value);
    Track *track = check_track(c, t);
    check_copies_keep(c, n, &h->place);
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
