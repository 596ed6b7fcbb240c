/* From the flags of a subcommand to a lowered model. */
#ifndef EDL_FRONTEND_LOWER_SESSION_H
#define EDL_FRONTEND_LOWER_SESSION_H

#include "frontend/lower.h"
#include "frontend/session.h"

/* Reads the file and takes --set, -I, --model and --mode; false after an
 * error. */
bool lower_options(Session *s, const char *path, LowerOptions *o);
/* The seed of a model's train block, also where a forward pass alone does
 * without that block; 0 where there is none. */
uint64_t lower_seed(Session *s, const LowerOptions *o, const Module *m);

#endif
