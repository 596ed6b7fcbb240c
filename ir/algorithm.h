/* An algorithm of cuBLASLt as a schedule and a machine file write it:
 * "66 tile 20 stages 35 split 2 reduction 2". What is 0 is left out. */
#ifndef EDL_IR_ALGORITHM_H
#define EDL_IR_ALGORITHM_H

#include "ir/base/arena.h"

#include <stdint.h>

typedef enum {
#define SETTING(word, most) ALGORITHM_##word,
#include "ir/algorithm.def"
#undef SETTING
    ALGORITHM_SETTINGS
} AlgorithmSetting;

typedef struct Algorithm {
    int64_t id;
    int64_t setting[ALGORITHM_SETTINGS];
} Algorithm;

/* NULL, or why the text is none. One that may add up parts in an order that
 * varies (reduction 1), or that rounds them (4), is none. */
const char *algorithm_read(Arena *a, const char *text, Algorithm *out);
const char *algorithm_text(Arena *a, const Algorithm *x);

#endif
