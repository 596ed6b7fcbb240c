/* Any bytes: edlc's safetensors reader never crashes; what it accepts, it
 * writes so that the same tensors are read again. */
#include "frontend/safetensors.h"

#include "ir/base/diag.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What can be written again: types of both sides, few elements. */
static int
collect(Arena *a, const StFile *f, StOut *outs)
{
    int n = 0;
    for (int i = 0; i < f->entries.n; i++) {
        const StEntry *e = &f->entries.at[i];
        StOut o = {.name = e->name, .type = {.rank = e->rank}};
        while (o.type.dtype < DT_COUNT &&
               strcmp(dtype_info[o.type.dtype].safetensors, e->dtype) != 0)
            o.type.dtype++;
        double *at = ARENA_ARRAY(a, double, e->elements + 1);
        if (!st_values(e, at) || o.type.dtype == DT_COUNT ||
            e->rank > MAX_RANK || e->elements == 0)
            continue;
        memcpy(o.type.dim, e->dim, sizeof o.type.dim);
        o.at = at;
        outs[n++] = o;
    }
    return n;
}

static void
check_again(Arena *a, const char *path, const StOut *outs, int n)
{
    const char *why;
    if (!st_write(a, path, outs, n, NULL, 0, &why))
        bug("cannot write: %s", why);
    StFile *f = st_read(a, path, &why);
    if (!f || f->entries.n != n)
        bug("cannot read what was written: %s", f ? "entries" : why);
    for (int i = 0; i < n; i++) {
        const StEntry *e = map_get(&f->by_name, outs[i].name);
        if (!e || e->elements != type_elements(&outs[i].type))
            bug("%s is not the same", outs[i].name);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    const char *why = NULL;
    StFile *f = st_parse(a, data, n, &why);
    if (!f && !why)
        bug("no file and no message");
    if (f) {
        StOut *outs = ARENA_ARRAY(a, StOut, f->entries.n + 1);
        int count = collect(a, f, outs);
        char *path = arena_printf(a, "/tmp/fuzz_safetensors.%d", (int)getpid());
        check_again(a, path, outs, count);
        remove(path);
    }
    arena_free(a);
    return 0;
}
