#include "codegen/loops.h"

#include <inttypes.h>

Loops
loops_new(Kernel *k, const Type *t, unsigned inner)
{
    Loops s = {.k = k, .rank = t->rank};
    for (int i = 0; i < t->rank; i++) {
        s.dim[i] = t->dim[i];
        s.is_inner[i] = inner >> i & 1;
    }
    s.split = inner == 0;
    s.by_element = inner == 0;
    return s;
}

int
loops_strided(Loops *s, int param, Dtype d, const int64_t *stride)
{
    Access a = {.param = param, .dtype = d};
    for (int i = 0; i < s->rank; i++)
        a.stride[i] = s->dim[i] == 1 ? 0 : stride[i];
    vec_push(s->k->cg->arena, &s->access, a);
    return s->access.n - 1;
}

static int
add_access(Loops *s, int param, const Type *t, const Layout *l)
{
    int64_t stride[MAX_RANK] = {0};
    int shift = s->rank - t->rank;
    for (int i = 0; i < t->rank; i++)
        if (i + shift >= 0)
            stride[i + shift] = t->dim[i] == 1 ? 0 : l->stride[i];
    int i = loops_strided(s, param, t->dtype, stride);
    s->access.at[i].type = t;
    return i;
}

int
loops_value(Loops *s, const Value *v, bool write)
{
    return add_access(s, kernel_value(s->k, v, 0, write), &v->type, &v->layout);
}

int
loops_tensor(Loops *s, const Tensor *t, bool write)
{
    return add_access(s, kernel_tensor(s->k, t, write), &t->type, &t->layout);
}

/* ---- folding ---- */

static bool
walks_as_one(const Loops *s, int outer, int inner)
{
    for (int i = 0; i < s->access.n; i++) {
        const int64_t *stride = s->access.at[i].stride;
        if (stride[outer] != stride[inner] * s->dim[inner])
            return false;
    }
    return true;
}

/* Folds the axes of one class; into: their sizes. */
static int
fold_axes(Loops *s, bool inner, bool all, int64_t *into)
{
    int n = 0, last = -1;
    for (int i = 0; i < s->rank; i++) {
        bool keep = inner && s->keep;
        if ((!all && s->is_inner[i] != inner) || (s->dim[i] == 1 && !keep))
            continue;
        bool apart = s->apart && i == s->rank - 1;
        bool one = last >= 0 && !keep && !apart && walks_as_one(s, last, i);
        n += !one;
        into[n - 1] = one ? into[n - 1] * s->dim[i] : s->dim[i];
        for (int j = 0; j < s->access.n; j++) {
            Access *a = &s->access.at[j];
            (inner ? a->inner : a->outer)[n - 1] = a->stride[i];
        }
        last = i;
    }
    return n;
}

/* Element by element: the last folded dimension becomes the inner one. */
static void
last_is_inner(Loops *s)
{
    if (s->n_outer == 0)
        return;
    int last = --s->n_outer;
    s->n_inner = 1;
    s->inner[0] = s->outer[last];
    for (int j = 0; j < s->access.n; j++) {
        s->access.at[j].inner[0] = s->access.at[j].outer[last];
        s->access.at[j].outer[last] = 0;
    }
}

void
loops_fold(Loops *s)
{
    s->n_outer = fold_axes(s, false, s->split, s->outer);
    s->n_inner = 0;
    if (s->split)
        last_is_inner(s);
    else
        s->n_inner = fold_axes(s, true, false, s->inner);
    for (int j = 0; j < s->access.n; j++) {
        Access *a = &s->access.at[j];
        for (int i = 0; i < s->n_inner; i++)
            a->full |= a->inner[i] != 0;
    }
    s->split &= s->n_outer == 0;
}

void
loops_forget(Loops *s)
{
    for (int j = 0; j < s->access.n; j++) {
        Access *a = &s->access.at[j];
        a->full = false;
        memset(a->outer, 0, sizeof a->outer);
        memset(a->inner, 0, sizeof a->inner);
    }
}

