/* edl_machine.h: what a trainer takes from the machine: memory of all
 * regions, processors. */
#ifndef EDL_MACHINE_H
#define EDL_MACHINE_H

#include "edl.h"

#include "edl_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EdlMemory {
    unsigned char *mapped; /* all regions but for those of a device */
    uint64_t mapped_bytes;
    unsigned char *on_device; /* all regions of a device but for */
    unsigned char *on_host;   /* region HOST */
    uint64_t bytes;           /* what the regions need */
} EdlMemory;

/* Memory for every region of a model; EDL_ENOMEM says how much that is. */
EdlStatus edl_memory_take(EdlMemory *memory, const EdlModel *model,
                          EdlRegions *regions, EdlError *e);
void edl_memory_free(EdlMemory *memory, const EdlModel *model);

/* The processors that this process may use, at most 256. */
int edl_processors(void);

#ifdef __cplusplus
}
#endif

#endif
