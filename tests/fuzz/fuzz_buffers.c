/* Any bytes: the reader of `edlc pack` never crashes; what it takes is placed,
 * and no two buffers that are alive together share bytes. */
#include "frontend/cmd_pack_buffers.h"

#include <stdio.h>

enum { MOST_ITEMS = 64, EFFORT = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_placement(const PackItem *at, int n, int64_t height, int64_t align)
{
    if (height < pack_bound(at, n, align) || height < pack_height(at, n))
        bug("a height of %lld is not the height", (long long)height);
    for (int i = 0; i < n; i++) {
        const PackItem *x = &at[i];
        if (x->offset < 0 || x->offset % align != 0)
            bug("item %d lies at %lld", i, (long long)x->offset);
        for (int j = 0; j < i; j++) {
            const PackItem *y = &at[j];
            if (x->lower < y->upper && y->lower < x->upper &&
                x->offset < y->offset + y->size &&
                y->offset < x->offset + x->size)
                bug("items %d and %d overlap", j, i);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Buffers b;
    char *bytes = arena_strndup(a, (const char *)data, n);
    bool good = buffers_read(a, d, "b.csv", bytes, n, &b);
    if (!good && diag_count(d) == 0)
        bug("no buffers and no message");
    if (good && b.items.n <= MOST_ITEMS) {
        int64_t align = n % 2 ? 64 : 1;
        int64_t height = pack_lowest(b.items.at, b.items.n, align, EFFORT,
                                     NULL);
        check_placement(b.items.at, b.items.n, height, align);
        if (pack_fit(b.items.at, b.items.n, align, height + align, EFFORT) !=
            PACK_FITS)
            bug("a placement below %lld is not found again", (long long)height);
        check_placement(b.items.at, b.items.n, height + align, align);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    diag_print(d, nowhere, DIAG_TEXT);
    fclose(nowhere);
    arena_free(a);
    return 0;
}
