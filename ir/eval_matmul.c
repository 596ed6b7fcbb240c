/* Products. Each element is one ascending sum over K, from 0. The operands
 * are copied to panels of WIDE rows of A and columns of B that lie side by
 * side, only so that GPT-2 is done in minutes. */
#include <stdlib.h>

#include "ir/eval_kernel.h"

enum { WIDE = 4 };

typedef struct Product {
    int64_t m, k, n;
    bool ta, tb;
    double *a, *b; /* panels [K, WIDE], the last filled up with 0 */
} Product;

static int64_t
panels(int64_t n)
{
    return (n + WIDE - 1) / WIDE;
}

/* Lines 0..n-1 of `from`, whose elements are `along` apart for the next of K
 * and `across` apart for the next line. */
static void
pack(double *to, const double *from, int64_t n, int64_t n_k, int64_t across,
     int64_t along)
{
    for (int64_t p = 0; p < panels(n); p++)
        for (int64_t k = 0; k < n_k; k++)
            for (int64_t i = p * WIDE; i < (p + 1) * WIDE; i++)
                *to++ = i < n ? from[i * across + k * along] : 0;
}

/* One panel of A by one of B. */
static void
multiply_panels(const double *a, const double *b, int64_t n_k,
                double y[WIDE][WIDE])
{
    double sum[WIDE][WIDE] = {{0}};
    for (int64_t k = 0; k < n_k; k++, a += WIDE, b += WIDE)
        for (int i = 0; i < WIDE; i++)
            for (int j = 0; j < WIDE; j++)
                sum[i][j] += a[i] * b[j];
    memcpy(y, sum, sizeof sum);
}

static void
multiply(const Product *p, double *y)
{
    double tile[WIDE][WIDE];
    for (int64_t j0 = 0; j0 < p->n; j0 += WIDE) {
        for (int64_t i0 = 0; i0 < p->m; i0 += WIDE) {
            multiply_panels(p->a + i0 * p->k, p->b + j0 * p->k, p->k, tile);
            for (int64_t i = i0; i < i0 + WIDE && i < p->m; i++)
                for (int64_t j = j0; j < j0 + WIDE && j < p->n; j++)
                    y[i * p->n + j] = tile[i - i0][j - j0];
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
    p.a = malloc(sizeof(double) * (size_t)(panels(p.m) * WIDE * p.k));
    p.b = malloc(sizeof(double) * (size_t)(panels(p.n) * WIDE * p.k));
    bool ok = p.a && p.b;
    Type y = leading(&j->out[0].type);
    Type a = leading(&j->in[0].type), b = leading(&j->in[1].type);
    Walk w = walk(&y);
    walk_broadcast(&w, &a);
    walk_broadcast(&w, &b);
    for (; ok && w.left; walk_next(&w)) {
        pack(p.a, j->in[0].at + w.at[0] * p.m * p.k, p.m, p.k, p.ta ? 1 : p.k,
             p.ta ? p.m : 1);
        pack(p.b, j->in[1].at + w.at[1] * p.k * p.n, p.n, p.k, p.tb ? p.k : 1,
             p.tb ? 1 : p.n);
        multiply(&p, j->out[0].at + w.done * p.m * p.n);
    }
    free(p.a);
    free(p.b);
    return ok || eval_fail(j, "out of memory");
}
