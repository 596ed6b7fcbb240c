/* Splits graph `main` into the graphs that are called: forward, backward and
 * update, or infer. What a later phase reads of an earlier one becomes, in
 * this order: read again (parameters, inputs, states that do not change here),
 * made again (constants, views of what is there), or a stash tensor: written
 * in forward, read in backward. */
#include "passes/pass.h"
#include "passes/plan/order.h"

typedef struct Split {
    Module *m;
    Graph *main; /* becomes forward */
    Graph *to[3];
    Phase phase; /* whose imports are being made */
    Map away;    /* names of values that are to leave the device: an offload
                  * whose result nothing reads says so -> its node */
} Split;

static bool
reads_again(const Value *v)
{
    if (v->def->op != OP_read)
        return false;
    const Tensor *t = v->def->tensor;
    return t->kind != TENSOR_state || !t->mark;
}

static bool
made_again(const Value *v)
{
    return v->def->op == OP_const || v->def->op == OP_iota;
}

/* A view of the whole of its operand: making it again costs nothing and keeps
 * nothing that is larger. */
static bool
is_whole_view(const Node *n)
{
    return n->op == OP_reshape || n->op == OP_transpose ||
           n->op == OP_broadcast;
}

static bool
is_part_view(const Node *n)
{
    return n->op == OP_split || n->op == OP_slice;
}

/* ---- which values are wanted by a later phase (mark) ---- */

static void
want_args(Node *n, Phase phase)
{
    if (n->body) {
        graph_each(n->body, inner)
            want_args(inner, phase);
        return;
    }
    for (int i = 0; i < n->n_args; i++)
        if (value_node(n->args[i])->phase < phase)
            n->args[i]->mark = 1;
}

static void
want_operand(Node *n)
{
    Value *base = n->args[0];
    for (int i = 0; i < n->n_results; i++) {
        if (!n->results[i]->mark)
            continue;
        if (is_whole_view(n) || reads_again(base))
            base->mark = 1;
        else
            base->note = (void *)((intptr_t)base->note +
                                  (intptr_t)type_bytes(&n->results[i]->type));
    }
}

/* From the end, so that all readers of a value are known at its node. Parts
 * of a value make the whole wanted when they are as large as it. */
static void
find_wanted(Graph *g, Phase phase)
{
    graph_each(g, n)
        if (n->phase == phase)
            want_args(n, phase);
    graph_each_reverse(g, n) {
        if (n->phase >= phase)
            continue;
        for (int i = 0; i < n->n_results; i++) {
            Value *v = n->results[i];
            if ((intptr_t)v->note >= (intptr_t)type_bytes(&v->type))
                v->mark = 1;
            v->note = NULL;
        }
        if (is_whole_view(n) || is_part_view(n))
            want_operand(n);
    }
}

/* ---- importing ---- */

static Value *import(Split *s, Value *v, Node *reader);

static const char *
stash_name(Split *s, Value *v)
{
    const char *name = v->name;
    while (module_tensor(s->m, name))
        name = graph_derive(s->main, name, "stash");
    return name;
}

static bool
is_stash_write(const Node *n)
{
    return n->op == OP_write && n->tensor->kind == TENSOR_stash;
}

static Value *
through_stash(Split *s, Value *v, Node *reader)
{
    Node *def = value_node(v);
    Graph *from = s->to[def->phase], *g = reader->graph;
    Tensor *t =
        module_add_tensor(s->m, TENSOR_stash, stash_name(s, v), &v->type);
    t->loc = def->loc;
    const Node *away = map_get(&s->away, v->name);
    if (away)
        t->space = away->results[0]->space;
    from->at = def->next;
    while (from->at && is_stash_write(from->at))
        from->at = from->at->next;
    from->context = (Context){def->phase, def->stage, def->block, def->loc};
    graph_write(from, OP_write, t, v);
    from->at = NULL;
    return graph_read(g, v->name, t);
}

