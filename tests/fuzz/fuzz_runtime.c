/* libFuzzer: every reader of the runtime. The first byte chooses it; what is
 * accepted is used. */
#include "toy.h"

#include "edl_data.h"
#include "edl_exchange.h"
#include "edl_safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_safetensors(const uint8_t *data, size_t size)
{
    EdlSt st;
    EdlError e;
    if (edl_st_parse(&st, data, size, "fuzz", &e) != EDL_OK)
        return;
    for (int64_t i = 0; i < st.count; i++) {
        const EdlStEntry *t = edl_st_find(&st, st.entries[i].name);
        for (uint64_t k = t->begin; k < t->end; k++)
            (void)((const volatile unsigned char *)st.data)[k];
    }
    (void)edl_st_meta(&st, "edl.step");
    edl_st_close(&st);
}

static void
read_npy(const uint8_t *data, size_t size)
{
    EdlNpy a;
    EdlError e;
    (void)edl_npy_parse(&a, data, size, "fuzz", &e);
}

static void
read_csv(const uint8_t *data, size_t size)
{
    double *cells = NULL;
    int64_t rows, columns;
    EdlError e;
    if (edl_csv_parse(data, size, size % 3, "fuzz", &cells, &rows, &columns,
                      &e) == EDL_OK)
        free(cells);
}

static void
read_names(const uint8_t *data, size_t size)
{
    EdlNames n;
    EdlError e;
    char ours[32];
    if (edl_names_parse(&n, data, size, "fuzz", &e) != EDL_OK)
        return;
    (void)edl_names_map(&n, "transformer.h.11.attn.weight", ours, sizeof ours);
    edl_names_close(&n);
}

typedef struct Stream {
    const uint8_t *at;
    size_t left;
} Stream;

static int
take(void *user, void *dst, uint64_t n)
{
    Stream *s = (Stream *)user;
    if (n > s->left)
        return -1;
    memcpy(dst, s->at, (size_t)n);
    s->at += n;
    s->left -= (size_t)n;
    return 0;
}

static void
load_checkpoint(const uint8_t *data, size_t size)
{
    static const size_t room = 8192;
    EdlInstance m;
    EdlRegions regions;
    EdlHooks hooks;
    Stream s = {data, size};
    unsigned char *memory = (unsigned char *)aligned_alloc(EDL_ALIGN, room * 6);
    memset(&hooks, 0, sizeof hooks);
    hooks.read = take;
    hooks.user = &s;
    for (int r = 0; r < EDL_REGION_COUNT; r++)
        regions.at[r] = memory + (size_t)r * room;
    edl_init(&m, &toy_model, EDL_ABI, sizeof m, &regions, &hooks);
    edl_init_params(&m, 1);
    (void)edl_load(&m, NULL);
    edl_close(&m);
    free(memory);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void (*const readers[])(const uint8_t *, size_t) = {
        read_safetensors, read_npy, read_csv, read_names, load_checkpoint,
    };
    if (size)
        readers[data[0] % 5](data + 1, size - 1);
    return 0;
}
