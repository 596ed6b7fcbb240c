/* From a lowered model to its files, for the commands that need them. */
#ifndef EDL_FRONTEND_COMPILE_H
#define EDL_FRONTEND_COMPILE_H

#include "codegen/codegen.h"
#include "frontend/session.h"

/* Takes the session's options into the module, runs the passes and emits.
 * out stays empty where --stop-after or --only end before that. */
Status compile_model(Session *s, Module *m, OutFiles *out);

#endif
