/* splitmix64 (Steele, Lea, Flood 2014): for searches and tests that need some
 * order, the same on every machine. */
#ifndef EDL_IR_BASE_RANDOM_H
#define EDL_IR_BASE_RANDOM_H

#include <stdint.h>

/* Every bit of the result hangs on every bit of z. */
uint64_t random_mix(uint64_t z);
/* The next of the sequence that began with a state of any value. */
uint64_t random_next(uint64_t *state);

#endif
