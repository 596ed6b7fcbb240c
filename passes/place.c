/* Gives every tensor and every home its region and offset. Tensors lie one
 * after the other in their region, in the module's order; homes of a graph
 * are packed by lifetime into the workspace. */
#include "passes/pass.h"
#include "passes/plan/life.h"
#include "passes/plan/limit.h"
#include "passes/plan/pack.h"

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
place_tensors(Module *m)
{
    int64_t *top = m->region_bytes, left = most_bytes;
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        int64_t one = life_extent(&t->type, &t->layout);
        int64_t copies = copies_of(m, t);
        if (t->space != SPACE_device && one < most_bytes)
            one = round_slot(one);
        if (!take(m, t->loc, t->name, one, copies, &left))
            return false;
        t->region = region_of(t);
        t->bytes = round_up(one * copies);
        t->place = top[t->region];
        top[t->region] += t->bytes;
    }
    return true;
}

static void
set_place(const Life *l, int64_t offset)
{
    if (l->kernel) {
        l->kernel->scratch = offset;
        return;
    }
    l->home->region = REGION_workspace;
    l->home->place = offset;
    l->home->bytes = l->bytes;
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

static bool
place_homes(Graph *g)
{
    Arena *a = arena_new();
    Lives l = life_find(a, g);
    bool fits = fits_a_number(g, &l) && place_away(g);
    PackItem *items = ARENA_ARRAY(a, PackItem, l.at.n + 1);
    for (int i = 0; i < l.at.n; i++)
        items[i] = (PackItem){l.at.at[i].first, l.at.at[i].end,
                              l.at.at[i].bytes, 0};
    if (fits)
        g->workspace = pack_lowest(items, l.at.n, ALIGN, EFFORT);
    for (int i = 0; i < l.at.n; i++)
        set_place(&l.at.at[i], items[i].offset);
    arena_free(a);
    return fits;
}

/* What the host tells the kernels of a device, and they tell it: at the end
 * of the io region (runtime/edl_cuda.cuh, EdlControl). */
static void
place_control(Module *m)
{
    const char *target = module_option(m, "target");
    if (target && strcmp(target, "cuda") == 0)
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
place_all(Module *m)
{
    if (!place_tensors(m))
        return false;
    place_control(m);
    int64_t slot = m->region_bytes[REGION_stash];
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        if (!place_homes(g))
            return false;
        g->stash = slot;
        if (g->workspace > m->region_bytes[REGION_workspace])
            m->region_bytes[REGION_workspace] = g->workspace;
    }
    m->region_bytes[REGION_stash] = slot * m->slots;
    return true;
}

bool
pass_place(Module *m)
{
    return (is_placed(m) || place_all(m)) && limit_check(m);
}
