#include "passes/plan/compare_parts.h"

#include <stdlib.h>

#include "ir/text.h"

void
compare_say(Compare *c, const char *fmt, ...)
{
    va_list ap;
    if (!c->titled)
        fprintf(c->to, "%s\n", c->title);
    c->titled = true;
    fputs("  ", c->to);
    va_start(ap, fmt);
    vfprintf(c->to, fmt, ap);
    va_end(ap);
    fputs("\n", c->to);
}

void
compare_section(Compare *c, const char *title)
{
    c->title = title;
    c->titled = false;
}

/* ---- options, dims, sizes ---- */

static void
compare_options(Compare *c)
{
    compare_section(c, "options");
    for (int i = 0; i < c->old->options.n; i++) {
        const Option *o = &c->old->options.at[i];
        const char *now = module_option(c->new, o->key);
        if (!(now && strcmp(o->value, now) == 0))
            compare_say(c, "%s: %s -> %s", o->key, o->value,
                        now ? now : "(none)");
    }
    for (int i = 0; i < c->new->options.n; i++) {
        const Option *o = &c->new->options.at[i];
        if (!module_option(c->old, o->key))
            compare_say(c, "%s: (none) -> %s", o->key, o->value);
    }
}

static const Dim *
find_dim(const Module *m, const char *name)
{
    for (int i = 0; i < m->dims.n; i++)
        if (strcmp(m->dims.at[i].name, name) == 0)
            return &m->dims.at[i];
    return NULL;
}

static void
compare_dims(Compare *c)
{
    compare_section(c, "dims");
    for (int i = 0; i < c->old->dims.n; i++) {
        const Dim *o = &c->old->dims.at[i], *n = find_dim(c->new, o->name);
        if (!n)
            compare_say(c, "- %s = %lld", o->name, (long long)o->value);
        else if (o->value != n->value)
            compare_say(c, "%s: %lld -> %lld", o->name, (long long)o->value,
                        (long long)n->value);
    }
    for (int i = 0; i < c->new->dims.n; i++) {
        const Dim *n = &c->new->dims.at[i];
        if (!find_dim(c->old, n->name))
            compare_say(c, "+ %s = %lld", n->name, (long long)n->value);
    }
}

static void
compare_regions(Compare *c)
{
    compare_section(c, "regions");
    for (int r = 0; r < REGION_COUNT; r++) {
        int64_t old = c->old->region_bytes[r], new = c->new->region_bytes[r];
        if (old != new)
            compare_say(c, "%s: %lld -> %lld bytes (%+lld)", region_name[r],
                        (long long)old, (long long)new, (long long)(new - old));
    }
}

/* ---- nodes ---- */

/* What a node is known by: its first value, or what it does to what. */
static const char *
node_key(Compare *c, const Node *n)
{
    if (n->body)
        return arena_printf(c->a, "group %s",
                            n->body->first ? node_key(c, n->body->first) : "");
    if (n->n_results)
        return n->results[0]->name;
    const char *what = n->tensor   ? n->tensor->name
                       : n->n_args ? n->args[0]->name
                                   : "";
    return arena_printf(c->a, "%s %s", op_info[n->op].name, what);
}

typedef struct Entry {
    const char *key, *text;
    bool moves_nothing; /* a read, a view, a group beside its nodes */
    int at;             /* position in its graph */
    int other;          /* of the same node in the other module, -1: none */
} Entry;

typedef struct Listing {
    VEC(Entry) at;
    Map by_key; /* key -> index + 1 */
} Listing;

static bool
is_light(const Node *n)
{
    return n->op == OP_read || n->op == OP_const || n->body ||
           (op_info[n->op].flags & OP_VIEW);
}

static void
list_nodes(Compare *c, const Graph *g, Listing *l)
{
    graph_each(g, n) {
        if (compare_is_planned(c, n))
            continue;
        const char *key = node_key(c, n);
        int same = 1;
        while (map_get(&l->by_key, key))
            key = arena_printf(c->a, "%s #%d", key, ++same);
        Entry e = {key, text_node(c->a, n), is_light(n), l->at.n, -1};
        vec_push(c->a, &l->at, e);
        map_put(c->a, &l->by_key, key, (void *)(intptr_t)l->at.n);
        if (n->body)
            list_nodes(c, n->body, l);
    }
}

static void
match(Listing *old, Listing *new)
{
    for (int i = 0; i < old->at.n; i++) {
        int k = (int)(intptr_t)map_get(&new->by_key, old->at.at[i].key);
        if (!k)
            continue;
        old->at.at[i].other = k - 1;
        new->at.at[k - 1].other = i;
    }
}

/* The nodes of both that keep their order: a longest ascending run of old
 * positions; all others moved. keeps[i]: entry i of new is one of them. */
