/* Elementwise ops as C expressions: one row an op, for float (computed in
 * f32), for double, and for integers. %0 to %2 are the operands, %t the type
 * of the result, %u the unsigned type in which integers wrap. */
#include "codegen/c_ops.h"

#include <math.h>

typedef struct MathRow {
    const char *f32, *f64, *whole;
} MathRow;

#define SAME(text)                                                             \
    {                                                                          \
        text, text, text                                                       \
    }
#define SIGMOID(x) "(1.0 / (1.0 + exp(-(" x "))))"
#define NORMAL "(0.5 * erfc(-%0 * 0.70710678118654752440))"
#define GELU_INNER "(1.5957691216057308 * %0 * (1.0 + 0.044715 * %0 * %0))"
#define GELU_SLOPE "(1.5957691216057308 * %0 * (1.0 + 0.134145 * %0 * %0))"

/* cast and dropout have code of their own. */
static const MathRow rows[OP_COUNT] = {
    [OP_neg] = {"-%0", "-%0", "(%t)(0u - (%u)%0)"},
    [OP_abs] = {"edl_absf(%0)", "fabs(%0)",
                "(%t)(%0 < 0 ? 0u - (%u)%0 : (%u)%0)"},
    [OP_sign] = {"edl_signf(%0)", "%0 > 0.0 ? 1.0 : %0 < 0.0 ? -1.0 : %0",
                 "(%t)((%0 > 0) - (%0 < 0))"},
    [OP_floor] = {"edl_floorf(%0)", "floor(%0)", "%0"},
    [OP_exp] = {"edl_expf(%0)", "exp(%0)", NULL},
    [OP_log] = {"edl_logf(%0)", "log(%0)", NULL},
    [OP_log1p] = {"edl_log1pf(%0)", "log1p(%0)", NULL},
    [OP_sqrt] = {"edl_sqrtf(%0)", "sqrt(%0)", NULL},
    [OP_rsqrt] = {"edl_rsqrtf(%0)", "1.0 / sqrt(%0)", NULL},
    [OP_sin] = {"edl_sinf(%0)", "sin(%0)", NULL},
    [OP_cos] = {"edl_cosf(%0)", "cos(%0)", NULL},
    [OP_tanh] = {"edl_tanhf(%0)", "tanh(%0)", NULL},
    [OP_sigmoid] = {"edl_sigmoidf(%0)", SIGMOID("%0"), NULL},
    [OP_erf] = {"edl_erff(%0)", "erf(%0)", NULL},
    [OP_softplus] = {"edl_softplusf(%0)",
                     "(%0 < 0.0 ? 0.0 : %0) + log1p(exp(-fabs(%0)))", NULL},
    [OP_relu] = {"edl_reluf(%0)", "%0 <= 0.0 ? 0.0 : %0",
                 "%0 < 0 ? (%t)0 : %0"},
    [OP_silu] = {"edl_siluf(%0)", "%0 * " SIGMOID("%0"), NULL},
    [OP_gelu_tanh] = {"edl_gelu_tanhf(%0)", "%0 * " SIGMOID(GELU_INNER), NULL},
    [OP_gelu_erf] = {"edl_gelu_erff(%0)", "%0 * " NORMAL, NULL},
    [OP_silu_slope] = {"edl_silu_slopef(%0)",
                       SIGMOID("%0") " * (1.0 + %0 * " SIGMOID("-%0") ")",
                       NULL},
    [OP_gelu_tanh_slope] = {"edl_gelu_tanh_slopef(%0)",
                            SIGMOID(GELU_INNER) " * (1.0 + " GELU_SLOPE
                                                " * " SIGMOID(
                                                    "-" GELU_INNER) ")",
                            NULL},
    [OP_gelu_erf_slope] = {"edl_gelu_erf_slopef(%0)",
                           NORMAL " + %0 * 0.39894228040143267794 * "
                                  "exp(-0.5 * %0 * %0)",
                           NULL},
    [OP_clamp] = {"edl_clampf(%0, %1, %2)", "%0 < %1 ? %1 : %0 > %2 ? %2 : %0",
                  "%0 < %1 ? %1 : %0 > %2 ? %2 : %0"},
    [OP_not] = SAME("!%0"),
    [OP_isfinite] = {"%0 - %0 == 0.0f", "%0 - %0 == 0.0", "1"},
    [OP_stop] = SAME("%0"),
    [OP_add] = {"%0 + %1", "%0 + %1", "(%t)((%u)%0 + (%u)%1)"},
    [OP_sub] = {"%0 - %1", "%0 - %1", "(%t)((%u)%0 - (%u)%1)"},
    [OP_mul] = {"%0 * %1", "%0 * %1", "(%t)((%u)%0 * (%u)%1)"},
    [OP_div] = {"%0 / %1", "%0 / %1", "(%t)edl_div_int(%0, %1)"},
    [OP_pow] = {"edl_powf(%0, %1)", "pow(%0, %1)", "(%t)edl_pow_int(%0, %1)"},
    [OP_maximum] = {"edl_maxf(%0, %1)", "edl_max(%0, %1)",
                    "%0 >= %1 ? %0 : %1"},
    [OP_minimum] = {"edl_minf(%0, %1)", "edl_min(%0, %1)",
                    "%0 <= %1 ? %0 : %1"},
    [OP_bce_with_logits] =
        {"edl_maxf(%0, 0.0f) - %0 * %1 + "
         "edl_log1pf(edl_expf(-edl_absf(%0)))",
         "edl_max(%0, 0.0) - %0 * %1 + log1p(exp(-fabs(%0)))", NULL},
    [OP_lt] = SAME("%0 < %1"),
    [OP_le] = SAME("%0 <= %1"),
    [OP_gt] = SAME("%0 > %1"),
    [OP_ge] = SAME("%0 >= %1"),
    [OP_eq] = SAME("%0 == %1"),
    [OP_ne] = SAME("%0 != %1"),
    [OP_and] = SAME("%0 & %1"),
    [OP_or] = SAME("%0 | %1"),
    [OP_where] = SAME("%0 ? %1 : %2"),
    [OP_pow_grad_base] =
        {"%2 == 0.0f ? 0.0f : %0 * %2 * edl_powf(%1, %2 - 1.0f)",
         "%2 == 0.0 ? 0.0 : %0 * %2 * pow(%1, %2 - 1.0)", NULL},
    [OP_pow_grad_exp] =
        {"%1 <= 0.0f ? 0.0f : %0 * edl_powf(%1, %2) * edl_logf(%1)",
         "%1 <= 0.0 ? 0.0 : %0 * pow(%1, %2) * log(%1)", NULL},
};

