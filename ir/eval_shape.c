/* Ops that only move elements. */
#include "ir/eval_kernel.h"

bool
eval_transpose(Job *j)
{
    const Attr *perm = node_attr(j->node, "perm");
    int64_t dense[MAX_RANK], stride[MAX_RANK];
    eval_strides(&j->in[0].type, dense);
    for (int k = 0; k < j->out[0].type.rank; k++)
        stride[k] = dense[perm->list[k]];
    Walk w = walk(&j->out[0].type);
    walk_add(&w, stride);
    for (; w.left; walk_next(&w))
        j->out[0].at[w.done] = j->in[0].at[w.at[0]];
    return true;
}

bool
eval_broadcast(Job *j)
{
    Walk w = walk(&j->out[0].type);
    walk_broadcast(&w, &j->in[0].type);
    for (; w.left; walk_next(&w))
        j->out[0].at[w.done] = j->in[0].at[w.at[0]];
    return true;
}

/* Walks over `part`, at[0] the place in `whole` that start and step select.
 * What stop says is in the shape of the part. */
static Walk
part_of(const Job *j, const Type *part, const Type *whole)
{
    const Attr *start = node_attr(j->node, "start");
    const Attr *step = node_attr(j->node, "step");
    int64_t dense[MAX_RANK], stride[MAX_RANK], first = 0;
    eval_strides(whole, dense);
    for (int k = 0; k < whole->rank; k++) {
        stride[k] = dense[k] * step->list[k];
        first += dense[k] * start->list[k];
    }
    Walk w = walk(part);
    walk_add(&w, stride);
    w.at[0] = first;
    return w;
}

bool
eval_slice(Job *j)
{
    Walk w = part_of(j, &j->out[0].type, &j->in[0].type);
    for (; w.left; walk_next(&w))
        j->out[0].at[w.done] = j->in[0].at[w.at[0]];
    return true;
}

bool
eval_slice_grad(Job *j)
{
    Walk w = part_of(j, &j->in[0].type, &j->out[0].type);
    for (; w.left; walk_next(&w))
        j->out[0].at[w.at[0]] = j->in[0].at[w.done];
    return true;
}

/* ---- runs along one axis: whole [outer, n, inner] and a part of it ---- */

/* Copies the part that starts at `first` along the axis, to or from it. */
static void
move_part(double *whole, Around w, double *part, int64_t first, int64_t size,
          bool into)
{
    size_t run = sizeof(double) * (size_t)(size * w.inner);
    for (int64_t o = 0; o < w.outer; o++) {
        double *at = whole + (o * w.n + first) * w.inner;
        double *p = part + o * size * w.inner;
        memcpy(into ? at : p, into ? p : at, run);
    }
}

/* The runtime position of slice_at, checked. */
static bool
position(Job *j, Around w, int64_t *p)
{
    int64_t size = node_int(j->node, "size", 1);
    *p = (int64_t)j->in[1].at[0];
    if (*p >= 0 && *p <= w.n - size)
        return true;
    return eval_fail(j,
                     "position %lld is out of range: a slice of %lld "
                     "must start in [0, %lld]",
                     (long long)*p, (long long)size, (long long)(w.n - size));
}

bool
eval_slice_at(Job *j)
{
    Around w = eval_around(&j->in[0].type, (int)node_int(j->node, "axis", 0));
    int64_t p;
    if (!position(j, w, &p))
        return false;
    move_part(j->in[0].at, w, j->out[0].at, p, node_int(j->node, "size", 1),
              false);
    return true;
}

bool
eval_slice_at_grad(Job *j)
{
    Around w = eval_around(&j->out[0].type, (int)node_int(j->node, "axis", 0));
    int64_t p;
    if (!position(j, w, &p))
        return false;
    move_part(j->out[0].at, w, j->in[0].at, p, node_int(j->node, "size", 1),
              true);
    return true;
}

bool
eval_split(Job *j)
{
    int axis = (int)node_int(j->node, "axis", 0);
    Around w = eval_around(&j->in[0].type, axis);
    int64_t first = 0;
    for (int k = 0; k < j->n_out; k++) {
        int64_t size = j->out[k].type.dim[axis];
        move_part(j->in[0].at, w, j->out[k].at, first, size, false);
        first += size;
    }
    return true;
}

bool
eval_concat(Job *j)
{
    int axis = (int)node_int(j->node, "axis", 0);
    Around w = eval_around(&j->out[0].type, axis);
    int64_t first = 0;
    for (int k = 0; k < j->n_in; k++) {
        int64_t size = j->in[k].type.dim[axis];
        move_part(j->out[0].at, w, j->in[k].at, first, size, true);
        first += size;
    }
    return true;
}

bool
eval_pad(Job *j)
{
    const Attr *before = node_attr(j->node, "before");
    double v = node_float(j->node, "value", 0);
    int64_t n = type_elements(&j->out[0].type), stride[MAX_RANK];
    for (int64_t i = 0; i < n; i++)
        j->out[0].at[i] = v;
    Walk w = walk(&j->in[0].type);
    eval_strides(&j->out[0].type, stride);
    walk_add(&w, stride);
    for (int k = 0; k < w.rank; k++)
        w.at[0] += stride[k] * before->list[k];
    for (; w.left; walk_next(&w))
        j->out[0].at[w.at[0]] = j->in[0].at[w.done];
    return true;
}
