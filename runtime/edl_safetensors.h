/* edl_safetensors.h: the safetensors format, checked strictly. docs/formats.md
 * has what is checked. */
#ifndef EDL_SAFETENSORS_H
#define EDL_SAFETENSORS_H

#include "edl.h"

#include "edl_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One axis more than a tensor's may count microbatches. */
#define EDL_ST_MAX_RANK (EDL_MAX_RANK + 1)

typedef struct EdlStEntry {
    const char *name;
    const char *type; /* as the file says it */
    EdlDtype dtype;   /* EDL_DTYPE_COUNT: one that edl does not know */
    int32_t ndim;
    int64_t dims[EDL_ST_MAX_RANK];
    uint64_t begin, end; /* in data */
} EdlStEntry;

typedef struct EdlStMeta {
    const char *key, *value;
} EdlStMeta;

typedef struct EdlSt {
    EdlStEntry *entries; /* by name */
    int64_t count;
    EdlStMeta *metas;
    int64_t nmetas;
    const unsigned char *data;
    uint64_t data_bytes;
    char *strings;
    EdlMap map;  /* edl_st_open */
    void *owned; /* edl_st_read */
} EdlSt;

#define EDL_ST_MAX_HEADER 100000000u

/* The whole file in memory; it must stay there. what: its name in messages. */
EdlStatus edl_st_parse(EdlSt *st, const void *bytes, uint64_t size,
                       const char *what, EdlError *e);
EdlStatus edl_st_open(EdlSt *st, const char *path, EdlError *e);
/* From a stream: into memory that st owns. */
EdlStatus edl_st_read(EdlSt *st, int (*read)(void *, void *, uint64_t),
                      void *user, EdlError *e);
void edl_st_close(EdlSt *st);

/* NULL when there is none. */
const EdlStEntry *edl_st_find(const EdlSt *st, const char *name);
const char *edl_st_meta(const EdlSt *st, const char *key);

/* A tensor to be written: fill(arg, first, n, dst) gives its elements; not 0:
 * it cannot. */
typedef struct EdlStOut {
    const char *name;
    EdlDtype dtype;
    int32_t ndim;
    const int64_t *dims;
    int (*fill)(const void *arg, int64_t first, int64_t n, void *dst);
    const void *arg;
} EdlStOut;

typedef EdlStatus (*EdlStSink)(void *user, const void *data, uint64_t n);

/* Sorts outs: wide elements first, then by name, so that the same tensors
 * give the same bytes and every one is aligned. */
EdlStatus edl_st_write(EdlStOut *outs, int64_t n, const EdlStMeta *metas,
                       int64_t nmetas, EdlStSink sink, void *user, EdlError *e);
/* To a file, written new and renamed. */
EdlStatus edl_st_save(EdlStOut *outs, int64_t n, const EdlStMeta *metas,
                      int64_t nmetas, const char *path, EdlError *e);

#ifdef __cplusplus
}
#endif

#endif
