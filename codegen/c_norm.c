/* The norm of all gradients: squares a piece, then their sum in order. */
#include "codegen/c_sweep.h"
#include "ir/scratch.h"

#include <inttypes.h>

static void
emit_norm_block(Kernel *k, const char *sums)
{
    Emit *e = &k->out;
    emit_line(e, "__shared__ double folds[32];");
    emit_line(e, "double sum = 0;");
    sweep_open(k);
    emit_line(e, "sum += (double)g[c] * (double)g[c];");
    emit_close(e, "");
    emit_line(e, "const double whole = edl_block_sum(sum, folds);");
    emit_line(e, "if (threadIdx.x == 0)");
    emit_line(e, "    %s[piece] = whole;", sums);
    k->comment = "squares of all gradients, a sum a block";
}

static void
norm_pieces_body(Kernel *k)
{
    const Node *n = k->node;
    Emit *e = &k->out;
    const char *grads = sweep_region(k, REGION_grads, false);
    const char *sums = kernel_name(k, kernel_scratch(k, 0, DT_f64, "squares"));
    int64_t pieces = 0;
    emit_line(e, "static const struct {");
    emit_line(e, "    int64_t first, at, n;");
    emit_line(e, "} rows[] = {");
    for (int i = 0; i < n->n_args; i++) {
        const Value *g = n->args[i];
        int64_t count = type_elements(&g->type);
        emit_line(e, "    {%" PRId64 ", %" PRId64 ", %" PRId64 "}, /* %s */",
                  pieces, sweep_offset(g), count, g->name);
        pieces += (count + NORM_PIECE - 1) / NORM_PIECE;
    }
    emit_line(e, "};");
    sweep_find(k, n->n_args, NORM_PIECE);
    emit_line(e, "const float *g = %s + rows[i].at;", grads);
    if (k->cg->cuda) {
        emit_norm_block(k, sums);
        sweep_blocks(k, pieces);
        return;
    }
    emit_line(e, "double sum_l[16] = {0};");
    emit_line(e, "int64_t c = lo;");
    emit_open(e, "for (; c + 16 <= hi; c += 16)");
    emit_line(e, "EDL_AHEAD(g + c + 1024);");
    emit_line(e, "EDL_LANES");
    emit_line(e, "for (int l = 0; l < 16; l++)");
    emit_line(e, "    sum_l[l] += (double)g[c + l] * (double)g[c + l];");
    emit_close(e, "");
    emit_line(e, "for (int l = 0; l < hi - c; l++)");
    emit_line(e, "    sum_l[l] += (double)g[c + l] * (double)g[c + l];");
    emit_line(e, "%s[piece] = edl_sum16(sum_l);", sums);
    k->comment = "squares of all gradients, a sum a piece";
    k->pieces = pieces;
    if (pieces == 1)
        emit_one_piece(k);
}

static void
norm_body(Kernel *k)
{
    const Node *n = k->node;
    Emit *e = &k->out;
    const char *sums = kernel_name(k, kernel_scratch(k, 0, DT_f64, "squares"));
    const char *norm = kernel_name(k, kernel_value(k, n->results[0], 0, true));
    const char *finite =
        kernel_name(k, kernel_value(k, n->results[1], 0, true));
    int64_t pieces = 0;
    for (int i = 0; i < n->n_args; i++)
        pieces +=
            (type_elements(&n->args[i]->type) + NORM_PIECE - 1) / NORM_PIECE;
    if (k->cg->cuda) {
        sweep_blocks(k, 1);
        emit_line(e, "__shared__ double folds[32];");
        emit_line(e, "double part = 0;");
        emit_line(e, "for (int64_t i = threadIdx.x; i < %" PRId64
                     "; i += blockDim.x)", pieces);
        emit_line(e, "    part += %s[i];", sums);
        emit_line(e, "const double sum = edl_block_sum(part, folds);");
        emit_line(e, "if (threadIdx.x > 0)");
        emit_line(e, "    return;");
    } else {
        emit_line(e, "double sum = 0;");
        emit_line(e, "for (int64_t i = 0; i < %" PRId64 "; i++)", pieces);
        emit_line(e, "    sum += %s[i];", sums);
    }
    emit_line(e, "const double whole = sqrt(sum) * %s;",
              c_double(k->cg->arena, node_float(n, "scale", 1)));
    emit_line(e, "*%s = (float)whole;", norm);
    emit_line(e, "*%s = *%s - *%s == 0;", finite, norm, norm);
    k->comment = "the norm of all gradients, and whether it is finite";
}

void
c_global_norm(Cg *cg, const Node *n)
{
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i]->type.dtype != DT_f32)
            return; /* the update of that parameter says it */
    for (int i = 0; i < n->n_args; i++)
        if (sweep_region_of(n->args[i]) != REGION_grads ||
            !sweep_fits(n->args[i], REGION_grads)) {
            cg_refuse(cg, n, "has no C for what is no f32 gradient tensor");
            return;
        }
    kernel_emit(cg, n, "norm_squares", cg->m->name, norm_pieces_body, NULL);
    kernel_emit(cg, n, "norm", cg->m->name, norm_body, NULL);
}
