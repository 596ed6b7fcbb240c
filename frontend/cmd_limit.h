/* What would make a model fit, where only the front end can tell. */
#ifndef EDL_FRONTEND_CMD_LIMIT_H
#define EDL_FRONTEND_CMD_LIMIT_H

#include "frontend/session.h"
#include "ir/graph.h"

/* Adds to the error that m does not fit (m->over_limit) what half the batch
 * would take, as found by planning that; not for models of very many nodes. */
void cmd_limit_help(Session *s, const Module *m);

#endif
