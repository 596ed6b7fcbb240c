/* Groups a model's head with its loss, so that logits exist for one chunk of
 * rows at a time; a bias may be added to them:
 *
 *     product = matmul x, w                   x2, targets2 = reshape
 *     logits = add product, bias              loss, lse, valid, dx2 = fused
 *     loss, lse, valid =                          (kind = head, chunk = 256) {
 *         cross_entropy logits, targets  =>       matmul, add, cross_entropy,
 *     dlogits = cross_entropy_grad ...            cross_entropy_grad,
 *     dbias = reduce_sum dlogits                  reduce_sum, accumulate,
 *     accumulate bias.grad = dbias                matmul, matmul,
 *     dx = matmul dlogits, w                      accumulate }
 *     dw = matmul x, dlogits                  dx = reshape dx2
 *     accumulate w.grad = dw
 *
 * In training that needs a constant dloss: then the gradients follow from the
 * forward pass alone, and are made in it. A tied weight's other gradient is
 * accumulated by itself, later. */
#include "passes/pass.h"
#include "passes/precision.h"

/* The weight is read three times and its gradient written once a chunk, so
 * chunks are as large as memory takes easily. */
enum { CHUNK_BYTES = 64 << 20, DEVICE_BYTES = 256 << 20, LEAST_ROWS = 64 };

typedef struct Head {
    Module *m;
    Graph *g;
    Node *product, *loss, *dlogits, *dx, *dw;
    Node *biased;     /* the add of the bias, or NULL: the product is all */
    Tensor *bias;
    Value *logits;    /* what the loss reads */
    Node *dbias, *accumulate_bias;
    Node *add;        /* of dw and the other gradient of a tied weight */
    Node *accumulate; /* of dw, or of add */
    Value *x, *w, *dx_rows;
    Value *w_read; /* w, or its cast to bf16 */
    int64_t rows, inner, classes;
    bool tb;
} Head;

typedef struct Users {
    VEC(Node *) at;
} Users;

/* ---- who reads what (Value.note) ---- */

static void
find_users(Arena *a, Graph *g)
{
    graph_each(g, n)
        for (int i = 0; i < n->n_results; i++)
            n->results[i]->note = ARENA_NEW(a, Users);
    graph_each(g, n)
        for (int i = 0; i < n->n_args; i++) {
            Users *u = n->args[i]->note;
            vec_push(a, &u->at, n);
        }
}

static const Users *
users(const Value *v)
{
    return v->note;
}

static Node *
only_user(const Value *v)
{
    return users(v)->at.n == 1 ? users(v)->at.at[0] : NULL;
}

/* ---- matching ---- */

/* What v is a cast of, to bf16; else v. */
static Value *
unrounded(Value *v)
{
    const Node *n = v->def;
    bool rounds = n->op == OP_cast && v->type.dtype == DT_bf16 &&
                  n->args[0]->type.dtype == DT_f32;
    return rounds ? n->args[0] : v;
}

/* v, or what it is a reshape of. */
static Value *
unshaped(Value *v)
{
    while (v->def->op == OP_reshape)
        v = v->def->args[0];
    return v;
}

/* The operand of an add that is added to every row of the other. */
static bool
is_bias(const Value *v, const Value *product)
{
    const Type *t = &product->type;
    return v->type.rank == 1 && v->type.dim[0] == t->dim[t->rank - 1] &&
           v->def->op == OP_read;
}

static Node *
match_bias(Head *h, Node *n)
{
    for (int i = 0; n->op == OP_add && i < 2; i++) {
        Value *product = n->args[i];
        if (product->def->op != OP_matmul || only_user(product) != n ||
            !is_bias(n->args[1 - i], product))
            continue;
        h->biased = n;
        h->bias = n->args[1 - i]->def->tensor;
        return product->def;
    }
    return n;
}

