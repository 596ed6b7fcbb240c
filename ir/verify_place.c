/* The placement table: everything has its place in a region, and what is
 * alive together lies apart. */
#include <inttypes.h>
#include <stdlib.h>

#include "ir/busy.h"
#include "ir/extent.h"
#include "ir/lend.h"
#include "ir/scratch.h"
#include "ir/storage.h"
#include "ir/verify_check.h"

enum { ALIGN = 64, SLOT = 4096 };

bool
verify_is_placed(const Module *m)
{
    for (Region r = REGION_state; r < REGION_COUNT; r++)
        if (m->region_bytes[r])
            return true;
    return false;
}

/* ---- one place: faults are at its line of the table, if there is one ---- */

static void
verify_end(Verifier *v, Region region, uint64_t end, int64_t limit)
{
    if (v->small != region || v->ends != limit)
        verify_fault(v, "the place ends at %" PRIu64 ", the region at %" PRId64,
                     end, limit);
    v->small = region;
    v->ends = limit;
}

static void
verify_spot(Verifier *v, Region region, int64_t place, int64_t bytes,
            int64_t need, int64_t limit)
{
    int align = region == REGION_host || region == REGION_disk ? SLOT : ALIGN;
    if (place < 0 || place % align)
        verify_fault(v, "the place %" PRId64 " is no multiple of %d", place,
                     align);
    else if (need < 0 || bytes < need)
        verify_fault(v, "%" PRId64 " bytes are placed, %" PRId64 " are needed",
                     bytes, need);
    else if (place > limit || bytes > limit - place)
        verify_end(v, region, (uint64_t)place + (uint64_t)bytes, limit);
}

/* ---- tensors ---- */

static Region
region_of(const Tensor *t)
{
    if (t->space != SPACE_device)
        return t->space == SPACE_host ? REGION_host : REGION_disk;
    switch (t->kind) {
    case TENSOR_param:
    case TENSOR_frozen:
    case TENSOR_state:
    case TENSOR_opt:
    case TENSOR_counter:
        return REGION_state;
    case TENSOR_grad:
        return REGION_grads;
    case TENSOR_stash:
        return REGION_stash;
    case TENSOR_input:
    case TENSOR_output:
        return REGION_io;
    case TENSOR_KIND_COUNT:
        break;
    }
    return REGION_none;
}

/* An input holds the microbatches of a step one after the other. */
static int64_t
tensor_bytes(const Module *m, const Tensor *t)
{
    int64_t one = extent_bytes(&t->type, &t->layout);
    int64_t n = t->kind == TENSOR_input && m->train ? m->train->accumulate : 1;
    if (t->kind == TENSOR_stash && t->space != SPACE_device)
        n = m->slots;
    return one < 0 || one > INT64_MAX / n ? -1 : one * n;
}

static void
at_tensor(Verifier *v, const Tensor *t)
{
    v->at = t->placed.line ? t->placed : t->loc;
    v->what = t->name;
}

static bool
borrows(const Tensor *t)
{
    return t->kind == TENSOR_stash && t->region == REGION_grads &&
           t->space == SPACE_device;
}

static void
verify_tensor_place(Verifier *v, const Tensor *t)
{
    at_tensor(v, t);
    if (t->region != region_of(t) && !borrows(t)) {
        verify_fault(v, "expected in the region %s, found in %s",
                     region_name[region_of(t)], region_name[t->region]);
        return;
    }
    int64_t limit = v->m->region_bytes[t->region];
    if (t->region == REGION_stash)
        limit /= v->m->slots;
    verify_spot(v, t->region, t->place, t->bytes, tensor_bytes(v->m, t),
                limit);
    if (t->kind == TENSOR_stash && t->space != SPACE_device &&
        t->bytes / v->m->slots % SLOT)
        verify_fault(v, "a slot is no multiple of %d bytes", SLOT);
}

static void
verify_stage(Verifier *v)
{
    const Module *m = v->m;
    int64_t end = 0;
    if (m->region_bytes[REGION_disk] == 0)
        return;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->region == REGION_io && t->place + t->bytes > end)
            end = t->place + t->bytes;
    }
    v->at = m->region_loc[REGION_io];
    v->what = region_name[REGION_io];
    if (m->region_bytes[REGION_io] - end < storage_stage_room(m))
        verify_fault(v,
                     "%" PRId64 " bytes at its end are for copies to and from "
                     "disk", storage_stage_room(m));
}

