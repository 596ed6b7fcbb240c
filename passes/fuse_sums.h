/* A part of pass fuse. */
#ifndef EDL_PASSES_FUSE_SUMS_H
#define EDL_PASSES_FUSE_SUMS_H

#include "ir/graph.h"

void fuse_sums(Graph *g);

#endif