/* A copy of v's node in the reader's graph, all results under their names. */
static Value *
copy_node(Split *s, Value *v, Node *reader)
{
    Node *def = v->def;
    Value *operand = def->n_args ? import(s, def->args[0], reader) : NULL;
    reader->graph->at = reader;
    Node *c = node_clone(reader->graph, def, "again");
    if (operand)
        node_set_arg(c, 0, operand);
    c->phase = reader->phase;
    c->stage = reader->stage;
    c->block = reader->block;
    for (int i = 0; i < c->n_results; i++)
        value_rename(c->results[i], def->results[i]->name);
    return v->note;
}

static bool
view_of_wanted(const Value *v)
{
    const Node *n = v->def;
    if (n->graph->owner)
        return false;
    return is_whole_view(n) || (is_part_view(n) && n->args[0]->mark);
}

static Value *
import(Split *s, Value *v, Node *reader)
{
    if (v->note)
        return v->note;
    Graph *g = reader->graph;
    g->at = reader;
    g->context =
        (Context){reader->phase, reader->stage, reader->block, reader->loc};
    if (made_again(v) || view_of_wanted(v))
        v->note = copy_node(s, v, reader);
    else if (reads_again(v))
        v->note = graph_read(g, v->name, v->def->tensor);
    else if (s->phase == PHASE_backward)
        v->note = through_stash(s, v, reader);
    else
        diag_error(s->m->diag, reader->loc,
                   "the update reads %s, which belongs to one microbatch",
                   v->name);
    g->at = NULL;
    return v->note;
}

static void
import_args(Split *s, Node *n, Node *outer)
{
    if (n->body) {
        graph_each(n->body, inner)
            import_args(s, inner, outer);
        return;
    }
    for (int i = 0; i < n->n_args; i++) {
        Value *v = n->args[i];
        if (value_node(v)->phase >= s->phase)
            continue;
        Value *here = import(s, v, outer);
        if (here)
            node_set_arg(n, i, here);
    }
}

/* ---- moving ---- */

static void
move_names(Graph *from, Graph *to, Node *n)
{
    Arena *a = from->module->arena;
    if (n->body) {
        n->body->name = to->name;
        graph_each(n->body, inner)
            move_names(from, to, inner);
        return;
    }
    for (int i = 0; i < n->n_results; i++) {
        map_put(a, &from->values, n->results[i]->name, NULL);
        map_put(a, &to->values, n->results[i]->name, n->results[i]);
    }
}

static void
rename_graph(Graph *g, const char *name)
{
    g->name = intern(g->module->interner, name);
    graph_each(g, n)
        if (n->body)
            n->body->name = g->name;
}

static void
move_phase(Split *s, Phase phase)
{
    Graph *to = s->to[phase];
    Node *next;
    for (Node *n = s->main->first; n; n = next) {
        next = n->next;
        if (n->phase != phase)
            continue;
        move_names(s->main, to, n);
        node_move_before(n, to, NULL);
    }
}

static bool
has_phase(const Graph *g, Phase phase)
{
    graph_each(g, n)
        if (n->phase == phase)
            return true;
    return false;
}

/* States that forward changes; the others are read again (Tensor.mark). */
static void
mark_changed_states(Module *m, Graph *g)
{
    for (int i = 0; i < m->tensors.n; i++)
        m->tensors.at[i]->mark = 0;
    graph_each(g, n)
        if (n->op == OP_write)
            n->tensor->mark = 1;
}

static void
import_phase(Split *s, Phase phase)
{
    s->phase = phase;
    Node *next;
    for (Node *n = s->to[phase]->first; n; n = next) {
        next = n->next;
        import_args(s, n, n);
    }
}

static void
refresh(Graph *g)
{
    graph_count_uses(g);
    graph_each(g, n)
        if (n->body)
            fused_refresh(n);
}

/* Stash tensors stand in the order in which forward makes them, whatever
 * backward reads first: a layer more moves none of the others. */
