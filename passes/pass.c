#include "passes/pass.h"

#include <time.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/shuffle.h"

const PassInfo pass_info[PASS_COUNT] = {
#define PASS(id, help) [PASS_##id] = {#id, help, pass_##id},
#define ORDER(before, after, why)
#include "passes/passes.def"
#undef ORDER
#undef PASS
};

/* The rows of passes.def against its ORDER lines. */
static void
check_order(void)
{
    static const struct {
        int before, after;
        const char *why;
    } order[] = {
#define PASS(id, help)
#define ORDER(before, after, why) {PASS_##before, PASS_##after, why},
#include "passes/passes.def"
#undef ORDER
#undef PASS
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i].before >= order[i].after)
            bug("pass %s must come before %s: %s",
                pass_info[order[i].before].name, pass_info[order[i].after].name,
                order[i].why);
}

bool
pass_exists(const char *name, const char **near)
{
    const char *legal[PASS_COUNT];
    for (int i = 0; i < PASS_COUNT; i++) {
        legal[i] = pass_info[i].name;
        if (strcmp(name, legal[i]) == 0)
            return true;
    }
    *near = diag_nearest(name, legal, PASS_COUNT);
    return false;
}

/* PASS_COUNT for NULL; -1, and an error, for a name that is none. */
static int
pass_named(Module *m, const char *name)
{
    const char *near;
    if (!name)
        return PASS_COUNT;
    if (!pass_exists(name, &near)) {
        diag_error(m->diag, (Span){0}, "there is no pass `%s`", name);
        return -1;
    }
    int i = 0;
    while (strcmp(name, pass_info[i].name) != 0)
        i++;
    return i;
}

static long long
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One pass with all that was asked for around it. */
static bool
run_pass(Module *m, int pass, const PassOptions *o)
{
    const PassInfo *p = &pass_info[pass];
    if (o->shuffle && pass > PASS_update && pass < PASS_phases)
        module_shuffle(m, o->shuffle + (uint64_t)pass);
    long long start = o->time ? now_ns() : 0;
    bool good = p->run(m);
    if (o->time)
        fprintf(stderr, "%-9s %12lld ns\n", p->name, now_ns() - start);
    if (good && o->verify && !verify_module(m)) {
        diag_note(m->diag, (Span){0}, "found after pass %s", p->name);
        return false;
    }
    return good;
}

bool
passes_run(Module *m, const PassOptions *o)
{
    check_order();
    int dump = pass_named(m, o->dump), last = pass_named(m, o->stop_after);
    int only = pass_named(m, o->only), after = pass_named(m, o->after);
    if (dump < 0 || last < 0 || only < 0 || after < 0)
        return false;
    for (int i = o->after ? after + 1 : 0; i < PASS_COUNT; i++) {
        if (only < PASS_COUNT && i != only)
            continue;
        if (!run_pass(m, i, o))
            return false;
        if (i == dump)
            text_print(m, o->out);
        if (i == last)
            break;
    }
    return true;
}
