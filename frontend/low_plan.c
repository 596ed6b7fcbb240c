/* The plan block: what this edlc can do of it, and what it cannot yet. */
#include "frontend/low.h"
#include "ir/text.h"

static const struct {
    const char *keyword, *needs; /* NULL: nothing */
} plan_lines[] = {
    {"memory", NULL},
    {"precision", "mixed precision"},
    {"recompute", "the memory planner"},
    {"offload", "the memory planner"},
    {"quantize", "quantized storage"},
    {"pipeline", "pipeline parallelism"},
    {"shard", "data and tensor parallelism"},
    {"machine", "the memory planner"},
};

enum { N_PLAN_LINES = sizeof plan_lines / sizeof plan_lines[0] };

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
plan_line(Lower *l, const Line *line)
{
    const char *legal[N_PLAN_LINES];
    for (int i = 0; i < N_PLAN_LINES; i++) {
        legal[i] = plan_lines[i].keyword;
        if (strcmp(legal[i], line->keyword.text) != 0)
            continue;
        if (plan_lines[i].needs)
            low_error(l, line->keyword.at,
                      "`%s` needs %s, which this edlc "
                      "does not have yet",
                      legal[i], plan_lines[i].needs);
        else
            memory(l, line);
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
