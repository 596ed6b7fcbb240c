#include "frontend/low.h"

/* x[:, 0, 2:-1, p : p+1]: one slice for what is known now, one slice_at for
 * each runtime position, and a reshape where axes go. */
typedef struct Cut {
    int64_t start[MAX_RANK], stop[MAX_RANK], step[MAX_RANK];
    bool gone[MAX_RANK];
    Value *position[MAX_RANK]; /* or NULL */
    int64_t size[MAX_RANK];    /* of a runtime slice */
    bool slices, drops;
    int n_at;
} Cut;

/* ---- runtime positions ---- */

/* No axis is longer; the sums of a few such numbers fit in 64 bits. */
#define FARTHEST ((int64_t)1 << 60)

/* p + 3 - 1 is p and 2: the tensor part and the number beside it. */
static const Expr *
without_offset(Lower *l, Expr *e, int64_t *offset)
{
    while (e->kind == EX_BINARY &&
           (e->u.binary.op == BIN_ADD || e->u.binary.op == BIN_SUB) &&
           (e->u.binary.right->kind == EX_INT ||
            e->u.binary.right->kind == EX_NAME)) {
        Val v = low_expr(l, e->u.binary.right, NULL);
        if (v.kind != VAL_INT || v.i > FARTHEST || v.i < -FARTHEST ||
            *offset > FARTHEST || *offset < -FARTHEST)
            break;
        *offset += e->u.binary.op == BIN_ADD ? v.i : -v.i;
        e = e->u.binary.left;
    }
    return e;
}

static bool
same_expr(const Expr *a, const Expr *b)
{
    return a->kind == EX_NAME && b->kind == EX_NAME &&
           a->u.path.name.text == b->u.path.name.text &&
           a->u.path.module.text == b->u.path.module.text;
}

static bool
runtime_range(Lower *l, const Slice *s, int64_t size, int axis, Cut *c)
{
    if (!s->stop || s->step) {
        low_error(l, s->at,
                  "a slice at a runtime position is written p : "
                  "p+n, without a step");
        return false;
    }
    int64_t from = 0, to = 0;
    const Expr *a = without_offset(l, s->start, &from);
    const Expr *b = without_offset(l, s->stop, &to);
    if (!same_expr(a, b)) {
        low_error(l, s->at,
                  "the size of a slice must be known when "
                  "compiling: write p : p+n");
        return false;
    }
    c->size[axis] = to - from;
    if (to > from && to - from <= size)
        return true;
    low_error(l, s->at, "a slice of %lld positions of an axis of size %lld",
              (long long)(to - from), (long long)size);
    return false;
}

static bool
runtime_position(Lower *l, const Slice *s, Val v, int64_t size, int axis,
                 Cut *c)
{
    const Type *t = low_type(&v);
    if (t->dtype != DT_i32 || t->rank != 0) {
        low_error(l, s->start->at, "a position must be an i32[], found %s",
                  low_describe(l, &v));
        return false;
    }
    c->size[axis] = 1;
    if (s->kind == SLICE_RANGE && !runtime_range(l, s, size, axis, c))
        return false;
    c->position[axis] = low_value(l, &v);
    c->gone[axis] = s->kind == SLICE_AT;
    c->drops = c->drops || c->gone[axis];
    c->n_at++;
    return true;
}

/* ---- positions known now ---- */

static int64_t
clip(int64_t i, int64_t lo, int64_t hi)
{
    return i < lo ? lo : i > hi ? hi : i;
}

static bool
bound(Lower *l, Expr *e, int64_t size, int64_t lo, int64_t hi, int64_t *out)
{
    if (!e)
        return true;
    int64_t i;
    if (!low_index(l, e, &i))
        return false;
    *out = clip(i < 0 && i >= -size ? i + size : i < 0 ? lo : i, lo, hi);
    return true;
}

static bool
range(Lower *l, const Slice *s, int64_t size, int axis, Cut *c)
{
    int64_t step = 1;
    if (s->step && !low_index(l, s->step, &step))
        return false;
    if (step == 0) {
        low_error(l, s->step->at, "a step of 0");
        return false;
    }
    bool down = step < 0;
    int64_t start = down ? size - 1 : 0, stop = down ? -1 : size;
    int64_t lo = down ? -1 : 0, hi = down ? size - 1 : size;
    if (!bound(l, s->start, size, lo, hi, &start) ||
        !bound(l, s->stop, size, lo, hi, &stop))
        return false;
    if (down ? stop >= start : stop <= start) {
        low_error(l, s->at, "the slice is empty: from %lld to %lld of %lld",
                  (long long)start, (long long)stop, (long long)size);
        return false;
    }
    c->start[axis] = start;
    c->stop[axis] = stop;
    c->step[axis] = step;
    c->slices = c->slices || start != 0 || stop != size || step != 1;
    return true;
}

static bool
at_index(Lower *l, const Slice *s, Val v, int64_t size, int axis, Cut *c)
{
    if (v.kind != VAL_INT) {
        low_error(l, s->start->at, "a position must be an integer, found %s",
                  low_describe(l, &v));
        return false;
    }
    if (v.i < -size || v.i >= size) {
        low_error(l, s->start->at,
                  "position %lld is outside an axis of size "
                  "%lld",
                  (long long)v.i, (long long)size);
        return false;
    }
    c->start[axis] = v.i < 0 ? v.i + size : v.i;
    c->stop[axis] = c->start[axis] + 1;
    c->gone[axis] = c->drops = true;
    c->slices = c->slices || size != 1;
    return true;
}

