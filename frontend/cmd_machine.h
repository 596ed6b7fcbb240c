/* --machine and --profile: the machine to plan for. */
#ifndef EDL_FRONTEND_CMD_MACHINE_H
#define EDL_FRONTEND_CMD_MACHINE_H

#include "frontend/session.h"
#include "ir/graph.h"

/* Reads the files of the flags into the module. False after an error. */
bool cmd_take_machine(Session *s, Module *m);

#endif
