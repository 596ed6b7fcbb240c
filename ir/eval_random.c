/* Random numbers: Philox4x32-10 (Salmon et al. 2011), mapped as docs/api.md
 * says, so that the emitted program draws the same. */
#include <math.h>

#include "ir/eval_kernel.h"

void
eval_philox(uint64_t key, uint64_t block, uint64_t microbatch, uint32_t word[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32),
                     (uint32_t)microbatch, (uint32_t)(microbatch >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53 * c[0];
        uint64_t b = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        uint32_t n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[0] = n0;
        c[1] = (uint32_t)b;
        c[2] = n2;
        c[3] = (uint32_t)a;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    for (int i = 0; i < 4; i++)
        word[i] = c[i];
}

/* Box-Muller: elements 0 and 1 of a block from words 0 and 1, 2 and 3 from
 * words 2 and 3. */
static double
normal(const uint32_t w[4], int e)
{
    double u1 = ((double)w[e & 2] + 1) * 0x1p-32;
    double u2 = (double)w[(e & 2) + 1] * 0x1p-32;
    double r = sqrt(-2 * log(u1));
    double angle = 6.283185307179586477 * u2;
    return r * (e & 1 ? sin(angle) : cos(angle));
}

static double
draw(const Init *init, const uint32_t w[4], int e)
{
    switch (init->kind) {
    case INIT_none:
        return 0;
    case INIT_constant:
        return init->a;
    case INIT_normal:
        return init->a + init->b * normal(w, e);
    case INIT_uniform:
        return init->a + (init->b - init->a) * ((double)w[e] * 0x1p-32);
    }
    bug("an initial value of kind %d", (int)init->kind);
}

/* Initial values are those of the emitted program to the bit: rounded to f32
 * as well. */
void
eval_init(Array *a, const Init *init, uint64_t key)
{
    int64_t n = type_elements(&a->type);
    bool random = init->kind == INIT_normal || init->kind == INIT_uniform;
    uint32_t w[4] = {0};
    for (int64_t i = 0; i < n; i++) {
        if (random && i % 4 == 0)
            eval_philox(key, (uint64_t)i / 4, 0, w);
        double x = draw(init, w, (int)(i % 4));
        a->at[i] = a->type.dtype == DT_f32 ? (float)x : x;
    }
    eval_round(a);
}

bool
eval_dropout(Job *j)
{
    double p = node_float(j->node, "p", 0);
    const char *path = node_word(j->node, "key", "");
    uint64_t key = j->seed ^ hash64(path, strlen(path));
    int64_t n = type_elements(&j->out[0].type);
    uint32_t w[4] = {0};
    for (int64_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            eval_philox(key, (uint64_t)i / 4, (uint64_t)j->microbatch, w);
        bool keep = (w[i % 4] >> 8) * 0x1p-24 >= p;
        j->out[0].at[i] = keep ? j->in[0].at[i] / (1 - p) : 0;
    }
    return true;
}
