#include "passes/plan/summary.h"

#include "passes/plan/cost.h"

const char *const fate_name[FATE_COUNT] = {
    [FATE_kept] = "kept", [FATE_moved] = "moved", [FATE_again] = "made again"};

typedef struct Block {
    const char *name;
    BlockLine line;
} Block;

typedef struct Make {
    Arena *a;
    Map by_name; /* index + 1 */
    VEC(Block) blocks;
} Make;

static Block *
block_of(Make *k, const char *name)
{
    const char *key = name ? name : "";
    intptr_t at = (intptr_t)map_get(&k->by_name, key);
    if (!at) {
        vec_push(k->a, &k->blocks, ((Block){.name = name}));
        at = k->blocks.n;
        map_put(k->a, &k->by_name, key, (void *)at);
    }
    return &k->blocks.at[at - 1];
}

/* h.3.ln_1.re of block h.3: ln_1. */
static const char *
short_name(Make *k, const Block *b, const char *name)
{
    size_t skip = b->name ? strlen(b->name) : 0, n = strlen(name);
    if (skip && strncmp(name, b->name, skip) == 0 && name[skip] == '.')
        name += skip + 1, n -= skip + 1;
    if (n > 3 && strcmp(name + n - 3, ".re") == 0)
        n -= 3;
    return arena_strndup(k->a, name, n);
}

static void
add_value(Make *k, const char *block, Fate fate, const char *name,
          int64_t bytes)
{
    Block *b = block_of(k, block);
    FateLine *line = &b->line.fate[fate];
    vec_push(k->a, &line->values, short_name(k, b, name));
    line->bytes += bytes;
}

static void
add_again(Make *k, const Node *n)
{
    if (op_info[n->op].flags & OP_VIEW)
        return;
    for (int i = 0; i < n->n_results; i++)
        add_value(k, n->block, FATE_again, n->results[i]->name,
                  type_bytes(&n->results[i]->type));
    block_of(k, n->block)->line.fate[FATE_again].ns += cost_kernel(n);
}

static void
add_node(Make *k, const Node *n)
{
    block_of(k, n->block);
    if (n->recomputed)
        add_again(k, n);
    if (n->op != OP_write || n->tensor->kind != TENSOR_stash)
        return;
    const Value *v = n->args[0];
    if (v->def->op == OP_offload)
        v = v->def->args[0];
    bool here = n->tensor->space == SPACE_device;
    add_value(k, value_node(v)->block, here ? FATE_kept : FATE_moved,
              n->tensor->name, n->tensor->bytes);
}

/* What makes blocks equal: the values' names. */
static const char *
text_of(Make *k, const Block *b)
{
    VEC(char) text = {0};
    for (int f = 0; f < FATE_COUNT; f++) {
        vec_push(k->a, &text, '\n');
        for (int i = 0; i < b->line.fate[f].values.n; i++) {
            for (const char *s = b->line.fate[f].values.at[i]; *s; s++)
                vec_push(k->a, &text, *s);
            vec_push(k->a, &text, ' ');
        }
    }
    vec_push(k->a, &text, '\0');
    return text.at;
}

static bool
is_empty(const Block *b)
{
    for (int f = 0; f < FATE_COUNT; f++)
        if (b->line.fate[f].values.n > 0)
            return false;
    return true;
}

static void
join(Make *k, Summary *s, Map *kinds, const Block *b)
{
    const char *key = b->name ? text_of(k, b) : "";
    intptr_t at = (intptr_t)map_get(kinds, key);
    if (!at) {
        vec_push(k->a, &s->at, b->line);
        at = s->at.n;
        map_put(k->a, kinds, key, (void *)at);
    } else {
        for (int f = 0; f < FATE_COUNT; f++) {
            s->at.at[at - 1].fate[f].bytes += b->line.fate[f].bytes;
            s->at.at[at - 1].fate[f].ns += b->line.fate[f].ns;
        }
    }
    if (b->name)
        vec_push(k->a, &s->at.at[at - 1].blocks, b->name);
    s->again += b->line.fate[FATE_again].bytes;
}

static void
count_early(Summary *s, const Graph *backward)
{
    graph_each(backward, n) {
        if (!(op_info[n->op].flags & OP_OPTIMIZER))
            continue;
        s->early++;
        s->early_bytes += type_bytes(&n->args[1]->type);
    }
}

Summary
summary_make(Arena *a, const Module *m)
{
    Make k = {.a = a};
    Summary s = {0};
    Map kinds = {0};
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n)
            add_node(&k, n);
    for (int i = 0; i < k.blocks.n; i++)
        if (!is_empty(&k.blocks.at[i]))
            join(&k, &s, &kinds, &k.blocks.at[i]);
    if (module_graph(m, "backward"))
        count_early(&s, module_graph(m, "backward"));
    return s;
}
