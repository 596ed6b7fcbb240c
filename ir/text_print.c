#include "ir/text.h"

#include <inttypes.h>

#include "ir/scratch.h"
#include "ir/text_printer.h"

/* ---- head ---- */

static void
print_option(FILE *to, const Option *o)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.:,%+*/-";
    fprintf(to, "option %s = ", o->key);
    if (o->value[0] && o->value[strspn(o->value, plain)] == '\0')
        fputs(o->value, to);
    else
        print_quoted(to, o->value);
    fputc('\n', to);
}

static void
print_init(FILE *to, const Init *i)
{
    static const char *const name[] = {"none", "constant", "normal", "uniform"};
    if (i->kind == INIT_none)
        return;
    fprintf(to, " = %s(", name[i->kind]);
    print_double(to, i->a);
    if (i->kind != INIT_constant) {
        fputs(", ", to);
        print_double(to, i->b);
    }
    fputc(')', to);
}

static void
print_tensor(FILE *to, const Tensor *t)
{
    fprintf(to, "%s %s : ", tensor_kind_name[t->kind], t->name);
    print_type(to, &t->type);
    print_tensor_storage(to, t);
    if (t->owner)
        fprintf(to, " of %s", t->owner->name);
    if (t->role)
        fprintf(to, " role %s", t->role);
    print_init(to, &t->init);
    if (t->weight_decay != 0) {
        fputs(" decay ", to);
        print_double(to, t->weight_decay);
    }
    if (t->lr_scale != 1) {
        fputs(" lr_scale ", to);
        print_double(to, t->lr_scale);
    }
    fputc('\n', to);
}

static void
print_head(FILE *to, const Module *m)
{
    fprintf(to, "edl-ir 1\nmodel %s\n", m->name);
    for (int i = 0; i < m->options.n; i++)
        print_option(to, &m->options.at[i]);
    for (int i = 0; i < m->dims.n; i++)
        fprintf(to, "dim %s = %" PRId64 "\n", m->dims.at[i].name,
                m->dims.at[i].value);
    if (m->tensors.n)
        fputc('\n', to);
    for (int i = 0; i < m->tensors.n; i++)
        print_tensor(to, m->tensors.at[i]);
}

/* ---- programs ---- */

static void
print_call(FILE *to, const Action *a)
{
    fprintf(to, "call %s", a->graph->name);
    if (a->mb == MB_LOOP)
        fprintf(to, "(mb = mb, slot = %" PRId64 ")", a->slot);
    else if (a->mb || a->slot)
        fprintf(to, "(mb = %" PRId64 ", slot = %" PRId64 ")", a->mb, a->slot);
    fputc('\n', to);
}

static void
print_action(FILE *to, const Action *a, int depth)
{
    fprintf(to, "%*s", 2 * depth, "");
    if (a->kind == ACTION_call) {
        print_call(to, a);
        return;
    }
    fprintf(to, "repeat mb in %" PRId64 "..%" PRId64 " {\n", a->lo, a->hi);
    for (int i = 0; i < a->body.n; i++)
        print_action(to, a->body.at[i], depth + 1);
    fprintf(to, "%*s}\n", 2 * depth, "");
}

static void
print_program(FILE *to, const Program *p)
{
    fprintf(to, "\nprogram %s", p->name);
    if (p->rank)
        fprintf(to, " rank %d", p->rank);
    fputs(" {\n", to);
    for (int i = 0; i < p->actions.n; i++)
        print_action(to, p->actions.at[i], 1);
    fputs("}\n", to);
}

/* ---- products ---- */

static void
print_products(FILE *to, const Module *m)
{
    if (m->products.n == 0)
        return;
    fputs("\nproducts {\n", to);
    for (int i = 0; i < m->products.n; i++) {
        const ProductChoice *c = &m->products.at[i];
        fputs("  ", to);
        print_quoted(to, c->product);
        fputs(" algo ", to);
        if (c->algorithm)
            print_quoted(to, c->algorithm);
        else
            fputs("auto", to);
        fputc('\n', to);
    }
    fputs("}\n", to);
}

/* ---- regions ---- */

static bool
has_regions(const Module *m)
{
    int64_t any = m->slots != 1;
    for (Region k = REGION_state; k < REGION_COUNT; k++)
        any |= m->region_bytes[k];
    for (int i = 0; i < m->graphs.n; i++)
        any |= m->graphs.at[i]->workspace | m->graphs.at[i]->stash;
    return any != 0;
}

static void
print_regions(FILE *to, const Module *m)
{
    if (!has_regions(m))
        return;
    fputs("\nregions {\n", to);
    for (Region k = REGION_state; k < REGION_COUNT; k++)
        if (m->region_bytes[k])
            fprintf(to, "  %s %" PRId64 "\n", region_name[k],
                    m->region_bytes[k]);
    if (m->slots != 1)
        fprintf(to, "  slots %" PRId64 "\n", m->slots);
    for (int i = 0; i < m->graphs.n; i++) {
        const Graph *g = m->graphs.at[i];
        if (g->workspace)
            fprintf(to, "  %s.workspace %" PRId64 "\n", g->name, g->workspace);
        if (g->stash)
            fprintf(to, "  %s.stash %" PRId64 "\n", g->name, g->stash);
    }
    fputs("}\n", to);
}

/* ---- placement ---- */

static void
place_open(FILE *to, bool *open)
{
    if (!*open)
        fputs("\nplacement {\n", to);
    *open = true;
}

/* A node without results is called by the first value of its body. */
static const char *
scratch_name(const Node *n)
{
    if (n->n_results)
        return n->results[0]->name;
    for (const Node *b = n->body ? n->body->first : NULL; b; b = b->next)
        if (b->n_results)
            return b->results[0]->name;
    bug("%s has scratch but no value", op_info[n->op].name);
}

static void
place_values(FILE *to, const Graph *g, bool *open)
{
    graph_each(g, n) {
        for (int i = 0; !n->body && i < n->n_results; i++) {
            const Value *v = n->results[i];
            if (v->region == REGION_none)
                continue;
            place_open(to, open);
            fprintf(to, "  %s.%s %s %" PRId64 " %" PRId64 "\n", g->name,
                    region_name[v->region], v->name, v->place, v->bytes);
        }
        if (n->scratch >= 0) {
            place_open(to, open);
            fprintf(to, "  %s.workspace scratch(%s) %" PRId64 " %" PRId64 "\n",
                    g->name, scratch_name(n), n->scratch, node_scratch(n));
        }
        if (n->body)
            place_values(to, n->body, open);
    }
}

static void
print_placement(FILE *to, const Module *m)
{
    bool open = false;
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->region == REGION_none)
            continue;
        place_open(to, &open);
        fprintf(to, "  %s %s %" PRId64 " %" PRId64 "\n", region_name[t->region],
                t->name, t->place, t->bytes);
    }
    for (int i = 0; i < m->graphs.n; i++)
        place_values(to, m->graphs.at[i], &open);
    if (open)
        fputs("}\n", to);
}

void
text_print(const Module *m, FILE *to)
{
    print_head(to, m);
    if (m->train)
        print_train(to, m->train);
    for (int i = 0; i < m->graphs.n; i++)
        print_graph(to, m->graphs.at[i]);
    for (int i = 0; i < m->programs.n; i++)
        print_program(to, m->programs.at[i]);
    print_products(to, m);
    print_regions(to, m);
    print_placement(to, m);
}
