/* edl_exchange.h: the safetensors files that a run takes and gives. */
#ifndef EDL_EXCHANGE_H
#define EDL_EXCHANGE_H

#include "edl.h"

#include "edl_safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --inputs: batches by name, in the model's shape (every microbatch is the
 * same) or with one leading axis that counts microbatches. */
typedef struct EdlBatches {
    const EdlModel *model;
    EdlSt st;
    const char *path;
    int64_t microbatches; /* 0: every one is the same */
    int64_t begin;        /* the run's microbatch that the file begins with */
} EdlBatches;

EdlStatus edl_batches_open(EdlBatches *b, const EdlModel *model,
                           const char *path, EdlError *e);
/* Whether the file has the batches of a run of `steps`, of which `done` lie
 * behind it: those of the whole run, or of the steps that are left. */
EdlStatus edl_batches_cover(EdlBatches *b, int64_t per_step, int64_t done,
                            int64_t steps, EdlError *e);
/* Microbatches first .. first + n - 1 of the run to dst[input]. */
EdlStatus edl_batches_read(const EdlBatches *b, int64_t first, int64_t n,
                           unsigned char *const *dst, EdlError *e);
void edl_batches_close(EdlBatches *b);

/* --init: parameters by name, all of them; states where they are there. */
EdlStatus edl_init_from(EdlInstance *m, const char *path, const char *names,
                        EdlError *e);

/* --outputs, --grads */
EdlStatus edl_write_outputs(const EdlInstance *m, const char *path, int grads,
                            EdlError *e);

/* Renames foreign tensors; see docs/formats.md. */
typedef struct EdlNames {
    char *text;
    struct EdlNameRule *rules;
    int64_t count;
} EdlNames;

EdlStatus edl_names_open(EdlNames *n, const char *path, EdlError *e);
EdlStatus edl_names_parse(EdlNames *n, const unsigned char *bytes,
                          uint64_t size, const char *what, EdlError *e);
/* Our name of theirs, at most room bytes; 0 when it does not fit. */
int edl_names_map(const EdlNames *n, const char *theirs, char *ours,
                  size_t room);
void edl_names_close(EdlNames *n);

#ifdef __cplusplus
}
#endif

#endif
