/* Forms groups that run as one kernel. Kinds take turns, those first that
 * save most: products with what follows them, rows around norms and
 * softmaxes, column sums, what is left of elementwise chains. Each group grows
 * from a seed in program order, first by readers, then by operands that only
 * it reads; a node is never computed twice. At last column sums join rows. */
#include "passes/pass.h"

#include <stdlib.h>

#include "passes/fuse_columns.h"
#include "passes/fuse_group.h"
#include "passes/fuse_rules.h"
#include "passes/fuse_sums.h"
#include "passes/plan/order.h"

static bool
grow_by_users(Fuse *f, Group *g, const FuseRule *rule)
{
    bool grown = false;
    for (int k = 0; k < g->members.n && !g->closed; k++) {
        Node *n = g->members.at[k];
        for (int r = 0; r < n->n_results; r++) {
            const Users *u = fuse_users(n->results[r]);
            for (int i = 0; i < u->at.n && !g->closed; i++) {
                Node *c = u->at.at[i];
                if (!fuse_is_near(f, g, c) || !rule->takes_user(f, g, c) ||
                    !fuse_can_join(f, g, c))
                    continue;
                fuse_join(f, g, c);
                g->closed = c->op == OP_accumulate;
                grown = true;
            }
        }
    }
    return grown;
}

static bool
grow_by_operands(Fuse *f, Group *g, const FuseRule *rule)
{
    bool grown = false;
    for (int k = 0; k < g->members.n; k++) {
        Node *n = g->members.at[k];
        for (int i = 0; i < n->n_args; i++) {
            Node *d = n->args[i]->def;
            if (d->graph != f->g || !fuse_is_near(f, g, d) ||
                !rule->takes_operand(f, g, d) || !fuse_can_join(f, g, d))
                continue;
            fuse_join(f, g, d);
            grown = true;
        }
    }
    return grown;
}

/* A seed that stays alone is free again for the next kinds. */
static void
form(Fuse *f, const FuseRule *rule)
{
    for (int i = 0; i < f->n_nodes; i++) {
        Node *n = f->nodes[i];
        Type shape;
        if (n->mark || !rule->seeds(n, &shape))
            continue;
        Group *g = fuse_start(f, rule->kind, n, &shape);
        bool more = true;
        while (more) {
            more = grow_by_users(f, g, rule);
            more |= grow_by_operands(f, g, rule);
            if (rule->siblings && !more)
                more = rule->siblings(f, g);
        }
        if (g->members.n == 1 || (rule->keep && !rule->keep(g))) {
            for (int k = 0; k < g->members.n; k++)
                g->members.at[k]->mark = 0;
            f->groups.n--;
        }
    }
}

/* A product stands first in its group, but for casts of its operands: of
 * members it depends on these alone. */
static int
place_of(const Node *n)
{
    if (n->op == OP_matmul)
        return 1;
    bool narrows = n->op == OP_cast && n->args[0]->type.dtype == DT_f32 &&
                   n->results[0]->type.dtype == DT_bf16;
    if (!narrows)
        return 2;
    const Users *u = fuse_users(n->results[0]);
    for (int i = 0; i < u->at.n; i++)
        if (u->at.at[i]->op == OP_matmul && u->at.at[i]->mark == n->mark)
            return 0;
    return 2;
}

static int
by_order(const void *a, const void *b)
{
    const Node *const *x = a, *const *y = b;
    int p = place_of(*x), q = place_of(*y);
    return p != q ? p - q : (*x)->order - (*y)->order;
}

static void
make_groups(Fuse *f)
{
    fuse_open_circles(f);
    graph_count_uses(f->g);
    for (int i = 0; i < f->groups.n; i++) {
        Group *g = f->groups.at[i];
        if (g->members.n == 0)
            continue;
        qsort(g->members.at, (size_t)g->members.n, sizeof(Node *), by_order);
        fuse_columns_last(f, g);
        graph_fuse(f->g, g->members.at, g->members.n, g->kind);
    }
    order_sort(f->g);
}

bool
pass_fuse(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++) {
        Arena *a = arena_new();
        fuse_sums(m->graphs.at[i]);
        Fuse *f = fuse_new(a, m->graphs.at[i]);
        for (int r = 0; r < fuse_n_rules; r++)
            form(f, &fuse_rules[r]);
        if (!module_option_is(m, "target", "cuda"))
            fuse_columns(f);
        make_groups(f);
        arena_free(a);
    }
    return true;
}
