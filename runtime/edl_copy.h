/* edl_copy.h: copies between a model's regions and what lies outside of its
 * limit: the pool in host memory, and a temporary file. */
#ifndef EDL_COPY_H
#define EDL_COPY_H

#include "edl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads, file and buffers of m->model->offload, and their end. */
EdlStatus edl_copies_open(EdlInstance *m);
void edl_copies_close(EdlInstance *m);

/* EDL_OK, or the text of the first copy that failed since the last call.
 * phase: what was running. */
EdlStatus edl_copies_status(EdlInstance *m, const char *phase);

/* Whether one has failed since then. */
int edl_copies_failed(const EdlInstance *m);
/* EDL_EIO after an update that failed half way, until the state is renewed:
 * set anew or loaded. */
EdlStatus edl_copies_sound(EdlInstance *m);
void edl_copies_renew(EdlInstance *m);

/* A copy that is done on return; what fails shows in edl_copies_status. */
void edl_offload_now(const EdlInstance *m, EdlRegion to, uint64_t at,
                     const void *from, uint64_t bytes);
void edl_fetch_now(const EdlInstance *m, void *to, EdlRegion from, uint64_t at,
                   uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
