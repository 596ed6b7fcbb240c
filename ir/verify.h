/* Is this module what docs/ir.md says a module is? All faults go to its
 * diag, each at its node's place, naming the node. True when there is none. */
#ifndef EDL_IR_VERIFY_H
#define EDL_IR_VERIFY_H

#include "ir/graph.h"

bool verify_module(Module *m);

#endif
