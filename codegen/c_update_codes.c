/* adamw with its states in codes of 8 bits: a block of them becomes floats,
 * is updated and becomes codes again (runtime/edl_code.h). */
#include "codegen/c_sweep.h"
#include "ir/optimizer.h"

#include <inttypes.h>

static int64_t
places(const Value *v)
{
    return value_tensor(v)->place;
}

static void
emit_row(Kernel *k, const Node *n, int64_t first)
{
    Arena *a = k->cg->arena;
    Optimizer o = optimizer_of(n);
    const char *name = value_tensor(n->args[0])->name;
    emit_line(&k->out, "/* %s */", name);
    const char *items[] = {
        arena_printf(a, "%" PRId64, first),
        arena_printf(a, "%" PRId64, type_elements(&n->args[0]->type)),
        arena_printf(a, "%" PRId64, sweep_offset(n->args[0])),
        arena_printf(a, "%" PRId64, sweep_offset(n->args[1])),
        arena_printf(a, "%" PRId64, places(n->args[o.state[0]])),
        arena_printf(a, "%" PRId64, places(n->args[o.state[1]])),
        arena_printf(a, "%" PRId64, sweep_offset(n->args[o.scale[0]])),
        arena_printf(a, "%" PRId64, sweep_offset(n->args[o.scale[1]])),
        arena_printf(a, "0x%016" PRIx64 "u", hash64(name, strlen(name))),
        c_double(a, node_float(n, "weight_decay", 0)),
        c_double(a, node_float(n, "lr_scale", 1))};
    emit_list(&k->out, "{", items, sizeof items / sizeof *items, "},");
}

static int64_t
emit_rows(Kernel *k, const Sweep *s)
{
    Emit *e = &k->out;
    int64_t pieces = 0, each = sweep_piece(k);
    emit_line(e, "/* places are elements from the start of the region, of m "
                 "and v bytes */");
    emit_line(e, "static const struct {");
    emit_line(e, "    int64_t first, n, p, g, m, v, m_scale, v_scale;");
    emit_line(e, "    uint64_t path; /* its hash */");
    emit_line(e, "    double decay, rate;");
    emit_line(e, "} rows[] = {");
    e->indent++;
    for (int i = 0; i < s->nodes.n; i++) {
        emit_row(k, s->nodes.at[i], pieces);
        pieces += (type_elements(&s->nodes.at[i]->args[0]->type) + each - 1) /
                  each;
    }
    e->indent--;
    emit_line(e, "};");
    return pieces;
}

static void
emit_block(Kernel *k, const Sweep *s, const char *param, const char *grads)
{
    Emit *e = &k->out;
    emit_open(e, "for (int64_t c = lo; c < hi; c += EDL_CODES)");
    emit_line(e, "const int n = hi - c < EDL_CODES ? (int)(hi - c) : "
                 "EDL_CODES;");
    emit_line(e, "const int64_t block = c / EDL_CODES;");
    emit_line(e, "float *EDL_RESTRICT p = %s + rows[i].p + c;", param);
    emit_line(e, "const float *EDL_RESTRICT g = %s + rows[i].g + c;", grads);
    emit_line(e, "float m[EDL_CODES], v[EDL_CODES];");
    emit_line(e, "edl_codes_get(m, m_codes + c, m_scales[block], n);");
    emit_line(e, "edl_codes_get_squares(v, v_codes + c, v_scales[block], n);");
    emit_open(e, "for (int l = 0; l < n; l++)");
    sweep_adamw_element(k, s, "l");
    emit_close(e, "");
    emit_line(e, "m_scales[block] = edl_codes_put(m_codes + c, m, n, key, c);");
    emit_line(e, "v_scales[block] =");
    emit_line(e, "    edl_codes_put_roots(v_codes + c, v, n, key, c);");
    emit_close(e, "");
}

void
sweep_codes_body(Kernel *k)
{
    const Sweep *s = k->aux;
    const Node *n = s->nodes.at[0];
    Emit *e = &k->out;
    const char *param = sweep_region(k, s->param, true);
    const char *state = sweep_region(k, s->state[0], true);
    const char *codes = kernel_name(
        k, kernel_region(k, s->state[0], DT_u8, true, "codes"));
    const char *grads = sweep_region(k, s->grad, false);
    sweep_go(k, n);
    int64_t pieces = emit_rows(k, s);
    sweep_find(k, s->nodes.n, sweep_piece(k));
    sweep_adamw_numbers(k, s);
    emit_line(e, "const uint32_t key = edl_code_key(rows[i].path, *%s);",
              kernel_name(k, kernel_value(k, n->args[4], 0, false)));
    emit_line(e, "uint8_t *m_codes = %s + rows[i].m;", codes);
    emit_line(e, "uint8_t *v_codes = %s + rows[i].v;", codes);
    emit_line(e, "float *m_scales = %s + rows[i].m_scale;", state);
    emit_line(e, "float *v_scales = %s + rows[i].v_scale;", state);
    emit_block(k, s, param, grads);
    k->comment = "one sweep over parameters and gradients, with the "
                 "optimizer's state in 8 bits";
    k->cg->has_codes = true;
    k->pieces = pieces;
    if (pieces == 1)
        emit_one_piece(k);
}
