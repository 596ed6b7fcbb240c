#include "ir/text_read_node.h"

#include "ir/attr_rule.h"
#include "ir/text.h"

/* ---- reading ---- */

static const char *
nearest_op(const char *name)
{
    const char *names[OP_COUNT];
    for (int i = 0; i < OP_COUNT; i++)
        names[i] = op_info[i].name;
    return diag_nearest(name, names, OP_COUNT);
}

static bool
op(Reader *r, Line *l)
{
    const char *name;
    l->op_at = r->tok;
    if (!reader_name(r, "an op", &name))
        return false;
    l->op = op_named(name);
    if (l->op != OP_COUNT)
        return true;
    const char *near = nearest_op(name);
    return near ? reader_fail_at(r, &l->op_at, "no op is called %s; %s is",
                                 name, near)
                : reader_fail_at(r, &l->op_at, "no op is called %s", name);
}

/* NAME or NAME = operand */
static bool
tensor(Reader *r, Line *l)
{
    Token at = r->tok;
    const char *name;
    if (!reader_name(r, "the name of a tensor", &name))
        return false;
    l->tensor = module_tensor(r->module, name);
    if (!l->tensor)
        return reader_no_tensor(r, &at, name);
    return !reader_take(r, '=') || reader_names(r, "an operand", &l->args);
}

static bool
attribute(Reader *r, Line *l)
{
    Attr a = {0};
    AttrRule rule;
    Token at = r->tok;
    if (!reader_name(r, "an attribute", &a.key))
        return false;
    if (!attr_rule_find(l->op, a.key, &rule))
        return reader_fail_at(r, &at, "%s has no attribute %s",
                              op_info[l->op].name, a.key);
    if (!reader_expect(r, '=', "`=`") ||
        !reader_attr_value(r, (int)rule.kind, &a))
        return false;
    for (int i = 0; i < l->attrs.n; i++)
        if (l->attrs.at[i].key == a.key)
            return reader_fail_at(r, &at, "attribute %s comes twice", a.key);
    vec_push(r->arena, &l->attrs, a);
    return true;
}

static bool
attributes(Reader *r, Line *l)
{
    if (!reader_take(r, '('))
        return true;
    do {
        if (!attribute(r, l))
            return false;
    } while (reader_take(r, ','));
    return reader_expect(r, ')', "`)`");
}

static bool
stage(Reader *r, Line *l)
{
    if (!reader_take_word(r, "stage"))
        return true;
    Token at = r->tok;
    if (!reader_int_from(r, 0, &l->stage))
        return false;
    return l->stage <= 1 << 20 ||
           reader_fail_at(r, &at, "the stage is too large");
}

/* A read lies in its tensor if nothing else is written. */
static bool
types(Reader *r, Line *l)
{
    if (!reader_take(r, ':'))
        return true;
    do {
        ResultType t = {.at = r->tok};
        if (!reader_type(r, &t.type))
            return false;
        Layout normal = layout_dense(&t.type);
        if (l->op == OP_read && type_equal(&t.type, &l->tensor->type))
            normal = l->tensor->layout;
        if (!reader_storage(r, &t.type, &normal, &t.storage))
            return false;
        vec_push(r->arena, &l->types, t);
    } while (reader_take(r, ','));
    return true;
}

static bool
results(Reader *r, Line *l)
{
    if (r->ahead.kind != '=' && r->ahead.kind != ',')
        return true;
    return reader_names(r, "the name of a result", &l->results) &&
           reader_expect(r, '=', "`=`");
}

static bool
operands(Reader *r, Line *l)
{
    if (op_info[l->op].flags & OP_TENSOR)
        return tensor(r, l);
    return r->tok.kind != TOK_NAME || reader_names(r, "an operand", &l->args);
}

bool
line_read(Reader *r, Line *l)
{
    l->at = r->tok;
    if (!results(r, l) || !op(r, l) || !operands(r, l) || !attributes(r, l) ||
        !stage(r, l))
        return false;
    l->recomputed = reader_take_word(r, "recomputed");
    if (!types(r, l))
        return false;
    if (l->op == OP_fused)
        return r->tok.kind == '{' || reader_expected(r, "`{`");
    if (r->tok.kind == TOK_LINE || r->tok.kind == TOK_END)
        return true;
    return reader_expected(r, "the end of the line");
}

/* ---- building ---- */

static Node *
poison(Reader *r, const Line *l)
{
    for (int i = 0; i < l->results.n; i++)
        map_put(r->arena, &r->poison, reader_intern(r, &l->results.at[i]), r);
    return NULL;
}

/* False when one is missing, or poison. */
static bool
find_args(Reader *r, const Line *l, Value **args)
{
    bool ok = true;
    for (int i = 0; i < l->args.n; i++) {
        const char *name = reader_intern(r, &l->args.at[i]);
        args[i] = map_get(&graph_outer(r->graph)->values, name);
        if (args[i])
            continue;
        ok = false;
        if (!r->broken && !map_get(&r->poison, name))
            reader_fail_at(r, &l->args.at[i], "%s is not defined above", name);
        map_put(r->arena, &r->poison, name, r);
    }
    return ok;
}

