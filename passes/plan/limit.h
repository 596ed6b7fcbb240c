/* The hard limit of device memory: module option `limit`, bytes or percent
 * of what the unplanned program takes. */
#ifndef EDL_PASSES_PLAN_LIMIT_H
#define EDL_PASSES_PLAN_LIMIT_H

#include "ir/graph.h"

/* The limit in bytes, shares being of `total`; -1: there is none. */
int64_t limit_bytes(const Module *m, int64_t total);

/* True when the placed module keeps its limit or has none. Otherwise the
 * error says what is needed, where and by what; m->over_limit is set. */
bool limit_check(Module *m);

#endif