bool
math_has_row(Op op)
{
    return rows[op].f32 || op == OP_cast || op == OP_dropout;
}

/* ---- casts ---- */

static const char *
cast_text(Dtype from, Dtype to)
{
    bool from_float = dtype_info[from].kind == KIND_FLOAT;
    switch (dtype_info[to].kind) {
    case KIND_FLOAT:
        return "(%t)%0";
    case KIND_BOOL:
        return "%0 != 0";
    case KIND_INT:
        if (!from_float)
            return "(%t)%0";
        return to == DT_i64  ? "edl_to_i64(%0)"
               : to == DT_u8 ? "(uint8_t)edl_to_int(%0, 0.0, 255.0)"
                             : "(int32_t)edl_to_int(%0, -2147483648.0, "
                               "2147483647.0)";
    case KIND_STORAGE:
        break;
    }
    bug("codegen: a cast to storage");
}

static int
cast_cell(Cells *c, const Node *n)
{
    Dtype from = n->args[0]->type.dtype, to = n->results[0]->type.dtype;
    int in = cells_value(c, n->args[0]);
    if (from == to)
        return in;
    return cells_expr1(c, to, n->results[0]->name, cast_text(from, to), in);
}

/* ---- dropout ---- */

static int
dropout_cell(Cells *c, const Node *n)
{
    Kernel *k = c->k;
    Arena *a = k->cg->arena;
    const Value *y = n->results[0];
    double p = node_float(n, "p", 0);
    const char *path = node_word(n, "key", "");
    int x = cells_value(c, n->args[0]);
    if (p >= 1)
        return cells_literal(c, y->type.dtype, c_number(a, DT_f32, 0));
    const char *pass =
        arena_printf(a, "%sUINT64_C(0x%016llx)",
                     k->cg->cuda ? "" : "m->count.seed ^ ",
                     (unsigned long long)hash64(path, strlen(path)));
    const char *key = kernel_local(k, "dropout_key");
    int param = kernel_scalar(k, "uint64_t", key, pass);
    key = kernel_name(k, param);
    if (k->cg->cuda)
        key = arena_printf(a, "control->seed ^ %s", key);
    kernel_microbatch(k);
    int u = cells_uniform(c, key, cells_index(c, &y->type));
    bool f64 = y->type.dtype == DT_f64;
    /* u is a multiple of 2^-24: u >= p is u >= p rounded up to one */
    const char *text = arena_printf(
        a, "%%0 >= %s ? %%1 * %s : %s",
        c_number(a, DT_f32, ldexp(ceil(ldexp(p, 24)), -24)),
        f64 ? c_double(a, 1 / (1 - p)) : c_number(a, DT_f32, 1 / (1 - p)),
        f64 ? "0.0" : "0.0f");
    return cells_expr2(c, y->type.dtype, y->name, text, u, x);
}

/* ---- any of them ---- */

int
cells_element(Cells *c, const Node *n)
{
    const Value *y = n->results[0];
    if (n->op == OP_cast)
        return cast_cell(c, n);
    if (n->op == OP_dropout)
        return dropout_cell(c, n);
    Dtype d = n->args[n->n_args - 1]->type.dtype;
    const MathRow *row = &rows[n->op];
    const char *text = dtype_info[d].kind != KIND_FLOAT ? row->whole
                       : d == DT_f64                    ? row->f64
                                                        : row->f32;
    if (!text) {
        cg_refuse(c->k->cg, n,
                  arena_printf(c->k->cg->arena, "has no C for %s",
                               dtype_info[d].name));
        return cells_literal(c, y->type.dtype, "0");
    }
    int in[4];
    for (int i = 0; i < n->n_args; i++)
        in[i] = cells_value(c, n->args[i]);
    int n_in = n->n_args;
    if (n->op == OP_clamp) {
        in[n_in++] = cells_literal(
            c, d, c_number(c->k->cg->arena, d, node_float(n, "lo", 0)));
        in[n_in++] = cells_literal(
            c, d, c_number(c->k->cg->arena, d, node_float(n, "hi", 0)));
    }
    if (n->op == OP_stop)
        return in[0];
    return cells_expr(c, y->type.dtype, y->name, text, n_in, in);
}
