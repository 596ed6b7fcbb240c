/* Attention on a device: the kernels are functions of edl_cuda_attention.cuh;
 * what is emitted gives them shapes, strides and shared memory. */
#include "codegen/attention.h"
#include "codegen/cuda.h"

#include <inttypes.h>

/* Shared memory that a kernel has of its own, and what its launch can give it
 * on every device from sm_80 on; in floats. */
enum { SHARED_FLOATS = 48 << 8, SHARED_MOST = 99 << 8, THREADS = 256 };

/* As edl_cuda_attention_plain.cuh has it. */
enum { PLAIN_THREADS = 128, PLAIN_FLOATS = 32 + 2 * PLAIN_THREADS };

/* Queries and keys of a tile. */
typedef struct Tile {
    int q, k;
} Tile;

static int64_t
forward_floats(int64_t d, int64_t q, int64_t k)
{
    return (q + k) * (d + 1) + q * (k + 1);
}

static int64_t
backward_floats(int64_t d, int64_t q, int64_t k)
{
    return 2 * (q + k) * (d + 1) + 2 * q * (k + 1);
}

/* The largest tile that fits; q 0: none does, and heads go without. */
static Tile
tile_of(const Heads *h, int64_t (*floats)(int64_t, int64_t, int64_t))
{
    static const Tile all[] = {{64, 32}, {32, 32}, {16, 16}};
    for (int i = 0; i < 3; i++) {
        bool small = i < 2 && h->t <= all[i].q / 2;
        int64_t most = i < 2 ? SHARED_FLOATS : SHARED_MOST;
        if (!small && floats(h->d, all[i].q, all[i].k) <= most)
            return all[i];
    }
    return (Tile){0, 0};
}

static int
tile_threads(Tile t)
{
    return t.q ? THREADS : PLAIN_THREADS;
}

static int64_t
tile_floats(const Heads *h, Tile t, int64_t (*floats)(int64_t, int64_t, int64_t))
{
    return t.q ? floats(h->d, t.q, t.k) : PLAIN_FLOATS;
}

static Loops
group_loops(Kernel *k, const Heads *h)
{
    Type t = *h->k;
    t.rank = h->lead + 2;
    t.dim[h->lead + 1] = 1;
    return loops_new(k, &t, 1u << (t.rank - 1));
}

static const char *
element_type(Dtype d)
{
    return d == DT_bf16  ? "EdlBf16"
           : d == DT_f16 ? "EdlF16"
           : d == DT_f64 ? "double"
                         : "float";
}

/* "EdlIn{q_r, 64, 16, 1}" */
static const char *
rows_text(Loops *s, const Operand *o, const char *type)
{
    Arena *a = s->k->cg->arena;
    if (o->access < 0)
        return arena_printf(a, "%s{NULL, 0, 0, 0}", type);
    return arena_printf(a, "%s{%s, %" PRId64 ", %" PRId64 ", %" PRId64 "}",
                        type, heads_start(s, o), o->head, o->row, o->col);
}

/* Of any type: q, k, v, a bias. */
static const char *
wide_rows(Loops *s, const Operand *o, bool write)
{
    Arena *a = s->k->cg->arena;
    const char *type = element_type(o->dtype);
    if (o->dtype == DT_f32)
        return rows_text(s, o, write ? "EdlOut" : "EdlIn");
    return arena_printf(a, "EdlRows<%s%s>{(%s%s *)%s, %" PRId64 ", %" PRId64
                           ", %" PRId64 "}",
                        write ? "" : "const ", type, write ? "" : "const ",
                        type, heads_start(s, o), o->head, o->row, o->col);
}

static const char *
bias_rows(Loops *s, const Operand *o)
{
    return o->access < 0 ? rows_text(s, o, "EdlIn") : wide_rows(s, o, false);
}

static void
emit_shape(Kernel *k, const Heads *h)
{
    emit_line(&k->out,
              "const EdlHeads shape = {%" PRId64 ", %" PRId64 ", %" PRId64
              ", %" PRId64 ", %s};",
              h->r, h->t, h->s, h->causal ? h->shift : 0,
              c_number(k->cg->arena, DT_f32, h->scale));
}

/* Blocks: `each` for every group of heads; prints r, and "block" of it, and
 * shared memory from a multiple of 16 on: from the launch, where a kernel has
 * not so much of its own. */
