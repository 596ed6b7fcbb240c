/* One graph: names, definitions before uses, types, tensors, phases. */
#include "ir/optimizer.h"
#include "ir/shape.h"
#include "ir/text.h"
#include "ir/verify_check.h"

/* A walk down a graph: Value.mark is `stamp` where the value is defined
 * already, so that each graph needs a stamp of its own. */
typedef struct Walk {
    Verifier *v;
    Graph *outer;
    int stamp;
    Phase phase;
} Walk;

static bool
known(const Walk *w, const Value *x)
{
    return x && x->mark == w->stamp && map_get(&w->outer->values, x->name) == x;
}

/* ---- operands and results ---- */

static bool
verify_operands(Walk *w, const Node *n)
{
    bool ok = true;
    for (int i = 0; i < n->n_args; i++)
        if (!known(w, n->args[i])) {
            verify_fault(w->v, "operand %s is not defined before it",
                         n->args[i] ? n->args[i]->name : "NULL");
            ok = false;
        }
    return ok;
}

static void
verify_results(Walk *w, const Node *n)
{
    for (int i = 0; i < n->n_results; i++) {
        Value *x = n->results[i];
        if (map_get(&w->outer->values, x->name) != x)
            verify_fault(w->v, "the graph does not know %s by this name",
                         x->name);
        else if (x->mark == w->stamp)
            verify_fault(w->v, "%s is defined twice", x->name);
        if (x->def != n || x->result != i)
            verify_fault(w->v, "%s says that another node makes it", x->name);
        x->mark = w->stamp;
    }
}

static void
verify_types(Walk *w, const Node *n)
{
    Arena *a = w->v->arena;
    Type *in = ARENA_ARRAY(a, Type, n->n_args + 1);
    Type out[MAX_RESULTS] = {0};
    int n_out = n->n_results;
    ShapeError err;
    for (int i = 0; i < n->n_args; i++)
        in[i] = n->args[i]->type;
    for (int i = 0; i < n->n_results && i < MAX_RESULTS; i++)
        out[i] = n->results[i]->type;
    if (n->op == OP_fused)
        n_out = 0; /* its results are its body's */
    if (!shape_infer(a, n->op, in, n->n_args, n->attrs, n->n_attrs, out, &n_out,
                     &err)) {
        verify_fault(w->v, "%s", err.text);
        return;
    }
    if (n->op == OP_fused)
        return;
    if (n_out != n->n_results) {
        verify_fault(w->v, "expected %d results, found %d", n_out,
                     n->n_results);
        return;
    }
    for (int i = 0; i < n_out; i++)
        if (!type_equal(&out[i], &n->results[i]->type))
            verify_fault(w->v, "expected %s, found %s", text_type(a, &out[i]),
                         text_type(a, &n->results[i]->type));
}

/* ---- tensors ---- */

static void
verify_tensor_type(Walk *w, const Node *n, const Type *t)
{
    if (!type_equal(t, &n->tensor->type))
        verify_fault(w->v, "%s is %s, found %s", n->tensor->name,
                     text_type(w->v->arena, &n->tensor->type),
                     text_type(w->v->arena, t));
}

static void
verify_write(Walk *w, const Node *n)
{
    TensorKind k = n->tensor->kind;
    bool back = (k == TENSOR_opt || k == TENSOR_param) &&
                n->args[0]->def->op == OP_offload;
    if (k != TENSOR_state && k != TENSOR_output && k != TENSOR_stash && !back)
        verify_fault(w->v, "%s tensors are not written", tensor_kind_name[k]);
    verify_tensor_type(w, n, &n->args[0]->type);
}

static void
verify_accumulate(Walk *w, const Node *n)
{
    Type t = n->args[0]->type;
    if (n->tensor->kind != TENSOR_grad)
        verify_fault(w->v, "only grad tensors are accumulated");
    t.dtype = n->tensor->type.dtype;
    verify_tensor_type(w, n, &t);
}

