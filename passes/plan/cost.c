#include "passes/plan/cost.h"

static const double MOST_NS = 1e15; /* sums of them stay in 64 bits */

/* ---- the work of one node ---- */

static double
elements(const Node *n)
{
    const Value *v = n->n_results ? n->results[0]
                     : n->n_args  ? n->args[0]
                                  : NULL;
    double most = v ? (double)type_elements(&v->type) : 0;
    for (int i = 0; i < n->n_args; i++) {
        double x = (double)type_elements(&n->args[i]->type);
        most = x > most ? x : most;
    }
    return most;
}

static double
product_flops(const Node *n)
{
    const Type *a = &n->args[0]->type;
    int64_t k = a->dim[a->rank - (node_flag(n, "ta") ? 2 : 1)];
    return 2.0 * (double)k * (double)type_elements(&n->results[0]->type);
}

/* Queries times keys that are not masked by order. */
static double
attention_pairs(const Node *n)
{
    bool grad = n->op == OP_attention_grad;
    const Type *q = &n->args[grad]->type, *k = &n->args[grad + 1]->type;
    double rows = (double)type_elements(q) / (double)q->dim[q->rank - 1];
    return rows * (double)k->dim[k->rank - 2] *
           (node_flag(n, "causal") ? 0.5 : 1);
}

static double
attention_width(const Node *n)
{
    const Type *q = &n->args[n->op == OP_attention_grad]->type;
    return (double)q->dim[q->rank - 1];
}

static Rate
rate_of(const Node *n)
{
    switch ((int)n->op) {
    case OP_exp:
    case OP_log:
    case OP_log1p:
    case OP_sin:
    case OP_cos:
    case OP_tanh:
    case OP_sigmoid:
    case OP_erf:
    case OP_softplus:
    case OP_silu:
    case OP_gelu_tanh:
    case OP_gelu_erf:
    case OP_silu_slope:
    case OP_gelu_tanh_slope:
    case OP_gelu_erf_slope:
    case OP_pow:
    case OP_pow_grad_base:
    case OP_pow_grad_exp:
    case OP_bce_with_logits:
    case OP_rope:
    case OP_cross_entropy:
    case OP_cross_entropy_grad:
        return RATE_function;
    case OP_dropout:
        return RATE_random;
    case OP_embedding:
    case OP_embedding_grad:
    case OP_take:
    case OP_take_grad:
    case OP_take_along:
    case OP_take_along_grad:
        return RATE_table;
    default:
        return op_info[n->op].flags & OP_ELEMENT ? RATE_element : RATE_row;
    }
}

static bool
is_free(const Node *n)
{
    return (op_info[n->op].flags & (OP_VIEW | OP_TENSOR)) ||
           n->op == OP_const || n->op == OP_iota || n->op == OP_concat ||
           n->op == OP_offload || n->op == OP_fetch || n->op == OP_wait;
}

static void
add(Work *w, const Node *n, Rate rate, double work)
{
    w->ns += machine_work_ns(machine_of(n->graph->module), rate, work);
}

/* q k' and its product with v, or the five products of the derivative; and an
 * exp for each pair. */
static void
add_attention(Work *w, const Node *n, double products)
{
    double pairs = attention_pairs(n);
    add(w, n, RATE_attention, 2 * products * pairs * attention_width(n));
    add(w, n, RATE_function, pairs);
}

void
cost_add(Work *w, const Node *n)
{
    if (n->op == OP_matmul)
        add(w, n, RATE_product, product_flops(n));
    else if (n->op == OP_attention)
        add_attention(w, n, 2);
    else if (n->op == OP_attention_grad)
        add_attention(w, n, 5);
    else if (n->op == OP_opaque)
        w->ns += (double)node_int(n, "time", 0);
    else if (!is_free(n))
        add(w, n, rate_of(n), elements(n));
}

/* ---- kernels ---- */

int64_t
cost_ns(const Work *w, const Machine *k)
{
    double memory = (double)w->bytes / k->device_memory;
    double most = memory > w->ns ? memory : w->ns;
    double least = memory > w->ns ? w->ns : memory;
    double ns = most + least * k->device_shown + k->device_start_ns;
    if (most <= 0)
        return 0;
    return ns < MOST_NS ? (int64_t)ns : (int64_t)MOST_NS;
}

static void
add_stores(Work *w, const Node *n)
{
    if (n->op == OP_accumulate)
        w->bytes += type_bytes(&n->tensor->type);
    if (n->op == OP_adamw || n->op == OP_sgd) /* in place */
        w->bytes += (n->op == OP_adamw ? 3 : 1) * type_bytes(&n->args[0]->type);
}

static void
add_node(Work *w, const Node *n)
{
    if (n->body) {
        graph_each(n->body, inner)
            add_node(w, inner);
        return;
    }
    cost_add(w, n);
    add_stores(w, n);
}

/* A gather reads the rows that it takes, not its table. */
static bool
reads_whole(const Node *n, int i)
{
    return !(i == 0 && (n->op == OP_embedding || n->op == OP_take));
}

/* Every chunk of a head walks the weight once a product, and its gradient. */
static int64_t
chunk_bytes(const Node *n)
{
    int64_t chunk = node_int(n, "chunk", 0), passes = 0, weight = 0, rows = 0;
    graph_each(n->body, inner) {
        passes += inner->op == OP_matmul || inner->op == OP_accumulate;
        if (inner->op != OP_cross_entropy)
            continue;
        const Node *product = inner->args[0]->def;
        rows = type_elements(&inner->args[1]->type);
        if (product->op == OP_matmul)
            weight = type_bytes(&product->args[1]->type);
    }
    return chunk > 0 ? (rows + chunk - 1) / chunk * passes * weight : 0;
}

int64_t
cost_kernel(const Node *n)
{
    Work w = {0};
    if (!n->body && is_free(n) && n->op != OP_accumulate)
        return 0;
    add_node(&w, n);
    for (int i = 0; i < n->n_args; i++)
        if (reads_whole(n, i))
            w.bytes += type_bytes(&n->args[i]->type);
    for (int i = 0; i < n->n_results; i++)
        w.bytes += type_bytes(&n->results[i]->type);
    if (n->body)
        w.bytes += chunk_bytes(n);
    return cost_ns(&w, machine_of(n->graph->module));
}

int64_t
cost_graph(const Graph *g)
{
    int64_t ns = 0;
    graph_each(g, n)
        ns += cost_kernel(n);
    return ns;
}

static int64_t
cost_action(const Action *x)
{
    if (x->kind == ACTION_call)
        return cost_graph(x->graph);
    int64_t ns = 0;
    for (int i = 0; i < x->body.n; i++)
        ns += cost_action(x->body.at[i]);
    return ns * (x->hi - x->lo);
}

int64_t
cost_program(const Module *m, const char *name)
{
    int64_t ns = 0;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (strcmp(p->name, name) != 0)
            continue;
        for (int k = 0; k < p->actions.n; k++)
            ns += cost_action(p->actions.at[k]);
    }
    return ns;
}
