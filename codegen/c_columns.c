/* Sums down columns, alone or in a group of rows: a piece adds its rows to a
 * part of the scratch that is its own, which lie in the cache of its thread,
 * then the parts are added up in order. */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

bool
is_column_sum(const Node *b)
{
    return sums_down(b) ||
           (b->op == OP_accumulate && sums_down(b->args[0]->def));
}

static int64_t
width_of(const Node *sum)
{
    return type_elements(&sum->results[0]->type);
}

/* The parts of a sum; `at`: where they begin in the scratch, moves on. */
static int
parts_param(Kernel *k, const Node *sum, int64_t parts, int64_t *at)
{
    const Value *v = sum->results[0];
    int param = kernel_scratch(k, *at, v->type.dtype, v->name);
    *at += scratch_part(parts * type_bytes(&v->type));
    return param;
}

/* "piece * 128", or NULL. */
static const char *
part_text(const Kernel *k, const Node *sum, int64_t parts)
{
    if (parts == 1)
        return NULL;
    return arena_printf(k->cg->arena, "piece * %" PRId64, width_of(sum));
}

/* The part of the piece. */
static int
part_access(Cells *c, const Node *sum, int64_t parts, int64_t *at)
{
    int64_t stride[MAX_RANK] = {0};
    Dtype d = sum->results[0]->type.dtype;
    int param = parts_param(c->k, sum, parts, at);
    stride[c->loops->rank - 1] = 1;
    int to = loops_strided(c->loops, param, d, stride);
    c->loops->access.at[to].shift = part_text(c->k, sum, parts);
    return to;
}

void
column_sum(Cells *c, const Node *sum, int64_t *at)
{
    int to = part_access(c, sum, sum_row_parts(c->k->node), at);
    cells_add(c, cells_value(c, sum->args[0]), to);
}

void
column_sums_clear(Kernel *k)
{
    int64_t at = 0, parts = sum_row_parts(k->node);
    graph_each(k->node->body, b) {
        if (!sums_down(b))
            continue;
        const char *to = kernel_name(k, parts_param(k, b, parts, &at));
        const char *part = part_text(k, b, parts);
        emit_line(&k->out, "memset(%s%s%s, 0, %" PRId64 " * sizeof *%s);", to,
                  part ? " + " : "", part ? part : "", width_of(b), to);
    }
}

/* ---- sums alone ---- */

static bool
is_sum_in(const Node *b, const Node *n)
{
    return sums_down(b) && (b->graph == n->body || b == n);
}

static void
parts_body(Kernel *k)
{
    const Node *n = k->node, *first = k->aux;
    const Type *t = &first->args[0]->type;
    int64_t at = 0, parts = sum_row_parts(n);
    Loops s = loops_new(k, t, (1u << t->rank) - 1);
    Cells c = cells_new(k, &s);
    row_nodes(&c, n);
    for (int i = 0; i < c.bound.n; i++) {
        const Node *sum = c.bound.at[i].value->def;
        if (!is_sum_in(sum, n))
            continue;
        int to = part_access(&c, sum, parts, &at);
        cells_store(&c, c.bound.at[i].cell, to);
    }
    k->comment = arena_printf(k->cg->arena,
                              "sums down columns of %" PRId64 " parts of %s",
                              parts, describe(k->cg, first->args[0]));
    cells_settle(&c);
    columns_emit_part(&c, sum_rows(n));
}

/* ---- the parts ---- */

static void
bind_sum(Cells *c, const Node *sum, int64_t parts, int64_t *at)
{
    const Value *v = sum->results[0];
    int64_t stride[MAX_RANK] = {width_of(sum), 1};
    int from = loops_strided(c->loops, parts_param(c->k, sum, parts, at),
                             v->type.dtype, stride);
    int part = cells_load(c, from, v->name);
    cells_bind(c, v,
               parts > 1 ? cells_fold(c, FOLD_sum, v->name, part) : part);
}

static int
total_access(Cells *c, int param, const Type *t, const Layout *l)
{
    int64_t stride[MAX_RANK] = {0, l->stride[t->rank - 1]};
    return loops_strided(c->loops, param, t->dtype, stride);
}

/* An accumulate of a sum, or a sum that leaves the kernel. */
static void
store_total(Cells *c, const Node *b)
{
    if (b->op == OP_accumulate) {
        const Tensor *t = b->tensor;
        int param = kernel_tensor(c->k, t, true);
        cells_write(c, b, total_access(c, param, &t->type, &t->layout));
        return;
    }
    const Value *v = b->results[0];
    if (!has_memory(v))
        return;
    int param = kernel_value(c->k, v, 0, true);
    cells_store(c, cells_value(c, v),
                total_access(c, param, &v->type, &v->layout));
}

static void
build_totals(Cells *c, const Node *n, int64_t parts)
{
    int64_t at = 0;
    if (n->op == OP_reduce_sum) {
        bind_sum(c, n, parts, &at);
        store_total(c, n);
        return;
    }
    graph_each(n->body, b)
        if (sums_down(b))
            bind_sum(c, b, parts, &at);
    for (int i = 0; i < n->n_results; i++)
        if (is_sum_in(n->results[i]->def, n))
            store_total(c, n->results[i]->def);
    graph_each(n->body, b)
        if (b->op == OP_accumulate && is_column_sum(b))
            store_total(c, b);
}

static void
total_body(Kernel *k)
{
    const Node *n = k->node, *first = k->aux;
    int64_t parts = sum_row_parts(n);
    Type t = {.rank = 2, .dim = {parts, width_of(first)}};
    Loops s = loops_new(k, &t, parts > 1);
    Cells c = cells_new(k, &s);
    build_totals(&c, n, parts);
    k->comment = "sums down columns: the parts, in order";
    if (parts > 1 && t.dim[1] > 1) {
        s.is_inner[1] = true;
        cells_settle(&c);
        columns_emit(&c);
        return;
    }
    cells_settle(&c);
    loops_open(&s);
    cells_emit(&c);
    loops_close(&s);
}

void
column_sums_total(Cg *cg, const Node *n)
{
    graph_each(n->body, b)
        if (sums_down(b)) {
            kernel_emit(cg, n, "reduce", b->results[0]->name, total_body, b);
            return;
        }
}

static const Node *
first_sum(const Node *n)
{
    return n->op == OP_reduce_sum ? n : node_find(n, OP_reduce_sum);
}

bool
c_column_parts(Cg *cg, const Node *n, const char *path)
{
    if (sum_row_parts(n) < 2)
        return false;
    kernel_emit(cg, n, "reduce_parts", path, parts_body, first_sum(n));
    kernel_emit(cg, n, "reduce", path, total_body, first_sum(n));
    return true;
}
