/* Loops on a device: no loop over rows, but a thread or a block for each. */
#include "codegen/loops.h"

#include <inttypes.h>

static void
head_line(Kernel *k, const char *word, const char *line)
{
    HeadLine h = {word, line};
    vec_push(k->cg->arena, &k->head, h);
}

/* No operand is farther than 32 bits reach from the start of its own. */
static bool
is_near(const Loops *s)
{
    if (loops_rows(s) * loops_columns(s) > INT32_MAX)
        return false;
    for (int i = 0; i < s->access.n; i++) {
        int64_t far = 0;
        for (int j = 0; j < s->rank; j++) {
            int64_t stride = s->access.at[i].stride[j];
            far += (s->dim[j] - 1) * (stride < 0 ? -stride : stride);
        }
        if (far > INT32_MAX)
            return false;
    }
    return true;
}

/* A thread of a block does columns thread, thread + threads, ..., or so many
 * neighbours; once, where the row is not too long: it stays in registers. */
static int
threads_of(const Loops *s)
{
    enum { HELD = 512 };
    int64_t n = s->inner[s->n_inner - 1] / s->each, rows = loops_rows(s);
    int64_t most = rows < 64                   ? 1024
                   : s->each > 1 && n <= HELD ? HELD
                                              : 256;
    int64_t threads = (n + 31) / 32 * 32;
    return (int)(threads < most ? threads : most);
}

static bool
is_narrow(const Access *a)
{
    return a->dtype == DT_bf16 || a->dtype == DT_f16;
}

/* So many neighbours of the access are 16 bytes at a multiple of 16, once or
 * twice. */
static bool
is_wide(const Loops *s, const Access *a, int each)
{
    bool fits = each == 8 ? is_narrow(a) || a->dtype == DT_f32
                          : a->dtype == DT_f32;
    int step = is_narrow(a) ? 8 : 4;
    if (!fits || a->param < 0 || a->shift || a->inner[0] != 1 ||
        s->k->params.at[a->param].offset % step)
        return false;
    for (int i = 0; i < s->n_outer; i++)
        if (a->outer[i] % step)
            return false;
    return true;
}

/* Of a row that is summed: from its length alone, as the order of the sum
 * follows from it, and what else the kernel reads depends on the plan. A long
 * one has a tail. */
static int
neighbours_of_row(const Loops *s)
{
    enum { LONG = 1024 };
    int64_t n = s->inner[0];
    return n % 8 == 0 || n >= LONG ? 8 : n % 4 == 0 ? 4 : 1;
}

/* Of elements: 8 where some operand has 16 bits, else 4. */
static int
neighbours_of_element(const Loops *s)
{
    bool narrow = false;
    for (int i = 0; i < s->access.n; i++)
        narrow |= is_narrow(&s->access.at[i]);
    int each = narrow ? 8 : 4;
    return s->inner[0] % each == 0 ? each : 1;
}

/* Neighbours that a thread does; 1 where it sums nothing and no operand is read
 * or written so. */
static int
elements_of(Loops *s)
{
    bool any = s->mode == MODE_block;
    if (s->n_inner != 1)
        return 1;
    int each = any ? neighbours_of_row(s) : neighbours_of_element(s);
    for (int i = 0; each > 1 && i < s->access.n; i++) {
        Access *a = &s->access.at[i];
        if (!is_wide(s, a, each))
            continue;
        any = true;
        a->lanes = kernel_local(s->k, "lanes");
    }
    return any ? each : 1;
}

static LoopMode
mode_of(const Loops *s)
{
    if (s->cells && s->folds)
        return MODE_block;
    bool apart = s->by_element || s->cells;
    return apart && s->n_inner <= 1 && !s->row_stores ? MODE_element : MODE_row;
}

/* Thread (r, c) of so many columns of every row, or (r, c0) where it does
 * `each` neighbouring elements. */
static void
open_threads(Loops *s, int64_t columns, int each)
{
    Kernel *k = s->k;
    Arena *a = k->cg->arena;
    const char *name = each > 1 ? "c0" : "c";
    const char *by = each > 1 ? arena_printf(a, " * %d", each) : "";
    columns /= each;
    int64_t n = loops_rows(s) * columns;
    const char *type = is_near(s) ? "int32_t" : "int64_t";
    k->run = RUN_threads;
    k->count = n;
    if (n == 1 && each == 1)
        return;
    if (k->part_row) {
        k->count = k->part_elements / each;
        kernel_scalar(k, "int64_t", "first",
                      arena_printf(a, "%s * %" PRId64 " / %d", k->part_row,
                                   k->part_columns, each));
    }
    head_line(k, NULL,
              arena_printf(a, "const %s thread = (%s)%s;", type, type,
                           k->part_row ? "(edl_thread() + first)"
                                       : "edl_thread()"));
    head_line(k, NULL, arena_printf(a, "if (thread >= %" PRId64 ")", n));
    head_line(k, NULL, "    return;");
    if (columns == 1) {
        head_line(k, "r", arena_printf(a, "const %s r = thread;", type));
        head_line(k, name, arena_printf(a, "const %s %s = 0;", type, name));
        return;
    }
    head_line(k, "r",
              arena_printf(a, "const %s r = thread / %" PRId64 ";", type,
                           columns));
    head_line(k, name,
              s->n_outer ? arena_printf(a, "const %s %s = thread %% %" PRId64
                                           "%s;", type, name, columns, by)
                         : arena_printf(a, "const %s %s = thread%s;", type,
                                        name, by));
}

void
cuda_loops_open(Loops *s)
{
    Kernel *k = s->k;
    s->split = false;
    s->mode = mode_of(s);
    s->each = 1;
    if (s->mode == MODE_row) {
        loops_open_rows(s, 1);
        return;
    }
    if (s->wide || s->mode == MODE_block)
        s->each = elements_of(s);
    s->tail = s->n_inner ? s->inner[s->n_inner - 1] % s->each : 0;
    if (s->mode == MODE_element) {
        open_threads(s, loops_columns(s), s->each);
    } else {
        k->run = RUN_blocks;
        k->count = loops_rows(s);
        k->threads = threads_of(s);
        s->held = s->each > 1 && !s->tail &&
                  loops_columns(s) / s->each <= k->threads;
        head_line(k, NULL, "__shared__ double folds[32];");
        if (s->held)
            head_line(k, "c0",
                      arena_printf(k->cg->arena,
                                   "const int32_t c0 = threadIdx.x * %d;",
                                   s->each));
        head_line(k, "r",
                  arena_printf(k->cg->arena, "const %s r = blockIdx.x;",
                               is_near(s) ? "int32_t" : "int64_t"));
    }
    loops_rows_here(s);
}

void
cuda_open_columns(Loops *s)
{
    open_threads(s, s->n_inner ? s->inner[s->n_inner - 1] : 1, 1);
    loops_rows_here(s);
}

const char *
cuda_owns(const Loops *s, const char *at)
{
    Arena *a = s->k->cg->arena;
    if (s->each == 1)
        return arena_printf(a, "%s %% blockDim.x == threadIdx.x", at);
    const char *group =
        arena_printf(a, "%s / %d %% blockDim.x", at, s->each);
    if (!s->tail)
        return arena_printf(a, "%s == threadIdx.x", group);
    int64_t whole = s->inner[s->n_inner - 1] - s->tail;
    return arena_printf(a,
                        "(%s < %" PRId64 " ? %s : %s - %" PRId64
                        ") == threadIdx.x",
                        at, whole, group, at, whole);
}
