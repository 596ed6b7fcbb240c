#include "ir/extent.h"

/* ---- ranges ---- */

/* *sum += a * b, or false where int64 does not hold it. */
static bool
add_product(int64_t *sum, int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    if (y && x > (uint64_t)INT64_MAX / y)
        return false;
    int64_t p = (int64_t)(x * y);
    if ((a < 0) != (b < 0))
        p = -p;
    if (p > 0 ? *sum > INT64_MAX - p : *sum < INT64_MIN - p)
        return false;
    *sum += p;
    return true;
}

bool
extent_range(const Type *t, const Layout *l, int64_t *first, int64_t *last)
{
    int64_t bits = dtype_info[t->dtype].bits, lo = 0, hi = bits - 1;
    int64_t offset = 0;
    if (!add_product(&offset, l->offset, bits))
        return false;
    for (int i = 0; i < t->rank; i++) {
        int64_t span = 0;
        if (!add_product(&span, t->dim[i] - 1, l->stride[i]) ||
            !add_product(span < 0 ? &lo : &hi, span, bits))
            return false;
    }
    *first = offset;
    *last = offset;
    return add_product(first, lo, 1) && add_product(last, hi, 1) && *first >= 0;
}

int64_t
extent_bytes(const Type *t, const Layout *l)
{
    int64_t first, last;
    if (!extent_range(t, l, &first, &last) || last > INT64_MAX - 8)
        return -1;
    int64_t bytes = last / 8 + 1;
    return l->pad >= 0 && bytes <= INT64_MAX - l->pad ? bytes + l->pad : -1;
}

/* ---- two values of one home ---- */

static int64_t
step(const Type *t, const Layout *l, int axis)
{
    if (t->dim[axis] == 1)
        return 0;
    int64_t s = l->stride[axis] * dtype_info[t->dtype].bits;
    return s < 0 ? -s : s;
}

/* Modulo `row`, from `origin` on, the value covers [*at, *at + *n): axes that
 * step by whole rows do not matter, the others stay inside a row. */
static bool
columns(const Type *t, const Layout *l, int64_t row, int64_t origin,
        int64_t *at, int64_t *n)
{
    int64_t first, last;
    extent_range(t, l, &first, &last);
    *n = dtype_info[t->dtype].bits;
    for (int i = 0; i < t->rank; i++) {
        int64_t s = step(t, l, i);
        if (s % row == 0)
            continue;
        if (s > row)
            return false;
        *n += (t->dim[i] - 1) * s;
    }
    *at = ((first - origin) % row + row) % row;
    return *at + *n <= row;
}

static bool
apart(const Type *a, const Layout *la, const Type *b, const Layout *lb,
      int64_t row)
{
    int64_t x, y, n, m, a0, a1;
    extent_range(a, la, &a0, &a1);
    return row > 0 && columns(a, la, row, a0, &x, &n) &&
           columns(b, lb, row, a0, &y, &m) && (x + n <= y || y + m <= x);
}

bool
extent_disjoint(const Type *a, const Layout *la, const Type *b,
                const Layout *lb)
{
    int64_t a0, a1, b0, b1;
    extent_range(a, la, &a0, &a1);
    extent_range(b, lb, &b0, &b1);
    if (a1 < b0 || b1 < a0)
        return true;
    for (int i = 0; i < a->rank; i++)
        if (apart(a, la, b, lb, step(a, la, i)))
            return true;
    for (int i = 0; i < b->rank; i++)
        if (apart(a, la, b, lb, step(b, lb, i)))
            return true;
    return false;
}

bool
extent_same(const Type *t, const Layout *a, const Layout *b)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1 && a->stride[i] != b->stride[i])
            return false;
    return a->offset == b->offset && a->tile[0] == b->tile[0] &&
           a->tile[1] == b->tile[1];
}

/* Sorted by stride, each axis must step over all of the axes below it. */
bool
extent_repeats(const Type *t, const Layout *l)
{
    int64_t covered = dtype_info[t->dtype].bits;
    bool done[MAX_RANK] = {false};
    for (int k = 0; k < t->rank; k++) {
        int least = -1;
        for (int i = 0; i < t->rank; i++)
            if (!done[i] && t->dim[i] != 1 &&
                (least < 0 || step(t, l, i) < step(t, l, least)))
                least = i;
        if (least < 0)
            return false;
        done[least] = true;
        if (step(t, l, least) < covered)
            return true;
        covered += (t->dim[least] - 1) * step(t, l, least);
    }
    return false;
}

/* ---- views ---- */

/* A run of axes of x that is walked in one stride becomes a run of axes of
 * the result with the same number of elements. */
static bool
reshaped(const Type *x, const Layout *in, const Type *y, Layout *out)
{
    int i = x->rank, k = y->rank;
    while (i > 0) {
        if (x->dim[i - 1] == 1) {
            i--;
            continue;
        }
        int64_t stride = in->stride[--i], n = x->dim[i], m = 1;
        while (k > 0 && (m < n || y->dim[k - 1] == 1)) {
            out->stride[--k] = stride * m;
            m *= y->dim[k];
            while (m > n && i > 0) { /* the run goes on in x */
                i--;
                if (x->dim[i] != 1 && in->stride[i] != stride * n)
                    return false;
                n *= x->dim[i];
            }
        }
        if (m != n)
            return false;
    }
    return true;
}

static void
transposed(const Node *n, const Layout *in, Layout *out)
{
    const Attr *perm = node_attr(n, "perm");
    for (int i = 0; i < perm->i; i++)
        out->stride[i] = in->stride[perm->list[i]];
}

static void
broadcasted(const Type *x, const Layout *in, const Type *y, Layout *out)
{
    for (int i = 1; i <= y->rank; i++) {
        bool same = i <= x->rank && x->dim[x->rank - i] != 1;
        out->stride[y->rank - i] = same ? in->stride[x->rank - i] : 0;
    }
}

static void
sliced(const Node *n, const Layout *in, Layout *out)
{
    const Attr *start = node_attr(n, "start"), *by = node_attr(n, "step");
    for (int i = 0; i < start->i; i++) {
        out->offset += start->list[i] * in->stride[i];
        out->stride[i] = in->stride[i] * by->list[i];
    }
}

bool
extent_of_view(const Node *n, int i, Layout *out)
{
    if (!(op_info[n->op].flags & OP_VIEW))
        return false;
    const Value *x = n->args[0], *y = n->results[i];
    const Layout *in = &x->layout;
    *out = (Layout){.offset = in->offset};
    if (in->tile[0])
        return false;
    if (n->op == OP_reshape)
        return reshaped(&x->type, in, &y->type, out);
    if (n->op == OP_transpose) {
        transposed(n, in, out);
    } else if (n->op == OP_broadcast) {
        broadcasted(&x->type, in, &y->type, out);
    } else if (n->op == OP_slice) {
        sliced(n, in, out);
    } else if (n->op == OP_split) {
        *out = *in;
        int64_t axis = node_int(n, "axis", 0);
        for (int k = 0; k < i; k++)
            out->offset += n->results[k]->type.dim[axis] * in->stride[axis];
    } else {
        return false;
    }
    return true;
}

Layout
extent_of_part(const Node *concat, int i)
{
    Layout l = concat->results[0]->layout;
    int64_t axis = node_int(concat, "axis", 0);
    for (int k = 0; k < i; k++)
        l.offset += concat->args[k]->type.dim[axis] * l.stride[axis];
    return l;
}
