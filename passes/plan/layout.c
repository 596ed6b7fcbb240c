#include "passes/plan/layout.h"

/* Axes from..to of a shape, of size other than 1, and their strides. */
typedef struct Axes {
    int n;
    int64_t dim[MAX_RANK], stride[MAX_RANK];
} Axes;

static Axes
real_axes(const Type *t, const Layout *l)
{
    Axes a = {0};
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] == 1)
            continue;
        a.dim[a.n] = t->dim[i];
        a.stride[a.n++] = l->stride[i];
    }
    return a;
}

/* Axes first .. end - 1 walk like one. */
static bool
is_one_walk(const Axes *a, int first, int end)
{
    for (int i = first; i + 1 < end; i++)
        if (a->stride[i] != a->dim[i + 1] * a->stride[i + 1])
            return false;
    return true;
}

/* Runs of old axes and of new ones that hold equally many elements go
 * together; an old run must be one walk, the new run cuts it anew. */
bool
layout_reshape(const Type *from, const Layout *l, const Type *to, Layout *out)
{
    if (l->tile[0])
        return false;
    Axes old = real_axes(from, l);
    Layout dense = layout_dense(to);
    dense.offset = l->offset;
    *out = dense;
    int o = 0, n = 0;
    while (o < old.n) {
        int o_end = o + 1, n_end = n + 1;
        int64_t os = old.dim[o], ns = to->dim[n];
        while (os != ns) {
            if (os < ns)
                os *= old.dim[o_end++];
            else
                ns *= to->dim[n_end++];
        }
        if (!is_one_walk(&old, o, o_end))
            return false;
        int64_t stride = old.stride[o_end - 1];
        for (int k = n_end - 1; k >= n; k--) {
            out->stride[k] = stride;
            stride *= to->dim[k];
        }
        o = o_end;
        n = n_end;
    }
    return true;
}

static Layout
transposed(const Node *n, const Layout *l, bool back)
{
    const Attr *perm = node_attr(n, "perm");
    Layout out = *l;
    for (int i = 0; i < perm->i; i++) {
        int from = (int)perm->list[i];
        if (back)
            out.stride[from] = l->stride[i];
        else
            out.stride[i] = l->stride[from];
    }
    return out;
}

static Layout
broadcasted(const Node *n, const Layout *l)
{
    const Type *from = &n->args[0]->type, *to = &n->results[0]->type;
    Layout out = *l;
    int lead = to->rank - from->rank;
    for (int i = 0; i < to->rank; i++) {
        int k = i - lead;
        bool same = k >= 0 && from->dim[k] == to->dim[i];
        out.stride[i] = same ? l->stride[k] : 0;
    }
    return out;
}

static Layout
sliced(const Node *n, const Layout *l)
{
    const Attr *start = node_attr(n, "start"), *step = node_attr(n, "step");
    Layout out = *l;
    for (int i = 0; i < n->args[0]->type.rank; i++) {
        out.offset += start->list[i] * l->stride[i];
        out.stride[i] = step->list[i] * l->stride[i];
    }
    return out;
}

static Layout
split(const Node *n, int r, const Layout *l)
{
    const Attr *sizes = node_attr(n, "sizes");
    int64_t axis = node_int(n, "axis", 0);
    if (axis < 0)
        axis += n->args[0]->type.rank;
    Layout out = *l;
    for (int i = 0; i < r; i++)
        out.offset += sizes->list[i] * l->stride[axis];
    return out;
}

bool
layout_of_view(const Node *n, int r, const Layout *l, Layout *out)
{
    if (l->tile[0])
        return false;
    switch ((int)n->op) {
    case OP_reshape:
        return layout_reshape(&n->args[0]->type, l, &n->results[0]->type, out);
    case OP_transpose:
        *out = transposed(n, l, false);
        break;
    case OP_broadcast:
        *out = broadcasted(n, l);
        break;
    case OP_slice:
        *out = sliced(n, l);
        break;
    case OP_split:
        *out = split(n, r, l);
        break;
    default:
        return false;
    }
    out->pad = 0;
    return true;
}

bool
layout_before_view(const Node *n, const Layout *l, Layout *out)
{
    if (n->op == OP_reshape)
        return layout_reshape(&n->results[0]->type, l, &n->args[0]->type, out);
    if (n->op != OP_transpose)
        return false;
    *out = transposed(n, l, true);
    return true;
}

bool
layout_inner_is_one(const Type *t, const Layout *l)
{
    return t->rank == 0 || t->dim[t->rank - 1] == 1 ||
           l->stride[t->rank - 1] == 1;
}
