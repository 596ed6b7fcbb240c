/* Products. The operands are copied to plain [M, K] and [K, N]; each element
 * is one ascending sum over K. The loops run in blocks only so that GPT-2 is
 * done in minutes. */
#include <stdlib.h>

#include "ir/eval_kernel.h"

typedef struct Product {
    int64_t m, k, n;
    bool ta, tb;
    double *a, *b; /* plain copies */
} Product;

static void
copy_plain(double *to, const double *from, int64_t rows, int64_t cols,
           bool transposed)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            to[r * cols + c] =
                transposed ? from[c * rows + r] : from[r * cols + c];
}

static int64_t
smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void
multiply(const Product *p, double *y)
{
    enum { ROWS = 64, COLS = 256 };
    for (int64_t j0 = 0; j0 < p->n; j0 += COLS) {
        int64_t j1 = smaller(j0 + COLS, p->n);
        for (int64_t i0 = 0; i0 < p->m; i0 += ROWS) {
            int64_t i1 = smaller(i0 + ROWS, p->m);
            for (int64_t k = 0; k < p->k; k++)
                for (int64_t i = i0; i < i1; i++)
                    for (int64_t j = j0; j < j1; j++)
                        y[i * p->n + j] +=
                            p->a[i * p->k + k] * p->b[k * p->n + j];
        }
    }
}

static Product
product_of(const Job *j)
{
    const Type *a = &j->in[0].type, *y = &j->out[0].type;
    Product p = {.ta = node_flag(j->node, "ta"),
                 .tb = node_flag(j->node, "tb")};
    p.m = y->dim[y->rank - 2];
    p.n = y->dim[y->rank - 1];
    p.k = a->dim[a->rank - (p.ta ? 2 : 1)];
    return p;
}

/* The leading axes, which broadcast. */
static Type
leading(const Type *t)
{
    Type r = *t;
    r.rank -= 2;
    return r;
}

bool
eval_matmul(Job *j)
{
    Product p = product_of(j);
    p.a = malloc(sizeof(double) * (size_t)(p.m * p.k));
    p.b = malloc(sizeof(double) * (size_t)(p.k * p.n));
    bool ok = p.a && p.b;
    Type y = leading(&j->out[0].type);
    Type a = leading(&j->in[0].type), b = leading(&j->in[1].type);
    Walk w = walk(&y);
    walk_broadcast(&w, &a);
    walk_broadcast(&w, &b);
    for (; ok && w.left; walk_next(&w)) {
        copy_plain(p.a, j->in[0].at + w.at[0] * p.m * p.k, p.m, p.k, p.ta);
        copy_plain(p.b, j->in[1].at + w.at[1] * p.k * p.n, p.k, p.n, p.tb);
        multiply(&p, j->out[0].at + w.done * p.m * p.n);
    }
    free(p.a);
    free(p.b);
    return ok || eval_fail(j, "out of memory");
}
