/* Inside ir/eval: one node at work, and the families of kernels. Only
 * ir/eval*.c include this. */
#ifndef EDL_IR_EVAL_KERNEL_H
#define EDL_IR_EVAL_KERNEL_H

#include "ir/eval.h"

enum { EVAL_WHY_BYTES = 256 };

/* One node: operands and results are dense, results allocated and zero. */
typedef struct Job {
    const Node *node;
    const Array *in;
    int n_in;
    Array *out;
    int n_out;
    uint64_t seed;
    int64_t microbatch; /* since step 0 */
    const Train *train;
    char *why; /* EVAL_WHY_BYTES: the message of a failure */
} Job;

/* Runs any op but those that name a tensor, and `fused`. Results still need
 * eval_round. False: job->why says what is wrong with the operands. */
bool eval_node(Job *j);

bool eval_fail(Job *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* To the nearest value of a dtype below f32, and to the range of an integer
 * type; f32 and f64 stay as they are. */
double eval_round_to(Dtype d, double x);
void eval_round(Array *a);
/* The value of an integer type that has the same low bits. */
int64_t eval_wrap(Dtype d, uint64_t bits);

/* ---- walking over elements ---- */

enum { WALK_MAX = 6 };

/* Visits the elements of a shape in row-major order; at[k] is where operand
 * k has the element that belongs to the current one:
 *     for (Walk w = walk(&type); w.left; walk_next(&w)) */
typedef struct Walk {
    int rank, n;
    int64_t left, done;
    int64_t dim[MAX_RANK], index[MAX_RANK];
    int64_t stride[WALK_MAX][MAX_RANK];
    int64_t at[WALK_MAX];
} Walk;

Walk walk(const Type *shape);
/* Adds an operand with these strides along the axes of the shape. */
void walk_add(Walk *w, const int64_t *stride);
/* Adds a dense operand that broadcasts to the shape. */
void walk_broadcast(Walk *w, const Type *operand);
void walk_next(Walk *w);

void eval_strides(const Type *t, int64_t *stride);
/* Bit k is set where axis k is in the list attribute. */
unsigned eval_axes(const Node *n, const char *key);
/* A shape seen as [outer, n, inner] around an axis. */
typedef struct Around {
    int64_t outer, n, inner;
} Around;
Around eval_around(const Type *t, int axis);

/* ---- the families ---- */

typedef double EvalFn1(double);
typedef double EvalFn2(double, double);
typedef double EvalFn3(double, double, double);
typedef uint64_t EvalInt1(uint64_t);
typedef int64_t EvalInt2(int64_t, int64_t);

/* eval_element.c; i: for integers, NULL where the op takes none */
bool eval_element1(Job *j, EvalFn1 *f, EvalInt1 *i);
bool eval_element2(Job *j, EvalFn2 *f, EvalInt2 *i);
bool eval_element3(Job *j, EvalFn3 *f);
bool eval_clamp(Job *j);
bool eval_cast(Job *j);
bool eval_const(Job *j);
bool eval_iota(Job *j);
bool eval_copy(Job *j);

/* eval_math.c: the functions that libm lacks, in their stable forms */
EvalFn1 eval_neg, eval_sign, eval_rsqrt, eval_sigmoid, eval_softplus,
    eval_relu, eval_silu, eval_gelu_tanh, eval_gelu_erf, eval_silu_slope,
    eval_gelu_tanh_slope, eval_gelu_erf_slope, eval_not, eval_isfinite;
EvalFn2 eval_add, eval_sub, eval_mul, eval_div, eval_max, eval_min, eval_bce,
    eval_lt, eval_le, eval_gt, eval_ge, eval_eq, eval_ne, eval_and, eval_or;
EvalFn3 eval_where, eval_pow_grad_base, eval_pow_grad_exp;
EvalInt1 eval_int_neg, eval_int_abs, eval_int_sign, eval_int_same,
    eval_int_relu;
EvalInt2 eval_int_add, eval_int_sub, eval_int_mul, eval_int_div, eval_int_pow;

/* eval_random.c */
void eval_philox(uint64_t key, uint64_t block, uint64_t microbatch,
                 uint32_t word[4]);
void eval_init(Array *a, const Init *init, uint64_t key);
bool eval_dropout(Job *j);

/* eval_reduce.c */
bool eval_reduce_sum(Job *j);
bool eval_reduce_most(Job *j, EvalFn2 *pick);
bool eval_variance(Job *j);
bool eval_argmax(Job *j);
bool eval_reduce_pick_grad(Job *j);
bool eval_logsumexp(Job *j);
bool eval_logsumexp_grad(Job *j);

/* eval_nn.c */
bool eval_softmax(Job *j);
bool eval_softmax_grad(Job *j);
bool eval_log_softmax(Job *j);
bool eval_log_softmax_grad(Job *j);
bool eval_layernorm(Job *j);
bool eval_layernorm_grad(Job *j);
bool eval_rmsnorm(Job *j);
bool eval_rmsnorm_grad(Job *j);
bool eval_cross_entropy(Job *j);
bool eval_cross_entropy_grad(Job *j);
bool eval_rope(Job *j);

/* eval_attention.c */
bool eval_attention(Job *j);
bool eval_attention_grad(Job *j);

/* eval_matmul.c */
bool eval_matmul(Job *j);

/* eval_shape.c */
bool eval_transpose(Job *j);
bool eval_broadcast(Job *j);
bool eval_slice(Job *j);
bool eval_slice_grad(Job *j);
bool eval_slice_at(Job *j);
bool eval_slice_at_grad(Job *j);
bool eval_split(Job *j);
bool eval_concat(Job *j);
bool eval_pad(Job *j);

/* eval_table.c */
bool eval_embedding(Job *j);
bool eval_embedding_grad(Job *j);
bool eval_take(Job *j);
bool eval_take_grad(Job *j);
bool eval_take_along(Job *j);
bool eval_take_along_grad(Job *j);

/* eval_update.c; adamw and sgd change the arrays of their operands */
bool eval_learning_rate(Job *j);
bool eval_global_norm(Job *j);
bool eval_adamw(Job *j);
bool eval_sgd(Job *j);

#endif
