#include "ir/optimizer.h"

#include <string.h>

Optimizer
optimizer_operands(Op op, int n_args, bool coded, double momentum, bool go)
{
    Optimizer o = {.go = -1};
    bool adam = op == OP_adamw;
    int at = adam ? 7 : 4;
    if (adam) {
        o.n_state = 2;
        o.state[0] = 2;
        o.state[1] = 3;
        go = n_args - (coded ? 2 : 0) > 7;
    } else if (momentum != 0) {
        o.n_state = 1;
        o.state[0] = at++;
    }
    if (go)
        o.go = at++;
    for (int i = 0; i < o.n_state; i++)
        o.scale[i] = adam && coded ? at++ : -1;
    o.n_args = at;
    return o;
}

Optimizer
optimizer_of(const Node *n)
{
    double momentum = node_float(n, "momentum", 0);
    bool go = node_flag(n, "go");
    Optimizer o = optimizer_operands(n->op, n->n_args, false, momentum, go);
    if (n->op != OP_adamw || n->args[o.state[0]]->type.dtype != DT_i8)
        return o;
    return optimizer_operands(n->op, n->n_args, true, momentum, go);
}

bool
optimizer_changes(const Node *n, int i)
{
    if (!(op_info[n->op].flags & OP_OPTIMIZER))
        return false;
    Optimizer o = optimizer_of(n);
    for (int j = 0; j < o.n_state; j++)
        if (i == o.state[j] || i == o.scale[j])
            return true;
    return i == 0;
}

Type
optimizer_scales(const Type *t)
{
    Type s = {.dtype = DT_f32, .rank = 1};
    s.dim[0] = (type_elements(t) - 1) / CODE_BLOCK + 1;
    return s;
}

bool
optimizer_can_code(const Type *t)
{
    return t->dtype == DT_f32 && type_elements(t) >= CODE_LEAST;
}

int64_t
optimizer_code_bytes(const Type *t)
{
    Type codes = *t, scales = optimizer_scales(t);
    codes.dtype = DT_i8;
    return type_bytes(&codes) + type_bytes(&scales);
}

bool
optimizer_is_scale(const Tensor *t)
{
    const char *dot = t->role ? strchr(t->role, '.') : NULL;
    return t->kind == TENSOR_opt && dot && strcmp(dot, ".scale") == 0;
}

bool
optimizer_moves(const Tensor *t)
{
    return t->kind == TENSOR_opt && t->type.dtype != DT_i8 &&
           !optimizer_is_scale(t);
}

const Tensor *
optimizer_scales_of(const Module *m, const Tensor *state)
{
    size_t n = strlen(state->role);
    for (int i = 0; i < m->tensors.n; i++) {
        const Tensor *t = m->tensors.at[i];
        if (t->owner == state->owner && optimizer_is_scale(t) &&
            strncmp(t->role, state->role, n) == 0 && t->role[n] == '.')
            return t;
    }
    return NULL;
}