static void
open_groups(Kernel *k, Loops *s, int64_t each, int threads, int64_t bytes)
{
    Emit *e = &k->out;
    Arena *a = k->cg->arena;
    k->run = RUN_blocks;
    k->threads = threads;
    k->count = loops_rows(s) * each;
    HeadLine line = {"r", arena_printf(a, "const int32_t r = blockIdx.x / %"
                                          PRId64 ";", each)};
    vec_push(a, &k->head, line);
    k->shared = bytes > 4 * SHARED_FLOATS ? bytes : 0;
    if (k->shared)
        emit_line(e, "float4 *const shared = edl_shared();");
    else
        emit_line(e, "__shared__ float4 shared[%" PRId64 "];", (bytes + 15) / 16);
    emit_line(e, "const int32_t block = blockIdx.x %% %" PRId64 ";", each);
    loops_rows_here(s);
}

static const char *
call_text(Kernel *k, const char *name, const Heads *h, Tile t)
{
    if (t.q == 0)
        return arena_printf(k->cg->arena, "%s<%" PRId64 ", %s>(", name, h->d,
                            h->causal ? "true" : "false");
    return arena_printf(k->cg->arena, "%s<%" PRId64 ", %d, %d, %s>(", name,
                        h->d, t.q, t.k, h->causal ? "true" : "false");
}

/* Heads up to this width go to the units for matrices. */
enum { MMA_WIDTH = 128 };

static bool
takes_mma(const Heads *h)
{
    return h->q->dtype == DT_bf16 && h->d <= MMA_WIDTH;
}

/* False after an error. */
static bool
can_emit(Cg *cg, const Node *n, const Heads *h)
{
    if (h->q->dtype == DT_f64)
        cg_refuse(cg, n, "has no CUDA for f64");
    else if (n->args[0]->type.rank > 7)
        cg_refuse(cg, n, "has no CUDA for this many axes");
    return !cg->failed;
}

/* Which functions the file needs. */
static void
note_kind(Cg *cg, const Heads *h, Tile t)
{
    bool mma = takes_mma(h);
    cg->has_attention = true;
    cg->has_mma |= mma;
    cg->has_plain_attention |= !mma && t.q == 0;
}

/* ---- bf16 on the units for matrices ---- */

/* As edl_cuda_attention_mma.cuh has it. */
typedef struct Mma {
    int64_t line;
    int q, k, warps, grad_k, grad_q;
} Mma;

enum { MMA_ROWS = 64 };

static Mma
mma_of(const Heads *h)
{
    int64_t wide = (h->d + 15) / 16 * 16;
    Mma m = {wide + 8, MMA_ROWS, MMA_ROWS, 8, 64, 32};
    if (wide > 64) {
        m.k = 32;
        m.warps = 4;
        m.grad_k = 32;
        m.grad_q = 16;
    }
    return m;
}

/* Rows of these operands can be read 16 bytes at a time. */
static bool
rows_wide(const Loops *s, const Heads *h, const Operand *at, int n)
{
    bool ok = h->d % 8 == 0;
    for (int i = 0; i < n; i++) {
        const Access *a = at[i].access < 0 ? NULL
                                           : &s->access.at[at[i].access];
        if (!a || at[i].dtype != DT_bf16)
            continue;
        ok &= at[i].col == 1 && at[i].row % 8 == 0 && at[i].head % 8 == 0 &&
              s->k->params.at[a->param].offset % 8 == 0;
        for (int j = 0; j < s->n_outer; j++)
            ok &= a->outer[j] % 8 == 0;
    }
    return ok;
}

static const char *
memory_text(bool mma)
{
    return mma ? "(uint16_t *)(void *)shared" : "(float *)(void *)shared";
}

static const char *
mma_text(Kernel *k, const char *name, const Heads *h, bool wide)
{
    return arena_printf(k->cg->arena, "%s<%" PRId64 ", %s, %s>(", name, h->d,
                        h->causal ? "true" : "false", wide ? "true" : "false");
}

/* ---- forward ---- */

