#include "ir/graph.h"

Attr
attr_int(const char *key, int64_t v)
{
    return (Attr){.key = key, .kind = ATTR_int, .i = v};
}

Attr
attr_float(const char *key, double v)
{
    return (Attr){.key = key, .kind = ATTR_float, .f = v};
}

Attr
attr_bool(const char *key, bool v)
{
    return (Attr){.key = key, .kind = ATTR_bool, .i = v};
}

Attr
attr_word(const char *key, const char *v)
{
    return (Attr){.key = key, .kind = ATTR_word, .s = v};
}

Attr
attr_str(const char *key, const char *v)
{
    return (Attr){.key = key, .kind = ATTR_str, .s = v};
}

Attr
attr_ints(const char *key, const int64_t *list, int n)
{
    return (Attr){.key = key, .kind = ATTR_ints, .list = list, .i = n};
}

bool
attr_equal(const Attr *a, const Attr *b)
{
    if (strcmp(a->key, b->key) != 0 || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ATTR_int:
    case ATTR_bool:
        return a->i == b->i;
    case ATTR_float: /* by bits: -0 is not 0, a NaN is itself */
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case ATTR_word:
    case ATTR_str:
        return strcmp(a->s, b->s) == 0;
    case ATTR_ints:
        return a->i == b->i &&
               (a->i == 0 || memcmp(a->list, b->list,
                                    sizeof a->list[0] * (size_t)a->i) == 0);
    }
    bug("attribute %s has kind %d", a->key, (int)a->kind);
}

const Attr *
node_attr(const Node *n, const char *key)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attrs[i].key, key) == 0)
            return &n->attrs[i];
    return NULL;
}

int64_t
node_int(const Node *n, const char *key, int64_t otherwise)
{
    const Attr *a = node_attr(n, key);
    return a ? a->i : otherwise;
}

double
node_float(const Node *n, const char *key, double otherwise)
{
    const Attr *a = node_attr(n, key);
    return a ? a->f : otherwise;
}

bool
node_flag(const Node *n, const char *key)
{
    const Attr *a = node_attr(n, key);
    return a && a->i;
}

const char *
node_word(const Node *n, const char *key, const char *otherwise)
{
    const Attr *a = node_attr(n, key);
    return a ? a->s : otherwise;
}

/* An attribute that outlives its maker: lists and texts copied. */
static Attr
keep(Module *m, Attr a)
{
    a.key = intern(m->interner, a.key);
    if (a.s)
        a.s = intern(m->interner, a.s);
    if (a.kind == ATTR_ints) {
        int64_t *list = ARENA_ARRAY(m->arena, int64_t, a.i ? a.i : 1);
        if (a.i)
            memcpy(list, a.list, sizeof *list * (size_t)a.i);
        a.list = list;
    }
    return a;
}

void
node_set_attr(Node *n, Attr a)
{
    Module *m = n->graph->module;
    a = keep(m, a);
    for (int i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attrs[i].key, a.key) == 0) {
            n->attrs[i] = a;
            return;
        }
    size_t old = sizeof(Attr) * (size_t)n->n_attrs;
    n->attrs = arena_grow(m->arena, n->attrs, old, old + sizeof(Attr));
    n->attrs[n->n_attrs++] = a;
}
