#include "codegen/c.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- nodes ---- */

static void
emit_group(Cg *cg, const Node *n)
{
    const char *kind = node_word(n, "kind", "");
    if (strcmp(kind, "element") == 0)
        c_element(cg, n);
    else if (strcmp(kind, "row") == 0)
        c_row(cg, n);
    else if (strcmp(kind, "reduce") == 0)
        c_reduce(cg, n);
    else if (strcmp(kind, "matmul") == 0)
        c_matmul(cg, n);
    else if (strcmp(kind, "head") == 0)
        c_head(cg, n);
    else if (strcmp(kind, "table") == 0)
        c_table(cg, n);
    else if (strcmp(kind, "sweep") == 0)
        c_sweep(cg, n);
    else
        cg_refuse(cg, n, arena_printf(cg->arena, "kind %s has no C", kind));
}

static void
emit_node(Cg *cg, const Node *n)
{
    switch (n->op) {
    case OP_read:
        return; /* its value lies in the tensor */
    case OP_write:
    case OP_accumulate:
        c_write(cg, n);
        return;
    case OP_const:
        if (n->results[0]->mark)
            c_fill(cg, n);
        return;
    case OP_iota:
        c_fill(cg, n);
        return;
    case OP_learning_rate:
        c_learning_rate(cg, n);
        return;
    case OP_neg:
    case OP_abs:
    case OP_sign:
    case OP_floor:
    case OP_exp:
    case OP_log:
    case OP_log1p:
    case OP_sqrt:
    case OP_rsqrt:
    case OP_sin:
    case OP_cos:
    case OP_tanh:
    case OP_sigmoid:
    case OP_erf:
    case OP_softplus:
    case OP_relu:
    case OP_silu:
    case OP_gelu_tanh:
    case OP_gelu_erf:
    case OP_silu_slope:
    case OP_gelu_tanh_slope:
    case OP_gelu_erf_slope:
    case OP_clamp:
    case OP_not:
    case OP_isfinite:
    case OP_cast:
    case OP_dropout:
    case OP_stop:
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_div:
    case OP_pow:
    case OP_maximum:
    case OP_minimum:
    case OP_bce_with_logits:
    case OP_lt:
    case OP_le:
    case OP_gt:
    case OP_ge:
    case OP_eq:
    case OP_ne:
    case OP_and:
    case OP_or:
    case OP_where:
    case OP_pow_grad_base:
    case OP_pow_grad_exp:
        c_element(cg, n);
        return;
    case OP_reduce_sum:
    case OP_reduce_max:
    case OP_reduce_min:
    case OP_variance:
    case OP_logsumexp:
        c_reduce(cg, n);
        return;
    case OP_argmax:
        c_argmax(cg, n);
        return;
    case OP_reduce_pick_grad:
        c_pick_grad(cg, n);
        return;
    case OP_matmul:
        c_matmul(cg, n);
        return;
    case OP_softmax:
    case OP_softmax_grad:
    case OP_log_softmax:
    case OP_log_softmax_grad:
    case OP_logsumexp_grad:
    case OP_layernorm:
    case OP_layernorm_grad:
    case OP_rmsnorm:
    case OP_rmsnorm_grad:
        c_row(cg, n);
        return;
    case OP_embedding:
    case OP_embedding_grad:
    case OP_take:
    case OP_take_grad:
    case OP_take_along:
    case OP_take_along_grad:
        c_table(cg, n);
        return;
    case OP_attention:
        c_attention(cg, n);
        return;
    case OP_attention_grad:
        c_attention_grad(cg, n);
        return;
    case OP_rope:
        c_rope(cg, n);
        return;
    case OP_cross_entropy:
        c_cross_entropy(cg, n);
        return;
    case OP_cross_entropy_grad:
        c_cross_entropy_grad(cg, n);
        return;
    case OP_reshape:
    case OP_transpose:
    case OP_broadcast:
    case OP_slice:
    case OP_slice_grad:
    case OP_split:
        c_view(cg, n);
        return;
    case OP_slice_at:
    case OP_slice_at_grad:
        c_slice_at(cg, n);
        return;
    case OP_concat:
        c_concat(cg, n);
        return;
    case OP_pad:
        c_pad(cg, n);
        return;
    case OP_global_norm:
        c_global_norm(cg, n);
        return;
    case OP_adamw:
    case OP_sgd:
        c_sweep(cg, n);
        return;
    case OP_count:
        c_count(cg, n);
        return;
    case OP_fused:
        emit_group(cg, n);
        return;
    case OP_offload:
    case OP_fetch:
        c_copy(cg, n);
        return;
    case OP_wait:
        c_wait(cg, n);
        return;
    case OP_quantize:
    case OP_dequantize:
        cg_refuse(cg, n,
                  "needs the quantize capability, which this edlc "
                  "does not have");
        return;
    case OP_send:
    case OP_recv:
    case OP_all_reduce:
    case OP_reduce_scatter:
    case OP_all_gather:
        cg_refuse(cg, n, "needs several ranks, which this edlc cannot emit");
        return;
    case OP_opaque:
        cg_refuse(cg, n, "a node of a bare cost graph cannot run");
        return;
    case OP_COUNT:
        break;
    }
    bug("codegen: an op of number %d", (int)n->op);
}

