/* Operations that move elements. */
#include "frontend/low.h"

static Val
emit(Site *s, Op op, const char *name, Value *const *args, int n,
     const Attr *attrs, int n_attrs)
{
    return low_emit(s->l, s->at, op, name, args, n, attrs, n_attrs);
}

static int64_t *
new_dims(Site *s)
{
    return ARENA_ARRAY(s->l->arena, int64_t, MAX_RANK + 1);
}

static Val
reshape_to(Site *s, const char *name, Value *x, const int64_t *dims, int rank)
{
    Attr a = attr_ints("shape", dims, rank);
    return emit(s, OP_reshape, name, &x, 1, &a, 1);
}

/* The axes of a list get the names that they were written with. */
static void
name_list(Site *s, int i, Value *v)
{
    const Expr *e = s->given[i];
    if (!v || e->kind != EX_LIST || e->u.list.n != v->type.rank)
        return;
    Shape *shape = low_shape(s->l, v);
    for (int k = 0; k < v->type.rank; k++) {
        const Expr *axis = e->u.list.at[k];
        const Val *n = &s->arg[i].list[k];
        if (n->i == v->type.dim[k])
            shape->axis[k] = (Axis){low_expr_text(s->l, axis), n->at};
    }
}

/* ---- reshape ---- */

/* Finds the size that -1 stands for; false with an error. */
static bool
solve_unknown(Site *s, const Type *t, int64_t *dims, int rank)
{
    int unknown = -1;
    int64_t known = 1, all = type_elements(t);
    bool fits = true;
    for (int i = 0; i < rank; i++) {
        if (dims[i] == -1 && unknown >= 0) {
            low_error(s->l, site_span(s, 1),
                      "reshape with two unknown axes: "
                      "only one can be -1");
            return false;
        }
        if (dims[i] == -1)
            unknown = i;
        else if (dims[i] < 1) {
            low_error(s->l, site_span(s, 1),
                      "a size must be 1 or more, found "
                      "%lld",
                      (long long)dims[i]);
            return false;
        } else
            fits = fits && low_mul(known, dims[i], &known);
    }
    if (!fits) {
        low_error(s->l, site_span(s, 1),
                  "the sizes multiply to more than "
                  "2^63");
        return false;
    }
    if (unknown >= 0 && all % known == 0)
        dims[unknown] = all / known;
    if (unknown >= 0 ? all % known == 0 : all == known)
        return true;
    const char *to = unknown >= 0 ? " elements beside -1" : " elements";
    low_error(s->l, s->at,
              "reshape keeps the elements: %s has %lld, the new "
              "shape %lld%s",
              low_describe(s->l, &s->arg[0]), (long long)all, (long long)known,
              to);
    return false;
}

Val
make_reshape(Site *s)
{
    int64_t *dims = new_dims(s);
    int n = site_ints(s, 1, dims, MAX_RANK, "axes");
    if (n < 0 || !solve_unknown(s, site_type(s, 0), dims, n))
        return low_poison();
    Val v = reshape_to(s, s->name, site_value(s, 0), dims, n);
    name_list(s, 1, v.value);
    return v;
}

Val
make_broadcast(Site *s)
{
    int64_t *dims = new_dims(s);
    int n = site_ints(s, 1, dims, MAX_RANK, "axes");
    if (n < 0)
        return low_poison();
    Value *x = site_value(s, 0);
    Attr a = attr_ints("shape", dims, n);
    Val v = emit(s, OP_broadcast, s->name, &x, 1, &a, 1);
    name_list(s, 1, v.value);
    return v;
}

Val
make_transpose(Site *s)
{
    int rank = site_type(s, 0)->rank;
    int64_t *perm = new_dims(s);
    int n = site_ints(s, 1, perm, MAX_RANK, "axes");
    bool seen[MAX_RANK] = {false};
    bool good = n == rank;
    for (int i = 0; good && i < n; i++) {
        if (perm[i] < 0)
            perm[i] += rank;
        good = perm[i] >= 0 && perm[i] < rank && !seen[perm[i]];
        if (good)
            seen[perm[i]] = true;
    }
    if (n >= 0 && !good)
        low_error(s->l, site_span(s, 1),
                  "the axes must be 0 to %d in some "
                  "order, for %s",
                  rank - 1, low_describe(s->l, &s->arg[0]));
    if (!good)
        return low_poison();
    Value *x = site_value(s, 0);
    Attr a = attr_ints("perm", perm, rank);
    return emit(s, OP_transpose, s->name, &x, 1, &a, 1);
}

