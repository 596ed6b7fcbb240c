/* Kernels as __global__ functions and their launches. */
#include "codegen/chain.h"

#include <inttypes.h>

enum { THREADS = 256 };

/* Blocks and threads of a kernel. */
static void
shape_of(const Kernel *k, int64_t *blocks, int64_t *threads)
{
    int64_t n = k->run == RUN_pieces ? k->pieces : k->count;
    if (k->run == RUN_blocks) {
        *blocks = n;
        *threads = k->threads;
        return;
    }
    int64_t most = k->threads ? k->threads : THREADS;
    *threads = n < most ? n : most;
    *blocks = (n + *threads - 1) / *threads;
}

static void
emit_piece_index(Kernel *k, Emit *e)
{
    if (k->run != RUN_pieces || k->pieces <= 1)
        return;
    emit_line(e, "const int64_t piece = edl_thread();");
    emit_line(e, "if (piece >= %" PRId64 ")", k->pieces);
    emit_line(e, "    return;");
}

void
cuda_function(Kernel *k, Emit *e)
{
    Arena *a = k->cg->arena;
    VEC(const char *) items = {0};
    Emit body = emit_new(a);
    int64_t blocks, threads;
    body.indent = 1;
    emit_text(&body, k->out.at, k->out.n);
    for (int i = k->head.n - 1; i >= 0; i--) {
        const HeadLine *h = &k->head.at[i];
        Emit line = emit_new(a);
        line.indent = 1;
        if (h->word) {
            emit_if_used(&body, 0, h->word, h->line);
            continue;
        }
        emit_line(&line, "%s", h->line);
        emit_text(&line, body.at, body.n);
        body = line;
    }
    shape_of(k, &blocks, &threads);
    for (int i = 0; i < k->params.n; i++)
        vec_push(a, &items, kernel_declaration(k, &k->params.at[i], true));
    if (!k->canonical && k->comment)
        emit_comment(e, k->comment);
    emit_line(e, "static __global__ void");
    if (threads > THREADS)
        emit_line(e, "__launch_bounds__(%" PRId64 ")", threads);
    if (items.n == 0)
        vec_push(a, &items, "void");
    emit_list(e, arena_printf(a, "%s(", k->name), items.at, items.n, ")");
    emit_line(e, "{");
    e->indent++;
    emit_piece_index(k, e);
    e->indent--;
    emit_text(e, body.at, body.n);
    emit_line(e, "}\n");
}

void
cuda_call(Cg *cg, const Kernel *k, const char *name)
{
    VEC(const char *) items = {0};
    int64_t blocks, threads;
    shape_of(k, &blocks, &threads);
    vec_push(cg->arena, &items, "m");
    vec_push(cg->arena, &items, name);
    vec_push(cg->arena, &items, arena_printf(cg->arena, "%" PRId64, blocks));
    vec_push(cg->arena, &items, arena_printf(cg->arena, "%" PRId64, threads));
    if (k->shared)
        vec_push(cg->arena, &items,
                 arena_printf(cg->arena, "%" PRId64, k->shared));
    for (int i = 0; i < k->params.n; i++)
        vec_push(cg->arena, &items, k->params.at[i].pass);
    emit_list(cg_calls(cg), k->shared ? "edl_launch_shared(" : "edl_launch(",
              items.at, items.n, ");");
}
