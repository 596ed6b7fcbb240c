/* The plan block: what this edlc can do of it, and what it cannot yet. */
#include "frontend/low.h"
#include "ir/text.h"

static void
memory(Lower *l, const Line *line)
{
    const Item *item = line->items.n == 1 ? &line->items.at[0] : NULL;
    const char *text = NULL;
    if (item && item->kind == ITEM_SIZE && item->bytes > 0)
        text = arena_printf(l->arena, "%lld", (long long)item->bytes);
    else if (item && item->kind == ITEM_PERCENT && item->percent > 0)
        text = arena_printf(l->arena, "%s%%",
                            text_double(l->arena, item->percent));
    if (!text)
        low_error(l, item ? item->at : line->keyword.at,
                  "`memory` takes a size as 3 GiB, or a share as 80%%");
    else if (module_option(l->module, "limit"))
        low_error(l, line->keyword.at, "a second `memory`");
    else
        module_set_option(l->module, "limit", text);
}

static void
recompute(Lower *l, const Line *line)
{
    static const char *const words[] = {"auto", "none", "all"};
    const Item *item = line->items.n == 1 ? &line->items.at[0] : NULL;
    const char *found = NULL;
    for (int i = 0; item && item->kind == ITEM_WORD && i < 3; i++)
        if (strcmp(item->word, words[i]) == 0)
            found = words[i];
    if (!found)
        low_error(l, item ? item->at : line->keyword.at,
                  "`recompute` takes auto, none or all");
    else if (module_option(l->module, "recompute"))
        low_error(l, line->keyword.at, "a second `recompute`");
    else
        module_set_option(l->module, "recompute", found);
}

static void
precision(Lower *l, const Line *line)
{
    static const char *const words[] = {"f32", "bf16"};
    const Item *item = line->items.n == 1 ? &line->items.at[0] : NULL;
    const char *found = NULL;
    bool type = item && item->kind == ITEM_EXPR && item->value->kind == EX_TYPE;
    for (int i = 0; type && i < 2; i++)
        if (strcmp(item->value->u.path.name.text, words[i]) == 0)
            found = words[i];
    if (!found)
        low_error(l, item ? item->at : line->keyword.at,
                  "`precision` takes f32 or bf16");
    else if (module_option(l->module, "precision"))
        low_error(l, line->keyword.at, "a second `precision`");
    else
        module_set_option(l->module, "precision", found);
}

static void
quantize(Lower *l, const Line *line)
{
    const Train *train = l->module->train;
    const Item *what = line->items.n > 0 ? &line->items.at[0] : NULL;
    const Item *to = line->items.n == 2 ? &line->items.at[1] : NULL;
    const char *word = what && what->kind == ITEM_WORD ? what->word : "";
    bool none = line->items.n == 1 && strcmp(word, "none") == 0;
    bool type = to && ((to->kind == ITEM_WORD && !strcmp(to->word, "i8")) ||
                       (to->kind == ITEM_EXPR && to->value->kind == EX_TYPE &&
                        !strcmp(to->value->u.path.name.text, "i8")));
    if (strcmp(word, "activations") == 0)
        low_error(l, what->at, "`quantize activations` needs activations in "
                               "few bits, which this edlc does not have yet");
    else if (!none && (!type || strcmp(word, "optimizer") != 0))
        low_error(l, what ? what->at : line->keyword.at,
                  "`quantize` takes none or optimizer i8");
    else if (module_option(l->module, "quantize"))
        low_error(l, line->keyword.at, "a second `quantize`");
    else if (!none && train && train->optimizer &&
             strcmp(train->optimizer, "adamw") != 0)
        low_error(l, what->at, "8-bit states are those of adamw, not of %s",
                  train->optimizer);
    else
        module_set_option(l->module, "quantize",
                          none ? "none" : "optimizer:i8");
}

static const char *
offload_text(Lower *l, const Line *line)
{
    const Item *item = line->items.n > 0 ? &line->items.at[0] : NULL;
    const char *word = item && item->kind == ITEM_WORD ? item->word : "";
    if (line->items.n == 1 &&
        (!strcmp(word, "none") || !strcmp(word, "host") ||
         !strcmp(word, "disk")))
        return word;
    const Item *folder = line->items.n == 2 ? &line->items.at[1] : NULL;
    if (folder && strcmp(word, "disk") == 0 && folder->kind == ITEM_EXPR &&
        folder->value->kind == EX_STRING && folder->value->u.string[0])
        return arena_printf(l->arena, "disk:%s", folder->value->u.string);
    return NULL;
}

static void
offload(Lower *l, const Line *line)
{
    const char *found = offload_text(l, line);
    if (!found)
        low_error(l, line->items.n ? line->items.at[0].at : line->keyword.at,
                  "`offload` takes none, host, disk or disk \"FOLDER\"");
    else if (module_option(l->module, "offload"))
        low_error(l, line->keyword.at, "a second `offload`");
    else
        module_set_option(l->module, "offload", found);
}

/* Read by the commands that plan: only they depend on it. */
static void
machine(Lower *l, const Line *line)
{
    const Item *item = line->items.n == 1 ? &line->items.at[0] : NULL;
    bool text = item && item->kind == ITEM_EXPR &&
                item->value->kind == EX_STRING && item->value->u.string[0];
    if (!text)
        low_error(l, item ? item->at : line->keyword.at,
                  "`machine` takes the name of a file in quotes");
    else if (l->module->machine_file)
        low_error(l, line->keyword.at, "a second `machine`");
    else
        l->module->machine_file = item->value->u.string;
}

static const struct {
    const char *keyword;
    void (*take)(Lower *l, const Line *line); /* or what it */
    const char *needs;
} plan_lines[] = {
    {"memory", memory, NULL},
    {"precision", precision, NULL},
    {"recompute", recompute, NULL},
    {"offload", offload, NULL},
    {"quantize", quantize, NULL},
    {"pipeline", NULL, "pipeline parallelism"},
    {"shard", NULL, "data and tensor parallelism"},
    {"machine", machine, NULL},
};

enum { N_PLAN_LINES = sizeof plan_lines / sizeof plan_lines[0] };

bool
low_is_plan_line(const char *keyword)
{
    for (int i = 0; i < N_PLAN_LINES; i++)
        if (strcmp(plan_lines[i].keyword, keyword) == 0)
            return true;
    return false;
}

static void
plan_line(Lower *l, const Line *line)
{
    const char *legal[N_PLAN_LINES];
    for (int i = 0; i < N_PLAN_LINES; i++) {
        legal[i] = plan_lines[i].keyword;
        if (strcmp(legal[i], line->keyword.text) != 0)
            continue;
        if (plan_lines[i].take)
            plan_lines[i].take(l, line);
        else
            low_error(l, line->keyword.at,
                      "`%s` needs %s, which this edlc "
                      "does not have yet",
                      legal[i], plan_lines[i].needs);
        return;
    }
    if (low_error(l, line->keyword.at, "a plan block has no line `%s`",
                  line->keyword.text))
        low_legal(l, line->keyword.text, legal, N_PLAN_LINES, "its lines are");
}

void
low_plan(Lower *l, const char *model)
{
    const Decls *decls = &l->main->syntax->decls;
    for (int i = 0; i < decls->n; i++) {
        const Decl *d = decls->at[i];
        if (d->kind == DECL_PLAN &&
            (!d->name.text || strcmp(d->name.text, model) == 0))
            for (int k = 0; k < d->u.settings.n; k++)
                plan_line(l, d->u.settings.at[k]);
    }
}
