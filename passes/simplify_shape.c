/* Rules of ops that move elements, of reductions and products. */
#include "passes/simplify.h"

static bool
same_shape(const Type *a, const Type *b)
{
    Type t = *b;
    t.dtype = a->dtype;
    return type_equal(a, &t);
}

/* The operand of n now is v. */
static bool
read_instead(Node *n, Value *v)
{
    node_become(n, n->op, &v, 1, n->attrs, n->n_attrs);
    return true;
}

static bool
become_reshape(Node *n)
{
    const Type *t = &n->results[0]->type;
    Attr a = attr_ints("shape", t->dim, t->rank);
    node_become(n, OP_reshape, n->args, 1, &a, 1);
    return true;
}

/* reshape a to its shape => a;  reshape reshape a => reshape a */
bool
simplify_reshape(Node *n)
{
    if (simplify_put(n, n->args[0]))
        return true;
    Node *inner = simplify_made_by(n->args[0], OP_reshape);
    return inner && read_instead(n, inner->args[0]);
}

/* b is a with axes of size 1 put before it. */
static bool
only_grows(const Type *a, const Type *b)
{
    Type t = *b;
    int extra = b->rank - a->rank;
    for (int i = 0; i < extra; i++)
        if (b->dim[i] != 1)
            return false;
    if (extra < 0)
        return false;
    t.rank = a->rank;
    for (int i = 0; i < a->rank; i++)
        t.dim[i] = b->dim[extra + i];
    return same_shape(a, &t);
}

/* broadcast a to its shape => a;  broadcast broadcast a => broadcast a;
 * broadcast (reshape a : [1, .., a's shape]) => broadcast a */
bool
simplify_broadcast(Node *n)
{
    Value *a = n->args[0];
    if (simplify_put(n, a))
        return true;
    Node *inner = simplify_made_by(a, OP_broadcast);
    if (inner)
        return read_instead(n, inner->args[0]);
    inner = simplify_made_by(a, OP_reshape);
    return inner && only_grows(&inner->args[0]->type, &a->type) &&
           read_instead(n, inner->args[0]);
}

/* The axes that are longer than 1 keep their order. */
static bool
moves_nothing(const Type *x, const int64_t *perm)
{
    int64_t last = -1;
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static bool
swaps_last_two(const Node *n)
{
    const int64_t *perm = simplify_list(n, "perm");
    int r = n->args[0]->type.rank;
    for (int i = 0; i < r - 2; i++)
        if (perm[i] != i)
            return false;
    return r >= 2 && perm[r - 2] == r - 1 && perm[r - 1] == r - 2;
}

static int
flags(Attr *attrs, bool ta, bool tb)
{
    int n = 0;
    if (ta)
        attrs[n++] = attr_bool("ta", true);
    if (tb)
        attrs[n++] = attr_bool("tb", true);
    return n;
}

/* (a @ b)' => b' @ a': each element is the same chain of products. */
static bool
transpose_product(Node *n)
{
    Node *p = simplify_made_by(n->args[0], OP_matmul);
    if (!p || p->results[0]->n_uses > 1 || !swaps_last_two(n))
        return false;
    Attr attrs[2];
    int k = flags(attrs, !node_flag(p, "tb"), !node_flag(p, "ta"));
    Value *args[] = {p->args[1], p->args[0]};
    node_become(n, OP_matmul, args, 2, attrs, k);
    return true;
}

/* Of nothing but axes of size 1 => reshape a;  transpose transpose a =>
 * transpose a;  (a @ b)' => b' @ a' */
bool
simplify_transpose(Node *n)
{
    const int64_t *perm = simplify_list(n, "perm");
    Value *a = n->args[0];
    if (moves_nothing(&a->type, perm))
        return become_reshape(n);
    Node *inner = simplify_made_by(a, OP_transpose);
    if (!inner)
        return transpose_product(n);
    const int64_t *first = simplify_list(inner, "perm");
    int64_t both[MAX_RANK];
    for (int i = 0; i < a->type.rank; i++)
        both[i] = first[perm[i]];
    Attr attr = attr_ints("perm", both, a->type.rank);
    node_become(n, OP_transpose, inner->args, 1, &attr, 1);
    return true;
}

/* a' @ b with an explicit transpose => the product's own flag */
bool
simplify_matmul(Node *n)
{
    bool t[] = {node_flag(n, "ta"), node_flag(n, "tb")};
    Value *args[] = {n->args[0], n->args[1]};
    bool changed = false;
    for (int i = 0; i < 2; i++) {
        Node *inner = simplify_made_by(args[i], OP_transpose);
        if (!inner || !swaps_last_two(inner))
            continue;
        args[i] = inner->args[0];
        t[i] = !t[i];
        changed = true;
    }
    Attr attrs[2];
    if (changed)
        node_become(n, OP_matmul, args, 2, attrs, flags(attrs, t[0], t[1]));
    return changed;
}

static bool
all_positive(const int64_t *step, int n)
{
    for (int i = 0; i < n; i++)
        if (step[i] < 1)
            return false;
    return true;
}

/* slice slice a => slice a, when both go upwards */
static bool
merge_slices(Node *n, Node *inner)
{
    int r = n->args[0]->type.rank;
    const int64_t *start = simplify_list(n, "start");
    const int64_t *step = simplify_list(n, "step");
    const int64_t *inner_start = simplify_list(inner, "start");
    const int64_t *inner_step = simplify_list(inner, "step");
    if (!all_positive(step, r) || !all_positive(inner_step, r))
        return false;
    int64_t from[MAX_RANK], to[MAX_RANK], by[MAX_RANK];
    for (int i = 0; i < r; i++) {
        int64_t count = n->results[0]->type.dim[i];
        from[i] = inner_start[i] + start[i] * inner_step[i];
        by[i] = count == 1 ? 1 : step[i] * inner_step[i];
        to[i] = from[i] + (count - 1) * by[i] + 1;
    }
    Attr attrs[] = {attr_ints("start", from, r), attr_ints("stop", to, r),
                    attr_ints("step", by, r)};
    node_become(n, OP_slice, inner->args, 1, attrs, 3);
    return true;
}

/* slice of everything => a;  slice slice a => slice a */
bool
simplify_slice(Node *n)
{
    Value *a = n->args[0];
    if (all_positive(simplify_list(n, "step"), a->type.rank) &&
        simplify_put(n, a))
        return true;
    Node *inner = simplify_made_by(a, OP_slice);
    return inner && merge_slices(n, inner);
}

/* pad by nothing => a */
bool
simplify_pad(Node *n)
{
    return simplify_put(n, n->args[0]);
}

/* Over axes of size 1 (or none) => reshape a */
bool
simplify_reduce(Node *n)
{
    const Attr *axes = node_attr(n, "axes");
    for (int64_t i = 0; i < axes->i; i++)
        if (n->args[0]->type.dim[axes->list[i]] != 1)
            return false;
    return become_reshape(n);
}
