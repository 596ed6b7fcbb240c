/* edl_progress.h: what a run says: a line on standard error, and metrics as
 * lines of JSON in a file. */
#ifndef EDL_PROGRESS_H
#define EDL_PROGRESS_H

#include "edl.h"

#include "edl_file.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EdlProgress {
    int quiet, terminal, drawn; /* drawn: an unfinished line stands there */
    const EdlModel *model;
    double *scalars;  /* of model->outputs, where edl_is_scalar */
    int64_t steps;    /* of the whole run */
    int64_t items;    /* tokens or samples of a step */
    const char *unit; /* "tokens" or "samples" */
    uint64_t bytes;   /* memory of the regions */
    double started, shown, rate_from;
    int64_t done, shown_at, rate_at;
    FILE *metrics; /* NULL: none */
} EdlProgress;

/* Floating outputs of rank 0 are reported beside the loss. */
int edl_is_scalar(const EdlTensor *output);

/* Appends to the metrics file when a run is resumed, else begins it anew. */
EdlStatus edl_progress_open(EdlProgress *p, const char *metrics, int append,
                            EdlError *e);
void edl_progress_step(EdlProgress *p, const EdlMetrics *m,
                       const EdlCounters *c);
void edl_progress_validation(EdlProgress *p, uint64_t step, double loss,
                             int64_t batches);
/* A line of its own. */
void edl_progress_say(EdlProgress *p, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
double edl_progress_seconds(const EdlProgress *p);
EdlStatus edl_progress_close(EdlProgress *p, EdlError *e);

/* The shortest decimal that reads back as x; null where JSON has no number. */
#define EDL_NUMBER_TEXT 32
const char *edl_number(char text[EDL_NUMBER_TEXT], double x);

#ifdef __cplusplus
}
#endif

#endif
