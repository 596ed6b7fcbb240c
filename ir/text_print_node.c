/* Graphs as text: nodes, what follows their types, blocks and phases. */
#include <inttypes.h>
#include <stdlib.h>

#include "ir/attr_rule.h"
#include "ir/base/text_file.h"
#include "ir/text.h"
#include "ir/text_printer.h"

/* ---- storage ---- */

static const char *const space_name[] = {"device", "host", "disk"};

static void
print_strides(FILE *to, const Layout *l, int rank)
{
    for (int i = 0; i < rank; i++)
        fprintf(to, "%s%" PRId64, i ? "," : "", l->stride[i]);
}

static bool
same_strides(const Layout *a, const Layout *b, int rank)
{
    return memcmp(a->stride, b->stride, sizeof a->stride[0] * (size_t)rank) ==
           0;
}

/* layout(offset N; strides; pad N; tile R C), what differs of it. */
static void
print_layout(FILE *to, const Layout *l, const Layout *normal, int rank)
{
    const char *sep = " layout(";
    if (l->offset != normal->offset) {
        fprintf(to, "%soffset %" PRId64, sep, l->offset);
        sep = "; ";
    }
    if (!same_strides(l, normal, rank)) {
        fputs(sep, to);
        print_strides(to, l, rank);
        sep = "; ";
    }
    if (l->pad != normal->pad) {
        fprintf(to, "%spad %" PRId64, sep, l->pad);
        sep = "; ";
    }
    if (l->tile[0] != normal->tile[0] || l->tile[1] != normal->tile[1]) {
        fprintf(to, "%stile %d %d", sep, l->tile[0], l->tile[1]);
        sep = "; ";
    }
    if (sep[0] == ';')
        fputc(')', to);
}

static void
print_sharding(FILE *to, const Sharding *s)
{
    const char *sep = " shard(";
    for (int i = 0; i < MAX_RANK; i++) {
        if (s->group[i] < 0)
            continue;
        fprintf(to, "%s%d:%d", sep, i, s->group[i]);
        sep = ", ";
    }
    if (sep[0] == ',')
        fputc(')', to);
}

void
print_tensor_storage(FILE *to, const Tensor *t)
{
    Layout dense = layout_dense(&t->type);
    if (t->space != SPACE_device)
        fprintf(to, " @%s", space_name[t->space]);
    print_layout(to, &t->layout, &dense, t->type.rank);
    print_sharding(to, &t->sharding);
}

static void
print_inside(FILE *to, const char *what, const char *home, const Value *v)
{
    fprintf(to, " in %s%s(%" PRId64, what, home, v->layout.offset);
    if (v->type.rank)
        fputs("; ", to);
    print_strides(to, &v->layout, v->type.rank);
    fputc(')', to);
}

void
print_storage(FILE *to, const Value *v)
{
    bool read = v->def->op == OP_read && v->tensor == v->def->tensor;
    Layout normal = layout_dense(&v->type);
    Space space = SPACE_device;
    if (v->def->op == OP_read) {
        space = v->def->tensor->space;
        if (type_equal(&v->type, &v->def->tensor->type))
            normal = v->def->tensor->layout;
    }
    if (v->home != v || (v->tensor && !read)) {
        if (v->home != v)
            print_inside(to, "", v->home->name, v);
        else
            print_inside(to, "tensor ", v->tensor->name, v);
        normal = v->layout;
        normal.pad = normal.tile[0] = normal.tile[1] = 0;
    }
    if (v->space != space)
        fprintf(to, " @%s", space_name[v->space]);
    print_layout(to, &v->layout, &normal, v->type.rank);
    print_sharding(to, &v->sharding);
}

/* ---- attributes ---- */

static void
print_float(FILE *to, double x, bool typed)
{
    char *s = NULL;
    size_t n = 0;
    FILE *m = open_memstream(&s, &n);
    if (!m)
        bug("no memory to print a number");
    print_double(m, x);
    fclose(m);
    fputs(s, to);
    if (typed && strspn(s, "-0123456789") == n)
        fputs(".0", to);
    free(s);
}

