/* Blocks of the forward pass, and which of them are equal: the same nodes in
 * the same order on the same shapes, with the same values stashed. */
#include "passes/plan/ladder_steps.h"

#include <inttypes.h>

/* Values below this part of the largest of a block are not chosen. */
enum { SMALL = 64 };

typedef struct Find {
    Arena *a;
    Drop *d;
    Blocks *blocks;
    Map by_name;   /* block -> index + 1 */
    bool *border;  /* by value */
    int *block;    /* by atom: its block; -1 of other phases */
    int *position; /* by atom: in its block */
} Find;

static int
block_of(Find *f, const Node *n)
{
    const char *name = n->block ? n->block : "";
    intptr_t at = (intptr_t)map_get(&f->by_name, name);
    if (!at) {
        Block b = {.name = n->block};
        vec_push(f->a, &f->blocks->at, b);
        at = f->blocks->at.n;
        map_put(f->a, &f->by_name, name, (void *)at);
    }
    return (int)at - 1;
}

static void
assign_atoms(Find *f)
{
    Drop *d = f->d;
    VEC(int) count = {0};
    for (int i = 0; i < d->atoms.n; i++) {
        f->block[i] = -1;
        if (d->atoms.at[i]->phase != PHASE_forward)
            continue;
        int b = block_of(f, d->atoms.at[i]);
        while (count.n <= b)
            vec_push(f->a, &count, 0);
        f->block[i] = b;
        f->position[i] = count.at[b]++;
    }
}

/* A value that another block reads, and what it shows. */
static void
mark_border(Find *f, const Value *v)
{
    for (;;) {
        f->border[v->mark] = true;
        if (!(op_info[v->def->op].flags & OP_VIEW))
            return;
        v = v->def->args[0];
    }
}

/* What is in no block is no block of its own: it has no borders. */
static void
find_borders(Find *f)
{
    Drop *d = f->d;
    for (int i = 0; i < d->atoms.n; i++) {
        const Node *n = d->atoms.at[i];
        for (int k = 0; f->block[i] >= 0 && k < n->n_args; k++) {
            int from = f->block[n->args[k]->def->mark];
            if (from >= 0 && from != f->block[i] && f->blocks->at.at[from].name)
                mark_border(f, n->args[k]);
        }
    }
}

static void
assign_values(Find *f)
{
    Drop *d = f->d;
    int64_t *largest = ARENA_ARRAY(f->a, int64_t, f->blocks->at.n + 1);
    for (int i = 0; i < d->values.n; i++) {
        int b = f->block[d->values.at[i]->def->mark];
        if (d->may[i] && d->stash[i] > largest[b])
            largest[b] = d->stash[i];
    }
    for (int i = 0; i < d->values.n; i++) {
        int b = f->block[d->values.at[i]->def->mark];
        if (!d->may[i] || d->stash[i] * SMALL < largest[b])
            continue;
        Block *block = &f->blocks->at.at[b];
        if (f->border[i])
            vec_push(f->a, &block->borders, i);
        else
            vec_push(f->a, &block->large, i);
    }
}

/* ---- equal blocks: the same text ---- */

typedef VEC(char) Text;

static void
add_text(Find *f, Text *t, const char *s)
{
    for (; *s; s++)
        vec_push(f->a, t, *s);
}

static void
add_number(Find *f, Text *t, int64_t n)
{
    char s[32];
    snprintf(s, sizeof s, "%" PRId64 " ", n);
    add_text(f, t, s);
}

static void
add_type(Find *f, Text *t, const Type *type)
{
    add_text(f, t, dtype_info[type->dtype].name);
    for (int i = 0; i < type->rank; i++)
        add_number(f, t, type->dim[i]);
}

/* Keys of random draws differ from block to block. */
static void
add_attrs(Find *f, Text *t, const Node *n)
{
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        add_text(f, t, a->key);
        if (a->kind == ATTR_word)
            add_text(f, t, a->s);
        if (a->kind == ATTR_float)
            add_text(f, t, arena_printf(f->a, "%.17g", a->f));
        if (a->kind != ATTR_str)
            add_number(f, t, a->i);
        for (int k = 0; a->kind == ATTR_ints && k < a->i; k++)
            add_number(f, t, a->list[k]);
    }
}

static void
add_atom(Find *f, Text *t, const Node *n)
{
    const Drop *d = f->d;
    int b = f->block[n->mark];
    add_text(f, t, op_info[n->op].name);
    add_attrs(f, t, n);
    for (int i = 0; i < n->n_args; i++) {
        const Value *v = n->args[i];
        bool here = f->block[v->def->mark] == b;
        add_number(f, t, here ? f->position[v->def->mark] : -1);
        add_number(f, t, v->result);
        add_type(f, t, &v->type);
    }
    for (int i = 0; i < n->n_results; i++) {
        int v = n->results[i]->mark;
        add_type(f, t, &n->results[i]->type);
        add_number(f, t, d->stash[v]);
        add_number(f, t, d->may[v] + 2 * f->border[v]);
    }
    add_text(f, t, "\n");
}

static void
find_kinds(Find *f)
{
    int n = f->blocks->at.n;
    Text *texts = ARENA_ARRAY(f->a, Text, n + 1);
    Map kinds = {0};
    for (int i = 0; i < f->d->atoms.n; i++)
        if (f->block[i] >= 0)
            add_atom(f, &texts[f->block[i]], f->d->atoms.at[i]);
    for (int i = 0; i < n; i++) {
        add_text(f, &texts[i], f->blocks->at.at[i].name ? "block" : "rest");
        vec_push(f->a, &texts[i], '\0');
        intptr_t kind = (intptr_t)map_get(&kinds, texts[i].at);
        if (!kind) {
            vec_push(f->a, &f->blocks->kinds, (BlockKind){0});
            kind = f->blocks->kinds.n;
            map_put(f->a, &kinds, texts[i].at, (void *)kind);
        }
        f->blocks->at.at[i].kind = (int)kind - 1;
        vec_push(f->a, &f->blocks->kinds.at[kind - 1].members, i);
    }
}

Blocks *
blocks_find(Arena *a, Drop *d)
{
    Find f = {.a = a, .d = d, .blocks = ARENA_NEW(a, Blocks)};
    f.border = ARENA_ARRAY(a, bool, d->values.n + 1);
    f.block = ARENA_ARRAY(a, int, d->atoms.n + 1);
    f.position = ARENA_ARRAY(a, int, d->atoms.n + 1);
    assign_atoms(&f);
    find_borders(&f);
    assign_values(&f);
    find_kinds(&f);
    for (int i = 0; i < f.blocks->kinds.n; i++) {
        BlockKind *k = &f.blocks->kinds.at[i];
        choices_find(a, d, &f.blocks->at.at[k->members.at[0]], k);
    }
    return f.blocks;
}
