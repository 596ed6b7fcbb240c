/* The graph's edits: names, replacing, removing, cloning, fusing. */
#include "ir/text.h"
#include "ir/verify.h"

#include <stdlib.h>

static int failures;

static void
expect(bool ok, const char *what)
{
    if (ok)
        return;
    printf("wrong: %s\n", what);
    failures++;
}

static void
expect_text(const char *got, const char *want)
{
    if (strcmp(got, want) == 0)
        return;
    printf("expected: %s\nfound:    %s\n", want, got);
    failures++;
}

typedef struct Bench {
    Arena *arena;
    Diag *diag;
    Module *m;
    Graph *g;
    Value *x;
} Bench;

static Bench
bench_new(void)
{
    Bench b = {.arena = arena_new()};
    Type t = {.dtype = DT_f32, .rank = 2, .dim = {4, 8}};
    b.diag = diag_new(b.arena);
    b.m = module_new(b.arena, b.diag, "bench");
    b.g = module_add_graph(b.m, "main");
    Tensor *in = module_add_tensor(b.m, TENSOR_input, "in", &t);
    b.x = graph_read(b.g, "x", in);
    return b;
}

static void
bench_end(Bench *b)
{
    expect(verify_module(b->m), "the graph is sound at the end");
    diag_print(b->diag, stdout, DIAG_TEXT);
    arena_free(b->arena);
}

static const char *
line(const Bench *b, const Node *n)
{
    return text_node(b->arena, n);
}

static void
names(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *a2 = graph_unary(b.g, OP_neg, "a", a);
    Value *a3 = graph_unary(b.g, OP_neg, "a", a2);
    expect_text(a->name, "a");
    expect_text(a2->name, "a'2");
    expect_text(a3->name, "a'3");
    value_rename(a2, "b");
    expect_text(a2->name, "b");
    expect(map_get(&b.g->values, "a'2") == NULL, "the old name is free");
    Attr eps = attr_float("eps", 1e-5);
    Node *n = graph_add(b.g, OP_layernorm, "n", &b.x, 1, &eps, 1);
    expect_text(line(&b, n), "n, n.mean, n.rstd = layernorm x (eps = 1e-05) "
                             ": f32[4,8], f32[4,1], f32[4,1]");
    bench_end(&b);
}

static void
place(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_neg, "c", a);
    b.g->at = c->def;
    Value *mid = graph_unary(b.g, OP_exp, "mid", a);
    b.g->at = NULL;
    expect(a->def->next == mid->def && mid->def->next == c->def,
           "a new node goes before `at`");
    node_move_before(mid->def, b.g, NULL);
    expect(b.g->last == mid->def && c->def->prev == a->def,
           "a node moves to the end");
    node_remove(mid->def);
    expect(b.g->last == c->def, "removing the last node");
    expect(map_get(&b.g->values, "mid") == NULL, "its name is free");
    bench_end(&b);
}

static void
replace(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_exp, "c", b.x);
    Value *d = graph_binary(b.g, OP_add, "d", a, a);
    Value *e = graph_binary(b.g, OP_mul, "e", a, d);
    value_replace(a, c);
    expect(d->def->args[0] == c && d->def->args[1] == c && e->def->args[0] == c,
           "all uses read the new value");
    node_remove(a->def);
    graph_count_uses(b.g);
    expect(c->n_uses == 3 && d->n_uses == 1 && e->n_uses == 0, "uses");
    bench_end(&b);
}

static void
forward(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_neg, "c", a);
    Value *d = graph_unary(b.g, OP_exp, "d", c);
    value_forward(c, a);
    value_forward(a, b.x);
    expect(value_final(c) == b.x, "chains end at the last");
    graph_forward(b.g);
    expect(d->def->args[0] == b.x, "the use reads the end of the chain");
    node_remove(c->def);
    node_remove(a->def);
    bench_end(&b);
}

static void
clone(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_exp, "c", a);
    Node *a2 = node_clone(b.g, a->def, "re");
    expect(a->note == a2->results[0], "the note is the copy");
    Node *c2 = node_clone(b.g, c->def, "re");
    expect_text(line(&b, a2), "a.re = neg x : f32[4,8]");
    expect_text(line(&b, c2), "c.re = exp a.re : f32[4,8]");
    bench_end(&b);
}

static void
fuse(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_exp, "c", a);
    Value *d = graph_binary(b.g, OP_add, "d", a, c);
    Value *e = graph_binary(b.g, OP_add, "e", c, d);
    Node *nodes[] = {a->def, c->def, d->def};
    graph_count_uses(b.g);
    Node *f = graph_fuse(b.g, nodes, 3, "element");
    expect_text(line(&b, f), "c, d = fused x (kind = element)");
    expect(f->next == e->def && value_node(a) == f, "where the last stood");
    expect(graph_outer(f->body) == b.g, "the outermost graph");
    Node *copy = node_clone(b.g, f, "re");
    expect_text(line(&b, copy), "c.re, d.re = fused x (kind = element)");
    graph_count_uses(b.g);
    fused_refresh(copy);
    expect(copy->n_results == 0, "nobody reads the copy");
    node_remove(copy);
    expect(map_get(&b.g->values, "a.re") == NULL, "its body is gone");
    bench_end(&b);
}

static void
fuse_groups(void)
{
    Bench b = bench_new();
    Value *a = graph_unary(b.g, OP_neg, "a", b.x);
    Value *c = graph_unary(b.g, OP_exp, "c", a);
    Value *d = graph_unary(b.g, OP_abs, "d", c);
    graph_unary(b.g, OP_abs, "e", d);
    graph_count_uses(b.g);
    Node *first = graph_fuse(b.g, (Node *[]){a->def, c->def}, 2, "element");
    Node *both = graph_fuse(b.g, (Node *[]){first, d->def}, 2, "row");
    expect_text(line(&b, both), "d = fused x (kind = row)");
    expect(both->body->first == a->def && both->body->last == d->def,
           "a group in a group is opened");
    bench_end(&b);
}

static void
attributes(void)
{
    Bench b = bench_new();
    int64_t axes[] = {0, 1};
    Attr list[] = {attr_bool("keep", true), attr_ints("axes", axes, 2)};
    Node *n = graph_add(b.g, OP_reduce_sum, "s", &b.x, 1, list, 2);
    axes[0] = 7; /* the node has a copy */
    expect_text(line(&b, n),
                "s = reduce_sum x (axes = [0,1], keep = true) : f32[1,1]");
    expect(node_flag(n, "keep") && !node_attr(n, "axis"), "look-ups");
    Attr zero = attr_float("a", 0.0), minus = attr_float("a", -0.0);
    expect(!attr_equal(&zero, &minus), "-0 is not 0");
    bench_end(&b);
}

int
main(void)
{
    names();
    place();
    replace();
    forward();
    clone();
    fuse();
    fuse_groups();
    attributes();
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
