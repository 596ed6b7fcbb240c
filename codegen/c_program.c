/* The actions of a program as C: graphs are called as the schedule lists
 * them, around checks, counters and metrics. */
#include "codegen/cuda.h"

#include <inttypes.h>

const Program *
c_program(const CModel *m, const char *name)
{
    const Module *mod = m->cg.m;
    for (int i = 0; i < mod->programs.n; i++)
        if (strcmp(mod->programs.at[i]->name, name) == 0)
            return mod->programs.at[i];
    return NULL;
}

/* "forward(m, in, mb, mb, 0);" */
void
c_call(CModel *m, Emit *e, const Graph *graph, const char *at, const char *mb,
       const char *slot)
{
    const GraphCode *g = c_graph(m, graph);
    Emit s = emit_new(m->cg.arena);
    emit(&s, "%s(m", g->name);
    if (g->in)
        emit(&s, m->cg.cuda ? ", %s" : ", in, %s", at);
    if (g->mb)
        emit(&s, ", %s", mb);
    if (g->slot)
        emit(&s, ", %s", slot);
    emit_line(e, "%s);", emit_string(&s));
}

static const char *
index_text(CModel *m, int64_t i)
{
    return i == MB_LOOP ? "mb" : arena_printf(m->cg.arena, "%" PRId64, i);
}

static bool
is_update(const Action *a)
{
    return a->kind == ACTION_call && strcmp(a->graph->name, "update") == 0;
}

/* Sets the number of the microbatch, for what is drawn, where it is not that
 * of the call before. */
static void
emit_microbatch(CModel *m, Emit *e, int64_t mb, int64_t *now)
{
    if (mb != *now && m->cg.cuda)
        emit_line(e, "edl_set_microbatch(m, %s);", index_text(m, mb));
    else if (mb == MB_LOOP && *now != mb)
        emit_line(e, "m->count.microbatch = first + (uint64_t)mb;");
    else if (mb != *now)
        emit_line(e, "m->count.microbatch = first + %s;", index_text(m, mb));
    *now = mb;
}

/* ---- what can go wrong in a step ---- */

void
c_check(Emit *e, const char *call)
{
    emit_line(e, "s = %s;", call);
    emit_open(e, "if (s != EDL_OK)");
    emit_line(e, "m->count.microbatch = first;");
    emit_line(e, "m->phase = 0;");
    emit_line(e, "return s;");
    emit_close(e, "");
}

static bool
moves(const CModel *m)
{
    const int64_t *bytes = m->cg.m->region_bytes;
    return bytes[REGION_host] || bytes[REGION_disk];
}

void
c_fault(CModel *m, Emit *e, const char *phase, bool updated)
{
    if (updated && moves(m))
        c_check(e, "edl_check_update(m)");
    c_check(e, arena_printf(m->cg.arena, "edl_check_fault(m, \"%s\")", phase));
}

/* What the update sends off the device may not arrive. */
static void
emit_update_fault(CModel *m, Emit *e, const char *declare)
{
    if (!m->has_update || !moves(m))
        return;
    emit_line(e, "%ss = edl_check_update(m);", declare);
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
}

/* now: the microbatch that m->count says, from `first`; -2: another. */
void
c_actions(CModel *m, Emit *e, Action *const *actions, int n, int64_t now)
{
    for (int i = 0; i < n; i++) {
        const Action *a = actions[i];
        if (is_update(a))
            continue;
        if (a->kind == ACTION_repeat) {
            emit_open(e,
                      "for (int64_t mb = %" PRId64 "; mb < %" PRId64 "; mb++)",
                      a->lo, a->hi);
            c_actions(m, e, a->body.at, a->body.n, -2);
            emit_close(e, "");
            now = -2;
            continue;
        }
        emit_microbatch(m, e, a->mb, &now);
        const char *mb = index_text(m, a->mb);
        c_call(m, e, a->graph, mb, mb, index_text(m, a->slot));
        if (m->early && !m->cg.cuda && strcmp(a->graph->name, "forward") == 0)
            c_fault(m, e, "a step", false); /* before anything changes */
    }
}

/* ---- metrics ---- */