static const char *
shown(Reader *r, const ShapeError *err, const Type *args, int n)
{
    const char *s = err->text;
    for (int i = 0; i < n && i < 4; i++)
        s = arena_printf(r->arena, "%s%s%s", s, i ? ", " : ": ",
                         text_type(r->arena, &args[i]));
    return s;
}

/* The results that the op makes of these operands, as the line says too. */
static bool
infer(Reader *r, const Line *l, Value *const *args, Type *out, int *n_out)
{
    ShapeError err;
    Type *in = ARENA_ARRAY(r->arena, Type, l->args.n + 1);
    for (int i = 0; i < l->args.n; i++)
        in[i] = args[i]->type;
    for (int i = 0; i < l->types.n && i < MAX_RESULTS; i++)
        out[i] = l->types.at[i].type;
    *n_out = l->types.n;
    ShapeRule rule = op_info[l->op].shape;
    bool given = rule == SHAPE_GIVEN || rule == SHAPE_TENSOR;
    if (given && l->types.n != 1)
        return reader_fail_at(r, &l->op_at, "expected one type, found %d",
                              l->types.n);
    if (!shape_infer(r->arena, l->op, in, l->args.n, l->attrs.at, l->attrs.n,
                     out, n_out, &err)) {
        bool arg = err.arg >= 0 && err.arg < l->args.n;
        return reader_fail_at(r, arg ? &l->args.at[err.arg] : &l->op_at, "%s",
                              shown(r, &err, in, l->args.n));
    }
    return true;
}

static bool
check_results(Reader *r, const Line *l, const Type *types, int n)
{
    if (l->results.n != n)
        return reader_fail_at(r, &l->op_at, "expected %d results, found %d", n,
                              l->results.n);
    if (l->types.n != n)
        return reader_fail_at(r, &l->op_at, "expected %d types, found %d", n,
                              l->types.n);
    for (int i = 0; i < n; i++)
        if (!type_equal(&types[i], &l->types.at[i].type))
            return reader_fail_at(r, &l->types.at[i].at,
                                  "expected %s, found %s",
                                  text_type(r->arena, &types[i]),
                                  text_type(r->arena, &l->types.at[i].type));
    return true;
}

static bool
check_names(Reader *r, const Line *l)
{
    const Map *values = &graph_outer(r->graph)->values;
    for (int i = 0; i < l->results.n; i++) {
        const Token *t = &l->results.at[i];
        const char *name = reader_intern(r, t);
        const Value *old = map_get(values, name);
        bool twice = old != NULL;
        for (int k = 0; k < i; k++)
            twice |= reader_intern(r, &l->results.at[k]) == name;
        if (!twice)
            continue;
        reader_fail_at(r, t, "%s is defined twice", name);
        if (old)
            diag_note(r->diag, old->def->loc, "first here");
        return false;
    }
    return true;
}

/* graph_add names the results after the first by itself. */
static void
set_names(Reader *r, const Line *l, Node *n)
{
    Map *values = &graph_outer(r->graph)->values;
    for (int i = 1; i < n->n_results; i++)
        map_put(r->arena, values, n->results[i]->name, NULL);
    for (int i = 1; i < n->n_results; i++) {
        n->results[i]->name = reader_intern(r, &l->results.at[i]);
        map_put(r->arena, values, n->results[i]->name, n->results[i]);
    }
}

static void
set_storage(Reader *r, const Line *l, Value *v, const Storage *s)
{
    bool read = l->op == OP_read;
    v->layout = s->layout;
    v->sharding = s->sharding;
    v->tensor = read && !s->in_home ? l->tensor : NULL;
    v->space = s->has_space ? s->space : read ? l->tensor->space : SPACE_device;
    if (s->in_tensor) {
        const char *name = reader_intern(r, &s->home);
        v->tensor = module_tensor(r->module, name);
        if (!v->tensor)
            reader_no_tensor(r, &s->home, name);
    }
    if (s->in_home) {
        PendingHome p = {v, s->home};
        vec_push(r->arena, &r->homes, p);
    }
}

static Node *
add(Reader *r, const Line *l, Value *const *args, const Type *types,
    int n_types)
{
    Graph *g = r->graph;
    const char *name = n_types ? reader_intern(r, &l->results.at[0]) : NULL;
    g->context.stage = (int)l->stage;
    g->context.loc = reader_span(r, &l->at);
    Node *n = graph_add_typed(g, l->op, name, types, n_types, args, l->args.n,
                              l->attrs.at, l->attrs.n);
    n->tensor = l->tensor;
    n->recomputed = l->recomputed;
    set_names(r, l, n);
    for (int i = 0; i < n_types; i++)
        set_storage(r, l, n->results[i], &l->types.at[i].storage);
    return n;
}

Node *
line_build(Reader *r, const Line *l)
{
    Type types[MAX_RESULTS] = {0};
    int n = 0;
    Value **args = ARENA_ARRAY(r->arena, Value *, l->args.n + 1);
    bool ok = find_args(r, l, args);
    if (l->op == OP_fused && l->types.n) {
        reader_fail_at(r, &l->op_at, "a group's body has the types");
        return NULL;
    }
    if (!ok || !infer(r, l, args, types, &n) || !check_names(r, l) ||
        (l->op != OP_fused && !check_results(r, l, types, n)))
        return poison(r, l);
    return add(r, l, args, types, n);
}
