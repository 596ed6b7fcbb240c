/* Bytes: a record for every value that is read later and a cell for every
 * tensor; what is written over them is noted, and said when they are read. */
#include <stdlib.h>

#include "ir/extent.h"
#include "ir/scratch.h"
#include "passes/plan/check_parts.h"

/* ---- places ---- */

/* base: a multiple of 64 bytes, and so of the bits of any element. */
static Place
place(Region region, int64_t slot, const Type *t, const Layout *l, int64_t base)
{
    Place p = {.region = region, .slot = slot, .type = *t, .layout = *l};
    p.layout.offset += base / dtype_info[t->dtype].bits * 8;
    extent_range(t, &p.layout, &p.first, &p.last);
    return p;
}

/* A slot of the stash is an instance of its region; off the device the slots
 * of a tensor stand one behind the other. */
static bool
has_instances(const Tensor *t)
{
    return t->kind == TENSOR_stash && t->region == REGION_stash;
}

static Place
place_in(Check *c, const Tensor *t, const Type *type, const Layout *l)
{
    if (t->kind != TENSOR_stash || has_instances(t))
        return place(t->region, has_instances(t) ? c->slot : 0, type, l,
                     t->place);
    return place(t->region, 0, type, l,
                 t->place + c->slot * (t->bytes / c->m->slots));
}

Place
check_place_tensor(Check *c, const Tensor *t)
{
    return place_in(c, t, &t->type, &t->layout);
}

Place
check_place_value(Check *c, const Value *v)
{
    const Value *h = v->home;
    if (h->tensor)
        return place_in(c, h->tensor, &v->type, &v->layout);
    return place(h->region, h->region == REGION_stash ? c->slot : 0, &v->type,
                 &v->layout, h->place);
}

Place
check_place_scratch(Check *c, const Node *n)
{
    (void)c;
    Type bytes = {.dtype = DT_u8, .rank = 1, .dim = {node_scratch(n)}};
    Layout l = layout_dense(&bytes);
    return place(REGION_workspace, 0, &bytes, &l, n->scratch);
}

bool
check_overlaps(const Place *a, const Place *b)
{
    return a->region == b->region && a->slot == b->slot &&
           a->first <= b->last && b->first <= a->last &&
           !extent_disjoint(&a->type, &a->layout, &b->type, &b->layout);
}

bool
check_shares_home(const Value *a, const Value *b)
{
    return a->home == b->home ||
           (a->home->tensor && a->home->tensor == b->home->tensor);
}

/* ---- cells ---- */

static int
by_place(const void *a, const void *b)
{
    const Track *x = *(Track *const *)a, *y = *(Track *const *)b;
    return (x->tensor->place > y->tensor->place) -
           (x->tensor->place < y->tensor->place);
}

/* In a list, tensors lie apart: what is stashed in gradients' bytes has one
 * of its own. */
static int
list_of(const Tensor *t)
{
    bool borrows = t->kind == TENSOR_stash && t->region == REGION_grads;
    return borrows ? CHECK_BORROWED : (int)t->region;
}

static void
sort_tracks(Check *c)
{
    for (int r = 0; r < CHECK_LISTS; r++) {
        c->sorted[r] = ARENA_ARRAY(c->arena, Track *, c->n_tracks + 1);
        c->n_sorted[r] = 0;
        for (int i = 0; i < c->n_tracks; i++)
            if (list_of(c->tracks[i].tensor) == r)
                c->sorted[r][c->n_sorted[r]++] = &c->tracks[i];
        qsort(c->sorted[r], (size_t)c->n_sorted[r], sizeof(Track *), by_place);
    }
}

static bool
lasts(const Tensor *t)
{
    return t->kind != TENSOR_grad && t->kind != TENSOR_output &&
           t->kind != TENSOR_stash;
}

void
check_memory_begin(Check *c)
{
    for (int i = 0; i < c->n_tracks; i++) {
        Track *t = &c->tracks[i];
        int64_t n = t->tensor->kind == TENSOR_stash ? c->m->slots : 1;
        t->cell = ARENA_ARRAY(c->arena, Cell, n);
        for (int64_t s = 0; s < n; s++) {
            c->slot = s;
            t->cell[s].place = check_place_tensor(c, t->tensor);
            t->cell[s].filled = lasts(t->tensor);
        }
    }
    c->slot = 0;
    check_forget_all(c);
    sort_tracks(c);
}

