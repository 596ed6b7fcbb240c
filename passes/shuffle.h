/* Another program order of the same module, for tests: what depends on the
 * order of independent nodes, and must not, shows. */
#ifndef EDL_PASSES_SHUFFLE_H
#define EDL_PASSES_SHUFFLE_H

#include "ir/graph.h"

/* Shuffles the nodes of every graph within their phase, keeping operands
 * before their readers and the effects on a tensor in order. */
void module_shuffle(Module *m, uint64_t seed);

#endif
