#include "ir/work.h"

#include "ir/optimizer.h"

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

/* How often rows are walked. */
static int
row_walks(const Node *n)
{
    switch ((int)n->op) {
    case OP_layernorm_grad:
        return 4;
    case OP_layernorm:
    case OP_rmsnorm_grad:
    case OP_softmax:
    case OP_log_softmax:
        return 3;
    case OP_rmsnorm:
    case OP_softmax_grad:
    case OP_log_softmax_grad:
    case OP_logsumexp:
        return 2;
    default:
        return 1;
    }
}

/* A gather or scatter walks what it takes, not its table. */
static double
table_elements(const Node *n)
{
    bool scatter = n->op == OP_embedding_grad || n->op == OP_take_grad ||
                   n->op == OP_take_along_grad;
    const Value *v = scatter ? n->args[0] : n->results[0];
    return (double)type_elements(&v->type);
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

static WorkClass
class_of(const Node *n)
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
        return WORK_function;
    case OP_dropout:
        return WORK_random;
    case OP_embedding:
    case OP_embedding_grad:
    case OP_take:
    case OP_take_grad:
    case OP_take_along:
    case OP_take_along_grad:
        return WORK_table;
    default:
        return op_info[n->op].flags & OP_ELEMENT ? WORK_element : WORK_row;
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
add_flops(Work *w, const Node *n, WorkClass class, double flops)
{
    w->amount[class] += flops;
    if (n->args[0]->type.dtype == DT_bf16)
        w->narrow[class] += flops;
}

/* q k' and its product with v, or the five products of the derivative; and an
 * exp for each pair. */
static void
add_attention(Work *w, const Node *n, double products)
{
    double pairs = attention_pairs(n);
    add_flops(w, n, WORK_attention, 2 * products * pairs * attention_width(n));
    w->amount[WORK_function] += pairs;
}

void
work_add(Work *w, const Node *n)
{
    if (n->op == OP_matmul)
        add_flops(w, n, WORK_product, product_flops(n));
    else if (n->op == OP_attention)
        add_attention(w, n, 2);
    else if (n->op == OP_attention_grad)
        add_attention(w, n, 5);
    else if (n->op == OP_opaque)
        w->ns += (double)node_int(n, "time", 0);
    else if (!is_free(n)) {
        WorkClass class = class_of(n);
        w->amount[class] += class == WORK_table ? table_elements(n)
                            : class == WORK_row ? row_walks(n) * elements(n)
                                                : elements(n);
    }
}

/* ---- kernels ---- */

static void
add_stores(Work *w, const Node *n)
{
    if (n->op == OP_accumulate)
        w->bytes += type_bytes(&n->tensor->type);
    if (op_info[n->op].flags & OP_OPTIMIZER) /* in place */
        for (int i = 0; i < n->n_args; i++)
            if (optimizer_changes(n, i))
                w->bytes += type_bytes(&n->args[i]->type);
}

static void
add_node(Work *w, const Node *n)
{
    if (n->body) {
        graph_each(n->body, inner)
            add_node(w, inner);
        return;
    }
    work_add(w, n);
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

Work
work_kernel(const Node *n)
{
    Work w = {0};
    if (!n->body && is_free(n) && n->op != OP_accumulate)
        return w;
    add_node(&w, n);
    for (int i = 0; i < n->n_args; i++)
        if (reads_whole(n, i))
            w.bytes += type_bytes(&n->args[i]->type);
    for (int i = 0; i < n->n_results; i++)
        w.bytes += type_bytes(&n->results[i]->type);
    if (n->body)
        w.chunked = chunk_bytes(n);
    w.bytes += w.chunked;
    return w;
}

bool
work_is_none(const Work *w)
{
    double most = w->ns + (double)w->bytes;
    for (int i = 0; i < WORK_COUNT; i++)
        most += w->amount[i];
    return most <= 0;
}

double
work_operations(const Work *w)
{
    double sum = 0;
    for (int i = 0; i < WORK_COUNT; i++)
        sum += w->amount[i];
    return sum;
}

/* ---- names ---- */

const char *
work_name(const Node *n)
{
    if (n->body && n->n_results == 0)
        return n->body->last ? work_name(n->body->last) : "";
    if (n->n_results > 0)
        return n->results[n->n_results - 1]->name;
    if (n->tensor)
        return n->tensor->name;
    return n->n_args > 0 ? n->args[0]->name : op_info[n->op].name;
}