/* ---- split, concat, stack ---- */

static int
equal_parts(Site *s, int64_t size, int64_t *sizes)
{
    int64_t n = s->arg[1].i;
    if (n < 1 || n > MAX_RESULTS || size % n != 0) {
        low_error(s->l, site_span(s, 1),
                  "an axis of size %lld does not split "
                  "into %lld equal parts",
                  (long long)size, (long long)n);
        return -1;
    }
    for (int64_t i = 0; i < n; i++)
        sizes[i] = size / n;
    return (int)n;
}

static int
part_sizes(Site *s, int64_t size, int64_t *sizes)
{
    if (s->arg[1].kind == VAL_INT)
        return equal_parts(s, size, sizes);
    if (s->arg[1].kind != VAL_LIST) {
        low_error(s->l, site_span(s, 1),
                  "expected a number of parts or a list "
                  "of sizes, found %s",
                  low_describe(s->l, &s->arg[1]));
        return -1;
    }
    int n = site_ints(s, 1, sizes, MAX_RESULTS, "parts");
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        bool fits = sizes[i] >= 1 && sizes[i] <= size - sum;
        sum = fits ? sum + sizes[i] : size + 1;
        if (!fits)
            break;
    }
    if (n >= 0 && sum != size) {
        low_error(s->l, site_span(s, 1),
                  "the parts do not add up to the axis "
                  "of size %lld",
                  (long long)size);
        return -1;
    }
    return n;
}

Val
make_split(Site *s)
{
    int64_t axis, *sizes = ARENA_ARRAY(s->l->arena, int64_t, MAX_RESULTS);
    Value *x = site_value(s, 0);
    if (!site_axis(s, 2, x->type.rank, &axis))
        return low_poison();
    int n = part_sizes(s, x->type.dim[axis], sizes);
    if (n < 1)
        return low_poison();
    Attr a[] = {attr_int("axis", axis), attr_ints("sizes", sizes, n)};
    Node *node = low_node(s->l, s->at, OP_split, s->name, &x, 1, a, 2, NULL);
    if (!node)
        return low_poison();
    if (n == 1)
        return low_val(node->results[0], s->at);
    Val *parts = ARENA_ARRAY(s->l->arena, Val, n);
    for (int i = 0; i < n; i++)
        parts[i] = low_val(node->results[i], s->at);
    return (Val){.kind = VAL_LIST, .at = s->at, .list = parts, .n = n};
}

/* The tensors of a list; false with an error. */
static bool
list_values(Site *s, Value **out)
{
    const Val *v = &s->arg[0];
    if (v->n == 0)
        low_error(s->l, site_span(s, 0), "`%s` of an empty list", s->row->name);
    for (int i = 0; i < v->n; i++) {
        if (!low_is_value(&v->list[i])) {
            low_error(s->l,
                      v->list[i].at.line ? v->list[i].at : site_span(s, 0),
                      "expected a list of tensors, found %s",
                      low_describe(s->l, &v->list[i]));
            return false;
        }
        out[i] = low_value(s->l, &v->list[i]);
    }
    return v->n > 0;
}

Val
make_concat(Site *s)
{
    int64_t axis;
    int n = s->arg[0].n;
    Value **parts = ARENA_ARRAY(s->l->arena, Value *, n + 1);
    if (!list_values(s, parts) || !site_axis(s, 1, parts[0]->type.rank, &axis))
        return low_poison();
    Attr a = attr_int("axis", axis);
    return emit(s, OP_concat, s->name, parts, n, &a, 1);
}