static bool
match_forward(Head *h, Node *loss)
{
    Value *v = loss->args[0];
    if (strcmp(node_word(loss, "reduction", ""), "none") == 0 ||
        v->type.dtype != DT_f32)
        return false;
    Node *n = match_bias(h, v->def);
    if (n->op != OP_matmul || n->args[0]->type.dtype == DT_f16)
        return false;
    h->x = n->args[0];
    h->w_read = n->args[1];
    h->w = unrounded(h->w_read);
    h->tb = node_flag(n, "tb");
    if (node_flag(n, "ta") || h->w->type.rank != 2)
        return false;
    h->product = n;
    h->logits = v;
    h->loss = loss;
    h->classes = v->type.dim[v->type.rank - 1];
    h->rows = type_elements(&v->type) / h->classes;
    h->inner = h->x->type.dim[h->x->type.rank - 1];
    return h->w->def->op == OP_read;
}

/* lse and valid are read by the gradient alone; the loss by anything. */
static bool
match_readers(Head *h)
{
    const Users *u = users(h->logits);
    for (int i = 0; i < u->at.n; i++) {
        Node *n = u->at.at[i];
        if (n == h->loss)
            continue;
        if (n->op != OP_cross_entropy_grad || h->dlogits ||
            n->args[1] != h->logits ||
            n->args[2] != h->loss->args[1])
            return false;
        h->dlogits = n;
    }
    for (int r = 1; r < 3; r++) {
        u = users(h->loss->results[r]);
        for (int i = 0; i < u->at.n; i++)
            if (r == 1 && u->at.at[i] != h->dlogits)
                return false;
    }
    return true;
}

static bool
is_dx(const Head *h, const Node *n, const Value *d)
{
    return n->args[0] == d && unrounded(n->args[1]) == h->w &&
           !node_flag(n, "ta") &&
           node_flag(n, "tb") != h->tb;
}

/* x' @ dlogits, or dlogits' @ x for a weight that is read transposed. */
static bool
is_dw(const Head *h, const Node *n, const Value *d)
{
    int at = h->tb ? 0 : 1;
    return n->args[at] == d && unshaped(n->args[1 - at]) == unshaped(h->x) &&
           n->results[0]->type.rank == 2 && node_flag(n, "ta") &&
           !node_flag(n, "tb") && type_equal(&n->results[0]->type, &h->w->type);
}

static bool
is_dbias(const Head *h, const Node *n)
{
    const Node *to = n->op == OP_reduce_sum ? only_user(n->results[0]) : NULL;
    return h->bias && to && to->op == OP_accumulate &&
           to->tensor->owner == h->bias && !node_flag(to, "more");
}

static bool
match_gradients(Head *h, const Value *d)
{
    const Users *u = users(d);
    for (int i = 0; i < u->at.n; i++) {
        Node *n = u->at.at[i];
        if (n->n_results == 0)
            return false;
        if (n->op == OP_reshape || unrounded(n->results[0]) == d) {
            if (!match_gradients(h, n->results[0]))
                return false;
        } else if (!h->dbias && is_dbias(h, n)) {
            h->dbias = n;
            h->accumulate_bias = only_user(n->results[0]);
        } else if (n->op != OP_matmul) {
            return false;
        } else if (!h->dx && is_dx(h, n, d)) {
            h->dx = n;
        } else if (!h->dw && is_dw(h, n, d)) {
            h->dw = n;
        } else {
            return false;
        }
    }
    return true;
}

/* dw goes straight into its tensor, or is one of two terms of the sum. */
static bool
match_accumulate(Head *h)
{
    if (!h->dw)
        return true;
    Node *n = only_user(h->dw->results[0]);
    if (n && n->op == OP_add &&
        type_equal(&n->args[0]->type, &n->args[1]->type)) {
        h->add = n;
        n = only_user(n->results[0]);
    }
    h->accumulate = n;
    return n && n->op == OP_accumulate && !node_flag(n, "more");
}

