/* Graphs: phases, blocks, groups; what a line says goes to text_read_node. */
#include "ir/text_read_node.h"

static bool
phase_line(Reader *r)
{
    Context *c = &r->graph->context;
    for (int p = PHASE_forward; p <= PHASE_update; p++)
        if (reader_take_word(r, phase_name[p])) {
            c->phase = (Phase)p;
            return reader_line_end(r);
        }
    return reader_expected(r, "forward, backward or update");
}

static bool node_line(Reader *r, void *to);

static bool
block(Reader *r)
{
    Context *c = &r->graph->context;
    const char *outer = c->block;
    Token at = r->tok;
    const char *name = NULL;
    if (r->tok.kind == TOK_NAME && !reader_name(r, "a name", &name))
        return false;
    if (!name && !r->graph->owner)
        return reader_fail_at(r, &at, "expected the name of the block");
    if (r->in_block)
        return reader_fail_at(r, &at, "a block in a block");
    r->in_block = true;
    c->block = name;
    bool ok = reader_block(r, node_line, NULL);
    c->block = outer;
    r->in_block = false;
    return ok;
}

/* The body of a group; it starts in the group's phase and block. */
static bool
body(Reader *r, Node *fused)
{
    Graph *outer = r->graph;
    bool in_block = r->in_block;
    r->graph = fused_open(fused);
    r->graph->context = outer->context;
    r->in_block = false;
    bool ok = reader_block(r, node_line, NULL);
    r->graph = outer;
    r->in_block = in_block;
    return ok;
}

static bool
group(Reader *r, Line *l)
{
    int before = r->errors;
    if (r->graph->owner)
        return reader_fail_at(r, &l->op_at, "a group in a group");
    Node *n = line_build(r, l);
    if (!n) { /* its body cannot be read without it */
        r->broken = true;
        return false;
    }
    if (!body(r, n))
        return false;
    PendingGroup p = {n, l->op_at, l->results, l->args};
    if (r->errors == before)
        vec_push(r->arena, &r->groups, p);
    return true;
}

/* A name with a name after it is an op or a word, else a result. */
static bool
starts_with(Reader *r, const char *word)
{
    return token_is(&r->tok, word) && r->ahead.kind != '=' &&
           r->ahead.kind != ',' && reader_take_word(r, word);
}

static bool
node_line(Reader *r, void *to)
{
    (void)to;
    Line l = {.at = r->tok};
    if (starts_with(r, "phase"))
        return phase_line(r);
    if (starts_with(r, "block"))
        return block(r);
    if (!line_read(r, &l)) {
        r->broken = true;
        return false;
    }
    if (l.op == OP_fused)
        return group(r, &l);
    line_build(r, &l);
    return reader_line_end(r);
}

/* ---- when the graph is whole ---- */

static void
find_homes(Reader *r)
{
    for (int i = 0; i < r->homes.n; i++) {
        PendingHome *p = &r->homes.at[i];
        const char *name = reader_intern(r, &p->home);
        p->value->home = map_get(&r->graph->values, name);
        if (p->value->home)
            continue;
        p->value->home = p->value;
        if (!r->broken && !map_get(&r->poison, name))
            reader_fail_at(r, &p->home, "%s is not defined", name);
    }
}

static bool
list_is(Reader *r, const Tokens *names, Value *const *values, int n)
{
    if (names->n != n)
        return false;
    for (int i = 0; i < n; i++)
        if (reader_intern(r, &names->at[i]) != values[i]->name)
            return false;
    return true;
}

static const char *
listed(Reader *r, Value *const *values, int n)
{
    const char *s = n ? values[0]->name : "none";
    for (int i = 1; i < n; i++)
        s = arena_printf(r->arena, "%s, %s", s, values[i]->name);
    return s;
}

static void
check_groups(Reader *r)
{
    graph_count_uses(r->graph);
    for (int i = 0; i < r->groups.n; i++) {
        const PendingGroup *p = &r->groups.at[i];
        Node *n = p->node;
        fused_refresh(n);
        if (!list_is(r, &p->args, n->args, n->n_args))
            reader_fail_at(r, &p->at, "expected the operands %s",
                           listed(r, n->args, n->n_args));
        if (!list_is(r, &p->results, n->results, n->n_results))
            reader_fail_at(r, &p->at, "expected the results %s",
                           listed(r, n->results, n->n_results));
    }
}

bool
reader_graph(Reader *r)
{
    Token at = r->tok;
    const char *name;
    int before = r->errors;
    if (!reader_name(r, "the name of a graph", &name))
        return false;
    if (module_graph(r->module, name))
        return reader_fail_at(r, &at, "two graphs are called %s", name);
    r->graph = module_add_graph(r->module, name);
    r->poison = (Map){0};
    r->broken = r->in_block = false;
    r->homes.n = r->groups.n = 0;
    bool ok = reader_block(r, node_line, NULL);
    find_homes(r);
    if (r->errors == before)
        check_groups(r);
    if (r->errors != before || !ok)
        map_put(r->arena, &r->spoiled, name, r);
    return ok;
}