/* "*f32(m->region[EDL_IO], io_loss)" of an output, or NULL. */
static const char *
output_text(CModel *m, const char *name)
{
    const Tensor *t = name ? module_tensor(m->cg.m, name) : NULL;
    if (!t || t->kind != TENSOR_output)
        return NULL;
    const char *text = address_tensor(&m->cg, t, 0);
    return arena_printf(m->cg.arena, m->cg.cuda ? "edl_read(m, %s)" : "*%s",
                        text);
}

static const char *
loss_name(const CModel *m)
{
    return m->cg.m->train ? m->cg.m->train->minimize : NULL;
}

/* What a step and an evaluation report alike. */
static void
emit_losses(CModel *m, Emit *e)
{
    const char *loss = output_text(m, loss_name(m));
    const char *valid = output_text(m, "edl.valid");
    emit_line(e, "out->loss = %s%s;", loss ? "(double)" : "",
              loss ? loss : "0.0");
    emit_line(e, "out->valid_targets = %s;", valid ? valid : "-1");
}

void
c_report(CModel *m, Emit *e)
{
    emit_line(e, "/* Of the step that is about to be counted. */");
    emit_line(e, "static void");
    emit_line(e, "report(const EdlInstance *m, double lr, EdlMetrics *out)");
    emit_line(e, "{");
    e->indent++;
    const char *norm = m->has_update ? output_text(m, "edl.grad_norm") : NULL;
    const char *finite = m->has_update ? output_text(m, "edl.finite") : NULL;
    if (norm || finite || output_text(m, "edl.valid") ||
        output_text(m, loss_name(m)))
        emit_line(e, "unsigned char *const io = m->region[EDL_IO];");
    emit_losses(m, e);
    emit_line(e, "out->grad_norm = %s%s;", norm ? "(double)" : "",
              norm ? norm : "-1.0");
    emit_line(e, "out->lr = lr;");
    emit_line(e, "out->step = m->count.step;");
    if (m->has_update)
        emit_line(e, "out->skipped_steps = m->count.step + 1 - "
                     "edl_updates(m);");
    else
        emit_line(e, "out->skipped_steps = 0;");
    emit_line(e, "out->skipped = %s%s;", finite ? "!" : "",
              finite ? finite : "0");
    e->indent--;
    emit_line(e, "}\n");
}

/* ---- step ---- */

void
c_update(CModel *m, Emit *e)
{
    const Program *p = c_program(m, "step");
    for (int i = 0; m->has_update && i < p->actions.n; i++)
        if (is_update(p->actions.at[i]))
            c_call(m, e, p->actions.at[i]->graph, "0", "0", "0");
}

static void
emit_step(CModel *m, Emit *e)
{
    const Program *p = c_program(m, "step");
    emit_line(e, "static EdlStatus");
    emit_line(e, "run_step(EdlInstance *m, const void *const *in, "
                 "EdlMetrics *out)");
    emit_line(e, "{");
    e->indent++;
    emit_line(e, "const uint64_t first = m->count.microbatch;");
    emit_line(e, "if (m->phase != 0)");
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"step: in the middle of "
                 "another\");");
    emit_line(e, "EdlStatus s = edl_check_inputs(m, in, %" PRId64 ");",
              m->accumulate);
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
    c_actions(m, e, p->actions.at, p->actions.n, 0);
    c_fault(m, e, "a step", m->early);
    emit_line(e, "const double lr = %s;", m->has_update ? "edl_lr(m)" : "0.0");
    c_update(m, e);
    emit_update_fault(m, e, "");
    emit_line(e, "if (out)");
    emit_line(e, "    report(m, lr, out);");
    emit_line(e, "m->count.microbatch = first + %" PRId64 ";", m->accumulate);
    emit_line(e, "m->count.step++;");
    emit_line(e, "return EDL_OK;");
    e->indent--;
    emit_line(e, "}\n");
}

/* ---- forward, backward, update apart ---- */