static bool
match(Head *h, Node *loss)
{
    if (!match_forward(h, loss) || !match_readers(h))
        return false;
    if (!h->dlogits)
        return true;
    return h->dlogits->args[0]->def->op == OP_const &&
           h->dlogits->args[0]->type.rank == 0 &&
           match_gradients(h, h->dlogits->results[0]) && match_accumulate(h);
}

/* ---- rewriting ---- */

static Value *
reshape(Head *h, Value *v, int rank, const int64_t *dims, const char *name)
{
    Attr a = attr_ints("shape", dims, rank);
    if (v->type.rank == rank)
        return v;
    return graph_add(h->g, OP_reshape, name, &v, 1, &a, 1)->results[0];
}

/* `to` is read, and named, instead of `from`: once graph_forward has run. */
static void
take_over(Graph *g, Value *from, Value *to)
{
    const char *name = from->name;
    value_rename(from, graph_derive(g, name, "whole"));
    value_rename(to, name);
    value_forward(from, to);
}

static Node *
copy_of(Head *h, Node *n, Value *a, Value *b)
{
    Value *args[] = {a, b};
    return graph_add(h->g, n->op, n->results[0]->name, args, 2, n->attrs,
                     n->n_attrs);
}

typedef struct Parts {
    Node *nodes[12];
    int n;
} Parts;

static Node *
part(Parts *p, Node *n)
{
    p->nodes[p->n++] = n;
    return n;
}

/* The C target rounds the weight as it packs it. */
static bool
rounds_itself(const Head *h)
{
    return h->w_read != h->w && !precision_shares_casts(h->m);
}

static Value *
make_biased(Head *h, Parts *p, Value *product)
{
    Value *args[2] = {h->biased->args[0], h->biased->args[1]};
    args[args[0] != h->product->results[0]] = product;
    Value *logits = part(p, copy_of(h, h->biased, args[0], args[1]))->results[0];
    take_over(h->g, h->logits, logits);
    return logits;
}

static void
make_forward(Head *h, Parts *p, Value *x, Value *targets)
{
    if (rounds_itself(h))
        h->w_read = part(p, precision_round(h->g, h->w))->results[0];
    Value *logits =
        part(p, copy_of(h, h->product, x, h->w_read))->results[0];
    take_over(h->g, h->product->results[0], logits);
    if (h->biased)
        logits = make_biased(h, p, logits);
    Node *loss = part(p, copy_of(h, h->loss, logits, targets));
    for (int i = 0; i < h->loss->n_results; i++)
        take_over(h->g, h->loss->results[i], loss->results[i]);
}

static void
make_dx(Head *h, Parts *p, Value *d)
{
    Value *whole = h->dx->results[0];
    Value *rows = part(p, copy_of(h, h->dx, d, h->w_read))->results[0];
    h->dx_rows = rows;
    if (whole->type.rank == 2)
        take_over(h->g, whole, rows);
    else
        value_rename(rows, graph_derive(h->g, whole->name, "rows"));
}

/* After all parts, which become one node. */
static void
reshape_dx(Head *h)
{
    if (!h->dx || h->dx->results[0]->type.rank == 2)
        return;
    Value *whole = h->dx->results[0];
    take_over(
        h->g, whole,
        reshape(h, h->dx_rows, whole->type.rank, whole->type.dim, whole->name));
}

static void
make_dw(Head *h, Parts *p, Value *x, Value *d)
{
    Node *dw = part(p, copy_of(h, h->dw, h->tb ? d : x, h->tb ? x : d));
    Node *sum =
        graph_write(h->g, OP_accumulate, h->accumulate->tensor, dw->results[0]);
    part(p, sum);
    if (!h->add) {
        node_remove(h->accumulate);
        return;
    }
    Value **terms = h->add->args;
    node_set_arg(h->accumulate, 0, terms[terms[0] == h->dw->results[0]]);
    node_set_attr(h->accumulate, attr_bool("more", true));
}

