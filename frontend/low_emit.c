#include "frontend/low.h"

bool
low_is_value(const Val *v)
{
    return v->kind == VAL_TENSOR || v->kind == VAL_VALUE;
}

const Type *
low_type(const Val *v)
{
    return v->kind == VAL_TENSOR ? &v->tensor->type : &v->value->type;
}

Val
low_val(Value *v, Span at)
{
    return (Val){.kind = VAL_VALUE, .at = at, .value = v};
}

Shape *
low_shape(Lower *l, Value *v)
{
    if (!v->note) {
        v->note = ARENA_NEW(l->arena, Shape);
        vec_push(l->arena, &l->noted, v);
    }
    return v->note;
}

/* ---- names of the axes of results ---- */

/* An axis of the same size, counted from the end, lends its name. */
static void
borrow_axis(Shape *to, const Type *t, int axis, const Value *from)
{
    int k = from->type.rank - (t->rank - axis);
    const Shape *s = from->note;
    if (s && k >= 0 && from->type.dim[k] == t->dim[axis] &&
        !to->axis[axis].at.line)
        to->axis[axis] = s->axis[k];
}

static void
name_product(Shape *to, const Node *n)
{
    const Value *a = n->args[0], *b = n->args[1];
    const Type *t = &n->results[0]->type;
    for (int i = 0; i < t->rank - 1; i++)
        borrow_axis(to, t, i, a);
    borrow_axis(to, t, t->rank - 1, b);
    for (int i = 0; i < t->rank - 2; i++)
        borrow_axis(to, t, i, b);
}

static void
name_transposed(Shape *to, const Node *n)
{
    const Shape *s = n->args[0]->note;
    const Attr *perm = node_attr(n, "perm");
    for (int i = 0; s && i < n->results[0]->type.rank; i++)
        to->axis[i] = s->axis[perm->list[i]];
}

static void
name_reduced(Shape *to, const Node *n)
{
    const Shape *s = n->args[0]->note;
    const Attr *axes = node_attr(n, "axes");
    bool keep = node_flag(n, "keep");
    int out = 0;
    for (int i = 0; s && i < n->args[0]->type.rank; i++) {
        bool gone = false;
        for (int k = 0; k < axes->i; k++)
            gone = gone || axes->list[k] == i;
        if (!gone)
            to->axis[out] = s->axis[i];
        out += !gone || keep;
    }
}

/* [ids.., C] of a table: the axes of the ids, then the table's last. */
static void
name_looked_up(Shape *to, const Node *n)
{
    const Shape *ids = n->args[1]->note;
    const Type *t = &n->results[0]->type;
    for (int i = 0; ids && i < n->args[1]->type.rank; i++)
        to->axis[i] = ids->axis[i];
    borrow_axis(to, t, t->rank - 1, n->args[0]);
}

static void
name_axes(Lower *l, Node *n)
{
    for (int r = 0; r < n->n_results; r++) {
        const Type *t = &n->results[r]->type;
        Shape *s = low_shape(l, n->results[r]);
        ShapeRule rule = op_info[n->op].shape;
        if (rule == SHAPE_MATMUL)
            name_product(s, n);
        else if (rule == SHAPE_TRANSPOSE)
            name_transposed(s, n);
        else if (rule == SHAPE_REDUCE || rule == SHAPE_REDUCE_I32)
            name_reduced(s, n);
        else if (rule == SHAPE_EMBEDDING)
            name_looked_up(s, n);
        else if (rule != SHAPE_RESHAPE && rule != SHAPE_CROSS_ENTROPY)
            for (int i = 0; i < t->rank; i++)
                for (int a = 0; a < n->n_args; a++)
                    borrow_axis(s, t, i, n->args[a]);
    }
}

/* ---- nodes ---- */

static bool
types_fit(Lower *l, Span at, Op op, Value *const *args, int n_args,
          const Attr *attrs, int n_attrs, const Type *given)
{
    Type *in = ARENA_ARRAY(l->arena, Type, n_args + 1);
    for (int i = 0; i < n_args; i++)
        in[i] = args[i]->type;
    Type out[MAX_RESULTS] = {0};
    int n_out = given ? 1 : 0;
    if (given)
        out[0] = *given;
    ShapeError err = {.arg = -1, .axis = -1, .other = -1, .other_axis = -1};
    if (shape_infer(l->arena, op, in, n_args, attrs, n_attrs, out, &n_out,
                    &err))
        return true;
    low_shape_error(l, at, op, args, n_args, &err);
    return false;
}

bool
low_count(Lower *l, Span at)
{
    if (++l->n_nodes <= LOW_MAX_NODES)
        return true;
    if (!l->stopped)
        low_error(l, at,
                  "the model is too large: more than %d operations and "
                  "tensors",
                  LOW_MAX_NODES);
    l->stopped = true;
    return false;
}

Node *
low_node(Lower *l, Span at, Op op, const char *name, Value *const *args,
         int n_args, const Attr *attrs, int n_attrs, const Type *given)
{
    for (int i = 0; i < n_args; i++)
        if (!args[i])
            return NULL;
    if (!low_count(l, at) ||
        !types_fit(l, at, op, args, n_args, attrs, n_attrs, given))
        return NULL;
    Graph *g = l->graph;
    g->context.loc = at;
    Node *n = graph_add_typed(g, op, name, given, given ? 1 : 0, args, n_args,
                              attrs, n_attrs);
    name_axes(l, n);
    return n;
}

