/* The actions of a model on a device. A step is queued once, by `init`, into
 * a CUDA graph; each run of it begins with the inputs and the control block
 * and ends with what the kernels noted. */
#include "codegen/cuda_product.h"

#include <inttypes.h>

static void
open_function(Emit *e, const char *type, const char *head)
{
    emit_line(e, "static %s", type);
    emit_line(e, "%s", head);
    emit_line(e, "{");
    e->indent++;
}

static void
close_function(Emit *e)
{
    e->indent--;
    emit_line(e, "}\n");
}

static void
emit_queue(CModel *m, Emit *e)
{
    const Program *p = c_program(m, "step");
    open_function(e, "void", "run_queue(EdlInstance *m)");
    c_actions(m, e, p->actions.at, p->actions.n, 0);
    c_update(m, e);
    close_function(e);
}

/* Checks, and what follows when they fail. */
static void
emit_inputs(Emit *e, int64_t microbatches)
{
    emit_line(e, "EdlStatus s = edl_check_inputs(m, in, %" PRId64 ");",
              microbatches);
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
}

static void
emit_end(Emit *e)
{
    emit_line(e, "s = edl_end(m);");
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
}

static void
emit_step(CModel *m, Emit *e)
{
    open_function(e, "EdlStatus",
                  "run_step(EdlInstance *m, const void *const *in, "
                  "EdlMetrics *out)");
    emit_line(e, "const uint64_t first = m->count.microbatch;");
    emit_line(e, "if (m->phase != 0)");
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"step: in the middle of "
                 "another\");");
    emit_inputs(e, m->accumulate);
    emit_line(e, "const double lr = %s;", m->has_update ? "edl_lr(m)" : "0.0");
    emit_line(e, "edl_begin(m, in, %" PRId64 ", lr);", m->accumulate);
    emit_line(e, "edl_replay(m);");
    emit_end(e);
    c_fault(m, e, "a step", false);
    emit_line(e, "if (out)");
    emit_line(e, "    report(m, lr, out);");
    emit_line(e, "m->count.microbatch = first + %" PRId64 ";", m->accumulate);
    emit_line(e, "m->count.step++;");
    emit_line(e, "return edl_cuda_status(m);");
    close_function(e);
}

static void
emit_phase(CModel *m, Emit *e, const char *name, int parity)
{
    const Graph *g = module_graph(m->cg.m, name);
    emit_line(e, "/* phase: 2 * mb before forward of mb, one more before its "
                 "backward. */");
    open_function(e, "EdlStatus",
                  arena_printf(m->cg.arena,
                               "run_%s(EdlInstance *m, const void *const *in)",
                               name));
    emit_line(e, "const int64_t mb = m->phase / 2;");
    emit_line(e, "const uint64_t first = m->count.microbatch - (uint64_t)mb;");
    emit_line(e, "if (m->phase %% 2 != %d || mb >= %" PRId64 ")", parity,
              m->accumulate);
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"%s: not its turn\");",
              name);
    emit_inputs(e, 1);
    emit_line(e, "edl_begin(m, in, 1, %s);",
              m->early && parity == 1 ? "edl_lr(m)" : "0.0");
    c_call(m, e, g, "0", "mb", "0");
    emit_end(e);
    c_fault(m, e, name, false);
    emit_line(e, "m->phase++;");
    if (parity == 1)
        emit_line(e, "m->count.microbatch++;");
    emit_line(e, "return EDL_OK;");
    close_function(e);
}

static void
emit_update_phase(CModel *m, Emit *e)
{
    open_function(e, "EdlStatus",
                  "run_update(EdlInstance *m, EdlMetrics *out)");
    emit_line(e, "if (m->phase != %" PRId64 ")", 2 * m->accumulate);
    emit_line(e, "    return edl_fail(m, EDL_EINVAL, \"update: not its "
                 "turn\");");
    emit_line(e, "const double lr = edl_lr(m);");
    emit_line(e, "edl_begin(m, NULL, 0, lr);");
    c_update(m, e);
    emit_line(e, "EdlStatus s = edl_end(m);");
    emit_line(e, "if (s != EDL_OK)");
    emit_line(e, "    return s;");
    emit_line(e, "if (out)");
    emit_line(e, "    report(m, lr, out);");
    emit_line(e, "m->phase = 0;");
    emit_line(e, "m->count.step++;");
    emit_line(e, "return edl_cuda_status(m);");
    close_function(e);
}

/* Evaluate and infer: one forward pass, nothing counts. */
static void
emit_pass(CModel *m, Emit *e, const char *name)
{
    const Program *p = c_program(m, name);
    open_function(e, "EdlStatus",
                  arena_printf(m->cg.arena,
                               "run_%s(EdlInstance *m, const void *const *in, "
                               "EdlMetrics *out)",
                               name));
    c_pass_turn(m, e, name);
    emit_inputs(e, 1);
    emit_line(e, "edl_begin(m, in, 1, 0.0);");
    c_actions(m, e, p->actions.at, p->actions.n, 0);
    emit_end(e);
    emit_line(e, "s = edl_check_fault(m, \"%s\");", name);
    emit_line(e, "if (s != EDL_OK || !out)");
    emit_line(e, "    return s;");
    c_pass_report(m, e);
    emit_line(e, "return edl_cuda_status(m);");
    close_function(e);
}

/* What the runtime needs of the model to run it on a device. */
static void
emit_device(CModel *m, Emit *e)
{
    const Cg *cg = &m->cg;
    product_table(cg, e);
    open_function(e, "EdlStatus", "run_open(EdlInstance *m)");
    emit_line(e, "return edl_cuda_open(m, %s, %d, %s);",
              cg->products.n ? "run_products" : "NULL", cg->products.n,
              m->has_step ? "run_queue" : "NULL");
    close_function(e);
    emit_line(e, "static const EdlDevice run_device = {");
    emit_line(e, "    run_open,       edl_cuda_close, edl_cuda_status, "
                 "edl_cuda_get,");
    emit_line(e, "    edl_cuda_put,   edl_cuda_zero,  edl_cuda_alloc,  "
                 "edl_cuda_release,");
    emit_line(e, "    edl_cuda_alloc_host, edl_cuda_release_host, edl_cuda_why,");
    emit_line(e, "};\n");
}

void
cuda_programs(CModel *m, Emit *e)
{
    if (m->has_step) {
        emit_queue(m, e);
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
    emit_device(m, e);
}
