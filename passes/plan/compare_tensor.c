/* What changed of tensors, and what of each. */
#include "passes/plan/compare_parts.h"

#include "ir/text.h"

static const char *
tensor_text(Compare *c, const Tensor *t)
{
    return arena_printf(c->a, "%s %s : %s", tensor_kind_name[t->kind], t->name,
                        text_type(c->a, &t->type));
}

/* ---- parts of a tensor that differ ---- */

typedef struct Parts {
    Compare *c;
    const char *text; /* so far, "" */
} Parts;

static void
add(Parts *p, const char *what, const char *old, const char *new)
{
    if (strcmp(old, new) != 0)
        p->text = arena_printf(p->c->a, "%s%s%s %s -> %s", p->text,
                               *p->text ? ", " : "", what, old, new);
}

static const char *
list_text(Arena *a, const int64_t *list, int n)
{
    const char *text = "[";
    for (int i = 0; i < n; i++)
        text =
            arena_printf(a, "%s%s%lld", text, i ? "," : "", (long long)list[i]);
    return arena_printf(a, "%s]", text);
}

static const char *
init_text(Arena *a, const Init *i)
{
    static const char *const name[] = {"none", "constant", "normal", "uniform"};
    if (i->kind == INIT_none)
        return "none";
    if (i->kind == INIT_constant)
        return arena_printf(a, "constant(%s)", text_double(a, i->a));
    return arena_printf(a, "%s(%s, %s)", name[i->kind], text_double(a, i->a),
                        text_double(a, i->b));
}

static void
add_number(Parts *p, const char *what, double old, double new)
{
    add(p, what, text_double(p->c->a, old), text_double(p->c->a, new));
}

static void
add_layout(Parts *p, const Type *t, const Layout *old, const Layout *new)
{
    Arena *a = p->c->a;
    add_number(p, "offset", (double)old->offset, (double)new->offset);
    add(p, "strides", list_text(a, old->stride, t->rank),
        list_text(a, new->stride, t->rank));
    add_number(p, "padding", (double)old->pad, (double)new->pad);
    add(p, "tiles", arena_printf(a, "%dx%d", old->tile[0], old->tile[1]),
        arena_printf(a, "%dx%d", new->tile[0], new->tile[1]));
}

static const char *
find_parts(Compare *c, const Tensor *old, const Tensor *new)
{
    static const char *const space[] = {[SPACE_device] = "device",
                                        [SPACE_host] = "host",
                                        [SPACE_disk] = "disk"};
    Parts p = {c, ""};
    add_layout(&p, &old->type, &old->layout, &new->layout);
    add(&p, "space", space[old->space], space[new->space]);
    add(&p, "init", init_text(c->a, &old->init), init_text(c->a, &new->init));
    add(&p, "role", old->role ? old->role : "none",
        new->role ? new->role : "none");
    add_number(&p, "decay", old->weight_decay, new->weight_decay);
    add_number(&p, "lr_scale", old->lr_scale, new->lr_scale);
    return p.text;
}

/* ---- all tensors ---- */

static bool
is_said(const Compare *c, const Tensor *t)
{
    return t->kind == TENSOR_stash && map_get(&c->planned, t->name);
}

static void
compare_one(Compare *c, const Tensor *old, const Tensor *new)
{
    if (!type_equal(&old->type, &new->type) || old->kind != new->kind) {
        compare_say(c, "~ %s -> %s", tensor_text(c, old), tensor_text(c, new));
        return;
    }
    const char *parts = find_parts(c, old, new);
    if (*parts)
        compare_say(c, "~ %s: %s", tensor_text(c, new), parts);
}

void
compare_tensors(Compare *c)
{
    compare_section(c, "tensors");
    for (int i = 0; i < c->old->tensors.n; i++) {
        const Tensor *o = c->old->tensors.at[i];
        const Tensor *n = module_tensor(c->new, o->name);
        if (n)
            compare_one(c, o, n);
        else if (!is_said(c, o))
            compare_say(c, "- %s", tensor_text(c, o));
    }
    for (int i = 0; i < c->new->tensors.n; i++) {
        const Tensor *n = c->new->tensors.at[i];
        if (!module_tensor(c->old, n->name) && !is_said(c, n))
            compare_say(c, "+ %s", tensor_text(c, n));
    }
}
