#include "frontend/low.h"

#include <math.h>

Val
low_int(Span at, int64_t i)
{
    return (Val){.kind = VAL_INT, .at = at, .i = i};
}

Val
low_float(Span at, double f)
{
    return (Val){.kind = VAL_FLOAT, .at = at, .f = f};
}

Val
low_bool(Span at, bool b)
{
    return (Val){.kind = VAL_BOOL, .at = at, .i = b};
}

bool
low_is_const(const Val *v)
{
    return v->kind == VAL_INT || v->kind == VAL_FLOAT || v->kind == VAL_BOOL;
}

double
low_number(const Val *v)
{
    return v->kind == VAL_FLOAT ? v->f : (double)v->i;
}

static bool
is_number(const Val *v)
{
    return v->kind == VAL_INT || v->kind == VAL_FLOAT;
}

/* ---- exact integers ---- */

static bool
add_exact(int64_t a, int64_t b, int64_t *out)
{
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b))
        return false;
    *out = a + b;
    return true;
}

static bool
sub_exact(int64_t a, int64_t b, int64_t *out)
{
    if ((b < 0 && a > INT64_MAX + b) || (b > 0 && a < INT64_MIN + b))
        return false;
    *out = a - b;
    return true;
}

static uint64_t
magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

bool
low_mul(int64_t a, int64_t b, int64_t *out)
{
    bool minus = (a < 0) != (b < 0);
    uint64_t x = magnitude(a), y = magnitude(b);
    uint64_t most = (uint64_t)INT64_MAX + (minus ? 1 : 0);
    if (x && y > most / x)
        return false;
    *out = (int64_t)(minus ? 0 - x * y : x * y);
    return true;
}

static bool
pow_exact(int64_t a, int64_t n, int64_t *out)
{
    int64_t r = 1;
    if (a == 0 || a == 1) {
        *out = n == 0 ? 1 : a;
        return true;
    }
    if (a == -1) {
        *out = n % 2 ? -1 : 1;
        return true;
    }
    for (; n > 0; n--)
        if (!low_mul(r, a, &r))
            return false;
    *out = r;
    return true;
}

static Val
too_large(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    low_error(l, e->at, "%lld %s %lld does not fit in 64 bits", (long long)a->i,
              binary_text[e->u.binary.op], (long long)b->i);
    return low_poison();
}

static Val
divide_ints(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    if (b->i == 0) {
        low_error(l, e->at, "division by zero");
        return low_poison();
    }
    if (b->i == -1)
        return a->i == INT64_MIN ? too_large(l, e, a, b)
                                 : low_int(e->at, -a->i);
    if (a->i % b->i == 0)
        return low_int(e->at, a->i / b->i);
    long long x = (long long)a->i, y = (long long)b->i;
    if (low_error(l, e->at, "%lld / %lld leaves a rest of %lld", x, y, x % y))
        low_note(l, (Span){0},
                 "division of integers must be exact; write %lld.0 for a "
                 "fraction",
                 y);
    return low_poison();
}

static Val
int_binary(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    int64_t r = 0;
    bool fits = true;
    switch (e->u.binary.op) {
    case BIN_ADD:
        fits = add_exact(a->i, b->i, &r);
        break;
    case BIN_SUB:
        fits = sub_exact(a->i, b->i, &r);
        break;
    case BIN_MUL:
        fits = low_mul(a->i, b->i, &r);
        break;
    case BIN_POW:
        fits = pow_exact(a->i, b->i, &r);
        break;
    case BIN_DIV:
        return divide_ints(l, e, a, b);
    case BIN_OR:
    case BIN_AND:
    case BIN_EQ:
    case BIN_NE:
    case BIN_LT:
    case BIN_LE:
    case BIN_GT:
    case BIN_GE:
    case BIN_MATMUL:
    case BIN_COUNT:
        bug("no arithmetic: %s", binary_text[e->u.binary.op]);
    }
    return fits ? low_int(e->at, r) : too_large(l, e, a, b);
}

/* ---- floating numbers ---- */

static Val
finite(Lower *l, const Expr *e, double f)
{
    if (isfinite(f))
        return low_float(e->at, f);
    low_error(l, e->at, "the constant is not a finite number");
    return low_poison();
}

static Val
float_binary(Lower *l, const Expr *e, double a, double b)
{
    switch (e->u.binary.op) {
    case BIN_ADD:
        return finite(l, e, a + b);
    case BIN_SUB:
        return finite(l, e, a - b);
    case BIN_MUL:
        return finite(l, e, a * b);
    case BIN_POW:
        return finite(l, e, pow(a, b));
    case BIN_DIV:
        if (b == 0) {
            low_error(l, e->at, "division by zero");
            return low_poison();
        }
        return finite(l, e, a / b);
    case BIN_OR:
    case BIN_AND:
    case BIN_EQ:
    case BIN_NE:
    case BIN_LT:
    case BIN_LE:
    case BIN_GT:
    case BIN_GE:
    case BIN_MATMUL:
    case BIN_COUNT:
        break;
    }
    bug("no arithmetic: %s", binary_text[e->u.binary.op]);
}

/* ---- comparisons and logic ---- */

