#include "frontend/low_train.h"

/* ---- patterns ---- */

/* `*` stands for any characters, dots too. */
static bool
matches(const char *pattern, const char *s)
{
    const char *star = NULL, *back = s;
    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            back = s;
        } else if (*pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star;
            s = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

static bool
is_weight(const Tensor *t)
{
    return t->kind == TENSOR_param || t->kind == TENSOR_frozen;
}

static void
no_match(Lower *l, Span at, const char *pattern)
{
    VEC(const char *) names = {0};
    for (int i = 0; i < l->module->tensors.n; i++)
        if (is_weight(l->module->tensors.at[i]))
            vec_push(l->arena, &names, l->module->tensors.at[i]->name);
    if (l->failed ||
        !low_error(l, at, "the pattern \"%s\" matches no parameter", pattern))
        return;
    const char *near = diag_nearest(pattern, names.at, names.n);
    if (near)
        low_note(l, (Span){0}, "did you mean \"%s\"?", near);
}

/* What the lines say about a parameter; which line said it. */
typedef struct Mark {
    const Item *group, *no_decay;
    bool group_decays;
} Mark;

typedef struct Groups {
    Lower *l;
    Mark *marks; /* one a tensor of the module */
} Groups;

static void
mark_group(Groups *g, const Item *item, int i, bool decays)
{
    Mark *m = &g->marks[i];
    const char *name = g->l->module->tensors.at[i]->name;
    if (m->group) {
        if (low_error(g->l, item->at, "`%s` is in two groups", name))
            low_note(g->l, m->group->at, "the other is here");
    } else if (decays && m->no_decay) {
        if (low_error(g->l, item->at,
                      "`%s` is in a group that sets "
                      "weight_decay and in no_decay",
                      name))
            low_note(g->l, m->no_decay->at, "no_decay is here");
    }
    m->group = item;
    m->group_decays = decays;
}

static void
mark_no_decay(Groups *g, const Item *item, int i)
{
    Mark *m = &g->marks[i];
    if (m->group_decays &&
        low_error(g->l, item->at,
                  "`%s` is in a group that sets weight_decay "
                  "and in no_decay",
                  g->l->module->tensors.at[i]->name))
        low_note(g->l, m->group->at, "the group is here");
    m->no_decay = item;
    g->l->module->tensors.at[i]->weight_decay = 0;
}

typedef enum { LINE_group, LINE_no_decay, LINE_freeze } LineKind;

static void
apply(Groups *g, const Item *item, LineKind kind, const Settings *s)
{
    const char *pattern;
    bool found = false;
    Module *m = g->l->module;
    if (!train_string(g->l, item, &pattern))
        return;
    for (int i = 0; i < m->tensors.n; i++) {
        Tensor *t = m->tensors.at[i];
        if (!is_weight(t) || !matches(pattern, t->name))
            continue;
        found = true;
        switch (kind) {
        case LINE_group:
            mark_group(g, item, i, s->given[1]);
            t->lr_scale = settings_number(s, 0, t->lr_scale);
            t->weight_decay = settings_number(s, 1, t->weight_decay);
            break;
        case LINE_no_decay:
            mark_no_decay(g, item, i);
            break;
        case LINE_freeze:
            t->kind = TENSOR_frozen;
            break;
        }
    }
    if (!found)
        no_match(g->l, item->at, pattern);
}

static void
group_line(Groups *g, const Line *line)
{
    static const Setting rows[] = {{"lr_scale", ARG_number, false, {0}},
                                   {"weight_decay", ARG_number, false, {0}}};
    Settings s = {.l = g->l, .what = "group"};
    if (!line->has_block) {
        low_error(g->l, line->at,
                  "expected group \"PATTERN\" { lr_scale = "
                  "0.1 }");
        return;
    }
    if (settings_take(&s, line->at, &line->settings, rows, 2))
        for (int i = 0; i < line->items.n; i++)
            apply(g, &line->items.at[i], LINE_group, &s);
}

void
train_groups(Lower *l, const Decl *block, const Train *t)
{
    Groups g = {l, ARENA_ARRAY(l->arena, Mark, l->module->tensors.n + 1)};
    for (int i = 0; i < l->module->tensors.n; i++)
        if (is_weight(l->module->tensors.at[i]))
            l->module->tensors.at[i]->weight_decay = t->weight_decay;
    for (int i = 0; i < block->u.settings.n; i++) {
        const Line *line = block->u.settings.at[i];
        const char *word = line->keyword.text;
        bool freeze = strcmp(word, "freeze") == 0;
        if (strcmp(word, "group") == 0)
            group_line(&g, line);
        else if (freeze || strcmp(word, "no_decay") == 0)
            for (int k = 0; k < line->items.n; k++)
                apply(&g, &line->items.at[k],
                      freeze ? LINE_freeze : LINE_no_decay, NULL);
    }
    for (int i = 0; i < l->module->tensors.n; i++)
        if (l->module->tensors.at[i]->kind == TENSOR_frozen) {
            l->module->tensors.at[i]->weight_decay = 0;
            l->module->tensors.at[i]->lr_scale = 1;
        }
}

/* ---- simple lines ---- */

static void
line_seed(Lower *l, const Line *line, Train *t)
{
    int64_t v;
    if (train_int(l, line, &line->items.at[0], 0, &v))
        t->seed = (uint64_t)v;
}

static void
line_minimize(Lower *l, const Line *line, Train *t)
{
    const Item *item = &line->items.at[0];
    const Expr *e = item->value;
    if (!e || e->kind != EX_NAME || e->u.path.module.text) {
        low_error(l, item->at, "`minimize` takes the name of an output");
        return;
    }
    const char *name = e->u.path.name.text;
    const Tensor *x = module_tensor(l->module, name);
    if (!x || x->kind != TENSOR_output) {
        VEC(const char *) legal = {0};
        for (int i = 0; i < l->module->tensors.n; i++)
            if (l->module->tensors.at[i]->kind == TENSOR_output)
                vec_push(l->arena, &legal, l->module->tensors.at[i]->name);
        if (!l->failed &&
            low_error(l, item->at, "the model has no output `%s`", name))
            low_legal(l, name, legal.at, legal.n, "its outputs are");
        return;
    }
    if (x->type.rank == 0 && type_is_float(&x->type)) {
        t->minimize = x->name;
        return;
    }
    if (low_error(l, item->at,
                  "what is minimized must be a floating scalar, "
                  "found %s",
                  low_type_text(l, &x->type, map_get(&l->shapes, x->name))))
        low_note(l, x->loc, "the output `%s` is here", name);
}

static void
line_clip_norm(Lower *l, const Line *line, Train *t)
{
    if (train_number(l, line, &line->items.at[0], &t->clip_norm) &&
        !(t->clip_norm > 0))
        low_error(l, line->items.at[0].at, "clip_norm must be above 0");
}

static void
line_skip_nonfinite(Lower *l, const Line *line, Train *t)
{
    const Item *item = &line->items.at[0];
    bool on = item->kind == ITEM_WORD && strcmp(item->word, "on") == 0;
    bool off = item->kind == ITEM_WORD && strcmp(item->word, "off") == 0;
    if (!on && !off)
        low_error(l, item->at, "skip_nonfinite is on or off");
    t->skip_nonfinite = on;
}

static void
line_accumulate(Lower *l, const Line *line, Train *t)
{
    train_int(l, line, &line->items.at[0], 1, &t->accumulate);
}

static void
line_steps(Lower *l, const Line *line, Train *t)
{
    train_int(l, line, &line->items.at[0], 1, &t->steps);
}

static void
line_checkpoint(Lower *l, const Line *line, Train *t)
{
    const Items *x = &line->items;
    bool every = x->n == 3 && x->at[1].kind == ITEM_WORD &&
                 strcmp(x->at[1].word, "every") == 0;
    if (!every && x->n != 1)
        low_error(l, line->keyword.at, "expected checkpoint \"FILE\" every N");
    else if (train_string(l, &x->at[0], &t->checkpoint) && every)
        train_int(l, line, &x->at[2], 1, &t->checkpoint_every);
}

static void
line_later(Lower *l, const Line *line, Train *t)
{
    (void)l;
    (void)line;
    (void)t; /* patterns: train_groups, when the optimizer is known */
}

/* ---- the block ---- */

typedef struct LineRule {
    const char *keyword;
    void (*read)(Lower *, const Line *, Train *);
    int min_items, max_items;
    bool once;
} LineRule;

static const LineRule line_rules[] = {
    {"seed", line_seed, 1, 1, true},
    {"data", train_data, 1, 1, false},
    {"validate", train_validate, 1, 5, false},
    {"minimize", line_minimize, 1, 1, true},
    {"optimizer", train_optimizer, 1, 1, true},
    {"no_decay", line_later, 1, 1000, false},
    {"freeze", line_later, 1, 1000, false},
    {"group", line_later, 1, 1000, false},
    {"clip_norm", line_clip_norm, 1, 1, true},
    {"skip_nonfinite", line_skip_nonfinite, 1, 1, true},
    {"accumulate", line_accumulate, 1, 1, true},
    {"steps", line_steps, 1, 1, true},
    {"checkpoint", line_checkpoint, 1, 3, true},
};

enum { N_LINES = sizeof line_rules / sizeof line_rules[0] };

static void
say_lines(Lower *l, const char *wrong, const char *const *legal)
{
    if (low_is_plan_line(wrong))
        low_note(l, (Span){0}, "it is a line of a plan block: plan { %s ... }",
                 wrong);
    else
        low_legal(l, wrong, legal, N_LINES, "its lines are");
}

static const LineRule *
rule_of(Lower *l, const Line *line)
{
    const char *legal[N_LINES];
    for (int i = 0; i < N_LINES; i++) {
        legal[i] = line_rules[i].keyword;
        if (strcmp(legal[i], line->keyword.text) == 0)
            return &line_rules[i];
    }
    if (low_error(l, line->keyword.at, "a train block has no line `%s`",
                  line->keyword.text))
        say_lines(l, line->keyword.text, legal);
    return NULL;
}

static bool
line_fits(Lower *l, const Line *line, const LineRule *rule, const Line **seen)
{
    const Line **first = &seen[rule - line_rules];
    if (rule->once && *first) {
        if (low_error(l, line->keyword.at, "a second `%s`", rule->keyword))
            low_note(l, (*first)->keyword.at, "the first is here");
        return false;
    }
    *first = line;
    bool data = rule->read == train_data || rule->read == train_validate;
    if (line->targets.n && !data) {
        low_error(l, line->targets.at[0].at, "`%s` takes no `=`",
                  rule->keyword);
        return false;
    }
    if (line->has_block && strcmp(rule->keyword, "group") != 0) {
        low_error(l, line->at, "`%s` takes no { }", rule->keyword);
        return false;
    }
    if (line->items.n >= rule->min_items && line->items.n <= rule->max_items)
        return true;
    low_error(l, line->keyword.at, "`%s` takes %d value%s, found %d",
              rule->keyword, rule->max_items,
              rule->max_items == 1 ? "" : "s at most", line->items.n);
    return false;
}

static void
need_lines(Lower *l, const Decl *block, const Line *const *seen)
{
    static const char *const needed[] = {"minimize", "optimizer"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < N_LINES; k++)
            if (strcmp(line_rules[k].keyword, needed[i]) == 0 && !seen[k])
                low_error(l, low_block_at(block),
                          "the train block has no `%s` "
                          "line",
                          needed[i]);
}

Train *
low_train(Lower *l, const Decl *block)
{
    int before = l->mistakes;
    const Line *seen[N_LINES] = {NULL};
    Train *t = ARENA_NEW(l->arena, Train);
    t->accumulate = 1;
    t->steps = 1;
    for (int i = 0; i < block->u.settings.n; i++) {
        const Line *line = block->u.settings.at[i];
        const LineRule *rule = rule_of(l, line);
        if (rule && line_fits(l, line, rule, seen))
            rule->read(l, line, t);
    }
    need_lines(l, block, seen);
    if (l->mistakes == before)
        train_check_data(l, t, block);
    train_groups(l, block, t);
    return l->mistakes == before ? t : NULL;
}

Span
low_block_at(const Decl *block)
{
    Span at = block->at;
    at.end_line = at.line;
    at.end_col = at.col + 1;
    return block->name.text ? block->name.at : at;
}

const Decl *
low_train_decl(Lower *l, const char *model)
{
    const Decl *found = NULL;
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++) {
        const Decl *d = decls->at[i];
        if (d->kind != DECL_TRAIN ||
            (d->name.text && strcmp(d->name.text, model) != 0))
            continue;
        if (found && low_error(l, low_block_at(d),
                               "a second train block of `%s`", model))
            low_note(l, low_block_at(found), "the first is here");
        found = found ? found : d;
    }
    return found;
}