Val
make_stack(Site *s)
{
    int64_t axis;
    int n = s->arg[0].n;
    Value **parts = ARENA_ARRAY(s->l->arena, Value *, n + 1);
    if (!list_values(s, parts))
        return low_poison();
    Type first = parts[0]->type;
    int rank = first.rank;
    if (!site_axis(s, 1, rank + 1, &axis))
        return low_poison();
    for (int i = 0; i < n; i++) {
        int64_t *dims = new_dims(s);
        const Type *t = &parts[i]->type;
        if (!type_equal(t, &first) || rank == MAX_RANK) {
            low_error(s->l, site_span(s, 0),
                      "stack needs tensors of one shape with at most %d axes, "
                      "found %s and %s",
                      MAX_RANK - 1, low_describe(s->l, &s->arg[0].list[0]),
                      low_describe(s->l, &s->arg[0].list[i]));
            return low_poison();
        }
        for (int k = 0; k <= rank; k++)
            dims[k] = k == axis ? 1 : t->dim[k < axis ? k : k - 1];
        parts[i] =
            reshape_to(s, site_name(s, "part"), parts[i], dims, rank + 1).value;
    }
    Attr a = attr_int("axis", axis);
    return emit(s, OP_concat, s->name, parts, n, &a, 1);
}

/* ---- pad, tile, repeat_each, arange ---- */

Val
make_pad(Site *s)
{
    Value *x = site_value(s, 0);
    int64_t *before = new_dims(s), *after = new_dims(s);
    const Val *v = &s->arg[1];
    bool good = v->n == x->type.rank;
    for (int i = 0; good && i < v->n; i++) {
        const Val *pair = &v->list[i];
        good = pair->kind == VAL_LIST && pair->n == 2 &&
               pair->list[0].kind == VAL_INT && pair->list[1].kind == VAL_INT;
        if (good) {
            before[i] = pair->list[0].i;
            after[i] = pair->list[1].i;
            good = before[i] >= 0 && after[i] >= 0;
        }
    }
    if (!good) {
        low_error(s->l, site_span(s, 1),
                  "pad needs [before, after] for each "
                  "of the %d axes, 0 or more",
                  x->type.rank);
        return low_poison();
    }
    Attr a[] = {attr_ints("before", before, v->n),
                attr_ints("after", after, v->n),
                attr_float("value", site_number(s, 2, 0))};
    return emit(s, OP_pad, s->name, &x, 1, a, 3);
}

/* As [before, n, after]: tile repeats the axis and all behind it, repeat_each
 * only what is behind it. */
Val
make_tile(Site *s)
{
    Value *x = site_value(s, 0);
    const Type *t = &x->type;
    int64_t axis, n = s->arg[1].i, total;
    if (!site_axis(s, 2, t->rank, &axis))
        return low_poison();
    if (n < 1 || !low_mul(n, t->dim[axis], &total)) {
        low_error(s->l, site_span(s, 1), "%lld copies", (long long)n);
        return low_poison();
    }
    bool each = s->row->op == OP_reshape;
    int64_t *flat = new_dims(s), *wide = new_dims(s), *dims = new_dims(s);
    flat[0] = flat[1] = flat[2] = 1;
    for (int i = 0; i < t->rank; i++) {
        flat[i < axis || (each && i == axis) ? 0 : 2] *= t->dim[i];
        dims[i] = i == axis ? total : t->dim[i];
    }
    wide[0] = flat[0];
    wide[1] = n;
    wide[2] = flat[2];
    Value *v = reshape_to(s, site_name(s, "reshape"), x, flat, 3).value;
    Attr a = attr_ints("shape", wide, 3);
    v = emit(s, OP_broadcast, site_name(s, "broadcast"), &v, 1, &a, 1).value;
    return reshape_to(s, s->name, v, dims, t->rank);
}

Val
make_arange(Site *s)
{
    Type t = {.dtype = DT_i32, .rank = 1, .dim = {s->arg[0].i}};
    if (t.dim[0] < 1 || t.dim[0] > INT32_MAX) {
        low_error(s->l, site_span(s, 0), "arange of %lld elements",
                  (long long)t.dim[0]);
        return low_poison();
    }
    Attr a = attr_int("axis", 0);
    Node *n = low_node(s->l, s->at, OP_iota, s->name, NULL, 0, &a, 1, &t);
    return n ? low_val(n->results[0], s->at) : low_poison();
}
