#include "frontend/parser.h"

#include "frontend/size.h"

#include <stdlib.h>

static bool
is_number(const Item *i)
{
    return i->kind == ITEM_EXPR &&
           (i->value->kind == EX_INT || i->value->kind == EX_FLOAT);
}

static double
number_of(const Expr *e)
{
    return e->kind == EX_INT ? (double)e->u.integer : e->u.number;
}

Item
build_item(Parser *p, Expr *value)
{
    (void)p;
    Item item = {.kind = ITEM_EXPR, .at = value->at, .value = value};
    if (value->kind == EX_NAME && !value->u.path.module.text) {
        item.kind = ITEM_WORD;
        item.word = value->u.path.name.text;
    }
    return item;
}

Item
build_percent(Parser *p, Expr *value, Span at)
{
    Item item = {.kind = ITEM_EXPR, .at = at, .value = value};
    if (!is_number(&item))
        diag_error(p->diag, value->at, "expected a number before '%%'");
    else
        item.percent = number_of(value);
    item.kind = ITEM_PERCENT;
    return item;
}

/* The size of a number and a unit; the literals are finite and not < 0. */
static void
make_size(Parser *p, Item *item, int64_t unit)
{
    double v = number_of(item->value);
    bool whole = item->value->kind == EX_INT;
    if (v * (double)unit >= 0x1p63)
        diag_error(p->diag, item->at,
                   "a size is at most 9223372036854775807 "
                   "bytes");
    else
        item->bytes =
            whole ? item->value->u.integer * unit : (int64_t)(v * (double)unit);
    item->kind = ITEM_SIZE;
}

/* 1f1b and zb-h1 are words; 3GiB is a size. */
Item
build_word(Parser *p, const Token *t)
{
    Item item = {.kind = ITEM_WORD, .at = t->at, .word = t->u.text};
    size_t digits = strspn(item.word, "0123456789");
    int64_t unit = digits ? size_unit(item.word + digits) : 0;
    if (!unit)
        return item;
    item.value = ARENA_NEW(p->arena, Expr);
    item.value->kind = EX_FLOAT;
    item.value->depth = 1;
    item.value->at = t->at;
    item.value->u.number = strtod(item.word, NULL);
    if (digits < 16) {
        item.value->kind = EX_INT;
        item.value->u.integer = (int64_t)item.value->u.number;
    }
    make_size(p, &item, unit);
    return item;
}

void
build_items_add(Parser *p, Items *items, Item item)
{
    Item *last = items->n ? &items->at[items->n - 1] : NULL;
    int64_t unit = item.kind == ITEM_WORD ? size_unit(item.word) : 0;
    if (!last || !unit || !is_number(last)) {
        vec_push(p->arena, items, item);
        return;
    }
    last->at.end_line = item.at.end_line;
    last->at.end_col = item.at.end_col;
    make_size(p, last, unit);
}

Line *
build_line(Parser *p, Name keyword, Items items, Span at)
{
    Line *line = ARENA_NEW(p->arena, Line);
    line->at = at;
    line->keyword = keyword;
    line->items = items;
    return line;
}

/* keyword a, b = ...: what stood before `=` were names. */
void
build_targets(Parser *p, Line *line, Items after)
{
    for (int i = 0; i < line->items.n; i++) {
        const Item *item = &line->items.at[i];
        if (item->kind == ITEM_WORD && item->value)
            vec_push(p->arena, &line->targets, item->value->u.path.name);
        else
            diag_error(p->diag, item->at, "expected a name left of '='");
    }
    if (!line->items.n)
        diag_error(p->diag, line->keyword.at,
                   "expected a value behind '%s', found '='",
                   line->keyword.text);
    line->items = after;
}
