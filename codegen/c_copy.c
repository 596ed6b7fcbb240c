/* Copies between the device and what lies off it: calls of the runtime's
 * queues, and the waits for them. */
#include "codegen/c_ops.h"

#include <inttypes.h>

/* "host_x + slot * 4096" */
static const char *
away_text(Cg *cg, const Value *v)
{
    const Value *home = v->home;
    const Tensor *t = home->tensor;
    const char *text = address_offset(cg, home);
    int64_t extra = v->layout.offset * dtype_info[v->type.dtype].bits / 8;
    if (t && t->kind == TENSOR_stash && cg->m->slots > 1) {
        cg->uses_slot = true;
        text = arena_printf(cg->arena, "%s + slot * %" PRId64, text,
                            t->bytes / cg->m->slots);
    }
    if (extra)
        text = arena_printf(cg->arena, "%s + %" PRId64, text, extra);
    return text;
}

void
c_copy(Cg *cg, const Node *n)
{
    bool out = n->op == OP_offload;
    const Value *x = n->results[0];
    const Value *away = out ? x : n->args[0], *here = out ? n->args[0] : x;
    if (cg->cuda && away->space != SPACE_host) {
        cg_refuse(cg, n,
                  "the CUDA target has no disk: offload to the host");
        return;
    }
    const char *ticket =
        names_take(&cg->names, name_mangle(cg->arena, x->name));
    map_put(cg->arena, &cg->tickets, x->name, (void *)ticket);
    const char *there = away->space == SPACE_host ? "EDL_HOST" : "EDL_DISK";
    const char *memory = address_value(cg, here, 0);
    const char *bytes =
        arena_printf(cg->arena, "%" PRId64, type_bytes(&x->type));
    const char *offload[] = {"m", there, away_text(cg, away), memory, bytes};
    const char *fetch[] = {"m", memory, there, away_text(cg, away), bytes};
    emit_list(cg_calls(cg),
              arena_printf(cg->arena, "const EdlTicket %s = edl_%s%s(", ticket,
                           cg->cuda ? "cuda_" : "", op_info[n->op].name),
              out ? offload : fetch, 5, ");");
}

void
c_wait(Cg *cg, const Node *n)
{
    const char *ticket = map_get(&cg->tickets, n->args[0]->name);
    if (!ticket && cg->failed)
        return;
    if (!ticket)
        bug("codegen: a wait for %s, which is no copy", n->args[0]->name);
    if (!cg->cuda) {
        profile_name(cg, profile_call(cg), "edl_wait");
        profile_macro(cg, "edl_wait");
    }
    emit_line(cg_calls(cg), "edl_%swait(m, %s);", cg->cuda ? "cuda_" : "", ticket);
}
