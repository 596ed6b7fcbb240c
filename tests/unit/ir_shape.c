/* shape_infer answers anything without a crash: random operands and
 * attributes for every op, many of them nonsense. What it accepts has
 * results that are types. */
#include "ir/attr_rule.h"
#include "ir/shape.h"

#include <math.h>
#include <stdlib.h>

static uint64_t state = 1;

static int64_t
draw(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static int64_t
draw_size(void)
{
    static const int64_t odd[] = {0,         -1,        INT64_MAX,
                                  INT64_MIN, 1LL << 40, 1LL << 62};
    return draw(20) ? draw(4) + 1 : odd[draw(6)];
}

static Type
draw_type(void)
{
    Type t = {.dtype = (Dtype)draw(DT_COUNT), .rank = (int)draw(5)};
    if (draw(3))
        t.dtype = DT_f32;
    if (!draw(50))
        t.rank = (int)draw(12) - 2;
    for (int i = 0; i < t.rank && i < MAX_RANK; i++)
        t.dim[i] = draw(4) ? 4 : draw_size();
    return t;
}

static Attr
draw_attr(Arena *a, const AttrRule *rule)
{
    static const char *const words[] = {"f32",  "i8",      "half", "mean",
                                        "none", "element", "end",  "nothing"};
    static const double numbers[] = {0, 1, -1, 0.5, 1e300, 1e-300};
    Attr at = {.key = arena_strndup(a, rule->name, rule->n),
               .kind = rule->kind};
    int64_t *list = ARENA_ARRAY(a, int64_t, 16);
    for (int i = 0; i < 16; i++)
        list[i] = draw(5) ? draw(5) : draw_size();
    if (!draw(40))
        at.kind = (AttrKind)draw(6);
    at.i = at.kind == ATTR_ints   ? draw(draw(4) ? 4 : 16)
           : at.kind == ATTR_bool ? draw(2)
                                  : draw(6) - 1;
    if (at.kind == ATTR_int && !draw(10))
        at.i = draw_size();
    at.f = draw(30) ? numbers[draw(6)] : (double)NAN;
    at.s = words[draw(8)];
    at.list = list;
    return at;
}

static bool
is_type(const Type *t)
{
    if (t->rank < 0 || t->rank > MAX_RANK || type_elements(t) < 1)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 1)
            return false;
    return type_bytes(t) > 0;
}

/* 1: accepted, 0: refused, -1: wrong. */
static int
try_once(Arena *a, Op op)
{
    Type in[8], out[MAX_RESULTS] = {0};
    Attr attrs[12];
    int n_in = (int)draw(5), n_attrs = 0, n_out = 1;
    const char *at = op_info[op].attrs;
    AttrRule rule;
    if (draw(3) && op_info[op].min_args <= 8)
        n_in = op_info[op].min_args;
    for (int i = 0; i < n_in; i++)
        in[i] = i && draw(2) ? in[0] : draw_type();
    while (attr_rule_next(&at, &rule))
        if (draw(rule.optional ? 2 : 30))
            attrs[n_attrs++] = draw_attr(a, &rule);
    out[0] = n_in && draw(2) ? in[0] : draw_type();
    ShapeError err;
    if (!shape_infer(a, op, in, n_in, attrs, n_attrs, out, &n_out, &err))
        return err.text ? 0 : -1;
    for (int i = 0; i < n_out; i++)
        if (!is_type(&out[i]))
            return -1;
    return 1;
}

int
main(void)
{
    int wrong = 0;
    for (Op op = 0; op < OP_COUNT; op++) {
        Arena *a = arena_new();
        int accepted = 0;
        for (int i = 0; i < 3000; i++) {
            int is = try_once(a, op);
            accepted += is > 0;
            wrong += is < 0;
        }
        if (getenv("VERBOSE"))
            printf("%s %d\n", op_info[op].name, accepted);
        arena_free(a);
    }
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
