/* Numbers for values: one number, one meaning. */
#include "ir/text.h"
#include "passes/plan/check_parts.h"

/* ---- equal nodes ---- */

static uint64_t
mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * 0x100000001b3u;
}

static uint64_t
mix_text(uint64_t h, const char *s)
{
    return mix(h, hash64(s, strlen(s)));
}

static uint64_t
hash_attr(const Attr *a)
{
    uint64_t h = mix_text((uint64_t)a->kind, a->key), bits = 0;
    switch (a->kind) {
    case ATTR_int:
    case ATTR_bool:
        return mix(h, (uint64_t)a->i);
    case ATTR_float:
        memcpy(&bits, &a->f, sizeof bits);
        return mix(h, bits);
    case ATTR_word:
    case ATTR_str:
        return mix_text(h, a->s);
    case ATTR_ints:
        return mix(h, hash64(a->list, sizeof *a->list * (size_t)a->i));
    }
    return h;
}

static uint64_t
hash_type(uint64_t h, const Type *t)
{
    h = mix(h, (uint64_t)t->dtype);
    for (int i = 0; i < t->rank; i++)
        h = mix(h, (uint64_t)t->dim[i]);
    return h;
}

static bool
leaves(const Node *group, const Value *v)
{
    for (int i = 0; i < group->n_results; i++)
        if (group->results[i] == v)
            return true;
    return false;
}

/* The kernel goes on from the sum so far, term by term, instead of adding to
 * it what it has made: other bits, where there is a sum. */
static bool
goes_on(const Check *c, const Node *n)
{
    const Train *train = c->model->train;
    if (n->op != OP_accumulate ||
        (!node_flag(n, "more") && (!train || train->accumulate == 1)))
        return false;
    const Node *group = n->graph->owner, *made = n->args[0]->def;
    if (!group || made->graph != n->graph || leaves(group, n->args[0]))
        return false;
    const char *kind = node_word(group, "kind", "");
    return strcmp(kind, "head") == 0 || strcmp(kind, "table") == 0 ||
           (strcmp(kind, "matmul") == 0 && made->op == OP_matmul);
}

static uint64_t
hash_node(const Check *c, const Node *n, const int *args)
{
    uint64_t h = mix(1 + goes_on(c, n), (uint64_t)n->op), attrs = 0;
    for (int i = 0; i < n->n_args; i++)
        h = mix(h, (uint64_t)args[i]);
    for (int i = 0; i < n->n_attrs; i++)
        attrs += hash_attr(&n->attrs[i]); /* in any order */
    h = mix(h, attrs);
    for (int i = 0; i < n->n_results; i++)
        h = hash_type(h, &n->results[i]->type);
    return n->tensor ? mix_text(h, n->tensor->name) : h;
}

static bool
same_attrs(const Node *a, const Node *b)
{
    if (a->n_attrs != b->n_attrs)
        return false;
    for (int i = 0; i < a->n_attrs; i++) {
        const Attr *x = node_attr(b, a->attrs[i].key);
        if (!x || !attr_equal(&a->attrs[i], x))
            return false;
    }
    return true;
}

static bool
same_types(const Node *a, const Node *b)
{
    if (a->n_results != b->n_results)
        return false;
    for (int i = 0; i < a->n_results; i++)
        if (!type_equal(&a->results[i]->type, &b->results[i]->type))
            return false;
    return true;
}

static bool
is_same(const Entry *e, const Node *n, const int *args)
{
    const Node *m = e->node;
    if (m->op != n->op || m->n_args != n->n_args || !same_attrs(m, n) ||
        !same_types(m, n) || (m->tensor == NULL) != (n->tensor == NULL))
        return false;
    if (m->tensor && strcmp(m->tensor->name, n->tensor->name) != 0)
        return false;
    for (int i = 0; i < n->n_args; i++)
        if (e->args[i] != args[i])
            return false;
    return true;
}