static bool *
find_keepers(Compare *c, const Listing *new)
{
    int n = new->at.n, length = 0;
    bool *keeps = ARENA_ARRAY(c->a, bool, n + 1);
    int *tail = ARENA_ARRAY(c->a, int, n + 1); /* entry that ends a run */
    int *before = ARENA_ARRAY(c->a, int, n + 1);
    for (int i = 0; i < n; i++) {
        int old = new->at.at[i].other, lo = 0, hi = length;
        if (old < 0)
            continue;
        while (lo < hi) {
            int mid = (lo + hi) / 2;
            if (new->at.at[tail[mid]].other < old)
                lo = mid + 1;
            else
                hi = mid;
        }
        before[i] = lo ? tail[lo - 1] : -1;
        tail[lo] = i;
        length += lo == length;
    }
    for (int i = length ? tail[length - 1] : -1; i >= 0; i = before[i])
        keeps[i] = true;
    return keeps;
}

/* The lists of a group follow from its body. */
static const char *
compared(const char *text)
{
    const char *attrs = strstr(text, " = fused ") ? strrchr(text, '(') : NULL;
    return attrs ? attrs : text;
}

/* A node of both; false: another plan alone makes its line another. */
static bool
say_pair(Compare *c, const Entry *old, const Entry *new, const char *after)
{
    const char *was = compared(old->text), *is = compared(new->text);
    bool same = strcmp(was, is) == 0, planned = false;
    if (!same && c->n_planned > 0)
        planned = same = compare_same_but_plan(was, is);
    if (!same) {
        compare_say(c, "~ %s", old->text);
        compare_say(c, "  %s", new->text);
    }
    if (after && c->n_planned == 0)
        compare_say(c, "moved: %s, now after %s", new->key, after);
    return !planned && (!after || c->n_planned == 0);
}

static void
say_nodes(Compare *c, const Listing *old, const Listing *new)
{
    const bool *keeps = find_keepers(c, new);
    int planned = 0;
    for (int i = 0; i < old->at.n; i++)
        if (old->at.at[i].other < 0 &&
            !(c->n_planned && old->at.at[i].moves_nothing))
            compare_say(c, "- %s", old->at.at[i].text);
    for (int i = 0; i < new->at.n; i++) {
        const Entry *e = &new->at.at[i];
        const char *before = i ? new->at.at[i - 1].key : "the start";
        if (e->other < 0 && c->n_planned && e->moves_nothing)
            continue;
        if (e->other < 0)
            compare_say(c, "+ %s", e->text);
        else
            planned += !say_pair(c, &old->at.at[e->other], e,
                                 keeps[i] ? NULL : before);
    }
    if (planned > 0)
        compare_say(c,
                    "of %d more, operands or results lie elsewhere, or they "
                    "run at another time",
                    planned);
}

static void
compare_graph(Compare *c, const Graph *old, const Graph *new)
{
    Listing a = {0}, b = {0};
    list_nodes(c, old, &a);
    list_nodes(c, new, &b);
    match(&a, &b);
    compare_section(c, arena_printf(c->a, "graph %s", new->name));
    if (old->workspace != new->workspace)
        compare_say(c, "workspace: %lld -> %lld bytes (%+lld)",
                    (long long)old->workspace, (long long)new->workspace,
                    (long long)(new->workspace - old->workspace));
    say_nodes(c, &a, &b);
}

static void
compare_graphs(Compare *c)
{
    for (int i = 0; i < c->old->graphs.n; i++) {
        const Graph *o = c->old->graphs.at[i];
        const Graph *n = module_graph(c->new, o->name);
        if (n)
            compare_graph(c, o, n);
        else
            fprintf(c->to, "- graph %s\n", o->name);
    }
    for (int i = 0; i < c->new->graphs.n; i++)
        if (!module_graph(c->old, c->new->graphs.at[i]->name))
            fprintf(c->to, "+ graph %s\n", c->new->graphs.at[i]->name);
}

/* ---- products of the CUDA target ---- */

static const ProductChoice *
find_product(const Module *m, const char *words)
{
    for (int i = 0; i < m->products.n; i++)
        if (strcmp(m->products.at[i].product, words) == 0)
            return &m->products.at[i];
    return NULL;
}

static const char *
algorithm_of(const ProductChoice *c)
{
    return c->algorithm ? c->algorithm : "auto";
}

static void
compare_products(Compare *c)
{
    compare_section(c, "products");
    for (int i = 0; i < c->old->products.n; i++) {
        const ProductChoice *o = &c->old->products.at[i];
        const ProductChoice *n = find_product(c->new, o->product);
        if (!n)
            compare_say(c, "- %s", o->product);
        else if (strcmp(algorithm_of(o), algorithm_of(n)) != 0)
            compare_say(c, "%s: %s -> %s", o->product, algorithm_of(o),
                        algorithm_of(n));
    }
    for (int i = 0; i < c->new->products.n; i++)
        if (!find_product(c->old, c->new->products.at[i].product))
            compare_say(c, "+ %s", c->new->products.at[i].product);
}

void
compare_print(Arena *a, const Module *old, const Module *new, FILE *to)
{
    Compare c = {.a = a, .old = old, .new = new, .to = to};
    if (strcmp(old->name, new->name) != 0)
        fprintf(to, "model %s -> %s\n", old->name, new->name);
    compare_options(&c);
    compare_dims(&c);
    compare_regions(&c);
    compare_plan(&c);
    compare_tensors(&c);
    compare_graphs(&c);
    compare_products(&c);
}