static bool
one_axis(Lower *l, const Slice *s, int64_t size, int axis, const char *name,
         Cut *c)
{
    if (!s->start)
        return range(l, s, size, axis, c);
    Expr *e = s->start;
    Val v = low_expr(l, e, low_child(l, name, &e, 1, 0));
    if (v.kind == VAL_POISON)
        return false;
    if (low_is_value(&v))
        return runtime_position(l, s, v, size, axis, c);
    if (s->kind == SLICE_AT)
        return at_index(l, s, v, size, axis, c);
    return range(l, s, size, axis, c);
}

static bool
all_axes(Lower *l, const Expr *e, const Type *t, const char *name, Cut *c)
{
    const Slices *s = &e->u.index.slices;
    int axis = 0, named = 0;
    for (int i = 0; i < s->n; i++)
        named += s->at[i].kind != SLICE_REST;
    if (named > t->rank) {
        low_error(l, e->at, "%d positions for a tensor of %d axes", named,
                  t->rank);
        return false;
    }
    bool rest = false, good = true;
    for (int i = 0; i < s->n; i++) {
        const Slice *x = &s->at[i];
        if (x->kind == SLICE_REST && rest) {
            low_error(l, x->at, "`..` can stand once");
            return false;
        }
        if (x->kind == SLICE_REST) {
            rest = true;
            axis += t->rank - named;
            continue;
        }
        good = one_axis(l, x, t->dim[axis], axis, name, c) && good;
        axis++;
    }
    return good;
}

/* ---- the nodes ---- */

static Value *
static_slice(Lower *l, Span at, const char *name, Value *x, const Cut *c)
{
    int rank = x->type.rank;
    int64_t *list = ARENA_ARRAY(l->arena, int64_t, 3 * rank);
    memcpy(list, c->start, sizeof *list * (size_t)rank);
    memcpy(list + rank, c->stop, sizeof *list * (size_t)rank);
    memcpy(list + 2 * rank, c->step, sizeof *list * (size_t)rank);
    Attr attrs[] = {attr_ints("start", list, rank),
                    attr_ints("stop", list + rank, rank),
                    attr_ints("step", list + 2 * rank, rank)};
    Val v = low_emit(l, at, OP_slice, name, &x, 1, attrs, 3);
    return v.value;
}

static Value *
drop_axes(Lower *l, Span at, const char *name, Value *x, const Cut *c)
{
    int64_t *dims = ARENA_ARRAY(l->arena, int64_t, MAX_RANK);
    const Shape *from = low_shape(l, x);
    Shape names = {0};
    int n = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (!c->gone[i]) {
            names.axis[n] = from->axis[i];
            dims[n++] = x->type.dim[i];
        }
    Attr a = attr_ints("shape", dims, n);
    Val v = low_emit(l, at, OP_reshape, name, &x, 1, &a, 1);
    if (v.value)
        memcpy(low_shape(l, v.value)->axis, names.axis, sizeof names.axis);
    return v.value;
}

static Value *
cut(Lower *l, Span at, const char *name, Value *x, const Cut *c)
{
    int left = c->n_at + c->drops;
    if (c->slices)
        x = static_slice(l, at, left ? low_join(l, name, "slice") : name, x, c);
    for (int i = 0; x && i < MAX_RANK; i++) {
        if (!c->position[i])
            continue;
        Value *args[] = {x, c->position[i]};
        Attr attrs[] = {attr_int("axis", i), attr_int("size", c->size[i])};
        const char *own = --left ? low_join(l, name, "slice_at") : name;
        x = low_emit(l, at, OP_slice_at, own, args, 2, attrs, 2).value;
    }
    return x && c->drops ? drop_axes(l, at, name, x, c) : x;
}

Val
low_slice(Lower *l, Expr *e, const char *name)
{
    Expr *base = e->u.index.base;
    Val v = low_expr(l, base, low_child(l, name, &base, 1, 0));
    if (v.kind == VAL_POISON)
        return v;
    if (v.kind == VAL_LIST && e->u.index.slices.n == 1 &&
        e->u.index.slices.at[0].kind == SLICE_AT) {
        int64_t i;
        Expr *at = e->u.index.slices.at[0].start;
        if (!low_index(l, at, &i))
            return low_poison();
        if (i >= -v.n && i < v.n)
            return v.list[i < 0 ? i + v.n : i];
        low_error(l, at->at, "position %lld is outside a list of %d",
                  (long long)i, v.n);
        return low_poison();
    }
    if (!low_is_value(&v)) {
        low_error(l, base->at, "only tensors and lists have parts, found %s",
                  low_describe(l, &v));
        return low_poison();
    }
    const Type *t = low_type(&v);
    Cut c = {.slices = false};
    for (int i = 0; i < t->rank; i++) {
        c.stop[i] = t->dim[i];
        c.step[i] = 1;
    }
    if (!all_axes(l, e, t, name, &c))
        return low_poison();
    Value *x = cut(l, e->at, name, low_value(l, &v), &c);
    return x ? low_val(x, e->at) : low_poison();
}