void
print_attr(FILE *to, const Attr *a, bool typed)
{
    fprintf(to, "%s = ", a->key);
    switch (a->kind) {
    case ATTR_int:
        fprintf(to, "%" PRId64, a->i);
        return;
    case ATTR_float:
        print_float(to, a->f, typed);
        return;
    case ATTR_bool:
        fputs(a->i ? "true" : "false", to);
        return;
    case ATTR_word:
        fputs(a->s, to);
        return;
    case ATTR_str:
        print_quoted(to, a->s);
        return;
    case ATTR_ints:
        for (int64_t i = 0; i < a->i; i++)
            fprintf(to, "%s%" PRId64, i ? "," : "[", a->list[i]);
        fputs(a->i ? "]" : "[]", to);
        return;
    }
}

/* In the order of the op's row; what the row does not know comes last. */
static void
print_attrs(FILE *to, const Node *n)
{
    const char *sep = " (";
    AttrRule rule;
    const char *at = op_info[n->op].attrs;
    while (attr_rule_next(&at, &rule))
        for (int i = 0; i < n->n_attrs; i++)
            if (attr_rule_is(&rule, n->attrs[i].key)) {
                fputs(sep, to);
                print_attr(to, &n->attrs[i], false);
                sep = ", ";
            }
    for (int i = 0; i < n->n_attrs; i++)
        if (!attr_rule_find(n->op, n->attrs[i].key, &rule)) {
            fputs(sep, to);
            print_attr(to, &n->attrs[i], false);
            sep = ", ";
        }
    if (sep[0] == ',')
        fputc(')', to);
}

/* ---- nodes ---- */

static void
print_values(FILE *to, Value *const *v, int n, const char *sep)
{
    for (int i = 0; i < n; i++) {
        fprintf(to, "%s%s", sep, v[i]->name);
        sep = ", ";
    }
}

void
print_node(FILE *to, const Node *n)
{
    print_values(to, n->results, n->n_results, "");
    fprintf(to, "%s%s", n->n_results ? " = " : "", op_info[n->op].name);
    if (n->tensor)
        fprintf(to, " %s", n->tensor->name);
    print_values(to, n->args, n->n_args, n->tensor ? " = " : " ");
    print_attrs(to, n);
    if (n->stage)
        fprintf(to, " stage %d", n->stage);
    if (n->recomputed)
        fputs(" recomputed", to);
    for (int i = 0; !n->body && i < n->n_results; i++) {
        fputs(i ? ", " : " : ", to);
        print_type(to, &n->results[i]->type);
        print_storage(to, n->results[i]);
    }
}

char *
text_node(Arena *a, const Node *n)
{
    TextFile f;
    text_file_open(&f);
    print_node(f.to, n);
    return text_file_close(&f, a);
}

/* ---- graphs ---- */

static bool
same_block(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void
indent(FILE *to, int depth)
{
    fprintf(to, "%*s", 2 * depth, "");
}

/* Where a graph or a body is while its nodes are printed. */
typedef struct Place {
    int depth;
    const char *outer; /* the block that it is in by itself */
    const char *block;
    Phase phase;
} Place;

static void
close_block(FILE *to, Place *p)
{
    if (same_block(p->block, p->outer))
        return;
    indent(to, --p->depth);
    fputs("}\n", to);
    p->block = p->outer;
}

/* Leaves the block that the node is not of, enters its own. */
static void
go_to(FILE *to, Place *p, const Node *n)
{
    if (!same_block(n->block, p->block))
        close_block(to, p);
    if (n->phase != p->phase) {
        indent(to, p->depth);
        fprintf(to, "phase %s\n", phase_name[n->phase]);
        p->phase = n->phase;
    }
    if (same_block(n->block, p->block))
        return;
    indent(to, p->depth++);
    fprintf(to, "block%s%s {\n", n->block ? " " : "", n->block ? n->block : "");
    p->block = n->block;
}

static void
print_nodes(FILE *to, const Graph *g, Place p)
{
    graph_each(g, n) {
        go_to(to, &p, n);
        indent(to, p.depth);
        print_node(to, n);
        fputs(n->body ? " {\n" : "\n", to);
        if (!n->body)
            continue;
        print_nodes(to, n->body,
                    (Place){p.depth + 1, n->block, n->block, n->phase});
        indent(to, p.depth);
        fputs("}\n", to);
    }
    close_block(to, &p);
}

void
print_graph(FILE *to, const Graph *g)
{
    fprintf(to, "\ngraph %s {\n", g->name);
    print_nodes(to, g, (Place){1, NULL, NULL, PHASE_forward});
    fputs("}\n", to);
}