static int
by_place(const void *a, const void *b)
{
    const Tensor *x = *(Tensor *const *)a, *y = *(Tensor *const *)b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (borrows(x) != borrows(y))
        return borrows(x) ? 1 : -1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Of tensors that lie apart, by place, the first that ends behind `at`. */
static int
first_behind(Tensor *const *t, int n, int64_t at)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t[middle]->place + t[middle]->bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* grads: the gradients, by place. Tensor.mark: the number. */
static void
verify_borrowed(Verifier *v, const Lend *lend, const Tensor *s,
                Tensor *const *grads, int n)
{
    for (int i = first_behind(grads, n, s->place);
         i < n && grads[i]->place < s->place + s->bytes; i++) {
        if (lend_allows(lend, s->mark, grads[i]->mark))
            continue;
        at_tensor(v, s);
        verify_fault(v, "lies over %s, which is in use", grads[i]->name);
        return;
    }
}

static void
verify_all_borrowed(Verifier *v, Tensor *const *t, int n)
{
    Lend lend = lend_find(v->arena, v->m);
    int first = 0, end = 0;
    for (int i = 0; i < v->m->tensors.n; i++)
        v->m->tensors.at[i]->mark = i;
    while (first < n && t[first]->region != REGION_grads)
        first++;
    for (end = first; end < n && t[end]->region == REGION_grads; end++)
        if (borrows(t[end]))
            break;
    for (int i = end; i < n && borrows(t[i]); i++)
        verify_borrowed(v, &lend, t[i], t + first, end - first);
}

static void
verify_tensors_apart(Verifier *v)
{
    int n = v->m->tensors.n, before = v->faults;
    Tensor **t = ARENA_ARRAY(v->arena, Tensor *, n + 1);
    if (n)
        memcpy(t, v->m->tensors.at, sizeof *t * (size_t)n);
    qsort(t, (size_t)n, sizeof *t, by_place);
    for (int i = 1; i < n; i++) {
        at_tensor(v, t[i]);
        if (t[i]->region == t[i - 1]->region &&
            borrows(t[i]) == borrows(t[i - 1]) &&
            t[i]->place - t[i - 1]->place < t[i - 1]->bytes)
            verify_fault(v, "lies over %s", t[i - 1]->name);
    }
    if (v->faults == before)
        verify_all_borrowed(v, t, n);
}

/* ---- the workspace of a graph ---- */

/* Bytes in use by nodes first to last; of a home or of a node's kernel. */
typedef struct Life {
    const Value *home;
    const Node *kernel;
    int first, last;
    int64_t place, bytes;
} Life;

typedef VEC(Life *) Lives;

/* Homes that are touched: results and operands of nodes, except constants
 * that are printed where they are read. Value.note: its Life. */
static void
touch(Verifier *v, Lives *lives, Value *x, int now)
{
    Value *h = x->home;
    bool printed = h->def->op == OP_const && !h->mark;
    if (h->tensor || printed)
        return;
    Life *l = h->note;
    if (!l) {
        h->note = l = ARENA_NEW(v->arena, Life);
        *l = (Life){h, NULL, now, now, h->place, h->bytes};
        vec_push(v->arena, lives, l);
    }
    l->last = now;
}

static void
touch_scratch(Verifier *v, Lives *lives, const Node *n)
{
    int64_t bytes = node_scratch(n);
    if (!bytes)
        return;
    Life *l = ARENA_NEW(v->arena, Life);
    *l = (Life){NULL, n, n->order, n->order, n->scratch, bytes};
    vec_push(v->arena, lives, l);
}

static Lives
find_lives(Verifier *v, Graph *g)
{
    Lives lives = {0};
    graph_number(g);
    graph_forget(g);
    storage_mark_constants(g);
    graph_each(g, n) {
        for (int i = 0; i < n->n_args; i++)
            touch(v, &lives, n->args[i], n->order);
        for (int i = 0; i < n->n_results; i++)
            touch(v, &lives, n->results[i], n->order);
        touch_scratch(v, &lives, n);
    }
    return lives;
}

static const char *
life_name(Verifier *v, const Life *l)
{
    Span at = l->kernel ? l->kernel->placed : l->home->placed;
    verify_at(v, l->kernel ? l->kernel : l->home->def);
    if (l->home)
        v->what = l->home->name;
    if (at.line)
        v->at = at;
    return v->what;
}

static void
verify_life_place(Verifier *v, const Graph *g, const Life *l)
{
    life_name(v, l);
    if (l->kernel) {
        verify_spot(v, REGION_workspace, l->place, l->bytes, l->bytes,
                    g->workspace);
        return;
    }
    Region found = l->home->region;
    bool stash = found == REGION_stash;
    Region want = l->home->space == SPACE_host    ? REGION_host
                  : l->home->space == SPACE_disk  ? REGION_disk
                  : stash || found == REGION_grads ? found
                                                   : REGION_workspace;
    if (l->home->region != want) {
        verify_fault(v, "expected in the region %s, found in %s",
                     region_name[want], region_name[l->home->region]);
        return;
    }
    verify_spot(
        v, want, l->place, l->bytes,
        extent_bytes(&l->home->type, &l->home->layout),
        want == REGION_workspace ? g->workspace
        : stash                  ? v->m->region_bytes[want] / v->m->slots
                                 : v->m->region_bytes[want]);
}

static int
by_first(const void *a, const void *b)
{
    const Life *x = *(Life *const *)a, *y = *(Life *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static Region
life_region(const Life *l)
{
    return l->kernel ? REGION_workspace : l->home->region;
}

/* The live ones, kept small: the dead go when the next one comes. */
static void
verify_lives_apart(Verifier *v, Lives lives)
{
    Lives live = {0};
    if (lives.n)
        qsort(lives.at, (size_t)lives.n, sizeof *lives.at, by_first);
    for (int i = 0; i < lives.n; i++) {
        Life *x = lives.at[i];
        int n = 0;
        for (int k = 0; k < live.n; k++) {
            Life *y = live.at[k];
            if (y->last < x->first)
                continue;
            live.at[n++] = y;
            if (life_region(x) != life_region(y) ||
                x->place >= y->place + y->bytes ||
                y->place >= x->place + x->bytes)
                continue;
            const char *other = life_name(v, y);
            life_name(v, x);
            verify_fault(v, "lies over %s, which is alive", other);
        }
        live.n = n;
        vec_push(v->arena, &live, x);
    }
}

static void
verify_one_free(Verifier *v, const Life *x, Tensor *const *t, int n,
                const Busy *busy)
{
    for (int i = first_behind(t, n, x->place);
         i < n && t[i]->place < x->place + x->bytes; i++) {
        const Busy *b = &busy[t[i]->mark];
        if (b->first > x->last || b->end <= x->first)
            continue;
        life_name(v, x);
        verify_fault(v, "lies over %s, which is in use", t[i]->name);
        return;
    }
}

/* What lies in a region, against the tensors of a kind that are in use
 * there. */
static void
verify_free(Verifier *v, Region r, TensorKind kind, const Busy *busy,
            const Lives *lives)
{
    Tensor **t = ARENA_ARRAY(v->arena, Tensor *, v->m->tensors.n + 1);
    int n = 0;
    for (int i = 0; i < v->m->tensors.n; i++) {
        v->m->tensors.at[i]->mark = i;
        if (v->m->tensors.at[i]->region == r &&
            v->m->tensors.at[i]->kind == kind)
            t[n++] = v->m->tensors.at[i];
    }
    if (n)
        qsort(t, (size_t)n, sizeof *t, by_place);
    for (int i = 0; i < lives->n; i++)
        if (life_region(lives->at[i]) == r)
            verify_one_free(v, lives->at[i], t, n, busy);
}

static void
verify_all_free(Verifier *v, const Graph *g, const Lives *lives)
{
    const Busy *busy = busy_find(v->arena, g);
    verify_free(v, REGION_stash, TENSOR_stash, busy, lives);
    verify_free(v, REGION_grads, TENSOR_stash, busy, lives);
    verify_free(v, REGION_grads, TENSOR_grad, busy, lives);
}

static void
verify_no_scratch(Verifier *v, const Node *n)
{
    verify_at(v, n);
    if (n->placed.line)
        v->at = n->placed;
    if (n->scratch >= 0 && !node_scratch(n))
        verify_fault(v, "%s needs no scratch", op_info[n->op].name);
}

static void
at_size(Verifier *v, const Graph *g, Span line, Region r)
{
    v->what = g->name;
    v->at = line.line ? line : v->m->region_loc[r];
}

/* A graph has the bytes that its values take, and the whole slot. */
static void
verify_sizes(Verifier *v, const Graph *g, const Lives *lives)
{
    int64_t end = 0, slot = v->m->region_bytes[REGION_stash] / v->m->slots;
    for (int i = 0; i < lives->n; i++) {
        const Life *l = lives->at[i];
        if (life_region(l) == REGION_workspace && l->place + l->bytes > end)
            end = l->place + l->bytes;
    }
    end = (end + ALIGN - 1) / ALIGN * ALIGN;
    at_size(v, g, (Span){0}, REGION_workspace);
    if (g->workspace > v->m->region_bytes[REGION_workspace])
        verify_fault(v, "its workspace is larger than the region");
    at_size(v, g, g->workspace_loc, REGION_workspace);
    if (g->workspace != end)
        verify_fault(v, "its workspace is %" PRId64 " bytes, but what lies "
                     "there takes %" PRId64, g->workspace, end);
    at_size(v, g, g->stash_loc, REGION_stash);
    if (g->stash != slot)
        verify_fault(v, "its stash is %" PRId64 " bytes, but a slot of the "
                     "region has %" PRId64, g->stash, slot);
}

static void
verify_workspace(Verifier *v, Graph *g)
{
    int before = v->faults;
    Lives lives = find_lives(v, g);
    for (int i = 0; i < lives.n; i++)
        verify_life_place(v, g, lives.at[i]);
    graph_each(g, n)
        verify_no_scratch(v, n);
    if (v->faults == before) {
        verify_lives_apart(v, lives);
        verify_all_free(v, g, &lives);
    }
    if (v->faults == before)
        verify_sizes(v, g, &lives);
    graph_forget(g);
}

void
verify_placement(Verifier *v)
{
    int before = v->faults;
    if (!verify_is_placed(v->m))
        return;
    for (int i = 0; i < v->m->tensors.n; i++)
        verify_tensor_place(v, v->m->tensors.at[i]);
    if (v->faults == before)
        verify_tensors_apart(v);
    if (v->faults == before)
        verify_stage(v);
    for (int i = 0; i < v->m->graphs.n; i++)
        verify_workspace(v, v->m->graphs.at[i]);
}
