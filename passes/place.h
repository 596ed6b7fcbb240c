/* What the regions of a module take. */
#ifndef EDL_PASSES_PLACE_H
#define EDL_PASSES_PLACE_H

#include "ir/graph.h"

/* Of a placed module: the bytes of all regions of the device. */
int64_t place_bytes(const Module *m);

/* Before `place`, and much sooner: `place` takes no fewer bytes. -1: it
 * fails. */
int64_t place_least(Module *m);

#endif