Val
low_emit(Lower *l, Span at, Op op, const char *name, Value *const *args,
         int n_args, const Attr *attrs, int n_attrs)
{
    Node *n = low_node(l, at, op, name, args, n_args, attrs, n_attrs, NULL);
    return n ? low_val(n->results[0], at) : low_poison();
}

/* ---- constants in a graph ---- */

static bool
int_fits(Dtype d, int64_t i)
{
    if (dtype_info[d].kind != KIND_INT)
        return dtype_info[d].kind == KIND_FLOAT;
    if (d == DT_u8)
        return i >= 0 && i <= UINT8_MAX;
    return d == DT_i64 || (i >= INT32_MIN && i <= INT32_MAX);
}

static bool
constant_fits(const Val *v, Dtype d)
{
    if (v->kind == VAL_BOOL)
        return d == DT_bool;
    if (v->kind == VAL_FLOAT)
        return dtype_info[d].kind == KIND_FLOAT;
    return v->kind == VAL_INT && int_fits(d, v->i);
}

Value *
low_splat(Lower *l, const Val *v, Dtype d, const char *name, Span at)
{
    if (!constant_fits(v, d)) {
        if (low_error(l, at, "%s cannot stand for a value of type %s",
                      low_describe(l, v), dtype_info[d].name) &&
            v->at.line && (v->at.line != at.line || v->at.file != at.file))
            low_note(l, v->at, "it comes from here");
        return NULL;
    }
    Type t = type_scalar(d);
    int64_t most = (int64_t)1 << 53; /* a double holds these */
    bool exact = type_is_float(&t) || (v->i > -most && v->i < most);
    Attr a = exact ? attr_float("value", low_number(v)) : attr_int("int", v->i);
    Node *n = low_node(l, at, OP_const, name, NULL, 0, &a, 1, &t);
    return n ? n->results[0] : NULL;
}

/* ---- tensors ---- */

static bool
inside_block(const Graph *g, const char *name)
{
    const char *block = g->context.block;
    size_t n = block ? strlen(block) : 0;
    return !block || (strncmp(name, block, n) == 0 && name[n] == '.');
}

/* A tensor that is not the running block's own is read in front of it, so
 * that equal blocks stay equal. */
static Value *
read_tensor(Lower *l, Tensor *t)
{
    Graph *g = l->graph;
    Context before = g->context;
    bool own = inside_block(g, t->name);
    if (!own) {
        g->at = l->block_start ? l->block_start->next : g->first;
        g->context.block = NULL;
    }
    g->context.loc = t->loc;
    Value *v = graph_read(g, t->name, t);
    if (!own)
        l->block_start = v->def;
    g->at = NULL;
    g->context = before;
    Shape *s = map_get(&l->shapes, t->name);
    if (s)
        *low_shape(l, v) = *s;
    map_put(l->arena, &l->reads, t->name, v);
    return v;
}

Value *
low_value(Lower *l, const Val *v)
{
    if (v->kind == VAL_VALUE)
        return v->value;
    Value *read = map_get(&l->reads, v->tensor->name);
    return read ? read : read_tensor(l, v->tensor);
}

bool
low_check_size(Lower *l, Span at, const Type *t, const Shape *s)
{
    int64_t n = dtype_info[t->dtype].bits;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] <= 0) {
            low_error(l, at,
                      "axis %d of %s has size %lld, it must be 1 or "
                      "more",
                      i, low_shape_text(l, t, s), (long long)t->dim[i]);
            return false;
        }
        if (!low_mul(n, t->dim[i], &n)) {
            low_error(l, at, "%s takes more than 2^63 bits",
                      low_type_text(l, t, s));
            return false;
        }
    }
    return true;
}

static Tensor *
same_tensor(Lower *l, TensorKind kind, const char *name, const Type *t, Span at)
{
    Tensor *old = module_tensor(l->module, name);
    bool frozen = old && old->kind == TENSOR_frozen && kind == TENSOR_param;
    if (old && (old->kind == kind || frozen) && type_equal(&old->type, t))
        return old;
    if (low_error(l, at, "`%s` differs between training and evaluation",
                  name) &&
        old)
        low_note(l, old->loc, "in training it is this");
    return NULL;
}

Tensor *
low_tensor(Lower *l, TensorKind kind, const char *name, const Type *t,
           const Shape *s, Span at)
{
    if (l->again)
        return same_tensor(l, kind, name, t, at);
    Tensor *old = module_tensor(l->module, name);
    if (old) {
        const char *what = tensor_kind_name[old->kind];
        bool vowel = strchr("aeiou", what[0]) != NULL;
        if (low_error(l, at, "there is %s %s `%s` already", vowel ? "an" : "a",
                      what, name))
            low_note(l, old->loc, "declared here");
        return NULL;
    }
    if (!low_count(l, at))
        return NULL;
    Tensor *new = module_add_tensor(l->module, kind, name, t);
    new->loc = at;
    if (s) {
        Shape *copy = ARENA_NEW(l->arena, Shape);
        *copy = *s;
        map_put(l->arena, &l->shapes, new->name, copy);
    }
    return new;
}
