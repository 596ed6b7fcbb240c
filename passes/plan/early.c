#include "passes/plan/early.h"

#include <stdlib.h>

#include "ir/optimizer.h"
#include "passes/plan/order.h"

/* What is below this part of the largest gradient stays with the others. */
enum { SMALL = 64 };

typedef struct Use {
    EarlyParam p;
    int accumulates, reads;
} Use;

typedef struct Find {
    Use *at; /* by Tensor.mark */
    bool waits; /* something needs all gradients */
} Find;

/* ---- which ---- */

static bool
is_update(const Node *n)
{
    return op_info[n->op].flags & OP_OPTIMIZER;
}

/* A kernel makes the whole value as the tensor lies. */
static bool
is_made(const Node *accumulate)
{
    const Value *v = accumulate->args[0];
    const Node *owner = accumulate->graph->owner;
    if (owner && strcmp(node_word(owner, "kind", ""), "head") == 0)
        return false;
    return v->n_uses == 1 && !(op_info[v->def->op].flags & OP_VIEW) &&
           v->def->op != OP_read && v->def->op != OP_const &&
           type_equal(&v->type, &accumulate->tensor->type) &&
           v->type.dtype == DT_f32;
}

static void
find_uses(Find *f, const Graph *g)
{
    graph_each(g, n) {
        if (n->body)
            find_uses(f, n->body);
        f->waits |= n->op == OP_global_norm;
        if (n->op == OP_accumulate) {
            Use *u = &f->at[n->tensor->mark];
            u->accumulates += 1 + node_flag(n, "more");
            u->p.accumulate = n;
        }
        for (int i = 0; i < n->n_args && !n->body; i++) {
            const Node *def = n->args[i]->def;
            if (def->op != OP_read || def->tensor->kind != TENSOR_grad)
                continue;
            Use *u = &f->at[def->tensor->mark];
            u->reads++;
            if (is_update(n) && i == 1)
                u->p.update = n;
        }
    }
}

static bool
is_early(const Use *u, int64_t largest)
{
    const Node *n = u->p.accumulate;
    if (u->accumulates != 1 || u->reads != 1 || !u->p.update || !is_made(n) ||
        !n->tensor->owner ||
        value_tensor(u->p.update->args[0]) != n->tensor->owner)
        return false;
    const Node *kernel = n->graph->owner ? n->graph->owner : n;
    return kernel->phase == PHASE_backward &&
           type_bytes(&n->tensor->type) * SMALL >= largest;
}

static int64_t
largest_gradient(const Module *m)
{
    int64_t largest = 0;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->kind == TENSOR_grad && type_bytes(&t->type) > largest)
            largest = type_bytes(&t->type);
    }
    return largest;
}

EarlyParams
early_find(Arena *a, const Module *m)
{
    EarlyParams found = {0};
    Graph *g = module_graph(m, "main");
    if (!g || !m->train || m->train->accumulate > 1 ||
        module_option_is(m, "gradients", "kept"))
        return found;
    Find f = {.at = ARENA_ARRAY(a, Use, m->tensors.n + 1)};
    int64_t largest = largest_gradient(m);
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = i;
    graph_count_uses(g);
    find_uses(&f, g);
    for (int i = 0; i < m->tensors.n && !f.waits; i++) {
        Use *u = &f.at[i];
        u->p.grad = m->tensors.at[i];
        if (u->p.grad->kind == TENSOR_grad && is_early(u, largest))
            vec_push(a, &found, u->p);
    }
    return found;
}

/* ---- gradients that leave their kernels ---- */

/* A group of one node is that node. */
static void
open_group(Graph *g, Node *group)
{
    Node *n = group->body->first;
    if (n->next) {
        fused_refresh(group);
        return;
    }
    node_move_before(n, g, group);
    n->phase = group->phase;
    n->stage = group->stage;
    n->block = group->block;
    node_remove(group);
}

/* The update reads the value as often as it was read before: once. Returns
 * the node that makes it. */
static Node *
keep_value(Graph *g, const EarlyParam *p)
{
    Node *n = p->accumulate, *group = n->graph->owner;
    Value *v = n->args[0];
    Node *read = p->update->args[1]->def;
    node_set_arg(p->update, 1, v);
    node_remove(n);
    node_remove(read);
    if (group)
        open_group(g, group);
    return value_node(v);
}

/* ---- what the update reads ---- */

static bool
is_here(const Node *n)
{
    return n->phase != PHASE_update;
}

