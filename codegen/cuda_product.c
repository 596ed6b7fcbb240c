#include "codegen/cuda_product.h"

#include "ir/algorithm.h"
#include "ir/scratch.h"

#include <inttypes.h>

/* ---- shapes ---- */

void
product_fold(Product *p)
{
    while (p->n_batch > 0) {
        int last = p->n_batch - 1;
        bool rows = p->a.batch[last] == p->m * p->a.row &&
                    p->c.batch[last] == p->m * p->c.row &&
                    p->b.batch[last] == 0;
        if (p->dim[last] != 1 && !rows)
            break;
        p->m *= p->dim[last];
        p->n_batch--;
    }
    while (p->n_batch > 1) {
        int in = p->n_batch - 1, out = in - 1;
        int64_t n = p->dim[in];
        if (p->a.batch[out] != n * p->a.batch[in] ||
            p->b.batch[out] != n * p->b.batch[in] ||
            p->c.batch[out] != n * p->c.batch[in])
            break;
        p->dim[out] *= n;
        p->a.batch[out] = p->a.batch[in];
        p->b.batch[out] = p->b.batch[in];
        p->c.batch[out] = p->c.batch[in];
        p->n_batch--;
    }
}

/* Can cuBLASLt walk it? rows, columns: of the side. */
static bool
choose_lead(Side *s, int64_t rows, int64_t columns)
{
    bool by_row = s->col == 1 || columns == 1;
    bool by_column = s->row == 1 || rows == 1;
    if (by_row && (s->row >= columns || rows == 1)) {
        s->lead = rows == 1 || s->row < columns ? columns : s->row;
        s->turned = false;
        return columns > 1 || s->row >= 1;
    }
    if (by_column && (s->col >= rows || columns == 1)) {
        s->lead = columns == 1 || s->col < rows ? rows : s->col;
        s->turned = true;
        return true;
    }
    return false;
}

bool
product_fits(Product *p)
{
    bool wide = p->a.dtype == DT_f32 && p->c.dtype == DT_f32;
    bool half = p->a.dtype == DT_bf16 &&
                (p->c.dtype == DT_f32 || p->c.dtype == DT_bf16);
    if (p->a.dtype != p->b.dtype || !(wide || half))
        return false;
    return choose_lead(&p->a, p->m, p->k) && choose_lead(&p->b, p->k, p->n) &&
           choose_lead(&p->c, p->m, p->n) && !p->c.turned;
}

/* Bytes that every matrix of the side is aligned to: 16, or an element. */
static int
alignment(const Product *p, const Side *s)
{
    int bytes = dtype_info[s->dtype].bits / 8, n = 16 / bytes;
    bool ok = s->lead % n == 0;
    for (int i = 0; i < p->n_batch; i++)
        ok &= s->batch[i] % n == 0;
    return ok ? 16 : bytes;
}

/* ---- the table ---- */

static int64_t
batches(const Product *p)
{
    return p->n_batch ? p->dim[p->n_batch - 1] : 1;
}

static int64_t
step(const Product *p, const Side *s)
{
    return p->n_batch ? s->batch[p->n_batch - 1] : 0;
}

/* What decides which algorithms there are and how fast they run:
 * "bf16 64x128 @ 128x32t to f32, lead 128 128 32, align 16 16 16". */
static const char *
words(Arena *a, const Product *p)
{
    const char *text = arena_printf(
        a,
        "%s %" PRId64 "x%" PRId64 "%s @ %" PRId64 "x%" PRId64
        "%s to %s, lead %" PRId64 " %" PRId64 " %" PRId64 ", align %d %d %d",
        dtype_info[p->a.dtype].name, p->m, p->k, p->a.turned ? "t" : "", p->k,
        p->n, p->b.turned ? "t" : "", dtype_info[p->c.dtype].name, p->a.lead,
        p->b.lead, p->c.lead, alignment(p, &p->a), alignment(p, &p->b),
        alignment(p, &p->c));
    if (batches(p) == 1)
        return text;
    return arena_printf(a,
                        "%s, batch %" PRId64 " step %" PRId64 " %" PRId64
                        " %" PRId64, text, batches(p), step(p, &p->a),
                        step(p, &p->b), step(p, &p->c));
}

static const char *
numbers(Arena *a, const Product *p)
{
    return arena_printf(
        a,
        "%" PRId64 ", %" PRId64 ", %" PRId64 ", %d, %d, %" PRId64 ", %" PRId64
        ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
        ", %d, %d, %d, %d, %d, %" PRId64,
        p->m, p->n, p->k, p->a.turned, p->b.turned, p->a.lead, p->b.lead,
        p->c.lead, batches(p), step(p, &p->a), step(p, &p->b), step(p, &p->c),
        alignment(p, &p->a), alignment(p, &p->b), alignment(p, &p->c),
        p->a.dtype == DT_bf16, p->c.dtype == DT_bf16,
        scratch_product(p->m * batches(p), p->n));
}

int
product_row(Cg *cg, const Product *p)
{
    LibraryProduct x = {words(cg->arena, p), numbers(cg->arena, p), false};
    int known = (int)(intptr_t)map_get(&cg->product_map, x.words);
    if (!known) {
        vec_push(cg->arena, &cg->products, x);
        known = cg->products.n;
        map_put(cg->arena, &cg->product_map, x.words, (void *)(intptr_t)known);
    }
    cg->products.at[known - 1].bias |= p->bias != NULL;
    return known - 1;
}

/* "{66, 20, 35, 0, 0, 0, 0, 0, 0}", or "{-1}": `init` finds one. */
static const char *
algorithm(const Cg *cg, const char *product)
{
    Arena *a = cg->arena;
    const Module *m = cg->m;
    Algorithm x;
    for (int i = 0; i < m->products.n; i++) {
        const ProductChoice *c = &m->products.at[i];
        if (!c->algorithm || strcmp(c->product, product) != 0)
            continue;
        const char *why = algorithm_read(a, c->algorithm, &x);
        if (why)
            bug("codegen: an algorithm: %s", why);
        const char *text = arena_printf(a, "{%" PRId64, x.id);
        for (int k = 0; k < ALGORITHM_SETTINGS; k++)
            text = arena_printf(a, "%s, %" PRId64, text, x.setting[k]);
        return arena_printf(a, "%s}", text);
    }
    return "{-1}";
}

void
product_table(const Cg *cg, Emit *e)
{
    if (cg->products.n == 0)
        return;
    emit_line(e, "/* name; m, n, k, turned, leading dimensions, batch and its "
                 "strides, alignment,\n * bf16 operands, bf16 result, workspace, whether a "
                 "row is added;\n * algorithm */");
    emit_line(e, "static const EdlProductShape run_products[] = {");
    for (int i = 0; i < cg->products.n; i++)
        emit_line(e, "    {\"%s\",\n     %s, %d, %s},",
                  cg->products.at[i].words, cg->products.at[i].numbers,
                  cg->products.at[i].bias,
                  algorithm(cg, cg->products.at[i].words));
    emit_line(e, "};\n");
}