static void
make_dbias(Head *h, Parts *p, Value *d)
{
    static const int64_t rows[1] = {0};
    Attr attrs[] = {attr_ints("axes", rows, 1), attr_bool("keep", false)};
    Value *old = h->dbias->results[0];
    Value *sum = part(p, graph_add(h->g, OP_reduce_sum, old->name, &d, 1, attrs,
                                   2))->results[0];
    take_over(h->g, old, sum);
    part(p, graph_write(h->g, OP_accumulate, h->accumulate_bias->tensor, sum));
    node_remove(h->accumulate_bias);
}

static void
make_backward(Head *h, Parts *p, Value *x, Value *targets)
{
    Node *loss = p->nodes[p->n - 1], *logits = p->nodes[p->n - 2];
    Value *old = h->dlogits->args[0];
    double value = node_float(old->def, "value", 1);
    Value *dloss = graph_const(h->g, old->name, &old->type, value);
    Value *args[] = {dloss, logits->results[0], targets, loss->results[1],
                     loss->results[2]};
    const char *name = h->dlogits->results[0]->name;
    Value *d = part(p, graph_add(h->g, OP_cross_entropy_grad, name, args, 5,
                                 h->dlogits->attrs, h->dlogits->n_attrs))
                   ->results[0];
    take_over(h->g, h->dlogits->results[0], d);
    if (h->dbias)
        make_dbias(h, p, d);
    if (h->w_read != h->w)
        d = part(p, precision_round(h->g, d))->results[0];
    if (h->dx)
        make_dx(h, p, d);
    if (h->dw)
        make_dw(h, p, x, d);
}

static int64_t
chunk_rows(const Head *h)
{
    int64_t rows = LEAST_ROWS;
    bool device = module_option_is(h->m, "target", "cuda");
    int64_t most = device ? DEVICE_BYTES : CHUNK_BYTES;
    while (rows < h->rows && 8 * rows * h->classes <= most)
        rows *= 2;
    return rows < h->rows ? rows : h->rows;
}

static void
rewrite(Head *h)
{
    Parts p = {0};
    Graph *g = h->g;
    Node *at = h->loss;
    g->at = at;
    g->context = (Context){at->phase, at->stage, at->block, at->loc};
    int64_t two[] = {h->rows, h->inner};
    Value *x = reshape(h, h->x, 2, two, graph_derive(g, h->x->name, "rows"));
    Value *t = h->loss->args[1];
    t = reshape(h, t, 1, two, graph_derive(g, t->name, "rows"));
    make_forward(h, &p, x, t);
    if (h->dlogits)
        make_backward(h, &p, x, t);
    reshape_dx(h);
    g->at = NULL;
    graph_forward(g);
    pass_dce(h->m); /* what was rewritten is not read any more */
    graph_count_uses(g);
    Node *fused = graph_fuse(g, p.nodes, p.n, "head");
    node_set_attr(fused, attr_int("chunk", chunk_rows(h)));
}

static void
find_head(Module *m, Graph *g, Node *const *losses, int n)
{
    for (int i = 0; i < n; i++) {
        Head h = {.m = m, .g = g};
        if (!match(&h, losses[i]))
            continue;
        rewrite(&h);
        return;
    }
}

bool
pass_head(Module *m)
{
    for (int i = 0; i < m->graphs.n; i++) {
        Graph *g = m->graphs.at[i];
        Arena *a = arena_new();
        VEC(Node *) losses = {0};
        graph_each(g, n)
            if (n->op == OP_cross_entropy)
                vec_push(a, &losses, n);
        if (losses.n > 0) {
            pass_dce(m); /* every reader that is found counts */
            find_users(a, g);
            find_head(m, g, losses.at, losses.n);
            graph_forget_notes(g);
        }
        arena_free(a);
    }
    return true;
}
