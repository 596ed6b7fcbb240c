/* Sums over all elements of something large: blocks of SUM_BLOCK, each as a
 * row is summed, in parallel; then the blocks in order. */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

typedef struct Sums {
    const Node *group;
    int n_all; /* reductions, those without blocks too */
    int64_t blocks;
    VEC(const Node *) sums; /* the reductions, in the order of the scratch */
} Sums;

static void
collect(Sums *s, Cg *cg, const Node *n)
{
    s->n_all += n->op == OP_reduce_sum;
    if (sum_blocks(n) > 0) {
        s->blocks = sum_blocks(n);
        vec_push(cg->arena, &s->sums, n);
    }
    if (n->body)
        graph_each(n->body, b)
            collect(s, cg, b);
}

/* Sum number i of the blocks. */
static int
partial(Kernel *k, const Sums *s, int i)
{
    const Value *v = s->sums.at[i]->results[0];
    int64_t at = i * scratch_part(8 * s->blocks);
    return kernel_scratch(k, at, v->type.dtype, v->name);
}

/* One dimension of a multiple of SUM_BLOCK elements becomes rows of so many. */
static bool
cut_rows(Loops *s, int64_t blocks)
{
    if (s->n_outer != 0 || s->n_inner != 1 || s->inner[0] != blocks * SUM_BLOCK)
        return false;
    s->n_outer = 1;
    s->outer[0] = blocks;
    s->inner[0] = SUM_BLOCK;
    for (int i = 0; i < s->access.n; i++) {
        Access *a = &s->access.at[i];
        a->outer[0] = a->inner[0] * SUM_BLOCK;
    }
    return true;
}

static Cells
build(Kernel *k, Loops *s, const Sums *sums)
{
    Cells c = cells_new(k, s);
    row_nodes(&c, sums->group);
    return c;
}

static void
blocks_body(Kernel *k)
{
    const Sums *sums = k->aux;
    const Value *x = sums->sums.at[0]->args[0];
    Loops s = loops_new(k, &x->type, (1u << x->type.rank) - 1);
    Cells c = build(k, &s, sums);
    int64_t none[MAX_RANK] = {0};
    int first = s.access.n;
    for (int i = 0; i < sums->sums.n; i++) {
        const Value *v = sums->sums.at[i]->results[0];
        int to = loops_strided(&s, partial(k, sums, i), v->type.dtype, none);
        cells_store(&c, cells_value(&c, v), to);
    }
    k->comment = arena_printf(k->cg->arena, "sums of blocks of %d of %s",
                              SUM_BLOCK, describe(k->cg, x));
    cells_settle(&c);
    if (!cut_rows(&s, sums->blocks))
        bug("codegen: a sum that has no blocks");
    for (int i = first; i < s.access.n; i++)
        s.access.at[i].outer[0] = 1;
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

static const char *
sum_name(Kernel *k, const Sums *s, const Value *v, const char *const *names)
{
    for (int i = 0; i < s->sums.n; i++)
        if (s->sums.at[i]->results[0] == v)
            return names[i];
    bug("codegen: %s is no sum of its group (kernel %s)", v->name, k->name);
}

static void
store_sums(Kernel *k, const Sums *s, const char *const *names)
{
    const Node *n = s->group;
    for (int i = 0; i < n->n_results; i++)
        if (has_memory(n->results[i]))
            emit_line(&k->out, "*%s = %s;",
                      kernel_name(k, kernel_value(k, n->results[i], 0, true)),
                      sum_name(k, s, n->results[i], names));
    if (n->op != OP_fused)
        return;
    graph_each(n->body, b) {
        if (b->op != OP_write && b->op != OP_accumulate)
            continue;
        const char *to = kernel_name(k, kernel_tensor(k, b->tensor, true));
        const char *sum = sum_name(k, s, b->args[0], names);
        if (b->op == OP_write)
            emit_line(&k->out, "*%s = %s;", to, sum);
        else
            emit_line(&k->out, "*%s = %s ? *%s + %s : %s;", to,
                      kernel_add(k, b), to, sum, sum);
    }
}

static void
sum_body(Kernel *k)
{
    const Sums *s = k->aux;
    const char **names = ARENA_ARRAY(k->cg->arena, const char *, s->sums.n);
    for (int i = 0; i < s->sums.n; i++) {
        const Value *v = s->sums.at[i]->results[0];
        const char *from = kernel_name(k, partial(k, s, i));
        names[i] = kernel_local(k, v->name);
        emit_line(&k->out, "%s %s = 0;", c_compute(v->type.dtype), names[i]);
        emit_line(&k->out, "for (int64_t i = 0; i < %" PRId64 "; i++)",
                  s->blocks);
        emit_line(&k->out, "    %s += %s[i];", names[i], from);
    }
    store_sums(k, s, names);
    k->comment = "the blocks, in order";
}

/* Does every operand walk all elements as one dimension? Asked of a kernel
 * that is thrown away. */
static void
probe_body(Kernel *k)
{
    const Sums *sums = k->aux;
    const Value *x = sums->sums.at[0]->args[0];
    Loops s = loops_new(k, &x->type, (1u << x->type.rank) - 1);
    Cells c = build(k, &s, sums);
    cells_settle(&c);
    k->pieces = cut_rows(&s, sums->blocks) ? 1 : 0;
}

bool
c_sum(Cg *cg, const Node *n)
{
    Sums s = {.group = n};
    collect(&s, cg, n);
    if (s.sums.n == 0 || s.sums.n < s.n_all ||
        !kernel_probe(cg, n, probe_body, &s))
        return false;
    const char *path = s.sums.at[0]->results[0]->name;
    kernel_emit(cg, n, "sum_blocks", path, blocks_body, &s);
    kernel_emit(cg, n, "sum", path, sum_body, &s);
    return true;
}
