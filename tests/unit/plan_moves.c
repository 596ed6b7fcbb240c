/* plan_moves FILE.eir MACHINE.toml LIMIT OFFLOAD: plans a module that is
 * differentiated already, without making anything again, and prints the bytes
 * of the device and the time of a step by the simulator. LIMIT 0: the module
 * is placed; it is only run. */
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/plan/flow.h"
#include "passes/plan/machine.h"

#include <stdlib.h>

static char *
slurp(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(a, 1 << 20);
    if (!f)
        bug("cannot open %s", path);
    *n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static int64_t
device_bytes(const Module *m)
{
    int64_t bytes = 0;
    for (int r = 0; r < REGION_COUNT; r++)
        if (r != REGION_host && r != REGION_disk && r != REGION_io)
            bytes += m->region_bytes[r];
    return bytes;
}

static bool
plan(Module *m, const char *limit, const char *offload)
{
    module_set_option(m, "limit", limit);
    module_set_option(m, "offload", offload);
    module_set_option(m, "recompute", "none");
    for (int i = PASS_recompute; i < PASS_COUNT; i++)
        if (!pass_info[i].run(m) || !verify_module(m))
            return false;
    return true;
}

int
main(int argc, char **argv)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    size_t n;
    if (argc != 5)
        return 2;
    char *text = slurp(a, argv[1], &n);
    Module *m = text_read(a, d, argv[1], text, n);
    text = slurp(a, argv[2], &n);
    Machine *k = machine_read(a, d, argv[2], text, n);
    if (m && k) {
        m->machine = k;
        bool placed = strcmp(argv[3], "0") == 0;
        if (placed ? verify_module(m) : plan(m, argv[3], argv[4]))
            printf("%lld bytes, %lld ns\n", (long long)device_bytes(m),
                   (long long)flow_program(m, "step"));
        else if (m->over_limit)
            printf("does not fit\n");
    }
    if (!m || !m->over_limit)
        diag_print(d, stderr, DIAG_TEXT);
    arena_free(a);
    return 0;
}