static void
attention_body(Kernel *k)
{
    const Node *n = k->node;
    Heads h = heads_of(n, 0, 3);
    Tile t = tile_of(&h, forward_floats);
    Loops s = group_loops(k, &h);
    Operand none = {.access = -1};
    Operand q = heads_query(&s, &h, n->args[0], false);
    Operand key = heads_key(&s, &h, n->args[1], false);
    Operand v = heads_key(&s, &h, n->args[2], false);
    Operand mask = h.mask_at < 0 ? none
                                 : heads_score(&s, &h, n->args[h.mask_at],
                                               false);
    Operand bias = h.bias_at < 0 ? none
                                 : heads_score(&s, &h, n->args[h.bias_at],
                                               false);
    Operand y = heads_query(&s, &h, n->results[0], true);
    Operand lse = heads_query(&s, &h, n->results[1], true);
    loops_fold(&s);
    k->comment = arena_printf(k->cg->arena,
                              "%s: attention, %s over %" PRId64 " keys",
                              n->results[0]->name,
                              describe(k->cg, n->results[0]), h.s);
    Mma m = mma_of(&h);
    bool mma = takes_mma(&h);
    Operand rows[] = {q, key, v, y};
    int64_t wide = mma ? m.q : t.q ? t.q : 1;
    open_groups(k, &s, h.r * ((h.t + wide - 1) / wide),
                mma ? m.q / 16 * 32 : tile_threads(t),
                mma ? 2 * 2 * 2 * m.k * m.line
                    : 4 * tile_floats(&h, t, forward_floats));
    emit_shape(k, &h);
    const char *items[] = {"shape",
                           "block",
                           wide_rows(&s, &q, false),
                           wide_rows(&s, &key, false),
                           wide_rows(&s, &v, false),
                           rows_text(&s, &mask, "EdlMask"),
                           bias_rows(&s, &bias),
                           wide_rows(&s, &y, true),
                           rows_text(&s, &lse, "EdlOut"),
                           memory_text(mma)};
    emit_list(&k->out,
              mma ? mma_text(k, "edl_attention_mma", &h,
                             rows_wide(&s, &h, rows, 4))
                  : call_text(k, t.q ? "edl_attention" : "edl_attention_plain",
                              &h, t),
              items, 10, ");");
}

void
cuda_attention(Cg *cg, const Node *n)
{
    Heads h = heads_of(n, 0, 3);
    note_kind(cg, &h, tile_of(&h, forward_floats));
    if (can_emit(cg, n, &h))
        kernel_emit(cg, n, "attention", n->results[0]->name, attention_body,
                    NULL);
}

/* ---- backward ---- */

static void
emit_operands(Kernel *k, Loops *s, const Heads *h, Operand *in)
{
    const char *items[9];
    for (int i = 0; i < 5; i++)
        items[i] = wide_rows(s, &in[i], false);
    items[5] = rows_text(s, &in[5], "EdlIn");
    items[6] = rows_text(s, &in[6], "EdlMask");
    items[7] = bias_rows(s, &in[7]);
    items[8] = rows_text(s, &in[8], "EdlOut");
    emit_list(&k->out,
              arena_printf(k->cg->arena, "const EdlAttentionGrad<%s, %s> in = {",
                           element_type(h->q->dtype),
                           in[7].access < 0 ? "float"
                                            : element_type(in[7].dtype)),
              items, 9, "};");
}

/* dy, q, k, v, y, lse, mask, bias, delta */
static void
grad_operands(Loops *s, const Heads *h, Operand *in)
{
    const Node *n = h->node;
    for (int i = 0; i < 6; i++)
        in[i] = i == 2 || i == 3 ? heads_key(s, h, n->args[i], false)
                                 : heads_query(s, h, n->args[i], false);
    in[6].access = in[7].access = -1;
    if (h->mask_at >= 0)
        in[6] = heads_score(s, h, n->args[h->mask_at], false);
    if (h->bias_at >= 0)
        in[7] = heads_score(s, h, n->args[h->bias_at], false);
    in[8] = heads_rows(s, h, &n->args[5]->type,
                       kernel_scratch(s->k, 0, DT_f32, "delta"));
}

/* What both kernels begin with. */
typedef struct Grad {
    Heads h;
    Tile t;
    Mma m;
    bool mma;
    Loops s;
    Operand in[9];
} Grad;

static void
grad_begin(Kernel *k, Grad *g)
{
    g->h = heads_of(k->node, 1, 6);
    g->t = tile_of(&g->h, backward_floats);
    g->m = mma_of(&g->h);
    g->mma = takes_mma(&g->h);
    g->s = group_loops(k, &g->h);
    grad_operands(&g->s, &g->h, g->in);
}

