#include "passes/plan/machine.h"

static const Machine c_machine = {
    .name = "two cores with AVX-512",
    .target = "c",
#define NUMBER(table, key, least, c, h200, help) .table##_##key = c,
#include "passes/plan/machine.def"
#undef NUMBER
    .rate = {
#define RATE(id, c, h200) [WORK_##id] = {{{1, c}}, 1},
#include "passes/plan/rates.def"
#undef RATE
    },
};

static const Machine h200_machine = {
    .name = "H200",
    .target = "cuda",
#define NUMBER(table, key, least, c, h200, help) .table##_##key = h200,
#include "passes/plan/machine.def"
#undef NUMBER
    .rate = {
#define RATE(id, c, h200) [WORK_##id] = {{{1, h200}}, 1},
#include "passes/plan/rates.def"
#undef RATE
    },
};

const Machine *
machine_default(const char *target)
{
    return target && strcmp(target, "cuda") == 0 ? &h200_machine : &c_machine;
}

const Machine *
machine_of(const Module *m)
{
    return m->machine ? m->machine
                      : machine_default(module_option(m, "target"));
}

const char *
machine_algorithm(const Machine *k, const char *product)
{
    for (int i = 0; i < k->products.n; i++)
        if (strcmp(k->products.at[i].product, product) == 0)
            return k->products.at[i].algorithm;
    return NULL;
}

double
machine_work_ns(const Machine *k, WorkClass class, double work)
{
    const RateCurve *r = &k->rate[class];
    const RatePoint *low = &r->at[0];
    for (int i = 1; i < r->n; i++) {
        const RatePoint *high = &r->at[i];
        if (work >= high->work) {
            low = high;
            continue;
        }
        if (work <= low->work)
            break;
        double from = low->work / low->per_us, to = high->work / high->per_us;
        double part = (work - low->work) / (high->work - low->work);
        return 1000 * (from + (to - from) * part);
    }
    return 1000 * work / low->per_us;
}

Link
machine_link(const Machine *k, Space space)
{
    if (space == SPACE_disk)
        return (Link){k->disk_in, k->disk_out, k->disk_both,
                      k->disk_latency_ns};
    return (Link){k->host_in, k->host_out, k->host_both, k->host_latency_ns};
}