static void
verify_tensor_op(Walk *w, const Node *n)
{
    bool wants = op_info[n->op].flags & OP_TENSOR;
    if (wants != (n->tensor != NULL)) {
        verify_fault(w->v, wants ? "names no tensor" : "names a tensor");
        return;
    }
    if (!wants)
        return;
    if (module_tensor(w->v->m, n->tensor->name) != n->tensor)
        verify_fault(w->v, "%s is no tensor of the module", n->tensor->name);
    if (n->op == OP_read)
        verify_tensor_type(w, n, &n->results[0]->type);
    if (n->op == OP_write)
        verify_write(w, n);
    if (n->op == OP_accumulate)
        verify_accumulate(w, n);
    if (n->op == OP_count && n->tensor->kind != TENSOR_counter)
        verify_fault(w->v, "%s is no counter", n->tensor->name);
}

/* The optimizer's operands that change in place are reads of tensors, or
 * copies that were fetched of them. */
static void
verify_updated(Walk *w, const Node *n, int i, TensorKind kind)
{
    const Value *x = n->args[i];
    const Tensor *t = value_tensor(x);
    if (!t || t->kind != kind)
        verify_fault(w->v, "operand %s is no read of %s %s tensor", x->name,
                     kind == TENSOR_param ? "a" : "an", tensor_kind_name[kind]);
}

static void
verify_update(Walk *w, const Node *n)
{
    if (!(op_info[n->op].flags & OP_OPTIMIZER))
        return;
    for (int i = 0; i < n->n_args; i++)
        if (optimizer_changes(n, i))
            verify_updated(w, n, i, i == 0 ? TENSOR_param : TENSOR_opt);
}

/* ---- phases, spaces, attributes of the plan ---- */

/* A copy that the planner made, a read and a constant may stand where they
 * are wanted. */
static void
verify_phase(Walk *w, const Node *n)
{
    bool free_to_move = n->recomputed || n->op == OP_read ||
                        n->op == OP_const || n->op == OP_iota;
    if (n->phase < w->phase && !free_to_move)
        verify_fault(w->v, "phase %s after phase %s", phase_name[n->phase],
                     phase_name[w->phase]);
    if (n->phase > w->phase)
        w->phase = n->phase;
}

static bool
moves(Op op)
{
    return op == OP_offload || op == OP_fetch || op == OP_wait ||
           op == OP_read || op == OP_write;
}

static void
verify_copy(Walk *w, const Node *n)
{
    int queue = n->op == OP_fetch;
    if (n->graph->owner)
        verify_fault(w->v, "a group makes no copies");
    if (node_int(n, "queue", -1) != queue)
        verify_fault(w->v, "%s goes by queue %d", op_info[n->op].name, queue);
}

/* Until the copies are made and all is placed, a kernel reads a tensor where
 * it lies. */
static bool
is_reached(const Walk *w, const Value *x)
{
    return x->space == SPACE_device ||
           (x->def->op == OP_read && !verify_is_placed(w->v->m));
}

static void
verify_spaces(Walk *w, const Node *n)
{
    for (int i = 0; !moves(n->op) && i < n->n_args; i++)
        if (!is_reached(w, n->args[i]))
            verify_fault(w->v, "operand %s is not on the device",
                         n->args[i]->name);
    for (int i = 0; !moves(n->op) && i < n->n_results; i++)
        if (n->results[i]->space != SPACE_device)
            verify_fault(w->v, "only offload leaves the device");
    if (n->op == OP_offload && n->results[0]->space == SPACE_device)
        verify_fault(w->v, "offload goes to @host or @disk");
    if (n->op == OP_fetch && n->results[0]->space != SPACE_device)
        verify_fault(w->v, "fetch goes to the device");
    if (n->op == OP_fetch && n->args[0]->space == SPACE_device)
        verify_fault(w->v, "operand %s is on the device already",
                     n->args[0]->name);
    if (n->op == OP_offload && n->args[0]->space != SPACE_device)
        verify_fault(w->v, "operand %s is off the device already",
                     n->args[0]->name);
    if (n->op == OP_offload || n->op == OP_fetch)
        verify_copy(w, n);
}

