/* A model by hand, in the shape of emitted code: next-token prediction from a
 * table w[V, V] with noise on every logit, SGD with momentum, two microbatches
 * a step. Small, but its bits depend on everything that a resume must keep. */
#ifndef TOY_H
#define TOY_H

#include "edl.h"

enum { TOY_V = 8, TOY_B = 2, TOY_T = 4, TOY_N = 2, TOY_ROW = 16 };

extern const EdlModel toy_model;

#endif
