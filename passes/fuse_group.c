#include "passes/fuse_group.h"

enum { MAX_VISITS = 400 };

static void
add_users(Fuse *f, Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Value *v = n->args[i];
        if (!v->note)
            v->note = ARENA_NEW(f->a, Users);
        Users *u = v->note;
        vec_push(f->a, &u->at, n);
    }
}

static void
clear_notes(Graph *g)
{
    graph_each(g, n) {
        n->mark = 0;
        if (n->body)
            clear_notes(n->body);
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->note = NULL;
    }
}

Fuse *
fuse_new(Arena *a, Graph *g)
{
    Fuse *f = ARENA_NEW(a, Fuse);
    f->a = a;
    f->g = g;
    graph_number(g);
    clear_notes(g);
    f->n_nodes = g->last ? g->last->order + 1 : 0;
    f->nodes = ARENA_ARRAY(a, Node *, f->n_nodes + 1);
    f->seen = ARENA_ARRAY(a, int, f->n_nodes + 1);
    graph_each(g, n) {
        f->nodes[n->order] = n;
        add_users(f, n);
    }
    return f;
}

const Users *
fuse_users(const Value *v)
{
    static const Users none = {{NULL, 0, 0}};
    return v->note ? v->note : &none;
}

Group *
fuse_group_of(const Fuse *f, const Node *n)
{
    return n->mark ? f->groups.at[n->mark - 1] : NULL;
}

Group *
fuse_start(Fuse *f, const char *kind, Node *n, const Type *shape)
{
    Group *g = ARENA_NEW(f->a, Group);
    g->kind = kind;
    g->shape = *shape;
    g->first = g->last = n->order;
    vec_push(f->a, &f->groups, g);
    fuse_join(f, g, n);
    return g;
}

/* The number of g is looked up at its first member, which start gives it. */
void
fuse_join(Fuse *f, Group *g, Node *n)
{
    n->mark = g->members.n ? g->members.at[0]->mark : f->groups.n;
    vec_push(f->a, &g->members, n);
    if (n->order < g->first)
        g->first = n->order;
    if (n->order > g->last)
        g->last = n->order;
}

bool
fuse_is_near(const Fuse *f, const Group *g, const Node *n)
{
    (void)f;
    const Node *own = g->members.at[0];
    return !n->mark && n->phase == own->phase && n->stage == own->stage &&
           n->order > g->last - FUSE_REACH && n->order < g->first + FUSE_REACH;
}

/* ---- circles ---- */

typedef struct Walk {
    Fuse *f;
    int target_mark; /* group sought, or */
    const Node *target;
    int cutoff; /* nothing before it can depend on the target */
    int visits;
    VEC(Node *) stack;
} Walk;

static void
walk_push(Walk *w, Node *n)
{
    Group *g = fuse_group_of(w->f, n);
    if ((g ? g->last : n->order) < w->cutoff)
        return;
    if (w->f->seen[n->order] == w->f->search)
        return;
    w->f->seen[n->order] = w->f->search;
    vec_push(w->f->a, &w->stack, n);
}

static bool
is_target(const Walk *w, const Node *n)
{
    return n == w->target || (w->target_mark && n->mark == w->target_mark);
}

static void
walk_operands(Walk *w, const Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        walk_push(w, value_node(n->args[i]));
}

/* Does what is on the stack depend on the target, through whole groups? */
static bool
walk_meets(Walk *w)
{
    while (w->stack.n > 0) {
        Node *n = w->stack.at[--w->stack.n];
        if (is_target(w, n) || ++w->visits > MAX_VISITS)
            return true;
        Group *g = fuse_group_of(w->f, n);
        if (!g) {
            walk_operands(w, n);
            continue;
        }
        for (int i = 0; i < g->members.n; i++)
            walk_operands(w, g->members.at[i]);
    }
    return false;
}

bool
fuse_can_join(Fuse *f, const Group *g, Node *n)
{
    int mark = g->members.at[0]->mark;
    f->search++;
    Walk to_group = {.f = f, .target_mark = mark, .cutoff = g->first};
    for (int i = 0; i < n->n_args; i++) {
        Node *d = value_node(n->args[i]);
        if (d->mark != mark)
            walk_push(&to_group, d);
    }
    if (walk_meets(&to_group))
        return false;
    f->search++;
    Walk to_node = {.f = f, .target = n, .cutoff = n->order};
    for (int k = 0; k < g->members.n; k++)
        for (int i = 0; i < g->members.at[k]->n_args; i++) {
            Node *d = value_node(g->members.at[k]->args[i]);
            if (d->mark != mark && d != n)
                walk_push(&to_node, d);
        }
    return !walk_meets(&to_node);
}

bool
fuse_only_for(const Fuse *f, const Group *g, const Node *n)
{
    (void)f;
    int mark = g->members.at[0]->mark;
    for (int i = 0; i < n->n_results; i++) {
        const Users *u = fuse_users(n->results[i]);
        for (int k = 0; k < u->at.n; k++)
            if (u->at.at[k]->mark != mark)
                return false;
    }
    return true;
}