static void
verify_plan(Walk *w, const Node *n)
{
    if (n->stage < 0)
        verify_fault(w->v, "stages count from 0");
    for (int i = 0; i < n->n_results; i++) {
        const Value *x = n->results[i];
        for (int k = x->type.rank; k < MAX_RANK; k++)
            if (x->sharding.group[k] >= 0)
                verify_fault(w->v,
                             "%s is sharded over an axis that it does "
                             "not have",
                             x->name);
    }
}

/* ---- groups ---- */

static void verify_nodes(Walk *w, Graph *g);

static bool
same_values(Value *const *a, int n_a, Value *const *b, int n_b)
{
    return n_a == n_b &&
           (n_a == 0 || memcmp(a, b, sizeof(Value *) * (size_t)n_a) == 0);
}

/* n_uses are right: the lists of the line against those of the body. */
static void
verify_lists(Verifier *v, Node *n)
{
    Value **args = n->args, **results = n->results;
    int n_args = n->n_args, n_results = n->n_results;
    verify_at(v, n);
    fused_refresh(n);
    if (!same_values(args, n_args, n->args, n->n_args))
        verify_fault(v, "its operands are not what its body reads");
    if (!same_values(results, n_results, n->results, n->n_results))
        verify_fault(v, "its results are not what others read of its body");
    n->args = args;
    n->results = results;
    n->n_args = n_args;
    n->n_results = n_results;
}

static void
verify_body(Walk *w, Node *n)
{
    if (n->graph->owner) {
        verify_fault(w->v, "a group in a group");
        return;
    }
    if (!n->body || n->body->owner != n || !n->body->first) {
        verify_fault(w->v, "a group needs a body");
        return;
    }
    Phase phase = w->phase;
    w->phase = PHASE_forward;
    verify_nodes(w, n->body);
    w->phase = phase;
}

/* ---- the walk ---- */

static void
verify_node(Walk *w, Node *n, const Node *prev)
{
    Graph *g = n->graph;
    verify_at(w->v, n);
    if (n->prev != prev || (n->next == NULL) != (g->last == n))
        verify_fault(w->v, "the list of nodes is broken");
    if (!verify_operands(w, n)) {
        if (n->op == OP_fused)
            verify_body(w, n);
        else
            verify_results(w, n);
        return;
    }
    verify_types(w, n);
    verify_phase(w, n);
    if (n->op == OP_fused) {
        verify_body(w, n);
        return;
    }
    if (n->body)
        verify_fault(w->v, "only a group has a body");
    verify_results(w, n);
    verify_plan(w, n);
    verify_spaces(w, n);
    int before = w->v->faults;
    verify_tensor_op(w, n);
    if (w->v->faults == before)
        verify_update(w, n);
}

static void
verify_nodes(Walk *w, Graph *g)
{
    const Node *prev = NULL;
    graph_each(g, n) {
        if (n->graph != g) {
            verify_at(w->v, n);
            verify_fault(w->v, "the node says that it is of another graph");
        }
        verify_node(w, n, prev);
        prev = n;
    }
}

static void
clear_marks(Graph *g)
{
    graph_each(g, n) {
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->mark = 0;
        if (n->body)
            clear_marks(n->body);
    }
}

void
verify_graph(Verifier *v, Graph *g)
{
    Walk w = {v, g, 1, PHASE_forward};
    int before = v->faults;
    clear_marks(g);
    verify_nodes(&w, g);
    clear_marks(g);
    if (v->faults != before)
        return;
    graph_count_uses(g);
    graph_each(g, n)
        if (n->body) {
            verify_lists(v, n);
            verify_group(v, n);
        }
}
