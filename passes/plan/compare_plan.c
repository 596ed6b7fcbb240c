/* What another plan changes: values that are now made again, moved or kept. */
#include "passes/plan/compare_parts.h"

#include "passes/plan/flow.h"
#include "passes/plan/order.h"
#include "passes/plan/report.h"

#include <ctype.h>

/* What becomes of a value for the backward pass, or when a parameter changes;
 * 0: nothing. */
enum { NOTHING, KEPT, MOVED, AGAIN, LATE, EARLY };

typedef struct Fact {
    const char *name, *block;
    int old, new;
} Fact;

typedef struct Plan {
    Compare *c;
    Map at; /* name -> index + 1 */
    VEC(Fact) facts;
} Plan;

static const char *
without_re(Arena *a, const char *name)
{
    size_t n = strlen(name);
    bool copy = n > 3 && strcmp(name + n - 3, ".re") == 0;
    return copy ? arena_strndup(a, name, n - 3) : name;
}

static void
add_fact(Plan *p, const char *name, const char *block, int fate, bool old)
{
    intptr_t at = (intptr_t)map_get(&p->at, name);
    if (!at) {
        vec_push(p->c->a, &p->facts, ((Fact){.name = name, .block = block}));
        at = p->facts.n;
        map_put(p->c->a, &p->at, name, (void *)at);
    }
    Fact *f = &p->facts.at[at - 1];
    int *now = old ? &f->old : &f->new;
    if (fate == EARLY)
        f->block = block;
    if (fate > *now)
        *now = fate;
}

static void
add_node(Plan *p, const Node *n, bool old)
{
    const Value *v = n->op == OP_write ? n->args[0] : NULL;
    if (v && v->def->op == OP_offload)
        v = v->def->args[0];
    if (v && n->tensor->kind == TENSOR_stash)
        add_fact(p, n->tensor->name, value_node(v)->block,
                 n->tensor->space == SPACE_device ? KEPT : MOVED, old);
    if (n->recomputed && !(op_info[n->op].flags & OP_VIEW))
        for (int i = 0; i < n->n_results; i++)
            add_fact(p, without_re(p->c->a, n->results[i]->name), n->block,
                     AGAIN, old);
}

static void
add_updates(Plan *p, const Graph *g, bool old)
{
    graph_each(g, n) {
        if (n->body)
            add_updates(p, n->body, old);
        const Tensor *t = compare_updated(n);
        if (t)
            add_fact(p, t->name, n->block,
                     n->phase == PHASE_backward ? EARLY : LATE, old);
    }
}

static void
add_module(Plan *p, const Module *m, bool old)
{
    for (int i = 0; i < m->graphs.n; i++) {
        graph_each(m->graphs.at[i], n)
            add_node(p, n, old);
        add_updates(p, m->graphs.at[i], old);
    }
}

/* Whether a module computes it at all. */
static bool
is_there(const Module *m, const char *name, int fate)
{
    const Graph *g = module_graph(m, "forward");
    return fate != NOTHING || (g && map_get(&g->values, name));
}

/* ---- words ---- */

typedef enum {
    CHANGE_again,
    CHANGE_moved,
    CHANGE_back,
    CHANGE_kept,
    CHANGE_not_again,
    CHANGE_not_kept,
    CHANGE_early,
    CHANGE_late,
    CHANGE_cut,
    CHANGE_joined,
    CHANGE_COUNT
} Change;

static const char *const change_text[CHANGE_COUNT] = {
    [CHANGE_again] = "now made again",
    [CHANGE_moved] = "now moved off the device",
    [CHANGE_back] = "kept again",
    [CHANGE_kept] = "now kept",
    [CHANGE_not_again] = "no longer made again",
    [CHANGE_not_kept] = "no longer kept",
    [CHANGE_early] = "now updated in the backward pass",
    [CHANGE_late] = "now updated after the backward pass",
    [CHANGE_cut] = "no longer one kernel",
    [CHANGE_joined] = "now one kernel"};

static Change
change_of(const Fact *f)
{
    if (f->new >= LATE)
        return f->new == EARLY ? CHANGE_early : CHANGE_late;
    if (f->new == AGAIN)
        return CHANGE_again;
    if (f->new == MOVED)
        return CHANGE_moved;
    if (f->new == KEPT)
        return f->old == NOTHING ? CHANGE_kept : CHANGE_back;
    return f->old == AGAIN ? CHANGE_not_again : CHANGE_not_kept;
}

static bool
is_change(const Compare *c, const Fact *f)
{
    if (f->old >= LATE || f->new >= LATE)
        return f->old != f->new && f->old && f->new;
    return f->old != f->new && is_there(c->old, f->name, f->old) &&
           is_there(c->new, f->name, f->new);
}

/* ---- blocks: equal changes in one ---- */

typedef VEC(const char *) Names;

typedef struct Block {
    const char *name; /* "": what is in none */
    Names change[CHANGE_COUNT];
} Block;

typedef struct Blocks {
    Arena *a;
    VEC(Block) at;
    Map by_name; /* index + 1 */
    Change kernels; /* what those are that are told now */
} Blocks;

typedef struct Group {
    Names blocks;
    const char *text;
} Group;

typedef struct Groups {
    VEC(Group) at;
    Map by_text; /* index + 1 */
} Groups;

static const char *
joined(Arena *a, const Names *names)
{
    VEC(char) text = {0};
    for (int i = 0; i < names->n; i++) {
        for (const char *s = i ? ", " : ""; *s; s++)
            vec_push(a, &text, *s);
        for (const char *s = names->at[i]; *s; s++)
            vec_push(a, &text, *s);
    }
    vec_push(a, &text, '\0');
    return text.at;
}

