/* Sums down columns in a group of rows: a piece adds its rows to a part of the
 * scratch that is its own, then the parts are added up in order. */
#include "codegen/c_ops.h"
#include "ir/scratch.h"

#include <inttypes.h>

bool
is_column_sum(const Node *b)
{
    return sums_down(b) || (b->op == OP_accumulate && sums_down(b->args[0]->def));
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

void
column_sum(Cells *c, const Node *sum, int64_t *at)
{
    Kernel *k = c->k;
    int64_t parts = sum_row_parts(k->node), stride[MAX_RANK] = {0};
    Dtype d = sum->results[0]->type.dtype;
    stride[c->loops->rank - 1] = 1;
    int to = loops_strided(c->loops, parts_param(k, sum, parts, at), d, stride);
    c->loops->access.at[to].shift = part_text(k, sum, parts);
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

static void
store_sum(Cells *c, const Node *accumulate)
{
    const Tensor *t = accumulate->tensor;
    int64_t stride[MAX_RANK] = {0, t->layout.stride[t->type.rank - 1]};
    int to = loops_strided(c->loops, kernel_tensor(c->k, t, true),
                           t->type.dtype, stride);
    cells_write(c, accumulate, to);
}

static void
total_body(Kernel *k)
{
    const Node *n = k->node, *first = k->aux;
    int64_t at = 0, parts = sum_row_parts(n);
    Type t = {.rank = 2, .dim = {parts, width_of(first)}};
    Loops s = loops_new(k, &t, parts > 1);
    Cells c = cells_new(k, &s);
    graph_each(n->body, b) {
        if (sums_down(b))
            bind_sum(&c, b, parts, &at);
        else if (is_column_sum(b))
            store_sum(&c, b);
    }
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
