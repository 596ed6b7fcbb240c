/* Reading and adding up rows by index. An index out of range is the user's
 * mistake and fails. */
#include "ir/eval_kernel.h"

static bool
in_range(Job *j, const Array *ids, int64_t n)
{
    int64_t count = type_elements(&ids->type);
    for (int64_t i = 0; i < count; i++)
        if (!(ids->at[i] >= 0 && ids->at[i] < (double)n))
            return eval_fail(j,
                             "index %.0f at place %lld is out of range: "
                             "it must be in [0, %lld)",
                             ids->at[i], (long long)i, (long long)n);
    return true;
}

/* Rows of `table` [outer, n, inner] at ids, to or from `rows` [outer, ids,
 * inner]; towards the table they are added. */
static bool
move_rows(Job *j, Array *table, int axis, const Array *ids, double *rows,
          bool add)
{
    Around w = eval_around(&table->type, axis);
    int64_t count = type_elements(&ids->type);
    if (!in_range(j, ids, w.n))
        return false;
    for (int64_t o = 0; o < w.outer; o++) {
        for (int64_t i = 0; i < count; i++) {
            int64_t id = (int64_t)ids->at[i];
            double *at = table->at + (o * w.n + id) * w.inner;
            double *row = rows + (o * count + i) * w.inner;
            for (int64_t k = 0; k < w.inner; k++) {
                if (add)
                    at[k] += row[k];
                else
                    row[k] = at[k];
            }
        }
    }
    return true;
}

bool
eval_embedding(Job *j)
{
    Array table = j->in[0];
    return move_rows(j, &table, 0, &j->in[1], j->out[0].at, false);
}

bool
eval_embedding_grad(Job *j)
{
    return move_rows(j, &j->out[0], 0, &j->in[1], j->in[0].at, true);
}

bool
eval_take(Job *j)
{
    Array x = j->in[0];
    int axis = (int)node_int(j->node, "axis", 0);
    return move_rows(j, &x, axis, &j->in[1], j->out[0].at, false);
}

bool
eval_take_grad(Job *j)
{
    int axis = (int)node_int(j->node, "axis", 0);
    return move_rows(j, &j->out[0], axis, &j->in[1], j->in[0].at, true);
}

/* As torch.gather: the walk goes over the index, whose value replaces its
 * own place along the axis. */
static Walk
along(const Type *index, const Type *x, int axis, int64_t *axis_stride)
{
    int64_t stride[MAX_RANK];
    eval_strides(x, stride);
    *axis_stride = stride[axis];
    stride[axis] = 0;
    Walk w = walk(index);
    walk_add(&w, stride);
    return w;
}

bool
eval_take_along(Job *j)
{
    const Type *x = &j->in[0].type;
    const Array *index = &j->in[1];
    int axis = (int)node_int(j->node, "axis", 0);
    int64_t s;
    if (!in_range(j, index, x->dim[axis]))
        return false;
    for (Walk w = along(&index->type, x, axis, &s); w.left; walk_next(&w))
        j->out[0].at[w.done] =
            j->in[0].at[w.at[0] + s * (int64_t)index->at[w.done]];
    return true;
}

bool
eval_take_along_grad(Job *j)
{
    const Type *x = &j->out[0].type;
    const Array *index = &j->in[1];
    int axis = (int)node_int(j->node, "axis", 0);
    int64_t s;
    if (!in_range(j, index, x->dim[axis]))
        return false;
    for (Walk w = along(&index->type, x, axis, &s); w.left; walk_next(&w))
        j->out[0].at[w.at[0] + s * (int64_t)index->at[w.done]] +=
            j->in[0].at[w.done];
    return true;
}
