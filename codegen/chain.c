#include "codegen/chain.h"

#include <inttypes.h>

#include "ir/work.h"

enum {
    MOST_LINKS = 16,
    MOST_PIECES = 16,
    SMALL_PIECES = 2,     /* of a kernel that is not cut by itself, */
    SMALL_WORK = 1 << 22, /* operations, or bytes, of one in a chain */
    LEAST_WORK = 1 << 18  /* of a chain of such kernels */
};

/* A kernel that waits for its launch. */
typedef struct Link {
    Launch alone, cut; /* as it is by itself, and in a chain */
    int profiled;      /* its node's place among them; -1: not its first */
    double work;
} Link;

struct Chain {
    int n;
    Link link[MOST_LINKS];
};

/* ---- what pieces touch ---- */

typedef struct Range {
    int64_t from, to;
} Range;

/* Of piece i, which there may not be. */
static Range
bytes_of(const Kernel *k, const Param *p, int64_t i)
{
    const Reach *r = p->said >= p->uses ? &p->cut : &p->whole;
    int64_t at = r->at + i * r->step;
    return (Range){at, i < k->pieces ? at + r->bytes : at};
}

/* Does a piece of one touch what another piece of the other writes? */
static bool
params_clash(const Kernel *a, const Param *p, const Kernel *b, const Param *q)
{
    if ((!p->written && !q->written) || p->whole.region != q->whole.region ||
        p->whole.region == REGION_none)
        return false;
    for (int64_t i = 0; i < a->pieces; i++)
        for (int64_t j = 0; j < b->pieces; j++) {
            Range x = bytes_of(a, p, i), y = bytes_of(b, q, j);
            if (i != j && x.from < y.to && y.from < x.to)
                return true;
        }
    return false;
}

static bool
kernels_clash(const Kernel *a, const Kernel *b)
{
    for (int i = 0; i < a->params.n; i++)
        for (int j = 0; j < b->params.n; j++)
            if (params_clash(a, &a->params.at[i], b, &b->params.at[j]))
                return true;
    return false;
}

static int64_t
pieces_of(const Chain *c)
{
    int64_t n = 1;
    for (int i = 0; i < c->n; i++)
        if (c->link[i].cut.plain.pieces > n)
            n = c->link[i].cut.plain.pieces;
    return n;
}

/* All have as many pieces as the others, or one. */
static bool
fits(const Chain *c, const Kernel *k)
{
    int64_t n = pieces_of(c);
    if (c->n == MOST_LINKS || (k->pieces > 1 && n > 1 && k->pieces != n))
        return false;
    for (int i = 0; i < c->n; i++)
        if (kernels_clash(&c->link[i].cut.plain, k))
            return false;
    return true;
}

/* ---- calls ---- */

static Emit *
calls(Cg *cg)
{
    if (cg->heading)
        emit_line(&cg->calls, "/* %s */", cg->heading);
    if (cg->heading)
        cg->headed = cg->heading;
    cg->heading = NULL;
    return &cg->calls;
}

static const char *const *
passes(Cg *cg, const Kernel *k, bool instance, int *n)
{
    VEC(const char *) items = {0};
    if (instance)
        vec_push(cg->arena, &items, "m");
    for (int i = 0; i < k->params.n; i++)
        vec_push(cg->arena, &items, k->params.at[i].pass);
    *n = items.n;
    return items.at;
}

static void
call_alone(Cg *cg, Launch *s, int profiled)
{
    const char *name = launch_function(cg, s);
    if (cg->cuda) {
        cuda_call(cg, &s->plain, name);
        return;
    }
    profile_name(cg, profiled, name);
    profile_macro(cg, name);
    int n;
    const char *const *items = passes(cg, &s->plain, s->plain.pieces > 1, &n);
    emit_list(calls(cg), arena_printf(cg->arena, "%s(", name), items, n, ");");
}

