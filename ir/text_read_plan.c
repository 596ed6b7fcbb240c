/* Programs, regions, placement. */
#include "ir/algorithm.h"
#include "ir/scratch.h"
#include "ir/text_reader.h"

/* ---- programs ---- */

enum { MAX_NESTING = 4 };

typedef VEC(Action *) Actions;

/* Where the lines of a program go. */
typedef struct Into {
    Program *program;
    Action *loop; /* or NULL: the program itself */
    int depth;
} Into;

static void
push(Reader *r, Into *to, Action *a)
{
    if (to->loop)
        vec_push(r->arena, &to->loop->body, a);
    else
        vec_push(r->arena, &to->program->actions, a);
}

/* (mb = N, slot = N), mb = mb in a loop */
static bool
call_settings(Reader *r, const Into *to, Action *a)
{
    if (!reader_take(r, '('))
        return true;
    if (!reader_expect_word(r, "mb") || !reader_expect(r, '=', "`=`"))
        return false;
    if (to->loop && reader_take_word(r, "mb"))
        a->mb = MB_LOOP;
    else if (!reader_int_from(r, 0, &a->mb))
        return false;
    return reader_expect(r, ',', "`,`") && reader_expect_word(r, "slot") &&
           reader_expect(r, '=', "`=`") && reader_int_from(r, 0, &a->slot) &&
           reader_expect(r, ')', "`)`");
}

static bool
call(Reader *r, Into *to)
{
    Action *a = ARENA_NEW(r->arena, Action);
    Token at = r->tok;
    const char *name;
    if (!reader_name(r, "the name of a graph", &name))
        return false;
    a->kind = ACTION_call;
    a->loc = reader_span(r, &at);
    a->graph = module_graph(r->module, name);
    if (!a->graph)
        return reader_fail_at(r, &at, "no graph is called %s above", name);
    push(r, to, a);
    return call_settings(r, to, a) && reader_line_end(r);
}

static bool action(Reader *r, void *to);

static bool
repeat(Reader *r, Into *to)
{
    Action *a = ARENA_NEW(r->arena, Action);
    Into inner = {to->program, a, to->depth + 1};
    a->kind = ACTION_repeat;
    a->loc = reader_span(r, &r->tok);
    if (to->depth == MAX_NESTING)
        return reader_fail(r, "repeats are nested too deep");
    if (!reader_expect_word(r, "mb") || !reader_expect_word(r, "in") ||
        !reader_int_from(r, 0, &a->lo) || !reader_expect(r, TOK_DOTS, "`..`") ||
        !reader_int_from(r, 0, &a->hi))
        return false;
    push(r, to, a);
    return reader_block(r, action, &inner);
}

static bool
action(Reader *r, void *to)
{
    if (reader_take_word(r, "call"))
        return call(r, to);
    if (reader_take_word(r, "repeat"))
        return repeat(r, to);
    return reader_expected(r, "call or repeat");
}

bool
reader_program(Reader *r)
{
    Program *p = ARENA_NEW(r->arena, Program);
    Into to = {p, NULL, 0};
    int64_t rank = 0;
    p->loc = reader_span(r, &r->tok);
    if (!reader_name(r, "the name of a program", &p->name))
        return false;
    if (reader_take_word(r, "rank") && !reader_int_from(r, 0, &rank))
        return false;
    if (rank > 1 << 20)
        return reader_fail(r, "the rank is too large");
    p->rank = (int)rank;
    vec_push(r->arena, &r->module->programs, p);
    return reader_block(r, action, &to);
}

/* ---- regions ---- */

static Region
region_of(const char *s, size_t n)
{
    Region k = REGION_state;
    while (k < REGION_COUNT &&
           (strlen(region_name[k]) != n || memcmp(region_name[k], s, n) != 0))
        k++;
    return k;
}

/* GRAPH.REGION, cut at the last dot. */
static bool
graph_region(Reader *r, Graph **g, Region *region)
{
    Token t = r->tok;
    size_t n = t.n;
    while (n > 0 && t.at[n - 1] != '.')
        n--;
    if (n == 0)
        return reader_fail(r, "no region is called %.*s", (int)t.n, t.at);
    *region = region_of(t.at + n, t.n - n);
    const char *name = intern_n(r->module->interner, t.at, n - 1);
    *g = module_graph(r->module, name);
    if (!*g)
        return reader_fail(r, "no graph is called %s above", name);
    if (*region == REGION_COUNT)
        return reader_fail(r, "no region is called %.*s", (int)t.n, t.at);
    reader_advance(r);
    return true;
}

/* REGION BYTES, or GRAPH.REGION BYTES */
static bool
region_bytes(Reader *r, const Token *at)
{
    Module *m = r->module;
    Graph *g;
    Region region = region_of(at->at, at->n);
    if (region != REGION_COUNT) {
        m->region_loc[region] = reader_span(r, at);
        reader_advance(r);
        return reader_int_from(r, 0, &m->region_bytes[region]);
    }
    if (!graph_region(r, &g, &region))
        return false;
    if (region != REGION_workspace && region != REGION_stash)
        return reader_fail_at(r, at, "a graph has a workspace and a stash");
    bool stash = region == REGION_stash;
    *(stash ? &g->stash_loc : &g->workspace_loc) = reader_span(r, at);
    return reader_int_from(r, 0, stash ? &g->stash : &g->workspace);
}

