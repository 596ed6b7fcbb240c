#include "passes/plan/compare.h"

#include <stdlib.h>

#include "ir/text.h"

typedef struct Compare {
    Arena *a;
    const Module *old, *new;
    FILE *to;
    bool titled; /* the section has its title */
    const char *title;
} Compare;

static void say(Compare *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A line under the section's title, which is printed with its first line. */
static void
say(Compare *c, const char *fmt, ...)
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

static void
section(Compare *c, const char *title)
{
    c->title = title;
    c->titled = false;
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- options, dims, sizes ---- */

static void
compare_options(Compare *c)
{
    section(c, "options");
    for (int i = 0; i < c->old->options.n; i++) {
        const Option *o = &c->old->options.at[i];
        const char *now = module_option(c->new, o->key);
        if (!same_text(o->value, now))
            say(c, "%s: %s -> %s", o->key, o->value, now ? now : "(none)");
    }
    for (int i = 0; i < c->new->options.n; i++) {
        const Option *o = &c->new->options.at[i];
        if (!module_option(c->old, o->key))
            say(c, "%s: (none) -> %s", o->key, o->value);
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
    section(c, "dims");
    for (int i = 0; i < c->old->dims.n; i++) {
        const Dim *o = &c->old->dims.at[i], *n = find_dim(c->new, o->name);
        if (!n)
            say(c, "- %s = %lld", o->name, (long long)o->value);
        else if (o->value != n->value)
            say(c, "%s: %lld -> %lld", o->name, (long long)o->value,
                (long long)n->value);
    }
    for (int i = 0; i < c->new->dims.n; i++) {
        const Dim *n = &c->new->dims.at[i];
        if (!find_dim(c->old, n->name))
            say(c, "+ %s = %lld", n->name, (long long)n->value);
    }
}

static void
compare_regions(Compare *c)
{
    section(c, "regions");
    for (int r = 0; r < REGION_COUNT; r++) {
        int64_t old = c->old->region_bytes[r], new = c->new->region_bytes[r];
        if (old != new)
            say(c, "%s: %lld -> %lld bytes (%+lld)", region_name[r],
                (long long)old, (long long)new, (long long)(new - old));
    }
}

/* ---- tensors ---- */

static const char *
tensor_text(Compare *c, const Tensor *t)
{
    return arena_printf(c->a, "%s %s : %s", tensor_kind_name[t->kind], t->name,
                        text_type(c->a, &t->type));
}

static bool
same_layout(const Type *t, const Layout *a, const Layout *b)
{
    return a->offset == b->offset && a->pad == b->pad &&
           memcmp(a->tile, b->tile, sizeof a->tile) == 0 &&
           memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)t->rank) ==
               0;
}

static bool
same_tensor(const Tensor *a, const Tensor *b)
{
    return a->kind == b->kind && type_equal(&a->type, &b->type) &&
           same_layout(&a->type, &a->layout, &b->layout) &&
           a->space == b->space && a->init.kind == b->init.kind &&
           a->init.a == b->init.a && a->init.b == b->init.b &&
           same_text(a->role, b->role) && a->weight_decay == b->weight_decay &&
           a->lr_scale == b->lr_scale;
}

static void
compare_tensors(Compare *c)
{
    section(c, "tensors");
    for (int i = 0; i < c->old->tensors.n; i++) {
        const Tensor *o = c->old->tensors.at[i];
        const Tensor *n = module_tensor(c->new, o->name);
        if (!n)
            say(c, "- %s", tensor_text(c, o));
        else if (!type_equal(&o->type, &n->type) || o->kind != n->kind)
            say(c, "~ %s -> %s", tensor_text(c, o), tensor_text(c, n));
        else if (!same_tensor(o, n))
            say(c, "~ %s: settings or layout", tensor_text(c, n));
    }
    for (int i = 0; i < c->new->tensors.n; i++)
        if (!module_tensor(c->old, c->new->tensors.at[i]->name))
            say(c, "+ %s", tensor_text(c, c->new->tensors.at[i]));
}

/* ---- nodes ---- */

/* What a node is known by: its first value, or what it does to what. */
static const char *
node_key(Compare *c, const Node *n)
{
    if (n->body)
        return arena_printf(c->a, "group %s",
                            n->n_results     ? n->results[0]->name
                            : n->body->first ? node_key(c, n->body->first)
                                             : "");
    if (n->n_results)
        return n->results[0]->name;
    const char *what = n->tensor   ? n->tensor->name
                       : n->n_args ? n->args[0]->name
                                   : "";
    return arena_printf(c->a, "%s %s", op_info[n->op].name, what);
}

typedef struct Entry {
    const char *key, *text;
    int at;    /* position in its graph */
    int other; /* of the same node in the other module, -1: none */
} Entry;

typedef struct Listing {
    VEC(Entry) at;
    Map by_key; /* key -> index + 1 */
} Listing;

static void
list_nodes(Compare *c, const Graph *g, Listing *l)
{
    graph_each(g, n) {
        const char *key = node_key(c, n);
        int same = 1;
        while (map_get(&l->by_key, key))
            key = arena_printf(c->a, "%s #%d", key, ++same);
        Entry e = {key, text_node(c->a, n), l->at.n, -1};
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

static void
say_nodes(Compare *c, const Listing *old, const Listing *new)
{
    const bool *keeps = find_keepers(c, new);
    for (int i = 0; i < old->at.n; i++)
        if (old->at.at[i].other < 0)
            say(c, "- %s", old->at.at[i].text);
    for (int i = 0; i < new->at.n; i++) {
        const Entry *e = &new->at.at[i];
        if (e->other < 0) {
            say(c, "+ %s", e->text);
            continue;
        }
        const char *was = old->at.at[e->other].text;
        if (strcmp(was, e->text) != 0) {
            say(c, "~ %s", was);
            say(c, "  %s", e->text);
        }
        if (!keeps[i])
            say(c, "moved: %s, now after %s", e->key,
                i ? new->at.at[i - 1].key : "the start");
    }
}

static void
compare_graph(Compare *c, const Graph *old, const Graph *new)
{
    Listing a = {0}, b = {0};
    list_nodes(c, old, &a);
    list_nodes(c, new, &b);
    match(&a, &b);
    section(c, arena_printf(c->a, "graph %s", new->name));
    if (old->workspace != new->workspace)
        say(c, "workspace: %lld -> %lld bytes (%+lld)",
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

void
compare_print(Arena *a, const Module *old, const Module *new, FILE *to)
{
    Compare c = {.a = a, .old = old, .new = new, .to = to};
    if (strcmp(old->name, new->name) != 0)
        fprintf(to, "model %s -> %s\n", old->name, new->name);
    compare_options(&c);
    compare_dims(&c);
    compare_regions(&c);
    compare_tensors(&c);
    compare_graphs(&c);
}