static void
call_chain(Cg *cg, Chain *c)
{
    Arena *a = cg->arena;
    Emit *e = calls(cg);
    VEC(const char *) links = {0};
    emit_line(e, "{");
    e->indent++;
    for (int i = 0; i < c->n; i++) {
        Launch *s = &c->link[i].cut;
        const char *name = piece_function(cg, s);
        profile_name(cg, c->link[i].profiled, name);
        int n;
        const char *const *items = passes(cg, &s->plain, false, &n);
        emit_list(e, arena_printf(a, "%s_args args_%d = {", name, i), items, n,
                  "};");
        vec_push(a, &links,
                 arena_printf(a, "{%s_piece, &args_%d, %" PRId64 "}", name, i,
                              s->plain.pieces));
    }
    emit_line(e, "const EdlLink links[] = {");
    for (int i = 0; i < links.n; i++)
        emit_line(e, "    %s,", links.at[i]);
    emit_line(e, "};");
    emit_line(e, "edl_chain(m, %" PRId64 ", links, %d);", pieces_of(c), c->n);
    emit_close(e, "");
}

/* Is it worth a launch? */
static bool
is_chain(const Chain *c)
{
    double work = 0;
    bool pieces = false;
    for (int i = 0; i < c->n; i++) {
        work += c->link[i].work;
        pieces |= c->link[i].alone.plain.pieces > 1;
    }
    return c->n > 1 && pieces_of(c) > 1 && (pieces || work >= LEAST_WORK);
}

void
cg_launch(Cg *cg)
{
    Chain *c = cg->chain;
    if (c && is_chain(c))
        call_chain(cg, c);
    else
        for (int i = 0; c && i < c->n; i++)
            call_alone(cg, &c->link[i].alone, c->link[i].profiled);
    if (c)
        c->n = 0;
}

Emit *
cg_calls(Cg *cg)
{
    cg_launch(cg);
    return calls(cg);
}

static bool
same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

void
cg_block(Cg *cg, const char *block)
{
    if (!same_text(block, cg->block))
        cg_launch(cg);
    cg->block = block;
    cg->heading = block && !same_text(block, cg->headed) ? block : NULL;
}

/* ---- kernels ---- */

/* Whether it may share a launch: it is little, and it is known what it
 * touches. */
static bool
is_small(Cg *cg, const Node *n, const Kernel *k, double *work)
{
    if (cg->cuda || cg->repeats > 0 || k->pieces > MOST_PIECES)
        return false;
    for (int i = 0; i < k->params.n; i++)
        if (!k->params.at[i].whole.known)
            return false;
    Work w = work_kernel(n);
    *work = work_operations(&w);
    return *work <= SMALL_WORK && w.bytes <= SMALL_WORK;
}

void
kernel_emit(Cg *cg, const Node *node, const char *label, const char *path,
            KernelBody body, const void *aux)
{
    Link l = {0};
    l.alone = launch_new(cg, node, label, path, body, aux, 0);
    if (l.alone.plain.pieces < 1)
        return;
    l.profiled = profile_call(cg);
    if (!is_small(cg, node, &l.alone.plain, &l.work)) {
        cg_launch(cg);
        call_alone(cg, &l.alone, l.profiled);
        return;
    }
    l.cut = l.alone;
    if (l.alone.plain.pieces == 1)
        l.cut = launch_new(cg, node, label, path, body, aux, SMALL_PIECES);
    if (!cg->chain)
        cg->chain = ARENA_ARRAY(cg->arena, Chain, 1);
    if (!fits(cg->chain, &l.cut.plain))
        cg_launch(cg);
    launch_keep(cg, &l.alone, false);
    if (l.alone.plain.pieces > 1)
        l.cut = l.alone;
    launch_keep(cg, &l.cut, true);
    cg->chain->link[cg->chain->n++] = l;
}

bool
kernel_probe(Cg *cg, const Node *node, KernelBody body, const void *aux)
{
    return kernel_run(cg, node, body, aux, NULL, 0).pieces != 0;
}