/* The call of one that writes `n_out` operands. */
static void
grad_call(Kernel *k, Grad *g, const char *mma, const char *tiles,
          const char *plain, const Operand *out, int n_out)
{
    Operand rows[6];
    const char *items[6] = {"shape", "block", "in"};
    memcpy(rows, g->in, 4 * sizeof *rows);
    memcpy(rows + 4, out, (size_t)n_out * sizeof *rows);
    for (int i = 0; i < n_out; i++)
        items[3 + i] = wide_rows(&g->s, &out[i], true);
    items[3 + n_out] = memory_text(g->mma);
    emit_shape(k, &g->h);
    emit_operands(k, &g->s, &g->h, g->in);
    emit_list(&k->out,
              g->mma ? mma_text(k, mma, &g->h,
                                rows_wide(&g->s, &g->h, rows, 4 + n_out))
                     : call_text(k, g->t.q ? tiles : plain, &g->h, g->t),
              items, 4 + n_out, ");");
}

static void
keys_body(Kernel *k)
{
    const Node *n = k->node;
    Grad g;
    grad_begin(k, &g);
    Operand out[] = {heads_key(&g.s, &g.h, n->results[1], true),
                     heads_key(&g.s, &g.h, n->results[2], true)};
    loops_fold(&g.s);
    k->comment =
        arena_printf(k->cg->arena, "gradients of attention: %s, %s",
                     n->results[1]->name, n->results[2]->name);
    int64_t tile = g.mma ? g.m.warps * 16 : g.t.q ? g.t.k : 1;
    open_groups(k, &g.s, (g.h.s + tile - 1) / tile,
                g.mma ? g.m.warps * 32 : tile_threads(g.t),
                g.mma ? 4 * (tile + 2 * g.m.grad_q) * g.m.line +
                            16 * g.m.grad_q
                      : 4 * tile_floats(&g.h, g.t, backward_floats));
    grad_call(k, &g, "edl_attention_mma_keys", "edl_attention_grad_keys",
              "edl_attention_plain_keys", out, 2);
}

static void
queries_body(Kernel *k)
{
    const Node *n = k->node;
    Grad g;
    grad_begin(k, &g);
    Operand dq = heads_query(&g.s, &g.h, n->results[0], true);
    loops_fold(&g.s);
    k->comment = arena_printf(k->cg->arena, "gradient of attention: %s",
                              n->results[0]->name);
    int64_t tile = g.mma ? g.m.q : g.t.q ? g.t.q : 1;
    open_groups(k, &g.s, g.h.r * ((g.h.t + tile - 1) / tile),
                g.mma ? g.m.q / 16 * 32 : tile_threads(g.t),
                g.mma ? 2 * 2 * 2 * g.m.grad_k * g.m.line
                      : 4 * tile_floats(&g.h, g.t, backward_floats));
    grad_call(k, &g, "edl_attention_mma_queries", "edl_attention_grad_queries",
              "edl_attention_plain_queries", &dq, 1);
}

/* ---- the gradient of the bias: a thread an element ---- */

/* Axes of [.., G, R, T, S] along which the bias does not move. */
static unsigned
shared_axes(const Heads *h, const Value *bias)
{
    unsigned mask = 0;
    int rank = h->lead + 3, shift = rank - bias->type.rank;
    for (int i = 0; i < rank; i++) {
        if (i >= shift && bias->type.dim[i - shift] != 1)
            continue;
        if (i < h->lead)
            mask |= 1u << i;
        else if (i == h->lead)
            mask |= 3u << h->lead;
        else
            mask |= 1u << (i + 1);
    }
    return mask;
}

/* Strides by axis of [.., G, R, T, S] of an operand that moves along queries
 * (what 0), keys (1) or both (2). */
static int
score_space(Loops *s, const Heads *h, const Value *v, int what, bool write)
{
    int64_t full[MAX_RANK] = {0}, stride[MAX_RANK] = {0};
    int rank = what == 2 ? h->lead + 3 : v->type.rank;
    int shift = rank - v->type.rank;
    for (int i = 0; i < v->type.rank; i++)
        full[i + shift] = v->type.dim[i] == 1 && what == 2
                              ? 0
                              : v->layout.stride[i];
    for (int i = 0; i < h->lead; i++)
        stride[i] = full[i];
    const int64_t *l = full + h->lead;
    stride[h->lead] = what == 1 ? l[0] : l[0] * h->r;
    stride[h->lead + 1] = what == 1 ? 0 : l[0];
    stride[h->lead + 2] = what == 1 ? 0 : l[1];
    stride[h->lead + 3] = what == 0 ? 0 : what == 1 ? l[1] : l[2];
    return loops_strided(s, kernel_value(s->k, v, 0, write), v->type.dtype,
                         stride);
}