static const char *
block_text(Arena *a, const Block *b)
{
    const char *text = "";
    for (int i = 0; i < CHANGE_COUNT; i++)
        if (b->change[i].n > 0)
            text = arena_printf(a, "%s    %s: %s\n", text, change_text[i],
                                joined(a, &b->change[i]));
    return text;
}

static const char *
short_name(const char *name, const char *block)
{
    size_t n = strlen(block);
    bool mine = n && strncmp(name, block, n) == 0 && name[n] == '.';
    return name + (mine ? n + 1 : 0);
}

static void
add_change(Blocks *b, const char *block, Change change, const char *text)
{
    intptr_t at = (intptr_t)map_get(&b->by_name, block);
    if (!at) {
        vec_push(b->a, &b->at, ((Block){.name = block}));
        at = b->at.n;
        map_put(b->a, &b->by_name, block, (void *)at);
    }
    vec_push(b->a, &b->at.at[at - 1].change[change], text);
}

static void
add_kernel(void *to, const char *block, const char **values, int n)
{
    Blocks *b = to;
    const char *text = "";
    block = block ? block : "";
    for (int i = 0; i < n; i++)
        text = arena_printf(b->a, "%s%s%s", text, i ? " / " : "",
                            short_name(values[i], block));
    add_change(b, block, b->kernels, text);
}

static void
add_group(Arena *a, Groups *g, const Block *b)
{
    const char *text = block_text(a, b);
    intptr_t at = (intptr_t)map_get(&g->by_text, text);
    if (!at) {
        vec_push(a, &g->at, ((Group){.text = text}));
        at = g->at.n;
        map_put(a, &g->by_text, text, (void *)at);
    }
    vec_push(a, &g->at.at[at - 1].blocks, b->name);
}

static Groups
group(Plan *p)
{
    Compare *c = p->c;
    Blocks blocks = {.a = c->a};
    Groups g = {0};
    for (int i = 0; i < p->facts.n; i++) {
        const Fact *f = &p->facts.at[i];
        const char *name = f->block ? f->block : "";
        if (!is_change(c, f))
            continue;
        add_change(&blocks, name, change_of(f), short_name(f->name, name));
        map_put(c->a, &c->planned, f->name, (void *)f->name);
        c->n_planned++;
    }
    blocks.kernels = CHANGE_cut;
    compare_kernels(c, c->old, c->new, add_kernel, &blocks);
    blocks.kernels = CHANGE_joined;
    compare_kernels(c, c->new, c->old, add_kernel, &blocks);
    for (int i = 0; i < blocks.at.n; i++)
        add_group(c->a, &g, &blocks.at.at[i]);
    return g;
}

/* ---- the section ---- */

static void
say_totals(Compare *c)
{
    int64_t old = report_total(c->old), new = report_total(c->new);
    int64_t was = flow_program(c->old, "step");
    int64_t is = flow_program(c->new, "step");
    if (old != new)
        compare_say(c, "the peak goes %s by %lld bytes: %lld -> %lld",
                    new > old ? "up" : "down",
                    (long long)(new > old ? new - old : old - new),
                    (long long)old, (long long)new);
    if (was != is)
        compare_say(c, "predicted time of a step: %.3f -> %.3f ms (x %.4f)",
                    (double)was / 1e6, (double)is / 1e6,
                    was > 0 ? (double)is / (double)was : 0);
}

void
compare_plan(Compare *c)
{
    Plan p = {.c = c};
    add_module(&p, c->old, true);
    add_module(&p, c->new, false);
    Groups g = group(&p);
    compare_section(c, "plan");
    say_totals(c);
    for (int i = 0; i < g.at.n; i++) {
        const Names *blocks = &g.at.at[i].blocks;
        compare_say(c, "%s%s%s\n%.*s", *blocks->at[0] ? "in " : "",
                    *blocks->at[0] ? joined(c->a, blocks) : "outside of blocks",
                    blocks->n > 1 ? " alike" : "",
                    (int)strlen(g.at.at[i].text) - 1, g.at.at[i].text);
    }
}

/* ---- what the section has said already ---- */

const Tensor *
compare_updated(const Node *n)
{
    return op_info[n->op].flags & OP_OPTIMIZER ? order_tensor(n->args[0])
                                               : NULL;
}

/* Its update or its gradient, where that has moved. */
static bool
is_update(const Compare *c, const Node *n)
{
    const Tensor *t = compare_updated(n);
    if (n->op == OP_accumulate)
        t = n->tensor->owner;
    return t && map_get(&c->planned, t->name);
}

bool
compare_is_planned(const Compare *c, const Node *n)
{
    if (n->recomputed || is_update(c, n))
        return true;
    const Graph *g = n->graph;
    if (g->owner && g->owner->recomputed)
        return true;
    return (n->op == OP_read || n->op == OP_write) &&
           n->tensor->kind == TENSOR_stash &&
           map_get(&c->planned, n->tensor->name);
}

/* What stands at s and follows from a plan: `.re` behind a name, and where a
 * value lies, ` in NAME(...)` and ` layout(...)`. */
static const char *
skip_planned(const char *s)
{
    for (;;) {
        if (strncmp(s, ".re", 3) == 0 && !isalnum((unsigned char)s[3]))
            s += 3;
        else if ((strncmp(s, " in ", 4) == 0 ||
                  strncmp(s, " layout(", 8) == 0) &&
                 strchr(s, ')'))
            s = strchr(s, ')') + 1;
        else
            return s;
    }
}

bool
compare_same_but_plan(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = skip_planned(a);
        b = skip_planned(b);
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}