int64_t
loops_rows(const Loops *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n_outer; i++)
        n *= s->outer[i];
    return n;
}

int64_t
loops_columns(const Loops *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n_inner; i++)
        n *= s->inner[i];
    return n;
}

/* ---- loops ---- */

void
emit_range(Kernel *k, int64_t n, int64_t each)
{
    k->pieces = (n + each - 1) / each;
    emit_line(&k->out, "const int64_t lo = piece * %" PRId64 ";", each);
    if (n % each == 0)
        emit_line(&k->out, "const int64_t hi = lo + %" PRId64 ";", each);
    else
        emit_line(&k->out,
                  "const int64_t hi = lo + %" PRId64 " < %" PRId64
                  " ? lo + %" PRId64 " : %" PRId64 ";",
                  each, n, each, n);
}

/* i0, i1, ... from r, those that some operand uses. */
static void
emit_outer_indices(Loops *s)
{
    int64_t after = 1;
    for (int i = s->n_outer - 1; i >= 0; i--) {
        bool used = false;
        for (int j = 0; j < s->access.n; j++)
            used |= s->access.at[j].outer[i] != 0;
        Emit *e = &s->k->out;
        if (used && i > 0 && after > 1)
            emit_line(e, "const int64_t i%d = r / %" PRId64 " %% %" PRId64 ";",
                      i, after, s->outer[i]);
        else if (used && i > 0)
            emit_line(e, "const int64_t i%d = r %% %" PRId64 ";", i,
                      s->outer[i]);
        else if (used)
            emit_line(e, "const int64_t i%d = r / %" PRId64 ";", i, after);
        after *= s->outer[i];
    }
}

static void
emit_row_pointer(Loops *s, Access *a)
{
    Kernel *k = s->k;
    const Param *p = &k->params.at[a->param];
    Emit e = emit_new(k->cg->arena);
    for (int i = 0; i < s->n_outer; i++) {
        if (a->outer[i] == 0)
            continue;
        if (s->n_outer == 1)
            emit(&e, " + r");
        else
            emit(&e, " + i%d", i);
        if (a->outer[i] != 1)
            emit(&e, a->outer[i] < 0 ? " * (%" PRId64 ")" : " * %" PRId64,
                 a->outer[i]);
    }
    if (a->shift && !a->late)
        emit(&e, " + %s", a->shift);
    a->base = p->name;
    if (e.n == 0)
        return;
    a->base = kernel_local(k, arena_printf(k->cg->arena, "%s_r", p->name));
    emit_line(&k->out, "%s%s%s = %s%s;", p->written ? "" : "const ", p->type,
              a->base, p->name, emit_string(&e));
}

/* Row pointers: one for all accesses that walk the rows alike. */
static void
emit_row_pointers(Loops *s)
{
    for (int j = 0; j < s->access.n; j++) {
        Access *a = &s->access.at[j];
        if (a->param < 0) /* an index or the caller's own array */
            continue;
        a->base = NULL;
        for (int i = 0; i < j && !a->base; i++) {
            const Access *b = &s->access.at[i];
            if (a->param == b->param && !a->shift && !b->shift &&
                memcmp(a->outer, b->outer, sizeof a->outer) == 0)
                a->base = b->base;
        }
        if (!a->base)
            emit_row_pointer(s, a);
    }
}

void
loops_rows_here(Loops *s)
{
    if (s->n_outer > 1)
        emit_outer_indices(s);
    emit_row_pointers(s);
}

/* The elements before and behind one that it takes along the inner axes. */
static int64_t
extent_of(const int64_t *stride, const int64_t *dim, int n, int64_t *before)
{
    int64_t behind = 0;
    *before = 0;
    for (int i = 0; i < n; i++)
        *(stride[i] < 0 ? before : &behind) += stride[i] * (dim[i] - 1);
    return behind - *before + 1;
}