static void
open_all_inner(Kernel *k, Loops *s, int *open)
{
    *open = loops_open_inner(s);
    if (s->n_inner == 0)
        return;
    emit_open(&k->out, "for (int64_t c = 0; c < %" PRId64 "; c++)",
              s->inner[s->n_inner - 1]);
    ++*open;
}

static const char *
row_address(Kernel *k, Loops *s, int access)
{
    Dtype d = s->access.at[access].dtype;
    const char *to = d == DT_f32 ? ""
                                 : arena_printf(k->cg->arena, "(const %s *)",
                                                element_type(d));
    return arena_printf(k->cg->arena, "%s&%s", to,
                        loops_element(s, access, "c"));
}

static void
bias_body(Kernel *k)
{
    const Node *n = k->node;
    Arena *a = k->cg->arena;
    Heads h = heads_of(n, 1, 6);
    const Type *bias = &n->args[h.bias_at]->type;
    Type t = *h.q;
    t.rank = h.lead + 4;
    int64_t tail[] = {h.g, h.r, h.t, h.s};
    memcpy(t.dim + h.lead, tail, sizeof tail);
    Loops s = loops_new(k, &t, shared_axes(&h, n->results[3]));
    s.by_element = s.split = false;
    Cells c = cells_new(k, &s);
    int64_t ahead[MAX_RANK] = {0};
    ahead[h.lead + 3] = 1;
    ahead[h.lead + 2] = -1;
    int in[8] = {0};
    for (int i = 0; i < 6; i++)
        in[i] = score_space(&s, &h, n->args[i], i == 2 || i == 3, false);
    if (h.mask_at >= 0)
        in[6] = score_space(&s, &h, n->args[h.mask_at], 2, false);
    in[7] = score_space(&s, &h, n->args[h.bias_at], 2, false);
    int to = score_space(&s, &h, n->results[3], 2, true);
    int place = h.causal ? cells_stride(&c, ahead) : -1;
    cells_settle(&c);
    s.cells = false;
    k->comment = arena_printf(a, "gradient of attention: %s",
                              n->results[3]->name);
    loops_open(&s);
    Emit *e = &k->out;
    emit_line(e, "float sum = 0;");
    int open;
    open_all_inner(k, &s, &open);
    cells_next_loop(&c);
    if (place >= 0) {
        emit_line(e, "if (%s > %" PRId64 ")", cells_need(&c, place), h.shift);
        emit_line(e, open ? "    continue;" : "    return;");
    }
    if (h.mask_at >= 0) {
        emit_line(e, "if (!%s)", loops_element(&s, in[6], "c"));
        emit_line(e, open ? "    continue;" : "    return;");
    }
    VEC(const char *) items = {0};
    vec_push(a, &items, c_number(a, DT_f32, h.scale));
    vec_push(a, &items, loops_element(&s, in[5], "c"));
    vec_push(a, &items, c_load(a, bias->dtype, loops_element(&s, in[7], "c")));
    static const int order[] = {1, 2, 3, 0, 4};
    for (int i = 0; i < 5; i++) {
        const Value *v = n->args[order[i]];
        vec_push(a, &items, row_address(k, &s, in[order[i]]));
        vec_push(a, &items, arena_printf(a, "%" PRId64,
                                         v->layout.stride[v->type.rank - 1]));
    }
    emit_list(e, arena_printf(a, "sum += edl_slope<%" PRId64 ">(", h.d),
              items.at, items.n, ");");
    for (int i = 0; i < open; i++)
        emit_close(e, "");
    emit_line(e, "%s = %s;", loops_element(&s, to, "c"),
              c_store(a, bias->dtype, "sum"));
    loops_close(&s);
}

void
cuda_attention_grad(Cg *cg, const Node *n)
{
    Heads h = heads_of(n, 1, 6);
    note_kind(cg, &h, tile_of(&h, backward_floats));
    if (!can_emit(cg, n, &h))
        return;
    kernel_emit(cg, n, "attention_grad_q", n->results[0]->name, queries_body,
                NULL);
    kernel_emit(cg, n, "attention_grad_kv", n->results[1]->name, keys_body,
                NULL);
    if (h.bias_at < 0)
        return;
    c_zero(cg, n, n->results[3]);
    kernel_emit(cg, n, "attention_grad_bias", n->results[3]->name, bias_body,
                NULL);
}
