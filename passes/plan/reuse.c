#include "passes/plan/reuse.h"

#include "ir/busy.h"

/* The forward pass fills a slot from its start, the backward pass has no more
 * use for it from its end: free is what lies above everything that is in use
 * at a node. */
typedef struct Tops {
    int64_t *until; /* by node: of tensors in use from the start to after it */
    int64_t *since; /* by node: of tensors in use from before it to the end */
    int n;
} Tops;

typedef struct Taken {
    int64_t offset, bytes;
    int end;
} Taken;

typedef struct Reuse {
    Arena *a;
    Tops tops;
    VEC(Taken) now; /* by offset: what is alive in the slot */
    int64_t slot;
} Reuse;

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static Tops
find_tops(Arena *a, const Graph *g, int n)
{
    const Module *m = g->module;
    const Busy *busy = busy_find(a, g);
    Tops t = {ARENA_ARRAY(a, int64_t, n + 2), ARENA_ARRAY(a, int64_t, n + 2),
              n};
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *s = m->tensors.at[i];
        if (busy[i].end == 0)
            continue;
        int64_t top = s->place + s->bytes, *at = &t.since[busy[i].first + 1];
        if (busy[i].first == 0)
            at = &t.until[busy[i].end - 1];
        *at = larger(*at, top);
    }
    for (int i = n - 1; i >= 0; i--)
        t.until[i] = larger(t.until[i], t.until[i + 1]);
    for (int i = 1; i <= n; i++)
        t.since[i] = larger(t.since[i], t.since[i - 1]);
    return t;
}

static void
drop_dead(Reuse *r, int now)
{
    int n = 0;
    for (int i = 0; i < r->now.n; i++)
        if (r->now.at[i].end > now)
            r->now.at[n++] = r->now.at[i];
    r->now.n = n;
}

static void
insert(Reuse *r, int at, Taken t)
{
    vec_push(r->a, &r->now, t);
    for (int i = r->now.n - 1; i > at; i--)
        r->now.at[i] = r->now.at[i - 1];
    r->now.at[at] = t;
}

/* The lowest gap; -1: none. */
static int64_t
take(Reuse *r, const Life *l)
{
    int64_t at = larger(r->tops.until[l->first], r->tops.since[l->end]);
    int i = 0;
    drop_dead(r, l->first);
    for (; i < r->now.n; i++) {
        const Taken *t = &r->now.at[i];
        if (t->offset + t->bytes <= at)
            continue;
        if (at + l->bytes <= t->offset)
            break;
        at = t->offset + t->bytes;
    }
    if (at + l->bytes > r->slot)
        return -1;
    insert(r, i, (Taken){at, l->bytes, l->end});
    return at;
}

int64_t *
reuse_find(Arena *a, const Graph *g, const Lives *l, int64_t slot)
{
    Reuse r = {.a = a, .tops = find_tops(a, g, l->n_nodes), .slot = slot};
    int64_t *offset = ARENA_ARRAY(a, int64_t, l->at.n + 1);
    for (int i = 0; i < l->at.n; i++) {
        const Life *x = &l->at.at[i];
        bool may = x->home && x->home->space == SPACE_device;
        offset[i] = may ? take(&r, x) : -1;
    }
    return offset;
}