/* The entry of an equal node, or the free place in the table. */
static Entry *
find(const Check *c, uint64_t hash, const Node *n, const int *args, int *free)
{
    int at = (int)(hash % (uint64_t)c->table_size);
    while (c->table[at]) {
        Entry *e = &c->entries.at[c->table[at] - 1];
        if (e->hash == hash && goes_on(c, e->node) == goes_on(c, n) &&
            is_same(e, n, args))
            return e;
        at = (at + 1) % c->table_size;
    }
    *free = at;
    return NULL;
}

/* ---- the model; Value.mark: its number ---- */

static int
enter(Check *c, const Node *n, int *args)
{
    int at;
    uint64_t hash = hash_node(c, n, args);
    const Entry *old = find(c, hash, n, args, &at);
    if (old)
        return old->first;
    Entry e = {hash, n, args, c->named.n};
    vec_push(c->arena, &c->entries, e);
    c->table[at] = c->entries.n;
    for (int i = 0; i < n->n_results; i++)
        vec_push(c->arena, &c->named, n->results[i]);
    if (n->n_results == 0)
        vec_push(c->arena, &c->named, NULL);
    return e.first;
}

static void
number_nodes(Check *c, Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            number_nodes(c, n->body);
            continue;
        }
        int *args = ARENA_ARRAY(c->arena, int, n->n_args + 1);
        for (int i = 0; i < n->n_args; i++)
            args[i] = n->args[i]->mark;
        int first = enter(c, n, args);
        n->mark = first;
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = first + i;
    }
}

static int
count(const Graph *g)
{
    int n = 0;
    graph_each(g, node)
        n += node->body ? count(node->body) : 1;
    return n;
}

void
check_number_model(Check *c)
{
    int n = 0;
    for (int i = 0; i < c->model->graphs.n; i++)
        n += count(c->model->graphs.at[i]);
    c->table_size = 2 * n + 1;
    c->table = ARENA_ARRAY(c->arena, int, c->table_size);
    for (int i = 0; i < c->model->graphs.n; i++)
        number_nodes(c, c->model->graphs.at[i]);
}

/* ---- a node that the model does not have: what is different ---- */

/* h.0.x.re'2 is a copy of h.0.x. */
static const char *
original(Check *c, const char *name)
{
    char *s = arena_strndup(c->arena, name, strlen(name));
    char *re = strstr(s, ".re");
    while (re && re[3] && re[3] != '\'')
        re = strstr(re + 1, ".re");
    if (re)
        *re = '\0';
    return s;
}

static const Value *
named(Check *c, const char *name)
{
    const Value *v = NULL;
    if (c->main)
        v = map_get(&c->main->values, name);
    for (int i = 0; !v && i < c->model->graphs.n; i++)
        v = map_get(&c->model->graphs.at[i]->values, name);
    return v;
}

/* A node of the model with the same effect, for its number. */
static const Node *
effect_like(const Graph *g, const Node *n)
{
    graph_each(g, m) {
        const Node *in = m->body ? effect_like(m->body, n) : NULL;
        if (in)
            return in;
        if (m->op != n->op || m->n_results)
            continue;
        if (m->tensor ? n->tensor && !strcmp(m->tensor->name, n->tensor->name)
                      : m->n_args && n->n_args &&
                            !strcmp(m->args[0]->name, n->args[0]->name))
            return m;
    }
    return NULL;
}

static const Node *
like(Check *c, const Node *n)
{
    if (n->n_results == 0)
        return c->main ? effect_like(c->main, n) : NULL;
    const Value *v = named(c, n->results[0]->name);
    if (!v)
        v = named(c, original(c, n->results[0]->name));
    return v ? v->def : NULL;
}

