/* The search in fuse_group.c looks at a bounded part of the graph, so in rare
 * cases groups wait for each other in a ring. Here the rings are opened. */
#include "passes/fuse_group.h"

/* Groups and lone nodes. */
typedef struct Units {
    Fuse *f;
    int n_groups, n;
    int *waits; /* operands of other units that are not there yet */
    VEC(int) ready;
} Units;

static int
unit_of(const Units *u, const Node *n)
{
    return n->mark ? n->mark - 1 : u->n_groups + n->order;
}

static void
count_waits(Units *u)
{
    for (int i = 0; i < u->f->n_nodes; i++) {
        const Node *n = u->f->nodes[i];
        for (int k = 0; k < n->n_args; k++)
            u->waits[unit_of(u, n)] +=
                unit_of(u, value_node(n->args[k])) != unit_of(u, n);
    }
}

static void
finish_node(Units *u, const Node *n)
{
    for (int r = 0; r < n->n_results; r++) {
        const Users *users = fuse_users(n->results[r]);
        for (int i = 0; i < users->at.n; i++) {
            int to = unit_of(u, users->at.at[i]);
            if (to != unit_of(u, n) && --u->waits[to] == 0)
                vec_push(u->f->a, &u->ready, to);
        }
    }
}

static void
finish(Units *u, int unit)
{
    if (unit >= u->n_groups) {
        finish_node(u, u->f->nodes[unit - u->n_groups]);
        return;
    }
    const Group *g = u->f->groups.at[unit];
    for (int i = 0; i < g->members.n; i++)
        finish_node(u, g->members.at[i]);
}

static bool
is_unit(const Units *u, int i)
{
    return i < u->n_groups ? u->f->groups.at[i]->members.n > 0
                           : !u->f->nodes[i - u->n_groups]->mark;
}

/* The youngest group that waits for ever; NULL: none does. */
static Group *
stuck_group(Fuse *f)
{
    Units u = {.f = f, .n_groups = f->groups.n, .n = f->groups.n + f->n_nodes};
    u.waits = ARENA_ARRAY(f->a, int, u.n + 1);
    count_waits(&u);
    for (int i = 0; i < u.n; i++)
        if (is_unit(&u, i) && u.waits[i] == 0)
            vec_push(f->a, &u.ready, i);
    for (int i = 0; i < u.ready.n; i++)
        finish(&u, u.ready.at[i]);
    for (int i = u.n_groups - 1; i >= 0; i--)
        if (is_unit(&u, i) && u.waits[i] > 0)
            return f->groups.at[i];
    return NULL;
}

void
fuse_open_circles(Fuse *f)
{
    Group *g;
    while ((g = stuck_group(f))) {
        for (int i = 0; i < g->members.n; i++)
            g->members.at[i]->mark = 0;
        g->members.n = 0;
    }
}