/* ---- graphs as functions ---- */

static void
emit_locals(CModel *m, Emit *e)
{
    static const struct {
        Region region;
        const char *text;
    } rows[] = {
        {REGION_state, "state = m->region[EDL_STATE];"},
        {REGION_grads, "grads = m->region[EDL_GRADS];"},
        {REGION_workspace, "work = m->region[EDL_WORKSPACE];"},
        {REGION_io, "io = m->region[EDL_IO];"},
    };
    Cg *cg = &m->cg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (cg->uses[rows[i].region])
            emit_line(e, "unsigned char *const %s", rows[i].text);
    if (cg->uses[REGION_stash] && cg->m->slots > 1)
        emit_line(e,
                  "unsigned char *const stash = m->region[EDL_STASH] + "
                  "slot * %" PRId64 ";",
                  cg->m->region_bytes[REGION_stash] / cg->m->slots);
    else if (cg->uses[REGION_stash])
        emit_line(e, "unsigned char *const stash = m->region[EDL_STASH];");
    for (int i = 0; i < m->inputs.n; i++) {
        const Tensor *t = m->inputs.at[i];
        if (!map_get(&cg->inputs, t->name))
            continue;
        const char *type = dtype_info[t->type.dtype].c_type;
        emit_line(e, "const %s *const %s =", type, c_input_name(cg, t));
        const char *from =
            cg->cuda ? arena_printf(cg->arena,
                                    "(void *)(m->region[EDL_IO] + %" PRId64 ")",
                                    t->place)
                     : arena_printf(cg->arena, "in[%d]", i);
        emit_line(e, "    (const %s *)%s + at * %" PRId64 ";", type, from,
                  type_elements(&t->type));
    }
}

static const char *
function_head(CModel *m, GraphCode *g)
{
    Arena *a = m->cg.arena;
    VEC(const char *) items = {0};
    vec_push(a, &items, "EdlInstance *m");
    if (g->in && !m->cg.cuda)
        vec_push(a, &items, "const void *const *in");
    if (g->in)
        vec_push(a, &items, "int64_t at");
    if (g->mb)
        vec_push(a, &items, "int64_t mb");
    if (g->slot)
        vec_push(a, &items, "int64_t slot");
    Emit e = emit_new(a);
    emit_list(&e, arena_printf(a, "%s(", g->name), items.at, items.n, ")");
    return emit_string(&e);
}

static const char *
graph_comment(CModel *m, const GraphCode *g)
{
    return arena_printf(m->cg.arena, "Graph %s of the schedule.%s%s%s",
                        g->graph->name,
                        g->in ? " at: which of the microbatches in `in`." : "",
                        g->mb ? " mb: its number in the step." : "",
                        g->slot ? " slot: its stash." : "");
}

static void
emit_nodes(Cg *cg, const Graph *g)
{
    graph_each(g, n) {
        cg_block(cg, n->block);
        emit_node(cg, n);
        profile_node(cg, n);
    }
    cg_launch(cg);
}

static void
emit_graph(CModel *m, Graph *graph)
{
    Cg *cg = &m->cg;
    GraphCode g = {.graph = graph};
    g.name = names_take(&cg->names, name_mangle(cg->arena, graph->name));
    cg->graph = graph;
    cg->prefix = g.name;
    cg->calls = emit_new(cg->arena);
    cg->calls.indent = 1;
    cg->inputs = (Map){0};
    cg->uses_mb = cg->uses_slot = false;
    cg->tickets = (Map){0};
    cg->block = cg->heading = cg->headed = NULL;
    cg->profiled = (ProfiledNodes){0};
    memset(cg->uses, 0, sizeof cg->uses);
    storage_mark_constants(graph);
    emit_nodes(cg, graph);
    for (int i = 0; i < m->inputs.n; i++)
        g.in |= map_get(&cg->inputs, m->inputs.at[i]->name) != NULL;
    g.mb = cg->uses_mb;
    g.slot = (cg->uses[REGION_stash] && cg->m->slots > 1) || cg->uses_slot;
    Emit e = emit_new(cg->arena);
    emit_comment(&e, graph_comment(m, &g));
    emit_line(&e, "static void");
    emit(&e, "%s{\n", function_head(m, &g));
    e.indent++;
    emit_locals(m, &e);
    if (e.n && cg->calls.n)
        emit(&e, "\n");
    emit_text(&e, cg->calls.at, cg->calls.n);
    if (cg->calls.n == 0)
        emit_line(&e, "(void)m;");
    e.indent--;
    emit_line(&e, "}\n");
    g.text = emit_string(&e);
    g.profiled = cg->profiled;
    vec_push(cg->arena, &m->graphs, g);
}

bool
c_graphs(CModel *m)
{
    for (int i = 0; i < m->cg.m->graphs.n && !m->cg.failed; i++)
        emit_graph(m, m->cg.m->graphs.at[i]);
    return !m->cg.failed;
}

const GraphCode *
c_graph(const CModel *m, const Graph *g)
{
    for (int i = 0; i < m->graphs.n; i++)
        if (m->graphs.at[i].graph == g)
            return &m->graphs.at[i];
    bug("codegen: a program calls a graph that the module does not have");
}
