/* Rows of a few numbers: runtime/edl_rows.h does 16 of them at a time. */
#include "codegen/c_ops.h"

#include <inttypes.h>

enum {
    LONGEST_ROW = 16, /* EDL_SHORT_ROW */
    FEWEST_ROWS = 8   /* for less there is nothing to gain */
};

/* Rows that begin one step apart, of adjacent numbers, to adjacent ones. */
static bool
can_be_turned(const Loops *s, const Access *from, const Access *to)
{
    return s->n_outer == 1 && s->n_inner == 1 && from->inner[0] == 1 &&
           from->outer[0] >= 0 && to->outer[0] == 1 &&
           loops_columns(s) <= LONGEST_ROW && loops_rows(s) >= FEWEST_ROWS;
}

/* No pieces: the rows are others. */
static void
short_body(Kernel *k)
{
    const ShortRows *rows = k->aux;
    const Value *x = rows->x, *y = rows->y;
    Emit *e = &k->out;
    Loops s = loops_new(k, &x->type, rows->axes);
    int from = loops_value(&s, x, false);
    int to = reduced_access(&s, kernel_value(k, y, 0, true), &y->type,
                            &y->layout, rows->axes);
    loops_fold(&s);
    const Access *a = &s.access.at[from], *b = &s.access.at[to];
    if (!can_be_turned(&s, a, b)) {
        k->pieces = 0;
        return;
    }
    const char *x_name = kernel_name(k, a->param);
    const char *y_name = kernel_name(k, b->param);
    int64_t n = loops_rows(&s), each = loops_each(&s), step = a->outer[0];
    const char *width = arena_printf(k->cg->arena, "%" PRId64 ", %" PRId64,
                                     step, loops_columns(&s));
    k->comment = arena_printf(k->cg->arena, "%s of each row of %s, %s",
                              rows->what, x->name, describe(k->cg, x));
    if (n <= each) {
        emit_line(e, "edl_%s_rows(%s, %s, %" PRId64 ", %s);", rows->function,
                  y_name, x_name, n, width);
        return;
    }
    emit_range(k, n, each);
    loops_say_cut(&s, each);
    emit_line(e, "edl_%s_rows(%s + lo, %s + lo * %" PRId64 ", hi - lo, %s);",
              rows->function, y_name, x_name, step, width);
}

bool
c_short_rows(Cg *cg, const Node *n, const char *label, const ShortRows *rows)
{
    if (cg->cuda || rows->x->type.dtype != DT_f32 ||
        !kernel_probe(cg, n, short_body, rows))
        return false;
    kernel_emit(cg, n, label, n->results[0]->name, short_body, rows);
    return true;
}
