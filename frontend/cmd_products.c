#include "frontend/cmd_products.h"

#include "codegen/codegen.h"
#include "passes/plan/machine.h"

static bool
is_there(const LibraryProducts *all, const char *words)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i].words, words) == 0)
            return true;
    return false;
}

static bool
is_chosen(const Module *m, const char *words)
{
    for (int i = 0; i < m->products.n; i++)
        if (strcmp(m->products.at[i].product, words) == 0)
            return true;
    return false;
}

/* Of an edited schedule. */
static bool
check_section(Session *s, const Module *m, const LibraryProducts *all)
{
    bool good = true;
    for (int i = 0; i < m->products.n; i++) {
        const ProductChoice *c = &m->products.at[i];
        if (is_there(all, c->product))
            continue;
        diag_error(s->diag, c->loc, "the program makes no such product");
        good = false;
    }
    for (int i = 0; i < all->n; i++) {
        if (is_chosen(m, all->at[i].words))
            continue;
        diag_error(s->diag, (Span){0},
                   "the section `products` of the schedule lacks \"%s\"",
                   all->at[i].words);
        good = false;
    }
    return good;
}

bool
cmd_take_products(Session *s, Module *m)
{
    LibraryProducts all = {0};
    bool cuda = module_option_is(m, "target", "cuda");
    if (!cuda && m->products.n) {
        diag_error(s->diag, m->products.at[0].loc,
                   "only the target cuda has a section `products`");
        return false;
    }
    if (!cuda)
        return true;
    if (!codegen_products(m, &all))
        return false;
    if (m->products.n)
        return check_section(s, m, &all);
    for (int i = 0; i < all.n; i++) {
        const char *words = all.at[i].words;
        ProductChoice c = {.product = words,
                           .algorithm =
                               machine_algorithm(machine_of(m), words)};
        vec_push(m->arena, &m->products, c);
    }
    return true;
}