static int
compare(const Val *a, const Val *b)
{
    if (a->kind == VAL_STRING)
        return strcmp(a->s, b->s);
    if (a->kind != VAL_FLOAT && b->kind != VAL_FLOAT)
        return (a->i > b->i) - (a->i < b->i);
    double x = low_number(a), y = low_number(b);
    return (x > y) - (x < y);
}

static bool
compared(BinaryOp op, int c)
{
    return op == BIN_EQ   ? c == 0
           : op == BIN_NE ? c != 0
           : op == BIN_LT ? c < 0
           : op == BIN_LE ? c <= 0
           : op == BIN_GT ? c > 0
                          : c >= 0;
}

static Val
wrong_operands(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    low_error(l, e->u.binary.op_at, "%s cannot take %s and %s",
              binary_text[e->u.binary.op], low_describe(l, a),
              low_describe(l, b));
    return low_poison();
}

static Val
logic_or_compare(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    BinaryOp op = e->u.binary.op;
    bool bools = a->kind == VAL_BOOL && b->kind == VAL_BOOL;
    if (op == BIN_AND || op == BIN_OR) {
        if (!bools)
            return wrong_operands(l, e, a, b);
        return low_bool(e->at, op == BIN_AND ? a->i && b->i : a->i || b->i);
    }
    bool same = (is_number(a) && is_number(b)) ||
                (a->kind == b->kind && (op == BIN_EQ || op == BIN_NE) &&
                 (bools || a->kind == VAL_STRING));
    if (!same)
        return wrong_operands(l, e, a, b);
    return low_bool(e->at, compared(op, compare(a, b)));
}

Val
low_const_binary(Lower *l, const Expr *e, const Val *a, const Val *b)
{
    BinaryOp op = e->u.binary.op;
    if (op <= BIN_GE)
        return logic_or_compare(l, e, a, b);
    if (op == BIN_MATMUL || !is_number(a) || !is_number(b))
        return wrong_operands(l, e, a, b);
    bool ints = a->kind == VAL_INT && b->kind == VAL_INT;
    if (ints && !(op == BIN_POW && b->i < 0))
        return int_binary(l, e, a, b);
    return float_binary(l, e, low_number(a), low_number(b));
}

Val
low_const_unary(Lower *l, const Expr *e, const Val *a)
{
    if (e->u.unary.op == UN_NOT && a->kind == VAL_BOOL)
        return low_bool(e->at, !a->i);
    if (e->u.unary.op == UN_NEG && a->kind == VAL_FLOAT)
        return low_float(e->at, -a->f);
    if (e->u.unary.op == UN_NEG && a->kind == VAL_INT && a->i != INT64_MIN)
        return low_int(e->at, -a->i);
    low_error(l, e->at, "%s cannot take %s",
              e->u.unary.op == UN_NOT ? "not" : "-", low_describe(l, a));
    return low_poison();
}

/* ---- functions of numbers ---- */

static double
inverse_root(double x)
{
    return 1 / sqrt(x);
}

static Val
floor_exact(Lower *l, const Expr *e, const Val *a)
{
    if (a->kind == VAL_INT)
        return *a;
    double f = floor(a->f);
    if (f >= -9223372036854775808.0 && f < 9223372036854775808.0)
        return low_int(e->at, (int64_t)f);
    return finite(l, e, f);
}

/* The larger or smaller of two; an integer when both are. */
static Val
pick(const Expr *e, const Val *a, const Val *b, bool larger)
{
    const Val *v = (compare(a, b) >= 0) == larger ? a : b;
    if (a->kind == VAL_INT && b->kind == VAL_INT)
        return low_int(e->at, v->i);
    return low_float(e->at, low_number(v));
}

static bool
two_numbers(Lower *l, const Expr *e, const char *name, const Val *a, Val *out)
{
    if (strcmp(name, "pow") == 0)
        *out = finite(l, e, pow(low_number(a), low_number(&a[1])));
    else if (strcmp(name, "maximum") == 0)
        *out = pick(e, a, &a[1], true);
    else if (strcmp(name, "minimum") == 0)
        *out = pick(e, a, &a[1], false);
    else
        return false;
    return true;
}

bool
low_const_call(Lower *l, const Expr *e, const char *name, const Val *a, int n,
               Val *out)
{
    static const struct {
        const char *name;
        double (*f)(double);
    } table[] = {{"sqrt", sqrt},  {"rsqrt", inverse_root},
                 {"exp", exp},    {"log", log},
                 {"sin", sin},    {"cos", cos},
                 {"tanh", tanh},  {"erf", erf},
                 {"log1p", log1p}};
    for (int i = 0; i < n; i++)
        if (!is_number(&a[i]))
            return false;
    if (n == 2)
        return two_numbers(l, e, name, a, out);
    if (n != 1)
        return false;
    if (strcmp(name, "floor") == 0) {
        *out = floor_exact(l, e, a);
        return true;
    }
    if (strcmp(name, "abs") == 0 && a->i != INT64_MIN) {
        *out = a->kind == VAL_INT ? low_int(e->at, a->i < 0 ? -a->i : a->i)
                                  : low_float(e->at, fabs(a->f));
        return true;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(name, table[i].name) == 0) {
            *out = finite(l, e, table[i].f(low_number(a)));
            return true;
        }
    return false;
}
