/* What the two directions of attention share. Inside codegen/ only. */
#ifndef EDL_CODEGEN_ATTENTION_H
#define EDL_CODEGEN_ATTENTION_H

#include "codegen/c_ops.h"

/* Queries and keys of a tile of scores, at most. A tile has a row a key and a
 * column a query, so that what is done to a query is done to all of them, in
 * vectors, key by key. */
enum { ATTENTION_TILE = 128 }; /* of narrow heads; half of wide ones */

/* Query heads of a group are an axis of their own: q is [.., G, R, T, D] with
 * R = H / G, and k and v, [.., G, S, D], do not move along R. */
typedef struct Heads {
    const Node *node;
    const Type *q, *k;
    int lead; /* axes before the heads */
    int64_t g, r, t, s, d;
    int64_t queries, keys;      /* of a tile: columns, 16 n, and rows */
    int q_at, mask_at, bias_at; /* operands; -1: not there */
    bool causal;
    int64_t shift; /* query t sees keys up to t + shift */
    double scale;
} Heads;

/* An operand in the loops over blocks: strides of a query head, of a row (a
 * query or a key) and of a column (d, or a key). */
typedef struct Operand {
    int access; /* -1: not there */
    Dtype dtype;
    int64_t head, row, col;
    const char *at; /* C text: where the open block starts */
} Operand;

Heads heads_of(const Node *n, int q_at, int extra);

/* Accesses for loops whose outer axes are all before the heads, and then G;
 * forward also R and blocks of queries. v has the shape of q (or of q without
 * D), of k, or broadcasts to the scores. */
Operand heads_query(Loops *s, const Heads *h, const Value *v, bool write);
Operand heads_key(Loops *s, const Heads *h, const Value *v, bool write);
Operand heads_score(Loops *s, const Heads *h, const Value *v, bool write);
/* A dense one, a number a query: t has the shape of q without D. */
Operand heads_rows(Loops *s, const Heads *h, const Type *t, int param);
/* The start of an operand in the open row of the loops. */
const char *heads_start(const Loops *s, const Operand *o);

/* " + s0 * 64"; nothing for a stride or an index of 0. */
const char *heads_step(Arena *a, const char *index, int64_t stride);
/* "at[i * 768 + d]", as a float. */
const char *heads_load(Kernel *k, const Operand *o, const char *row,
                       const char *col);
/* at[..] = value; */
void heads_put(Kernel *k, const Operand *o, const char *row, const char *col,
               const char *value);
/* An operand that products can read: o, or a copy in floats of its `rows`
 * rows from row `first` on, in an array `name` of `most` rows. */
Operand heads_floats(Kernel *k, const Heads *h, const Operand *o,
                     const char *name, const char *first, const char *rows,
                     int64_t most);
/* The queries of a block as columns: a copy in floats of `rows` rows of o in
 * an array `name`, 0 behind them. */
Operand heads_across(Kernel *k, const Heads *h, const Operand *o,
                     const char *name, const char *rows);
/* A call of edl_matmul: rows m0 to m1 and columns n0 to n1 of a @ b into c. */
typedef struct TileProduct {
    const char *name; /* of its EdlProduct */
    const char *m0, *m1, *n0, *n1, *k;
    const char *a, *b, *c;
    int64_t a_row, a_col, b_row, b_col, c_row;
    const char *add;
} TileProduct;
void heads_product(Kernel *k, const TileProduct *p);
/* "const int64_t NAME = .." how many of `each` are left of `n` from `first`
 * on; answers its C text, a number where it is always the same. */
const char *heads_left(Kernel *k, const char *name, const char *n, int64_t each,
                       const char *first, bool whole);
/* The tile of queries from t0 and keys from s0, as C text: how many there are,
 * and in loops, what a causal tile has to do: keys that all of its queries see
 * at once, the others, and queries, 16 at a time. */
typedef struct Part {
    const char *t0, *rows, *n;
    const char *q0, *q1; /* queries of a product, */
    const char *k0, *k1; /* and keys */
    bool open;           /* a loop */
} Part;
Part heads_part(Kernel *k, const Heads *h, const char *t0, const char *rows,
                const char *n);
/* Opens: queries q0 to q1, and the first k1 keys, those that they see; */
void heads_open_queries(Kernel *k, const Heads *h, Part *p);
/* or keys k0 to k1, and the queries that see them, those from q0 on, 16 n. */
void heads_open_keys(Kernel *k, const Heads *h, Part *p);
void heads_close(Kernel *k, const Part *p);
/* Opens the keys j of a part, of which `row` in `tile` is one; */
void heads_open_row(Kernel *k, const Heads *h, const Part *p, const char *tile);
/* then its queries i: all columns, or those that there are. */
void heads_open_columns(Kernel *k, const Heads *h, const Part *p, bool all);
/* "const int first": the first query that sees key j; then */
void heads_first(Kernel *k, const Heads *h, const Part *p);
/* "i < first ? HIDDEN : x", where some may not. */
const char *heads_hidden(Kernel *k, const Heads *h, const char *hidden,
                         const char *x);
/* What a mask or a bias makes of a row; the C text of a score after it. */
const char *heads_masked(Kernel *k, const Heads *h, const Part *p,
                         const Operand *mask, const Operand *bias);

#endif