/* Numbers of the update (its count, its rate) are made here as well. */
static Value *
bring(Graph *g, Value *v, Node *at)
{
    Node *n = v->def;
    if (is_here(n))
        return v;
    if (v->note)
        return v->note;
    for (int i = 0; i < n->n_args; i++)
        bring(g, n->args[i], at);
    g->at = at;
    g->context = (Context){.phase = at->phase, .loc = n->loc};
    if (n->op == OP_read)
        v->note = graph_read(g, graph_derive(g, v->name, "early"), n->tensor);
    else
        node_clone(g, n, "early")->phase = at->phase;
    g->at = NULL;
    g->context = (Context){0};
    return v->note;
}

/* Parameters and states have one reader there, and come along. */
static void
bring_operands(Graph *g, Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Node *def = n->args[i]->def;
        if (is_here(def))
            continue;
        if (optimizer_changes(n, i)) {
            node_move_before(def, g, n);
            def->phase = n->phase;
            def->stage = n->stage;
            def->block = n->block;
        } else {
            node_set_arg(n, i, bring(g, n->args[i], n));
        }
    }
}

static void
remove_unused_numbers(Graph *g)
{
    graph_count_uses(g);
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (n->phase != PHASE_update || n->n_results != 1 ||
            n->results[0]->n_uses > 0 || (op_info[n->op].flags & OP_PINNED) ||
            n->body)
            continue;
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->n_uses--;
        node_remove(n);
    }
}

/* ---- where ---- */

/* Tensor.mark: the order of the last node before the update that reads it,
 * -1: none does. */
static void
find_last_readers(Module *m, Graph *g)
{
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = -1;
    graph_number(g);
    graph_each(g, n)
        for (int i = 0; i < n->n_args && n->phase != PHASE_update; i++) {
            Tensor *t = order_tensor(n->args[i]);
            if (t)
                t->mark = n->order;
        }
}

typedef struct Move {
    Node *update;
    const Node *made; /* what makes the gradient */
    Node *at; /* the update comes behind it, and behind others that do */
    int place, rank;  /* order of at; of the parameter */
} Move;

/* Those that come first bring the numbers. */
static int
by_place(const void *a, const void *b)
{
    const Move *x = a, *y = b;
    return x->place != y->place ? x->place - y->place : x->rank - y->rank;
}

/* at: it comes right behind. */
static void
move_update(Graph *g, const Move *m, Node *at)
{
    Node *n = m->update;
    node_move_before(n, g, at->next);
    n->phase = PHASE_backward;
    n->stage = m->made->stage;
    n->block = m->made->block;
    bring_operands(g, n);
}

/* At the end of main. */
static void
refresh_sweeps(Graph *g)
{
    for (Node *n = g->last, *prev; n && n->phase == PHASE_update; n = prev) {
        prev = n->prev;
        if (n->body && n->body->first)
            fused_refresh(n);
        else if (n->body)
            node_remove(n);
    }
}

static void
forget_tensors(Module *m, const EarlyParams *list)
{
    int n = 0;
    for (int i = 0, k = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        if (k < list->n && list->at[k].grad == t) {
            map_put(m->arena, &m->tensor_map, t->name, NULL);
            k++;
        } else {
            m->tensors.at[n++] = t;
        }
    }
    m->tensors.n = n;
}

static void
move_all(Arena *a, Module *m, Graph *g, const EarlyParams *list,
         Node *const *made)
{
    find_last_readers(m, g);
    Node **nodes = ARENA_ARRAY(a, Node *, g->last->order + 1);
    graph_each(g, n)
        nodes[n->order] = n;
    Move *moves = ARENA_ARRAY(a, Move, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        int last = list->at[i].grad->owner->mark, order = made[i]->order;
        int place = last > order ? last : order;
        moves[i] = (Move){list->at[i].update, made[i], nodes[place], place, i};
    }
    qsort(moves, (size_t)list->n, sizeof *moves, by_place);
    graph_forget_notes(g);
    for (int i = 0; i < list->n; i++) {
        bool again = i > 0 && moves[i - 1].place == moves[i].place;
        move_update(g, &moves[i], again ? moves[i - 1].update : moves[i].at);
    }
}

void
early_apply(Module *m)
{
    Arena *a = arena_new();
    Graph *g = module_graph(m, "main");
    EarlyParams list = early_find(a, m);
    Node **made = ARENA_ARRAY(a, Node *, list.n + 1);
    for (int i = 0; i < list.n; i++)
        made[i] = keep_value(g, &list.at[i]);
    if (list.n > 0)
        move_all(a, m, g, &list, made);
    forget_tensors(m, &list);
    refresh_sweeps(g);
    remove_unused_numbers(g);
    graph_forget_notes(g);
    graph_count_uses(g);
    arena_free(a);
}