static const char *
attr_text(Check *c, const Attr *a)
{
    if (!a)
        return "none";
    if (a->kind == ATTR_float)
        return text_double(c->arena, a->f);
    if (a->kind == ATTR_bool)
        return a->i ? "true" : "false";
    if (a->kind == ATTR_int)
        return arena_printf(c->arena, "%lld", (long long)a->i);
    if (a->kind != ATTR_ints)
        return a->s;
    char *s = arena_printf(c->arena, "[");
    for (int64_t i = 0; i < a->i; i++)
        s = arena_printf(c->arena, "%s%s%lld", s, i ? "," : "",
                         (long long)a->list[i]);
    return arena_printf(c->arena, "%s]", s);
}

static bool
explain_attrs(Check *c, const Node *n, const Node *m)
{
    for (int k = 0; k < 2; k++) {
        const Node *from = k ? n : m;
        for (int i = 0; i < from->n_attrs; i++) {
            const char *key = from->attrs[i].key;
            const Attr *x = node_attr(m, key), *y = node_attr(n, key);
            if (x && y && attr_equal(x, y))
                continue;
            check_fault_at(c, n, "%s is %s in the model, found %s", key,
                           attr_text(c, x), attr_text(c, y));
            return true;
        }
    }
    return false;
}

static bool
explain_types(Check *c, const Node *n, const Node *m)
{
    for (int i = 0; i < n->n_results && i < m->n_results; i++)
        if (!type_equal(&n->results[i]->type, &m->results[i]->type)) {
            check_fault_at(c, n, "is %s in the model, found %s",
                           text_type(c->arena, &m->results[i]->type),
                           text_type(c->arena, &n->results[i]->type));
            return true;
        }
    return false;
}

static void
explain_args(Check *c, const Node *n, const Node *m, const int *args)
{
    for (int i = 0; i < n->n_args && i < m->n_args; i++) {
        if (args[i] == m->args[i]->mark)
            continue;
        const Value *is = c->named.at[args[i]];
        const char *found = n->args[i]->name;
        if (is && strcmp(is->name, found) != 0)
            found = arena_printf(c->arena, "%s, which is %s there", found,
                                 is->name);
        check_fault_at(c, n, "operand %d is %s in the model, found %s", i + 1,
                       m->args[i]->name, found);
        return;
    }
    check_fault_at(c, n, "has %d operands in the model, found %d", m->n_args,
                   n->n_args);
}

/* All is as in the model but what goes_on says. */
static bool
explain_sum(Check *c, const Node *n, const int *args)
{
    for (int i = 0; n->op == OP_accumulate && i < c->entries.n; i++) {
        const Entry *e = &c->entries.at[i];
        if (!is_same(e, n, args))
            continue;
        check_fault_at(c, n,
                       goes_on(c, n)
                           ? "the model adds to %s what is made apart, found "
                             "one kernel that goes on from the sum"
                           : "the model goes on from %s where it makes this, "
                             "in one kernel, found a sum of two",
                       n->tensor->name);
        check_note(c, e->node->loc, "the model has it from here");
        return true;
    }
    return false;
}

static void
explain(Check *c, const Node *n, const int *args)
{
    const Node *m = like(c, n);
    if (explain_sum(c, n, args))
        return;
    if (!m) {
        check_fault_at(c, n, "the model does not compute this");
        return;
    }
    if (m->op != n->op)
        check_fault_at(c, n, "is %s in the model, found %s",
                       op_info[m->op].name, op_info[n->op].name);
    else if (m->tensor && strcmp(m->tensor->name, n->tensor->name) != 0)
        check_fault_at(c, n, "is of %s in the model, found %s", m->tensor->name,
                       n->tensor->name);
    else if (!explain_attrs(c, n, m) && !explain_types(c, n, m))
        explain_args(c, n, m, args);
    check_note(c, m->loc, "the model has it from here");
}

int
check_number(Check *c, const Node *n, const int *args)
{
    int at;
    for (int i = 0; i < n->n_args; i++)
        if (args[i] == NO_NUMBER)
            return NO_NUMBER;
    const Entry *e = find(c, hash_node(c, n, args), n, args, &at);
    if (e)
        return e->first;
    explain(c, n, args);
    return NO_NUMBER;
}
