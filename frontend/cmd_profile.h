/* Parts of `edlc profile`. */
#ifndef EDL_FRONTEND_CMD_PROFILE_H
#define EDL_FRONTEND_CMD_PROFILE_H

#include "frontend/session.h"
#include "passes/plan/machine.h"

/* Copies in memory and to a file in folder, both ways and together. quick:
 * fewer bytes. False after an error. */
bool profile_links(Session *s, const char *folder, bool quick, Machine *k);
/* A GPU, and the products of the models of the file that was given, if any. */
Status profile_cuda(Session *s, Machine *k);

#endif
