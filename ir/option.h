/* The options that the head of a module may state. What nobody reads would
 * be a claim that nothing stands for. */
#ifndef EDL_IR_OPTION_H
#define EDL_IR_OPTION_H

#include "ir/base/arena.h"

/* What is wrong with `option KEY = VALUE`; NULL: nothing. */
const char *option_fault(Arena *a, const char *key, const char *value);

#endif
