/* Which kernel computes which op. */
#include <math.h>

#include "ir/eval_kernel.h"

static bool
no_kernel(Job *j)
{
    return eval_fail(j, "%s is not evaluable", op_info[j->node->op].name);
}

/* One line an op. */
static bool
run(Job *j)
{
    switch (j->node->op) {
    case OP_const: return eval_const(j);
    case OP_iota: return eval_iota(j);
    case OP_learning_rate: return eval_learning_rate(j);
    case OP_neg: return eval_element1(j, eval_neg, eval_int_neg);
    case OP_abs: return eval_element1(j, fabs, eval_int_abs);
    case OP_sign: return eval_element1(j, eval_sign, eval_int_sign);
    case OP_floor: return eval_element1(j, floor, eval_int_same);
    case OP_exp: return eval_element1(j, exp, NULL);
    case OP_log: return eval_element1(j, log, NULL);
    case OP_log1p: return eval_element1(j, log1p, NULL);
    case OP_sqrt: return eval_element1(j, sqrt, NULL);
    case OP_rsqrt: return eval_element1(j, eval_rsqrt, NULL);
    case OP_sin: return eval_element1(j, sin, NULL);
    case OP_cos: return eval_element1(j, cos, NULL);
    case OP_tanh: return eval_element1(j, tanh, NULL);
    case OP_sigmoid: return eval_element1(j, eval_sigmoid, NULL);
    case OP_erf: return eval_element1(j, erf, NULL);
    case OP_softplus: return eval_element1(j, eval_softplus, NULL);
    case OP_relu: return eval_element1(j, eval_relu, eval_int_relu);
    case OP_silu: return eval_element1(j, eval_silu, NULL);
    case OP_gelu_tanh: return eval_element1(j, eval_gelu_tanh, NULL);
    case OP_gelu_erf: return eval_element1(j, eval_gelu_erf, NULL);
    case OP_silu_slope: return eval_element1(j, eval_silu_slope, NULL);
    case OP_gelu_tanh_slope:
        return eval_element1(j, eval_gelu_tanh_slope, NULL);
    case OP_gelu_erf_slope:
        return eval_element1(j, eval_gelu_erf_slope, NULL);
    case OP_clamp: return eval_clamp(j);
    case OP_not: return eval_element1(j, eval_not, NULL);
    case OP_isfinite: return eval_element1(j, eval_isfinite, NULL);
    case OP_cast: return eval_cast(j);
    case OP_dropout: return eval_dropout(j);
    case OP_stop: return eval_copy(j);
    case OP_add: return eval_element2(j, eval_add, eval_int_add);
    case OP_sub: return eval_element2(j, eval_sub, eval_int_sub);
    case OP_mul: return eval_element2(j, eval_mul, eval_int_mul);
    case OP_div: return eval_element2(j, eval_div, eval_int_div);
    case OP_pow: return eval_element2(j, pow, eval_int_pow);
    case OP_maximum: return eval_element2(j, eval_max, NULL);
    case OP_minimum: return eval_element2(j, eval_min, NULL);
    case OP_bce_with_logits: return eval_element2(j, eval_bce, NULL);
    case OP_lt: return eval_element2(j, eval_lt, NULL);
    case OP_le: return eval_element2(j, eval_le, NULL);
    case OP_gt: return eval_element2(j, eval_gt, NULL);
    case OP_ge: return eval_element2(j, eval_ge, NULL);
    case OP_eq: return eval_element2(j, eval_eq, NULL);
    case OP_ne: return eval_element2(j, eval_ne, NULL);
    case OP_and: return eval_element2(j, eval_and, NULL);
    case OP_or: return eval_element2(j, eval_or, NULL);
    case OP_where: return eval_element3(j, eval_where);
    case OP_pow_grad_base: return eval_element3(j, eval_pow_grad_base);
    case OP_pow_grad_exp: return eval_element3(j, eval_pow_grad_exp);
    case OP_reduce_sum: return eval_reduce_sum(j);
    case OP_reduce_max: return eval_reduce_most(j, eval_max);
    case OP_reduce_min: return eval_reduce_most(j, eval_min);
    case OP_variance: return eval_variance(j);
    case OP_argmax: return eval_argmax(j);
    case OP_reduce_pick_grad: return eval_reduce_pick_grad(j);
    case OP_matmul: return eval_matmul(j);
    case OP_softmax: return eval_softmax(j);
    case OP_softmax_grad: return eval_softmax_grad(j);
    case OP_log_softmax: return eval_log_softmax(j);
    case OP_log_softmax_grad: return eval_log_softmax_grad(j);
    case OP_logsumexp: return eval_logsumexp(j);
    case OP_logsumexp_grad: return eval_logsumexp_grad(j);
    case OP_layernorm: return eval_layernorm(j);
    case OP_layernorm_grad: return eval_layernorm_grad(j);
    case OP_rmsnorm: return eval_rmsnorm(j);
    case OP_rmsnorm_grad: return eval_rmsnorm_grad(j);
    case OP_embedding: return eval_embedding(j);
    case OP_embedding_grad: return eval_embedding_grad(j);
    case OP_take: return eval_take(j);
    case OP_take_grad: return eval_take_grad(j);
    case OP_take_along: return eval_take_along(j);
    case OP_take_along_grad: return eval_take_along_grad(j);
    case OP_attention: return eval_attention(j);
    case OP_attention_grad: return eval_attention_grad(j);
    case OP_rope: return eval_rope(j);
    case OP_cross_entropy: return eval_cross_entropy(j);
    case OP_cross_entropy_grad: return eval_cross_entropy_grad(j);
    case OP_reshape: return eval_copy(j);
    case OP_transpose: return eval_transpose(j);
    case OP_broadcast: return eval_broadcast(j);
    case OP_slice: return eval_slice(j);
    case OP_slice_grad: return eval_slice_grad(j);
    case OP_slice_at: return eval_slice_at(j);
    case OP_slice_at_grad: return eval_slice_at_grad(j);
    case OP_split: return eval_split(j);
    case OP_concat: return eval_concat(j);
    case OP_pad: return eval_pad(j);
    case OP_global_norm: return eval_global_norm(j);
    case OP_adamw: return eval_adamw(j);
    case OP_sgd: return eval_sgd(j);
    case OP_wait: return true;
    /* on one rank and in one space these hand on what they get */
    case OP_offload: return eval_copy(j);
    case OP_fetch: return eval_copy(j);
    case OP_all_reduce: return eval_copy(j);
    case OP_reduce_scatter: return eval_copy(j);
    case OP_all_gather: return eval_copy(j);
    case OP_quantize:
    case OP_dequantize:
    case OP_send:
    case OP_recv:
    case OP_opaque: return no_kernel(j);
    /* these need the tensors or the graph: ir/eval_graph.c */
    case OP_read:
    case OP_write:
    case OP_accumulate:
    case OP_count:
    case OP_fused:
    case OP_COUNT: break;
    }
    bug("eval_node of %s", op_info[j->node->op].name);
}

bool
eval_node(Job *j)
{
    if (!run(j))
        return false;
    for (int i = 0; i < j->n_out; i++)
        eval_round(&j->out[i]);
    return true;
}