static void
sort_stash(Split *s)
{
    Module *m = s->m;
    int n = 0;
    for (int i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->kind != TENSOR_stash)
            m->tensors.at[n++] = m->tensors.at[i];
    graph_each(s->main, node)
        if (is_stash_write(node))
            m->tensors.at[n++] = node->tensor;
    m->tensors.n = n;
}

static void
take_marks(Split *s)
{
    Node *next;
    for (Node *n = s->main->first; n; n = next) {
        next = n->next;
        if (n->op != OP_offload)
            continue;
        map_put(s->m->arena, &s->away, n->args[0]->name, n);
        node_remove(n);
    }
    graph_count_uses(s->main);
}

static void
split(Split *s)
{
    static const Phase later[] = {PHASE_backward, PHASE_update};
    take_marks(s);
    mark_changed_states(s->m, s->main);
    rename_graph(s->main, "forward");
    s->to[PHASE_forward] = s->main;
    for (int i = 0; i < 2; i++) {
        Phase phase = later[i];
        if (!has_phase(s->main, phase))
            continue;
        for (int k = 0; k < (int)phase; k++)
            if (s->to[k])
                graph_forget(s->to[k]);
        find_wanted(s->main, phase);
        s->to[phase] = module_add_graph(s->m, phase_name[phase]);
        move_phase(s, phase);
        import_phase(s, phase);
    }
    for (int i = 0; i < 3; i++)
        if (s->to[i])
            refresh(s->to[i]);
    sort_stash(s);
}

/* ---- programs ---- */

static Action *
call(Module *m, Graph *g, int64_t mb)
{
    Action *c = ARENA_NEW(m->arena, Action);
    c->kind = ACTION_call;
    c->graph = g;
    c->mb = mb;
    return c;
}

static Program *
add_program(Module *m, const char *name)
{
    Program *p = ARENA_NEW(m->arena, Program);
    p->name = intern(m->interner, name);
    vec_push(m->arena, &m->programs, p);
    return p;
}

static void
add_step(Split *s)
{
    Module *m = s->m;
    Program *p = add_program(m, "step");
    int64_t n = m->train ? m->train->accumulate : 1;
    Action *loop = NULL;
    if (n > 1) {
        loop = ARENA_NEW(m->arena, Action);
        loop->kind = ACTION_repeat;
        loop->hi = n;
        vec_push(m->arena, &p->actions, loop);
    }
    for (int i = PHASE_forward; i <= PHASE_backward; i++) {
        if (!s->to[i])
            continue;
        if (loop)
            vec_push(m->arena, &loop->body, call(m, s->to[i], MB_LOOP));
        else
            vec_push(m->arena, &p->actions, call(m, s->to[i], 0));
    }
    if (s->to[PHASE_update])
        vec_push(m->arena, &p->actions, call(m, s->to[PHASE_update], 0));
}

static void
add_single(Module *m, const char *name)
{
    Graph *g = module_graph(m, name);
    if (!g)
        return;
    Program *p = add_program(m, name);
    vec_push(m->arena, &p->actions, call(m, g, 0));
}

/* All else was in a good order before it was split. */
static bool
changes_what_it_reads(const Graph *g)
{
    graph_each(g, n) {
        if ((op_info[n->op].flags & OP_OPTIMIZER) || n->op == OP_count ||
            (n->op == OP_write && n->tensor->kind == TENSOR_state) ||
            (n->body && changes_what_it_reads(n->body)))
            return true;
    }
    return false;
}

bool
pass_phases(Module *m)
{
    Split s = {.m = m, .main = module_graph(m, "main")};
    int errors = diag_count(m->diag);
    if (!s.main || m->programs.n > 0)
        return true;
    if (has_phase(s.main, PHASE_backward) || has_phase(s.main, PHASE_update)) {
        split(&s);
        add_step(&s);
    } else {
        rename_graph(s.main, "infer");
        add_single(m, "infer");
    }
    add_single(m, "evaluate");
    for (int i = 0; i < m->graphs.n; i++)
        if (changes_what_it_reads(m->graphs.at[i]))
            order_sort(m->graphs.at[i]);
    return diag_count(m->diag) == errors;
}