void
loops_say_cut(Loops *s, int64_t each)
{
    for (int j = 0; j < s->access.n; j++) {
        const Access *a = &s->access.at[j];
        if (a->param < 0 || a->shift || s->n_outer != 1 || a->outer[0] < 0)
            continue;
        int64_t before, n = extent_of(a->inner, s->inner, s->n_inner, &before);
        kernel_cut(s->k, a->param, before, each * a->outer[0],
                   n + (each - 1) * a->outer[0]);
    }
}

void
loops_open_rows(Loops *s, int64_t each)
{
    Kernel *k = s->k;
    int64_t rows = loops_rows(s);
    if (s->n_outer == 0) {
        emit_row_pointers(s);
        return;
    }
    s->open = true;
    if (k->cg->cuda)
        each = 1;
    if (rows > each) {
        emit_range(k, rows, each);
        loops_say_cut(s, each);
        emit_open(&k->out, "for (int64_t r = lo; r < hi; r++)");
    } else {
        emit_open(&k->out, "for (int64_t r = 0; r < %" PRId64 "; r++)", rows);
    }
    loops_rows_here(s);
}

int64_t
loops_each(const Loops *s)
{
    int64_t columns = loops_columns(s), rows = loops_rows(s);
    int64_t each = PIECE_ELEMENTS / columns;
    if (rows * columns <= 2 * PIECE_ELEMENTS)
        each = s->k->want ? (rows + s->k->want - 1) / s->k->want : rows;
    return each > 1 ? each : 1;
}

void
loops_open(Loops *s)
{
    int64_t columns = loops_columns(s);
    if (s->k->cg->cuda) {
        cuda_loops_open(s);
        return;
    }
    if (s->split && columns > 2 * PIECE_ELEMENTS)
        emit_range(s->k, columns, PIECE_ELEMENTS);
    else
        s->split = false;
    loops_open_rows(s, loops_each(s));
}

void
loops_close(Loops *s)
{
    if (s->open)
        emit_close(&s->k->out, "");
}

int
loops_open_last(Loops *s)
{
    Emit *e = &s->k->out;
    if (s->n_inner == 0 || s->mode == MODE_element)
        return 0;
    if (s->split)
        emit_open(e, "for (int64_t c = lo; c < hi; c++)");
    else
        emit_open(e, "for (int64_t c = 0; c < %" PRId64 "; c++)",
                  s->inner[s->n_inner - 1]);
    return 1;
}

void
loops_open_single(Loops *s)
{
    if (s->mode == MODE_block)
        emit_open(&s->k->out, "if (threadIdx.x == 0)");
}

void
loops_close_single(Loops *s)
{
    if (s->mode == MODE_block)
        emit_close(&s->k->out, "");
}

int
loops_open_inner(Loops *s)
{
    for (int i = 0; i + 1 < s->n_inner; i++)
        emit_open(&s->k->out, "for (int64_t j%d = 0; j%d < %" PRId64 "; j%d++)",
                  i, i, s->inner[i], i);
    return s->n_inner > 1 ? s->n_inner - 1 : 0;
}

const char *
loops_element(Loops *s, int access, const char *at)
{
    const Access *a = &s->access.at[access];
    Emit e = emit_new(s->k->cg->arena);
    if (a->lanes && strcmp(at, "c") == 0)
        return arena_printf(s->k->cg->arena, "%s[l]", a->lanes);
    emit(&e, "%s[", a->base);
    bool any = false;
    for (int i = 0; i < s->n_inner; i++) {
        if (a->inner[i] == 0)
            continue;
        if (any)
            emit(&e, " + ");
        any = true;
        if (i + 1 < s->n_inner)
            emit(&e, "j%d", i);
        else if (a->inner[i] != 1 && strchr(at, ' '))
            emit(&e, "(%s)", at);
        else
            emit(&e, "%s", at);
        if (a->inner[i] != 1)
            emit(&e, a->inner[i] < 0 ? " * (%" PRId64 ")" : " * %" PRId64,
                 a->inner[i]);
    }
    if (a->shift && a->late) {
        emit(&e, "%s%s", any ? " + " : "", a->shift);
        any = true;
    }
    emit(&e, any ? "]" : "0]");
    return emit_string(&e);
}