static bool
region_line(Reader *r, void *seen)
{
    Token at = r->tok;
    if (at.kind != TOK_NAME)
        return reader_expected(r, "the name of a region");
    if (!reader_once(r, seen, &at))
        return false;
    bool good = reader_take_word(r, "slots")
                    ? reader_int_from(r, 1, &r->module->slots)
                    : region_bytes(r, &at);
    return good && reader_line_end(r);
}

bool
reader_regions(Reader *r)
{
    Map seen = {0};
    return reader_block(r, region_line, &seen);
}

/* ---- products ---- */

/* "f32 64x64 @ 64x128 ..." algo auto, or "66 tile 20 ..." */
static bool
product_line(Reader *r, void *to)
{
    Module *m = to;
    Token at = r->tok;
    ProductChoice c = {.loc = reader_span(r, &at)};
    Algorithm x;
    if (!reader_text(r, &c.product) || !reader_expect_word(r, "algo"))
        return false;
    for (int i = 0; i < m->products.n; i++)
        if (strcmp(m->products.at[i].product, c.product) == 0)
            return reader_fail_at(r, &at, "this product comes twice");
    at = r->tok;
    if (!reader_take_word(r, "auto")) {
        if (!reader_text(r, &c.algorithm))
            return false;
        const char *why = algorithm_read(r->arena, c.algorithm, &x);
        if (why)
            return reader_fail_at(r, &at, "%s", why);
    }
    vec_push(r->arena, &m->products, c);
    return reader_line_end(r);
}

bool
reader_products(Reader *r)
{
    return reader_block(r, product_line, r->module);
}

/* ---- placement ---- */

static bool
place_tensor(Reader *r, Region region)
{
    Token at = r->tok;
    const char *name;
    if (!reader_name(r, "the name of a tensor", &name))
        return false;
    Tensor *t = module_tensor(r->module, name);
    if (!t)
        return reader_no_tensor(r, &at, name);
    if (t->region != REGION_none)
        return reader_fail_at(r, &at, "%s is placed twice", name);
    t->region = region;
    t->placed = reader_span(r, &at);
    return reader_int_from(r, 0, &t->place) &&
           reader_int_from(r, 1, &t->bytes) && reader_line_end(r);
}

/* Where lines of the graph were wrong, what is not there is no news. */
static bool
find_value(Reader *r, const Graph *g, Token *at, Value **v)
{
    const char *name;
    *at = r->tok;
    if (!reader_name(r, "the name of a value", &name))
        return false;
    *v = map_get(&g->values, name);
    if (*v || map_get(&r->spoiled, g->name))
        return *v;
    return reader_fail_at(r, at, "%s has no value %s", g->name, name);
}

static bool
place_scratch(Reader *r, const Graph *g, Region region)
{
    Token at;
    Value *v;
    int64_t bytes;
    if (!reader_expect(r, '(', "`(`") || !find_value(r, g, &at, &v) ||
        !reader_expect(r, ')', "`)`"))
        return false;
    Node *n = value_node(v);
    if (region != REGION_workspace || n->scratch >= 0)
        return reader_fail_at(r, &at,
                              "scratch is placed once, in the "
                              "workspace");
    if (!reader_int_from(r, 0, &n->scratch))
        return false;
    n->placed = reader_span(r, &at);
    Token size = r->tok;
    if (!reader_int_from(r, 1, &bytes))
        return false;
    if (bytes != node_scratch(n))
        return reader_fail_at(r, &size, "%s needs %lld bytes of scratch",
                              op_info[n->op].name, (long long)node_scratch(n));
    return reader_line_end(r);
}

static bool
place_value(Reader *r)
{
    Graph *g;
    Region region;
    Token at;
    Value *v;
    if (!graph_region(r, &g, &region))
        return false;
    if (token_is(&r->tok, "scratch") && r->ahead.kind == '(') {
        reader_advance(r);
        return place_scratch(r, g, region);
    }
    if (!find_value(r, g, &at, &v))
        return false;
    if (v->region != REGION_none)
        return reader_fail_at(r, &at, "%s is placed twice", v->name);
    v->region = region;
    v->placed = reader_span(r, &at);
    return reader_int_from(r, 0, &v->place) &&
           reader_int_from(r, 1, &v->bytes) && reader_line_end(r);
}

static bool
place_line(Reader *r, void *to)
{
    (void)to;
    if (r->tok.kind != TOK_NAME)
        return reader_expected(r, "the name of a region");
    Region region = region_of(r->tok.at, r->tok.n);
    if (region == REGION_COUNT)
        return place_value(r);
    reader_advance(r);
    return place_tensor(r, region);
}

bool
reader_placement(Reader *r)
{
    return reader_block(r, place_line, NULL);
}
