/* Gives every tensor and every home its region and offset. Tensors lie one
 * after the other in their region, in the module's order, but for what is
 * stashed where gradients are not yet written; homes of a graph are packed by
 * lifetime into the workspace, and into stash and gradients where these are
 * free, if the workspace is smaller for it. */
#include "passes/place.h"

#include "ir/storage.h"
#include "passes/pass.h"
#include "passes/plan/borrow.h"
#include "passes/plan/life.h"
#include "passes/plan/limit.h"
#include "passes/plan/pack.h"
#include "passes/plan/reuse.h"

enum { ALIGN = 64, SLOT = 4096, EFFORT = 30000 };

static Region
region_of(const Tensor *t)
{
    if (t->space == SPACE_host)
        return REGION_host;
    if (t->space == SPACE_disk)
        return REGION_disk;
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
    bug("tensor %s has no kind", t->name);
}

/* The microbatches of a step stand one after the other, as a caller's batch
 * does; off the device the stash slots of a tensor do. */
static int64_t
copies_of(const Module *m, const Tensor *t)
{
    if (t->kind == TENSOR_stash && t->space != SPACE_device)
        return m->slots;
    return t->kind == TENSOR_input && m->train ? m->train->accumulate : 1;
}

/* All regions together, and all homes of a graph, stay below this. */
static const int64_t most_bytes = INT64_MAX / 16;

static int64_t
round_up(int64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* What a disk reads and writes at once. */
static int64_t
round_slot(int64_t bytes)
{
    return (bytes + SLOT - 1) / SLOT * SLOT;
}

/* Takes bytes from what may still be placed; false, and an error, where that
 * is not enough. */
static bool
take(Module *m, Span at, const char *name, int64_t bytes, int64_t copies,
     int64_t *left)
{
    if (bytes <= *left / copies - ALIGN) {
        *left -= round_up(bytes * copies);
        return true;
    }
    diag_error(m->diag, at, "%s makes the regions larger than 2^59 bytes",
               name);
    return false;
}

static bool
size_tensors(Module *m)
{
    int64_t left = most_bytes;
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        int64_t one = life_extent(&t->type, &t->layout);
        int64_t copies = copies_of(m, t);
        if (t->space != SPACE_device && one < most_bytes)
            one = round_slot(one);
        if (!take(m, t->loc, t->name, one, copies, &left))
            return false;
        t->bytes = round_up(one * copies);
    }
    return true;
}

static void
stack_tensor(Module *m, Tensor *t)
{
    t->region = region_of(t);
    t->place = m->region_bytes[t->region];
    m->region_bytes[t->region] += t->bytes;
}

/* The stash comes last: what gradients have no room for. */
static void
place_tensors(Module *m, bool borrows)
{
    Arena *a = arena_new();
    for (int i = 0; i < m->tensors.n; i++) {
        m->tensors.at[i]->region = REGION_none;
        if (m->tensors.at[i]->kind != TENSOR_stash)
            stack_tensor(m, m->tensors.at[i]);
    }
    if (borrows)
        borrow_place(a, m);
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->region == REGION_none)
            stack_tensor(m, m->tensors.at[i]);
    arena_free(a);
}

static bool
fits_a_number(Graph *g, const Lives *l)
{
    int64_t left = most_bytes;
    for (int i = 0; i < l->at.n; i++) {
        const Life *x = &l->at.at[i];
        const Node *n = x->home ? value_node(x->home) : x->kernel;
        const char *name = x->home ? x->home->name : op_info[n->op].name;
        if (!take(g->module, n->loc, name, x->bytes, 1, &left))
            return false;
    }
    return true;
}

/* Values that lie off the device and in no tensor have a slot each. */
static bool
place_away(Graph *g)
{
    Module *m = g->module;
    int64_t left = most_bytes;
    graph_each(g, n)
        for (int i = 0; i < n->n_results && !n->body; i++) {
            Value *x = n->results[i];
            int64_t bytes = life_extent(&x->type, &x->layout);
            if (x->space == SPACE_device || x->home != x || x->tensor)
                continue;
            if (!take(m, n->loc, x->name, bytes, 1, &left))
                return false;
            x->region = x->space == SPACE_host ? REGION_host : REGION_disk;
            x->bytes = round_slot(bytes);
            x->place = m->region_bytes[x->region];
            m->region_bytes[x->region] += x->bytes;
        }
    return true;
}

/* ---- the homes of a graph ---- */

/* Two ways to place them: all in the workspace; or some where other regions
 * have free bytes. */
typedef int64_t Height(PackItem *items, int n);

typedef struct Homes {
    Graph *g;
    Lives l;
    PackItem *items;
    int64_t height;
    Reused *reuse;
    PackItem *rest; /* those that are not reused */
    int64_t rest_height;
} Homes;

/* Places them. */
static int64_t
lowest(PackItem *items, int n)
{
    return pack_lowest(items, n, ALIGN, EFFORT, NULL);
}

/* Places nothing, and is at most as much. */
static int64_t
bound(PackItem *items, int n)
{
    return pack_bound(items, n, ALIGN);
}

static PackItem *
items_of(Arena *a, const Lives *l, const Reused *reuse)
{
    PackItem *items = ARENA_ARRAY(a, PackItem, l->at.n + 1);
    int n = 0;
    for (int i = 0; i < l->at.n; i++)
        if (!reuse || reuse[i].region == REGION_none)
            items[n++] = (PackItem){l->at.at[i].first, l->at.at[i].end,
                                    l->at.at[i].bytes, 0};
    return items;
}

