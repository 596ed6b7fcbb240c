#include "passes/fuse_columns.h"

#include <stdlib.h>
#include <string.h>

#include "ir/scratch.h"

/* Its sums go down columns, and into gradients alone. */
static bool
can_move(const Group *g)
{
    for (int i = 0; i < g->members.n; i++) {
        const Node *n = g->members.at[i];
        if (n->op != OP_reduce_sum)
            continue;
        const Users *u = fuse_users(n->results[0]);
        for (int k = 0; k < u->at.n; k++)
            if (u->at.at[k]->op != OP_accumulate ||
                u->at.at[k]->mark != n->mark)
                return false;
        if (!sums_down(n))
            return false;
    }
    return strcmp(g->kind, "reduce") == 0 && g->members.n > 0;
}

static bool
are_rows(const Group *rows, const Group *g)
{
    Type t = g->shape;
    t.dtype = rows->shape.dtype;
    return strcmp(rows->kind, "row") == 0 && type_equal(&rows->shape, &t);
}

static void
move_back(Fuse *f, Group *rows, int n_rows, Group *g)
{
    int mark = 0;
    for (int i = 0; i < f->groups.n; i++)
        if (f->groups.at[i] == g)
            mark = i + 1;
    rows->members.n = n_rows;
    for (int i = 0; i < g->members.n; i++)
        g->members.at[i]->mark = mark;
}

static int
by_order(const void *a, const void *b)
{
    const Node *const *x = a, *const *y = b;
    return (*x)->order - (*y)->order;
}

/* All members, or none. */
static bool
move_to(Fuse *f, Group *rows, Group *g)
{
    int n = rows->members.n, first = rows->first, last = rows->last;
    qsort(g->members.at, (size_t)g->members.n, sizeof(Node *), by_order);
    for (int i = 0; i < g->members.n; i++)
        g->members.at[i]->mark = 0;
    for (int i = 0; i < g->members.n; i++) {
        Node *m = g->members.at[i];
        if (!fuse_is_near(f, rows, m) || !fuse_can_join(f, rows, m)) {
            move_back(f, rows, n, g);
            rows->first = first;
            rows->last = last;
            return false;
        }
        fuse_join(f, rows, m);
    }
    g->members.n = 0;
    return true;
}

/* The first rows that read v, or else those that make it: what reads a layer's
 * gradient is of the layer, who makes it depends on what comes behind. */
static bool
move_to_rows_of(Fuse *f, const Value *v, Group *g)
{
    const Users *u = fuse_users(v);
    for (int i = 0; i < u->at.n; i++) {
        Group *reader = fuse_group_of(f, u->at.at[i]);
        if (reader && are_rows(reader, g) && move_to(f, reader, g))
            return true;
    }
    Group *maker = fuse_group_of(f, value_node(v));
    return maker && are_rows(maker, g) && move_to(f, maker, g);
}

static bool
is_large(const Value *v, const Group *g)
{
    return type_elements(&v->type) == type_elements(&g->shape);
}

static void
find_rows(Fuse *f, Group *g)
{
    for (int i = 0; i < g->members.n; i++) {
        const Node *n = g->members.at[i];
        for (int k = 0; k < n->n_args; k++)
            if (fuse_group_of(f, value_node(n->args[k])) != g &&
                is_large(n->args[k], g) && move_to_rows_of(f, n->args[k], g))
                return;
    }
}

void
fuse_columns(Fuse *f)
{
    for (int i = 0; i < f->groups.n; i++)
        if (can_move(f->groups.at[i]))
            find_rows(f, f->groups.at[i]);
}

static bool
stands_last(const Node *n)
{
    return sums_down(n) ||
           (n->op == OP_accumulate && sums_down(value_node(n->args[0])));
}

void
fuse_columns_last(Fuse *f, Group *g)
{
    Node **sorted = ARENA_ARRAY(f->a, Node *, g->members.n);
    int n = 0;
    if (strcmp(g->kind, "row") != 0)
        return;
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < g->members.n; i++)
            if (stands_last(g->members.at[i]) == last)
                sorted[n++] = g->members.at[i];
    memcpy(g->members.at, sorted, (size_t)n * sizeof *sorted);
}
