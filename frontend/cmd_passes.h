/* The flags that name passes. */
#ifndef EDL_FRONTEND_CMD_PASSES_H
#define EDL_FRONTEND_CMD_PASSES_H

#include "frontend/session.h"

/* Whether --dump, --stop-after and --only name passes that there are; false
 * after a message of wrong usage. */
bool cmd_passes_known(const Session *s);

#endif
