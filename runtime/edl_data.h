/* edl_data.h: samples from files into the inputs of a model. */
#ifndef EDL_DATA_H
#define EDL_DATA_H

#include "edl.h"

#include "edl_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One file, opened and checked. */
typedef struct EdlOpened {
    const EdlSource *source;
    EdlMap map;
    uint64_t begin; /* byte at which the elements start */
    EdlDtype dtype; /* of the elements in the file */
    int64_t samples;
    int64_t width; /* elements of a sample; NEXT_TOKEN: T; TABLE: columns */
    double *cells; /* TABLE: samples x width */
} EdlOpened;

/* An .npy file as it lies. */
typedef struct EdlNpy {
    EdlDtype dtype;
    int32_t ndim;
    int64_t dims[EDL_MAX_RANK + 1];
    uint64_t begin;
} EdlNpy;

EdlStatus edl_npy_parse(EdlNpy *out, const unsigned char *bytes, uint64_t size,
                        const char *what, EdlError *e);
/* Numbers between commas; the caller frees *cells. skip: lines before them. */
EdlStatus edl_csv_parse(const unsigned char *bytes, uint64_t size, int64_t skip,
                        const char *what, double **cells, int64_t *rows,
                        int64_t *columns, EdlError *e);

/* A permutation of 0 .. n-1, its value at i: another one each epoch. */
int64_t edl_permute(uint64_t seed, uint64_t epoch, int64_t n, int64_t i);

typedef struct EdlFeed {
    const EdlModel *model;
    EdlOpened *sources;
    int32_t nsources;
    int64_t samples;
    EdlOrder order;
    uint64_t seed;
} EdlFeed;

EdlStatus edl_feed_open(EdlFeed *f, const EdlModel *model, const EdlData *data,
                        uint64_t seed, EdlError *e);
/* Fills `microbatches` of every input that the sources give, starting at
 * dst[input], with the samples from (epoch, index) on, and moves on. An epoch
 * ends after its last sample, also inside a microbatch. */
EdlStatus edl_feed_read(const EdlFeed *f, uint64_t *epoch, uint64_t *index,
                        int64_t microbatches, unsigned char *const *dst,
                        EdlError *e);
/* Samples of one microbatch. */
int64_t edl_feed_batch(const EdlFeed *f);
void edl_feed_close(EdlFeed *f);

#ifdef __cplusplus
}
#endif

#endif
