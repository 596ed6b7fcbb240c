#include "passes/plan/again.h"

#include "passes/plan/cost.h"

typedef struct Block {
    const char *name;
    const char *text; /* the values' names: what makes blocks equal */
    Again again;
} Block;

typedef struct Find {
    Arena *a;
    Map by_name; /* index + 1 */
    VEC(Block) blocks;
} Find;

static Block *
block_of(Find *f, const char *name)
{
    const char *key = name ? name : "";
    intptr_t at = (intptr_t)map_get(&f->by_name, key);
    if (!at) {
        vec_push(f->a, &f->blocks, ((Block){.name = name, .text = ""}));
        at = f->blocks.n;
        map_put(f->a, &f->by_name, key, (void *)at);
    }
    return &f->blocks.at[at - 1];
}

/* h.3.ln_1.re of block h.3: ln_1. */
static const char *
short_name(Find *f, const Block *b, const char *name)
{
    size_t skip = b->name ? strlen(b->name) : 0, n = strlen(name);
    if (skip && strncmp(name, b->name, skip) == 0 && name[skip] == '.')
        name += skip + 1, n -= skip + 1;
    if (n > 3 && strcmp(name + n - 3, ".re") == 0)
        n -= 3;
    return arena_strndup(f->a, name, n);
}

static void
add_node(Find *f, const Node *n)
{
    Block *b = block_of(f, n->block);
    if (op_info[n->op].flags & OP_VIEW)
        return;
    for (int i = 0; i < n->n_results; i++) {
        const char *name = short_name(f, b, n->results[i]->name);
        b->text = arena_printf(f->a, "%s%s ", b->text, name);
        vec_push(f->a, &b->again.values, name);
        b->again.bytes += type_bytes(&n->results[i]->type);
    }
    b->again.ns += cost_kernel(n);
}

Agains
again_find(Arena *a, const Module *m)
{
    Find f = {.a = a};
    Agains all = {0};
    Map kinds = {0};
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n)
            if (n->recomputed)
                add_node(&f, n);
    for (int i = f.blocks.n - 1; i >= 0; i--) {
        Block *b = &f.blocks.at[i];
        const char *key = b->name ? b->text : "";
        intptr_t at = (intptr_t)map_get(&kinds, key);
        if (b->again.values.n == 0)
            continue;
        if (!at) {
            vec_push(a, &all.at, b->again);
            at = all.at.n;
            map_put(a, &kinds, key, (void *)at);
        } else {
            all.at.at[at - 1].bytes += b->again.bytes;
            all.at.at[at - 1].ns += b->again.ns;
        }
        if (b->name)
            vec_push(a, &all.at.at[at - 1].blocks, b->name);
    }
    return all;
}