static void
emit_phase(CModel *m, Emit *e, const char *name, int parity)
{
    const Graph *g = module_graph(m->cg.m, name);
    emit_line(e, "/* phase: 2 * mb before forward of mb, one more before its "
                 "backward. */");
    emit_line(e, "static EdlStatus");
    emit_line(e, "run_%s(EdlInstance *m, const void *const *in)", name);
    emit_line(e, "{");
    e->indent++;
    emit_line(e, "const int64_t mb = m->phase / 2;");
    emit_line(e, "const uint64_t first = m->count.microbatch - (uint64_t)mb;");
    emit_line(e, "if (m->phase %% 2 != %d || mb >= %" PRId64 ")", parity,
              m->accumulate);
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"%s: not its turn\");",
              name);
    emit_line(e, "EdlStatus s = edl_check_inputs(m, in, 1);");
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
    c_call(m, e, g, "0", "mb", "0");
    c_fault(m, e, name, m->early && parity == 1);
    emit_line(e, "m->phase++;");
    if (parity == 1)
        emit_line(e, "m->count.microbatch++;");
    emit_line(e, "return EDL_OK;");
    e->indent--;
    emit_line(e, "}\n");
}

static void
emit_update_phase(CModel *m, Emit *e)
{
    emit_line(e, "static EdlStatus");
    emit_line(e, "run_update(EdlInstance *m, EdlMetrics *out)");
    emit_line(e, "{");
    e->indent++;
    emit_line(e, "if (m->phase != %" PRId64 ")", 2 * m->accumulate);
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"update: not its "
                 "turn\");");
    emit_line(e, "const double lr = edl_lr(m);");
    c_update(m, e);
    emit_update_fault(m, e, "EdlStatus ");
    emit_line(e, "if (out)");
    emit_line(e, "    report(m, lr, out);");
    emit_line(e, "m->phase = 0;");
    emit_line(e, "m->count.step++;");
    emit_line(e, "return EDL_OK;");
    e->indent--;
    emit_line(e, "}\n");
}

/* ---- evaluate and infer: one forward pass, nothing counts ---- */

void
c_pass_report(CModel *m, Emit *e)
{
    if (output_text(m, "edl.valid") || output_text(m, loss_name(m)))
        emit_line(e, "unsigned char *const io = m->region[EDL_IO];");
    emit_losses(m, e);
    emit_line(e, "out->grad_norm = -1.0;");
    emit_line(e, "out->lr = 0.0;");
    emit_line(e, "out->step = m->count.step;");
    emit_line(e, "out->skipped_steps = 0;");
    emit_line(e, "out->skipped = 0;");
}

void
c_pass_turn(CModel *m, Emit *e, const char *name)
{
    if (!m->has_phases)
        return;
    emit_line(e, "if (m->phase != 0)");
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"%s: not its turn\");",
              name);
}

static void
emit_pass(CModel *m, Emit *e, const char *name)
{
    const Program *p = c_program(m, name);
    emit_line(e, "static EdlStatus");
    emit_line(e,
              "run_%s(EdlInstance *m, const void *const *in, "
              "EdlMetrics *out)",
              name);
    emit_line(e, "{");
    e->indent++;
    c_pass_turn(m, e, name);
    emit_line(e, "EdlStatus s = edl_check_inputs(m, in, 1);");
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
    c_actions(m, e, p->actions.at, p->actions.n, 0);
    emit_line(e, "s = edl_check_fault(m, \"%s\");", name);
    emit_line(e, "if (s != EDL_OK || !out)");
    emit_line(e, "    return s;");
    c_pass_report(m, e);
    emit_line(e, "return EDL_OK;");
    e->indent--;
    emit_line(e, "}\n");
}

void
c_programs(CModel *m, Emit *e)
{
    if (m->cg.cuda) {
        cuda_programs(m, e);
        return;
    }
    if (m->has_step) {
        c_report(m, e);
        emit_step(m, e);
    }
    if (m->has_phases) {
        emit_phase(m, e, "forward", 0);
        emit_phase(m, e, "backward", 1);
    }
    if (m->has_phases && m->has_update)
        emit_update_phase(m, e);
    if (m->has_evaluate)
        emit_pass(m, e, "evaluate");
    if (m->has_infer)
        emit_pass(m, e, "infer");
}