/* What a program leaves behind. */
void
check_memory_end(Check *c, Span at)
{
    for (int i = 0; i < c->n_tracks; i++) {
        const Track *t = &c->tracks[i];
        const Cell *cell = &t->cell[0];
        if (t->tensor->kind == TENSOR_stash || !cell->filled || !cell->lost)
            continue;
        check_fault(c, cell->lost->loc,
                    "%s overwrites %s, which is needed "
                    "when the program is over",
                    check_name(c, cell->lost), t->tensor->name);
        check_note(c, at, "this program");
    }
}

/* The first of the list that may reach to `bit`. */
static int
first_track(const Check *c, int r, int64_t bit)
{
    int low = 0, high = c->n_sorted[r];
    while (low < high) {
        int middle = (low + high) / 2;
        const Tensor *t = c->sorted[r][middle]->tensor;
        if ((t->place + t->bytes) * 8 <= bit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- values ---- */

/* The optimizer changes what it reads. */
static bool
is_updated(const Node *n, const Value *u, const Tensor *spare)
{
    bool update = (op_info[n->op].flags & OP_OPTIMIZER) || n->op == OP_count;
    update |= n->op == OP_fused && !strcmp(node_word(n, "kind", ""), "sweep");
    return update && spare && u->home->tensor == spare;
}

static Span
place_loc(const Value *x, const Node *n)
{
    const Value *h = x ? x->home : NULL;
    return h && h == x && h->placed.line ? h->placed : n->loc;
}

static void
lose_value(Check *c, const Node *n, Held *h, const Value *x,
           const Tensor *spare)
{
    const Value *u = h->value;
    const char *name = x ? x->name : check_name(c, n);
    if (value_node(u) == n)
        check_fault(c, place_loc(x, n),
                    "%s lies over %s, which is made with "
                    "it",
                    name, u->name);
    else if (h->read == n->order && !is_updated(n, u, spare) &&
             !(x && check_in_place(n, x, u)))
        check_fault(c, place_loc(x, n), "%s overwrites %s while %s reads it",
                    name, u->name, op_info[n->op].name);
    if (!h->lost)
        h->lost = n;
}

/* Of a list; those that no node from n on reads go. */
static void
lose_values(Check *c, const Node *n, const Place *p, const Value *x,
            const Tensor *spare, HeldList *list)
{
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        Held *h = list->at[i];
        if (h->last < n->order)
            continue;
        list->at[kept++] = h;
        if (check_overlaps(p, &h->place))
            lose_value(c, n, h, x, spare);
    }
    list->n = kept;
}

/* Only those of a list that p touches have something to lose. */
static void
lose_tensors(Check *c, const Node *n, const Place *p, const Value *x,
             const Tensor *spare, int r)
{
    for (int i = first_track(c, r, p->first); i < c->n_sorted[r]; i++) {
        Track *t = c->sorted[r][i];
        if (t->tensor->place * 8 > p->last)
            break;
        int64_t slots = t->tensor->kind == TENSOR_stash ? c->m->slots : 1;
        lose_values(c, n, p, x, spare, &t->live);
        for (int64_t s = 0; t->tensor != spare && s < slots; s++)
            if (check_overlaps(p, &t->cell[s].place))
                t->cell[s].lost = n;
    }
}

void
check_overwrite(Check *c, const Node *n, const Place *p, const Value *x,
                const Tensor *spare)
{
    lose_values(c, n, p, x, spare, &c->live);
    lose_tensors(c, n, p, x, spare, (int)p->region);
    if (p->region == REGION_grads)
        lose_tensors(c, n, p, x, spare, CHECK_BORROWED);
}

void
check_hold(Check *c, Held *h)
{
    const Tensor *t = h->value->home->tensor;
    Track *track = t ? check_track(c, t) : NULL;
    h->place = check_place_value(c, h->value);
    if (h->last <= value_node(h->value)->order)
        return;
    if (track && track->live.n == 0)
        vec_push(c->arena, &c->used, track);
    vec_push(c->arena, track ? &track->live : &c->live, h);
}

void
check_forget(Check *c, int now)
{
    int n = 0;
    for (int i = 0; i < c->live.n; i++)
        if (c->live.at[i]->last >= now)
            c->live.at[n++] = c->live.at[i];
    c->live.n = n;
}

void
check_forget_all(Check *c)
{
    for (int i = 0; i < c->used.n; i++)
        c->used.at[i]->live.n = 0;
    c->used.n = c->live.n = 0;
}