static bool
find_homes(Arena *a, Homes *h, Graph *g, Height *height)
{
    *h = (Homes){.g = g, .l = life_find(a, g)};
    if (!fits_a_number(g, &h->l) || !place_away(g))
        return false;
    h->items = items_of(a, &h->l, NULL);
    h->height = height(h->items, h->l.at.n);
    return true;
}

static void
find_reuse(Arena *a, Homes *h, int64_t slot, Height *height)
{
    int rest = 0;
    h->reuse = reuse_find(a, h->g, &h->l, slot);
    for (int i = 0; i < h->l.at.n; i++)
        rest += h->reuse[i].region == REGION_none;
    h->rest = items_of(a, &h->l, h->reuse);
    h->rest_height = height(h->rest, rest);
}

static void
set_place(const Life *l, Region region, int64_t offset)
{
    if (l->kernel) {
        l->kernel->scratch = offset;
        return;
    }
    l->home->region = region;
    l->home->place = offset;
    l->home->bytes = l->bytes;
}

static void
place_homes(const Homes *h, bool reuse)
{
    int rest = 0;
    h->g->workspace = reuse ? h->rest_height : h->height;
    for (int i = 0; i < h->l.at.n; i++) {
        const Life *l = &h->l.at.at[i];
        if (!reuse)
            set_place(l, REGION_workspace, h->items[i].offset);
        else if (h->reuse[i].region != REGION_none)
            set_place(l, h->reuse[i].region, h->reuse[i].offset);
        else
            set_place(l, REGION_workspace, h->rest[rest++].offset);
    }
}

/* ---- all ---- */

/* Of the graphs that are not yet looked at, the one with the highest pile. */
static Homes *
highest(Homes *h, int n)
{
    Homes *best = NULL;
    for (int i = 0; i < n; i++)
        if (!h[i].reuse && (!best || h[i].height > best->height))
            best = &h[i];
    return best;
}

/* The bytes of the workspace that no graph can do without. */
static int64_t
find_workspace(Arena *a, Homes *h, int n, int64_t slot, Height *height)
{
    int64_t least = 0;
    for (Homes *x; (x = highest(h, n)) && x->height > least;) {
        find_reuse(a, x, slot, height);
        int64_t low = x->rest_height < x->height ? x->rest_height : x->height;
        least = low > least ? low : least;
    }
    return least;
}

/* Nothing lies elsewhere that the workspace has room for. */
static bool
place_graphs(Module *m, int64_t slot, Height *height)
{
    Arena *a = arena_new();
    Homes *h = ARENA_ARRAY(a, Homes, m->graphs.n + 1);
    bool good = true;
    for (int i = 0; good && i < m->graphs.n; i++)
        good = find_homes(a, &h[i], m->graphs.at[i], height);
    int64_t bytes =
        good ? find_workspace(a, h, m->graphs.n, slot, height) : 0;
    for (int i = 0; good && i < m->graphs.n; i++)
        place_homes(&h[i], h[i].height > bytes);
    m->region_bytes[REGION_workspace] = bytes;
    arena_free(a);
    return good;
}

/* What the host tells the kernels of a device, and they tell it: at the end
 * of the io region (runtime/edl_cuda.cuh, EdlControl). */
static void
place_control(Module *m)
{
    if (module_option_is(m, "target", "cuda"))
        m->region_bytes[REGION_io] += ALIGN;
}

static bool
is_placed(const Module *m)
{
    for (int r = 0; r < REGION_COUNT; r++)
        if (m->region_bytes[r] > 0)
            return true;
    return false;
}

static bool
place_way(Module *m, bool borrows, Height *height)
{
    memset(m->region_bytes, 0, sizeof m->region_bytes);
    place_tensors(m, borrows);
    place_control(m);
    int64_t slot = m->region_bytes[REGION_stash];
    for (int i = 0; i < m->graphs.n; i++)
        m->graphs.at[i]->stash = slot;
    m->region_bytes[REGION_stash] = slot * m->slots;
    if (!place_graphs(m, slot, height))
        return false;
    m->region_bytes[REGION_io] += storage_stage_room(m);
    return true;
}

static int64_t
borrowed(const Module *m)
{
    int64_t bytes = 0;
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind == TENSOR_stash &&
            m->tensors.at[i]->region == REGION_grads)
            bytes += m->tensors.at[i]->bytes;
    return bytes;
}

static int64_t
held(const Module *m)
{
    return m->region_bytes[REGION_stash] + m->region_bytes[REGION_workspace];
}

/* A smaller stash has less room for what is alive in a graph; only if that
 * takes more than gradients lend can it be better not to borrow. */
static bool
place_all(Module *m)
{
    if (!size_tensors(m) || !place_way(m, true, lowest))
        return false;
    int64_t bytes = borrowed(m), before = held(m);
    if (bytes == 0 || m->region_bytes[REGION_workspace] <= bytes)
        return true;
    return place_way(m, false, lowest) &&
           (held(m) <= before || place_way(m, true, lowest));
}

int64_t
place_bytes(const Module *m)
{
    int64_t bytes = 0;
    for (int r = 0; r < REGION_COUNT; r++)
        if (r != REGION_host && r != REGION_disk)
            bytes += m->region_bytes[r];
    return bytes;
}

int64_t
place_least(Module *m)
{
    int64_t bytes = -1;
    if (size_tensors(m) && place_way(m, true, bound)) {
        bytes = place_bytes(m);
        if (borrowed(m) > 0 && place_way(m, false, bound) &&
            place_bytes(m) < bytes)
            bytes = place_bytes(m);
    }
    memset(m->region_bytes, 0, sizeof m->region_bytes);
    return bytes;
}

bool
pass_place(Module *m)
{
    return (is_placed(m) || place_all(m)) && limit_check(m);
}
