/* edlc plan of a bare cost graph. */
#ifndef EDL_FRONTEND_CMD_PLAN_COSTS_H
#define EDL_FRONTEND_CMD_PLAN_COSTS_H

#include "frontend/session.h"

Status cmd_plan_costs(Session *s, const char *path);

#endif
